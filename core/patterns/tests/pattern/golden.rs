//! A small program, with all of its patterns as text.

use callgrove_model::LaneIdx;

use crate::support::{patterns_of, trace};

#[test]
fn defines_the_patterns_of_a_small_program() {
    let step = |tests: usize| {
        let polls = "MPI_Test:1 ".repeat(tests);
        format!(
            "Domain::advance(halo(MPI_Isend:1 MPI_Irecv:1 MPI_Isend:1 MPI_Irecv:1 {polls}) eos:30) dt(MPI_Allreduce:3) "
        )
    };
    let rank = |polls: [usize; 4]| {
        let steps: String = polls.iter().map(|&it| step(it)).collect();
        format!("main(MPI_Init:90 {steps} write:7 MPI_Finalize:5)")
    };
    let ranks = [rank([9, 30, 14, 9]), rank([8, 8, 2, 12])];
    let trace = trace(&ranks.each_ref().map(String::as_str));
    let patterns = patterns_of(&trace);
    let mut text = String::new();
    for lane in [LaneIdx(0), LaneIdx(1)] {
        text += &format!("{}\n", patterns.define_lane(lane, &trace.names, 0));
    }
    for it in patterns.all() {
        text += &format!(
            "{} times, {}: {}\n",
            it.occurrences.len(),
            it.total,
            patterns.define(it.id, &trace.names, 1)
        );
    }
    let expected = "\
main { MPI_Init, 4 × (Domain::advance, dt), write, MPI_Finalize }
main { MPI_Init, 2 × (Domain::advance, dt), Domain::advance { halo { 2 × (MPI_Isend, MPI_Irecv), 2 × MPI_Test }, eos }, dt, (Domain::advance, dt), write, MPI_Finalize }
7 times, 370 µs: Domain::advance { halo, eos }, dt { MPI_Allreduce }
7 times, 342 µs: Domain::advance { halo { 2 × (MPI_Isend, MPI_Irecv), 8–30 × MPI_Test }, eos }
7 times, 125 µs: halo { 2 × (MPI_Isend, MPI_Irecv), 8–30 × MPI_Test }
16 times, 32 µs: MPI_Isend, MPI_Irecv
8 times, 32 µs: dt { MPI_Allreduce }
";
    assert_eq!(text, expected);
}
