//! The time step loop.

use callgrove_model::{LaneIdx, Progress, TimeNs, Trace};
use callgrove_patterns::Iterations;

use crate::support::{calls, patterns_of, trace, trace_of_threads};

fn iterations_of(trace: &Trace) -> Option<Iterations> {
    let patterns = patterns_of(trace);
    Iterations::find(trace, &patterns, Progress::none()).expect("no cancellation")
}

fn check(ranks: &[&str], name: &str, num_passes: &[usize]) {
    let trace = trace(ranks);
    let found = iterations_of(&trace).expect("there is a loop");
    assert_eq!(found.name(&trace), name);
    let passes = |(lane, _)| found.on_lane(lane).starts.len();
    assert_eq!(trace.lanes().map(passes).collect::<Vec<_>>(), num_passes);
}

/// Returns a program like LULESH: its first step has no reduction.
fn hydro(num_steps: usize) -> String {
    let step = "dt(MPI_Allreduce:5) leap(force:30 MPI_Wait:10 move:20) ";
    format!(
        "main(MPI_Init:100 mesh:40 dt leap(force:30 MPI_Wait:10 move:20) {} write:50 MPI_Finalize:9)",
        step.repeat(num_steps - 1)
    )
}

/// Returns a program like LAMMPS: several runs, with occasional new neighbours or output, and set-up by the same
/// functions.
fn particles(runs: &[usize], uneven: usize) -> String {
    let step = |at: usize| {
        let neighbours = if at % 7 == uneven {
            "swap(MPI_Sendrecv:4 unpack:3) build:20"
        } else {
            "forward:3"
        };
        let output = if at % 10 == 9 { "write:9" } else { "" };
        format!(
            "begin:1 move:9 decide:1 {neighbours} force:50(pair:{}) end:3 {output} ",
            30 + at % 3
        )
    };
    let run = |&num_steps: &usize| {
        let steps: String = (0..num_steps).map(step).collect();
        format!(
            "command:2(init:9 setup(force:50(pair:30) write:5) run(MPI_Barrier:1 {steps}) finish:4) "
        )
    };
    let runs: String = runs.iter().map(run).collect();
    format!("main(input(parse:1 units:1 parse:1 box:20 parse:1 {runs} parse:1))")
}

#[test]
fn steps_of_a_hydrodynamics_code_are_counted_exactly() {
    check(&[&hydro(30), &hydro(30)], "main → dt", &[30, 30]);
    check(&[&hydro(4), &hydro(4)], "main → dt", &[4, 4]);
}

#[test]
fn steps_of_several_runs_are_counted_exactly() {
    let all = [&particles(&[35, 6, 20], 2), &particles(&[35, 6, 20], 5)];
    check(&all.map(String::as_str), "run → begin", &[61, 61]);
}

#[test]
fn a_killed_rank_has_fewer_passes() {
    check(
        &[&hydro(30), &hydro(30), &hydro(12)],
        "main → dt",
        &[30, 30, 12],
    );
}

#[test]
fn a_loop_inside_a_step_is_not_the_time_step_loop() {
    let swaps = "MPI_Irecv:1 MPI_Send:2 MPI_Wait:3 ".repeat(6);
    let step = format!("begin:5 {swaps} force:80 ");
    check(
        &[&format!("main({})", step.repeat(20))],
        "main → begin",
        &[20],
    );
}

#[test]
fn calls_outside_everything_can_be_the_loop() {
    let step = "MPI_Isend:2 MPI_Recv:9 MPI_Wait:1 ";
    let text = format!("MPI_Init:50 {}", step.repeat(12));
    check(&[&text, &text], "MPI_Isend", &[12, 12]);
}

#[test]
fn repeated_calls_of_one_function_are_a_loop() {
    let step = "step:50(work:9)";
    let steps = |number| format!("{step} ").repeat(number);
    let text = format!("main(init:9 {} write:3 {} write:3)", steps(20), steps(15));
    check(&[&text, &text], "main → step", &[35, 35]);
}

