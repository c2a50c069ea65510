//! `callgrove compare` and `check`: two runs as input, changes, reports and exit codes as output.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};
use callgrove_model::{
    FuncEventKind, NameTable, ProgramId, Progress, RankBuilder, RankId, StepBatch, StepId,
    ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_packed::write_trace_file;
use callgrove_tests::shell::{callgrove, data, error_output, example, stdout};
use serde_json::Value;
use tempfile::TempDir;

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
    /// True if each step calls `Fix::apply`, too.
    has_fix: bool,
    /// True for a program whose functions have other names.
    is_other: bool,
}

const USUAL: Variant = Variant {
    seed: 1,
    build_percent: 100,
    all_percent: 100,
    has_fix: false,
    is_other: false,
};

/// The usual run with a slower and a new function.
const SLOW: Variant = Variant {
    seed: 3,
    build_percent: 180,
    has_fix: true,
    ..USUAL
};

/// A run of another program.
const OTHER: Variant = Variant {
    is_other: true,
    ..USUAL
};

/// Writes a run of a loop of steps with noise of some percent, and returns its path.
fn write_run(folder: &Path, name: &str, variant: Variant) -> Result<String> {
    let ranks = (0..NUM_RANKS).map(|number| {
        let (mut names, mut time_us) = (NameTable::default(), 0);
        let mut builder = RankBuilder::new(ProgramId(0), RankId(number));
        let mut batch = StepBatch::empty(ProgramId(0), RankId(number), StepId(0));
        let mut event = |kind, name: &str, time_us: i64| {
            let prefix = if variant.is_other { "other::" } else { "" };
            let func = names.intern(&format!("{prefix}{name}"));
            let row = batch.funcs.len() as u32;
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
    let trace = Trace::assemble(ranks.collect(), Warnings::default());
    let path = folder.join(name);
    write_trace_file(&trace, &mut File::create(&path)?, Progress::none())?;
    Ok(path.to_string_lossy().into_owned())
}

/// Writes the usual run, another one of the same kind, and one with a slower and a new function.
fn runs() -> Result<(TempDir, [String; 3])> {
    let disk = tempfile::tempdir()?;
    let usual = write_run(disk.path(), "usual.callgrove", USUAL)?;
    let again = write_run(disk.path(), "again.callgrove", Variant { seed: 2, ..USUAL })?;
    let slow = write_run(disk.path(), "slow.callgrove", SLOW)?;
    Ok((disk, [usual, again, slow]))
}

fn rows(args: &[&str]) -> Result<Vec<Value>> {
    let json = stdout(&[args, &["--format", "json"]].concat())?;
    let rows = json.lines().map(serde_json::from_str);
    Ok(rows.collect::<Result<_, _>>()?)
}

#[test]
fn halves_of_the_example_do_not_differ() -> Result<()> {
    for trace in ["assets/lammps-4r-small", "tests/data/lammps-4r-small-bp4"] {
        let trace = data(trace).to_string_lossy().into_owned();
        let text = stdout(&["compare", &trace, "--halves"])?;
        assert!(text.starts_with("nothing changed"), "{text}");
        assert!(rows(&["compare", &trace, "--halves"])?.is_empty());
        assert!(rows(&["compare", &trace, &trace])?.is_empty());
    }
    Ok(())
}

#[test]
fn runs_of_one_program_do_not_differ() -> Result<()> {
    let (_disk, [usual, again, slow]) = runs()?;
    assert_eq!(rows(&["compare", &usual, &again])?, [] as [Value; 0]);
    for run in [usual, slow] {
        assert_eq!(rows(&["compare", &run, "--halves"])?, [] as [Value; 0]);
    }
    Ok(())
}

#[test]
fn a_slower_and_a_new_function_are_named_first() -> Result<()> {
    let (_disk, [usual, _, slow]) = runs()?;
    let rows = rows(&["compare", &usual, &slow])?;
    let of_path: Vec<&Value> = rows.iter().filter(|row| row["kind"] == "path").collect();
    let [build, fix, ..] = of_path.as_slice() else {
        panic!("two functions: {rows:?}");
    };
    assert_eq!(build["function"], "Neighbor::build");
    assert_eq!(build["aspect"], "duration");
    let ratio = build["ratio"].as_f64().context("no ratio")?;
    assert!((ratio - 1.8).abs() < 0.02, "{build}");
    // 0.8 ms in 320 iterations on 4 ranks; the first block of 17 is warm-up.
    let cost_us = build["cost_us"].as_i64().context("no cost")?;
    assert!((1_000_000..1_060_000).contains(&cost_us), "{build}");
    assert_eq!(fix["function"], "Fix::apply");
    assert_eq!(fix["aspect"], "new");
    assert_eq!(fix["after"], f64::from(NUM_RANKS) * NUM_STEPS as f64);
    assert_eq!(
        fix["path"],
        serde_json::json!(["main", "Solver::step", "Fix::apply"])
    );
    let text = stdout(&["compare", &usual, &slow])?;
    assert!(
        text.contains("`Neighbor::build` under `Solver::step` takes 1.8 times as long"),
        "{text}"
    );
    let back = changes(&slow, &usual)?;
    let aspect = |name: &str| {
        let row = back.iter().find(|row| row["function"] == name);
        row.map(|row| row["aspect"].clone())
    };
    assert_eq!(aspect("Fix::apply"), Some("vanished".into()));
    assert_eq!(aspect("Neighbor::build"), Some("duration".into()));
    assert_eq!(aspect("Pair::compute"), None);
    Ok(())
}

fn changes(before: &str, after: &str) -> Result<Vec<Value>> {
    rows(&["compare", before, after])
}

#[test]
fn the_unit_of_time_does_not_matter() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let decided = |all_percent: i64| -> Result<Vec<Value>> {
        let run = |name: &str, it: Variant| {
            let name = format!("{name}-{all_percent}.callgrove");
            write_run(disk.path(), &name, Variant { all_percent, ..it })
        };
        let rows = changes(&run("usual", USUAL)?, &run("slow", SLOW)?)?;
        let decided = rows
            .iter()
            .map(|row| ["kind", "aspect", "function", "p_value"].map(|field| row[field].clone()));
        Ok(decided.flatten().collect())
    };
    let (usual, longer) = (decided(100)?, decided(700)?);
    assert!(!usual.is_empty());
    assert_eq!(usual, longer);
    Ok(())
}

#[test]
fn csv_has_a_column_for_each_figure() -> Result<()> {
    let (_disk, [usual, _, slow]) = runs()?;
    let csv = stdout(&["compare", &usual, &slow, "--format", "csv", "-n", "1"])?;
    let header = csv.lines().next().context("no header")?;
    assert_eq!(
        header,
        "kind,aspect,function,path,before,after,ratio,ratio_low,ratio_high,cost_us,p_value,corrected_p,sure,words"
    );
    assert_eq!(csv.lines().count(), 2, "{csv}");
    Ok(())
}

#[test]
fn check_fails_with_the_reason_in_its_reports() -> Result<()> {
    let (disk, [usual, again, slow]) = runs()?;
    let [junit, markdown] = ["report.xml", "report.md"].map(|name| {
        let path = disk.path().join(name);
        path.to_string_lossy().into_owned()
    });
    let check = |run: &str, more: &[&str]| {
        let args = [
            "check",
            run,
            "--reference",
            &usual,
            "--junit",
            &junit,
            "--markdown",
            &markdown,
        ];
        callgrove(&[&args[..], more].concat())
    };
    let passed = check(&again, &[])?;
    let text = String::from_utf8_lossy(&passed.stdout).into_owned();
    assert_eq!(passed.status.code(), Some(0), "{text}");
    assert!(text.contains("slower: passed"), "{text}");
    let xml = fs::read_to_string(&junit)?;
    assert!(
        xml.contains("tests=\"3\" failures=\"0\" errors=\"0\""),
        "{xml}"
    );

    let failed = check(&slow, &["--fail-on", "slower"])?;
    let text = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert_eq!(failed.status.code(), Some(4), "{text}");
    assert!(text.contains("slower: failed: "), "{text}");
    let xml = fs::read_to_string(&junit)?;
    assert!(
        xml.contains("tests=\"1\" failures=\"1\" errors=\"0\""),
        "{xml}"
    );
    assert!(
        xml.contains("`Neighbor::build` under `Solver::step` takes 1.8 times"),
        "{xml}"
    );
    let page = fs::read_to_string(&markdown)?;
    assert!(page.contains("| slower | failed | "), "{page}");
    assert!(page.contains("### slower\n\n* "), "{page}");

    let allowed = check(&slow, &["--fail-on", "slower", "--max-slowdown", "100%"])?;
    assert_eq!(allowed.status.code(), Some(0));
    Ok(())
}

#[test]
fn what_cannot_be_checked_has_its_own_exit_code() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let usual = write_run(disk.path(), "usual.callgrove", USUAL)?;
    let missing = disk.path().join("missing").to_string_lossy().into_owned();
    let junit = disk
        .path()
        .join("report.xml")
        .to_string_lossy()
        .into_owned();
    let other = write_run(disk.path(), "other.callgrove", OTHER)?;
    let output = callgrove(&["check", &usual, "--reference", &other, "--junit", &junit])?;
    assert_eq!(output.status.code(), Some(5));
    let xml = fs::read_to_string(&junit)?;
    assert!(xml.contains("failures=\"0\" errors=\"3\""), "{xml}");
    assert!(xml.contains("the reference is of another program"), "{xml}");
    // A mistyped name is a mistake, and no outcome.
    for args in [[&missing, &usual], [&usual, &missing]] {
        let text = error_output(&["check", args[0], "--reference", args[1]])?;
        assert!(text.contains("no such file or folder"), "{text}");
    }
    let text = error_output(&["check", &usual, "--baseline", &missing])?;
    assert!(text.contains("no such file"), "{text}");

    let model = disk
        .path()
        .join("model.json")
        .to_string_lossy()
        .into_owned();
    let example = example().to_string_lossy().into_owned();
    let function = "PairEAM::compute";
    stdout(&[
        "analyze",
        &example,
        "--function",
        function,
        "--save-model",
        &model,
    ])?;
    let check = ["check", &example, "--reference", &model, "--fail-on"];
    let output = callgrove(&[&check[..], &["slower"]].concat())?;
    assert_eq!(output.status.code(), Some(5));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("a model has no durations"), "{text}");
    let output = callgrove(&[&check[..], &["abnormal"]].concat())?;
    assert_eq!(
        output.status.code(),
        Some(4),
        "the example has abnormal executions"
    );
    Ok(())
}

