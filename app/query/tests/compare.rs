//! Comparisons of generated runs of a program with a loop of steps.

use std::sync::Arc;

use callgrove_model::{
    Cancelled, FuncEventKind, NameTable, ProgramId, Progress, RankBuilder, RankId, StepBatch,
    StepId, ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_query::{ChangeRow, ComparedRun, RunComparison};

const NUM_RANKS: u32 = 4;
const NUM_STEPS: i64 = 340;

/// How a generated run differs from the usual one.
#[derive(Clone, Copy, Default)]
struct Variant {
    /// Seed of the noise.
    seed: i64,
    /// Duration of `Neighbor::build` in percent of the usual one.
    build_percent: i64,
    /// Duration of everything in percent of the usual one.
    all_percent: i64,
    /// Whether each step calls `Fix::apply`, too.
    has_fix: bool,
}

const USUAL: Variant = Variant {
    seed: 1,
    build_percent: 100,
    all_percent: 100,
    has_fix: false,
};

/// Returns a run of a loop of steps with noise of some percent.
fn run(variant: Variant) -> Result<ComparedRun, Cancelled> {
    let ranks = (0..NUM_RANKS).map(|number| {
        let (mut names, mut time_us) = (NameTable::default(), 0);
        let mut builder = RankBuilder::new(ProgramId(0), RankId(number));
        let mut batch = StepBatch::empty(ProgramId(0), RankId(number), StepId(0));
        let mut event = |kind, name: &str, time_us: i64| {
            let (func, row) = (names.intern(name), batch.funcs.len() as u32);
            let time = TimeNs(time_us * 10 * variant.all_percent);
            batch.funcs.push(ThreadId(0), kind, func, time, row);
        };
        event(FuncEventKind::Entry, "main", 0);
        let mut state = variant.seed * 7_919 + i64::from(number) * 104_729 + 1;
        let mut noisy = |usual_us: i64| {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            usual_us * (1_000 + (state >> 16) % 40 - 20) / 1_000
        };
        for _ in 0..NUM_STEPS {
            event(FuncEventKind::Entry, "Solver::step", time_us);
            let mut calls = vec![
                ("Pair::compute", noisy(2_000)),
                (
                    "Neighbor::build",
                    noisy(1_000) * variant.build_percent / 100,
                ),
            ];
            if variant.has_fix {
                calls.push(("Fix::apply", noisy(300)));
            }
            let start_us = time_us;
            for (name, duration_us) in calls {
                event(FuncEventKind::Entry, name, time_us + 5);
                time_us += 5 + duration_us;
                event(FuncEventKind::Exit, name, time_us);
            }
            event(FuncEventKind::Entry, "MPI_Barrier()", time_us + 5);
            let fix_us = if variant.has_fix { 320 } else { 0 };
            time_us = start_us + 2_100 + 1_050 * variant.build_percent / 100 + fix_us;
            event(FuncEventKind::Exit, "MPI_Barrier()", time_us);
            event(FuncEventKind::Exit, "Solver::step", time_us);
        }
        event(FuncEventKind::Exit, "main", time_us + 10);
        builder.push(batch);
        builder.finish(names, NameTable::default())
    });
    let trace = Arc::new(Trace::assemble(ranks.collect(), Warnings::default()));
    ComparedRun::new(&trace, Progress::none())
}

fn changes(before: Variant, after: Variant) -> Result<Vec<ChangeRow>, Cancelled> {
    let (before, after) = (run(before)?, run(after)?);
    let found = RunComparison::of_runs(&before, &after, Progress::none())?;
    assert_eq!(found.limits(), [""; 0]);
    assert_eq!(found.num_iterations(), Some([320, 320]));
    Ok(found.rows())
}

const SLOW: Variant = Variant {
    seed: 3,
    build_percent: 180,
    has_fix: true,
    ..USUAL
};

#[test]
fn runs_and_halves_of_one_program_do_not_differ() -> Result<(), Cancelled> {
    assert_eq!(changes(USUAL, Variant { seed: 2, ..USUAL })?, []);
    for variant in [USUAL, SLOW] {
        let halves = RunComparison::of_halves(&run(variant)?, Progress::none())?;
        assert_eq!(halves.rows(), []);
    }
    Ok(())
}

#[test]
fn a_slower_and_a_new_function_are_named_first() -> Result<(), Cancelled> {
    let rows = changes(USUAL, SLOW)?;
    let of_path: Vec<&ChangeRow> = rows.iter().filter(|row| row.kind == "path").collect();
    let [build, fix, ..] = of_path.as_slice() else {
        panic!("two functions: {rows:?}");
    };
    assert_eq!(
        (build.function.as_str(), build.aspect),
        ("Neighbor::build", "duration")
    );
    assert!((build.ratio.unwrap() - 1.8).abs() < 0.02, "{build:?}");
    // 0.8 ms in 320 iterations on 4 ranks.
    assert!((1_000_000..1_060_000).contains(&build.cost_us), "{build:?}");
    let sentence = "`Neighbor::build` under `Solver::step` takes 1.8 times as long";
    assert!(build.words.starts_with(sentence), "{build:?}");
    assert_eq!((fix.function.as_str(), fix.aspect), ("Fix::apply", "new"));
    assert!(
        (fix.after - f64::from(NUM_RANKS) * NUM_STEPS as f64).abs() < 0.5,
        "{fix:?}"
    );
    assert_eq!(fix.path, ["main", "Solver::step", "Fix::apply"]);
    let back = changes(SLOW, USUAL)?;
    let aspect = |name: &str| {
        back.iter()
            .find(|row| row.function == name)
            .map(|it| it.aspect)
    };
    assert_eq!(aspect("Fix::apply"), Some("vanished"));
    assert_eq!(aspect("Neighbor::build"), Some("duration"));
    assert_eq!(aspect("Pair::compute"), None);
    Ok(())
}

#[test]
fn the_unit_of_time_does_not_matter() -> Result<(), Cancelled> {
    let decided = |all_percent: i64| {
        let [before, after] = [USUAL, SLOW].map(|it| Variant { all_percent, ..it });
        let rows = changes(before, after)?.into_iter();
        let decided = rows.map(|row| (row.kind, row.aspect, row.function, row.p_value.to_bits()));
        Ok(decided.collect::<Vec<_>>())
    };
    assert_eq!(decided(100)?, decided(700)?);
    Ok(())
}