#[test]
fn the_loop_is_that_of_the_thread_that_drives_the_others() {
    // The helpers' loop covers as much time, and is less deep.
    let main = format!("app(run({}))", "step(forward:40 backward:60) ".repeat(20));
    let helper = format!("app({})", "kernel:45 update:50 ".repeat(20));
    let (main, helper) = (calls(&main), calls(&helper));
    let rank = vec![&main[..], &helper, &helper];
    let trace = trace_of_threads(&[rank.clone(), rank]);
    let found = iterations_of(&trace).expect("there is a loop");
    assert_eq!(found.name(&trace), "run → step");
    // Where the first threads only wait, it is that of the others.
    let waiting = calls("app(join:2000)");
    let rank = vec![&waiting[..], &helper];
    let trace = trace_of_threads(&[rank.clone(), rank]);
    let found = iterations_of(&trace).expect("there is a loop");
    assert_eq!(found.name(&trace), "app → kernel");
}

#[test]
fn passes_that_all_differ_are_counted_if_their_functions_agree() {
    // Each pass solves in another number of rounds, with other checks between.
    let pass = |at: usize| {
        let rounds: String = (0..3 + at * 7 % 11)
            .map(|round| {
                if (round + at).is_multiple_of(3) {
                    "round:2 check:1 "
                } else {
                    "round:2 precondition:2 "
                }
            })
            .collect();
        format!("begin:2 assemble:9 {rounds} update:4 ")
    };
    let text = format!("main({})", (0..20).map(pass).collect::<String>());
    check(&[&text], "main → begin", &[20]);
}

#[test]
fn noise_is_not_a_loop() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'a' + u8::try_from(state % 20).unwrap())
    };
    let text: String = (0..3_000).flat_map(|_| [next(), ' ']).collect();
    assert!(iterations_of(&trace(&[&format!("main({text})")])).is_none());
}

#[test]
fn a_program_without_a_loop_has_no_iterations() {
    assert!(iterations_of(&trace(&["main(a b c d)"])).is_none());
    assert!(iterations_of(&trace(&[])).is_none());
}

#[test]
fn finds_the_iteration_at_a_time() {
    let trace = trace(&[&hydro(10)]);
    let found = iterations_of(&trace).expect("there is a loop");
    let lane = LaneIdx(0);
    let passes = found.on_lane(lane);
    for (at, (&start, &end)) in passes.starts.iter().zip(&passes.ends).enumerate() {
        assert_eq!(found.iteration_at(lane, start), Some(at));
        assert_eq!(found.span(at), Some((start, end)));
    }
    assert_eq!(found.iteration_at(lane, TimeNs(0)), None);
    // The output after the loop is in no iteration.
    let last = trace.lanes[0].executions.func.iter();
    let write = trace.names.get("write").expect("it writes");
    let row = last
        .clone()
        .position(|&func| func == write)
        .expect("it writes");
    let middle = trace.lanes[0].executions.entry[row] + callgrove_model::DurationNs::from_us(20);
    assert_eq!(found.iteration_at(lane, middle), None);
    assert_eq!(found.iteration_at(LaneIdx(7), middle), None);
    assert_eq!(found.span(10), None);
}

#[test]
fn a_rank_with_more_work_is_the_slowest() {
    let step = |work: i64, wait: i64| format!("dt:1 work:{work} MPI_Allreduce:{wait} ");
    let (light, heavy) = (step(10, 90), step(99, 1));
    let ranks = [light.repeat(8), heavy.repeat(8), light.repeat(8)].map(|it| format!("main({it})"));
    let trace = trace(&ranks.each_ref().map(String::as_str));
    let found = iterations_of(&trace).expect("there is a loop");
    let imbalance = found.imbalance(3).expect("the third pass ran");
    assert_eq!(imbalance.slowest, LaneIdx(1));
    assert_eq!(
        (imbalance.most_busy.as_us(), imbalance.mean_busy.as_us()),
        (100, 40)
    );
    assert!((imbalance.share() - 60.0 / 40.666).abs() < 0.05);
    assert_eq!(found.imbalances().len(), 8);
}