#[test]
fn a_run_needs_another_one_or_halves() -> Result<()> {
    let trees = example().join("pair-eam-compute.jsonl");
    let text = error_output(&["compare", &trees.to_string_lossy(), "--halves"])?;
    assert!(text.contains("this needs a trace"), "{text}");
    let example = example().to_string_lossy().into_owned();
    assert_eq!(callgrove(&["compare", &example])?.status.code(), Some(2));
    Ok(())
}

/// Writes three runs a side whose `Neighbor::build` takes some percent of the usual time in each.
fn repeated(folder: &Path, percents: [i64; 6]) -> Result<Vec<String>> {
    let runs = (0..).zip(percents).map(|(at, build_percent)| {
        let variant = Variant {
            seed: 10 + at,
            build_percent,
            ..USUAL
        };
        write_run(folder, &format!("run{at}.callgrove"), variant)
    });
    runs.collect()
}

#[test]
fn what_runs_of_a_side_differ_by_is_no_change() -> Result<()> {
    let disk = tempfile::tempdir()?;
    // One pair differs by 8 %, as do the runs of one side.
    let runs = repeated(disk.path(), [100, 108, 103, 106, 101, 104])?;
    let pair = rows(&["compare", &runs[0], &runs[1]])?;
    assert!(pair.iter().any(|row| row["function"] == "Neighbor::build"));
    let (before, after) = runs.split_at(3);
    let sides = |before: &[String], after: &[String]| -> Vec<String> {
        let words = ["compare", "--before"].map(str::to_owned);
        let all = words.iter().chain(before).cloned();
        let all = all.chain(["--after".to_owned()]).chain(after.to_vec());
        all.collect()
    };
    let compare = |before: &[String], after: &[String]| {
        let args = sides(before, after);
        rows(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(compare(before, after)?, [] as [Value; 0]);
    let slower = repeated(disk.path(), [100, 108, 103, 150, 146, 153])?;
    let found = compare(&slower[..3], &slower[3..])?;
    let build = found
        .iter()
        .find(|row| row["function"] == "Neighbor::build");
    let build = build.context("it is slower")?;
    let [low, high] = ["ratio_low", "ratio_high"].map(|field| build[field].as_f64().unwrap());
    assert!(
        low > 1.3 && low < 1.44 && high > 1.44 && high < 1.6,
        "{build}"
    );
    let text = error_output(&[
        "compare", "--before", &slower[0], &slower[1], "--after", &slower[3],
    ])?;
    assert!(text.contains("there are 2 and 1 runs"), "{text}");
    Ok(())
}

#[test]
fn a_baseline_keeps_runs_for_later_checks() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let runs = repeated(disk.path(), [100, 102, 99, 101, 101, 160])?;
    let path = |name: &str| disk.path().join(name).to_string_lossy().into_owned();
    let [file, json, sarif, metrics] = ["base", "o.json", "o.sarif", "o.txt"].map(path);
    let add = |run: &str, commit: &str| {
        stdout(&[
            "baseline", "add", &file, run, "--commit", commit, "--keep", "4",
        ])
    };
    add(&runs[0], "c0")?;
    add(&runs[1], "c1")?;
    let check = |run: &str| {
        let files = [
            "--json",
            &json,
            "--sarif",
            &sarif,
            "--metrics",
            &metrics,
            "--github",
        ];
        callgrove(&[&["check", run, "--baseline", &file][..], &files].concat())
    };
    let few = check(&runs[3])?;
    assert_eq!(few.status.code(), Some(5), "two runs show no spread");
    for (run, commit) in [(2, "c2"), (3, "c3"), (4, "c4")] {
        add(&runs[run], commit)?;
    }
    let shown = rows(&["baseline", "show", &file])?;
    let commits: Vec<&str> = shown
        .iter()
        .filter_map(|row| row["commit"].as_str())
        .collect();
    assert_eq!(commits, ["c1", "c2", "c3", "c4"], "the oldest is left out");
    assert_eq!(shown[0]["num_ranks"], NUM_RANKS);

    let passed = check(&runs[0])?;
    let text = String::from_utf8_lossy(&passed.stdout).into_owned();
    assert_eq!(passed.status.code(), Some(0), "{text}");
    assert!(text.contains("1 run compared with 4 runs"), "{text}");
    assert!(
        !text.contains("abnormal"),
        "a baseline has no executions: {text}"
    );
    let failed = check(&runs[5])?;
    let text = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert_eq!(failed.status.code(), Some(4), "{text}");
    assert!(
        text.contains("::error title=Callgrove slower%3A failed::"),
        "{text}"
    );
    assert!(
        text.contains("the last run of the baseline is of commit c4"),
        "{text}"
    );
    let read = |path: &str| -> Result<Value> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
    assert_eq!(read(&json)?["outcome"], "failed");
    assert_eq!(read(&sarif)?["version"], "2.1.0");
    let figures = fs::read_to_string(&metrics)?;
    assert!(
        figures.contains("callgrove_smallest_visible_percent "),
        "{figures}"
    );

    // A damaged file is refused, and stays as it is.
    let whole = fs::read(&file)?;
    for bytes in [&whole[..whole.len() / 2], b"something else"] {
        fs::write(&file, bytes)?;
        let text = error_output(&["baseline", "add", &file, &runs[0]])?;
        assert!(text.contains("remove it, and add the runs again"), "{text}");
        assert_eq!(check(&runs[0])?.status.code(), Some(5));
        assert_eq!(fs::read(&file)?, bytes);
    }
    Ok(())
}
