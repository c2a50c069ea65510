//! Programs some of whose executions are longer at regular distances.

use super::bulk_synchronous::{SIDE, neighbours, on_all, step};
use super::program::SimulatedProgram;
use super::simulation::{KernelCall, Simulation};

const LATTICE: &str = "Lattice::update";
/// The rank that writes, inside the square.
const WRITER: usize = SIDE + 1;

/// One rank writes in every 12th step, and its neighbours wait, then theirs.
pub(super) const SNAPSHOTS: SimulatedProgram = SimulatedProgram {
    name: "snapshots",
    root: LATTICE,
    num_ranks: SIDE * SIDE,
    num_threads: 1,
    num_units: 180,
    usual_us: 1_900.0,
    spread: 0.06,
    run: snapshots,
};

fn snapshots(run: &mut Simulation<'_>, num_units: usize) {
    let collide = KernelCall {
        name: "Lattice::collide",
        inner: "Lattice::cell",
        num_calls: 7,
        call_us: 150.0,
    };
    let stream = KernelCall {
        name: "Lattice::stream",
        inner: "Lattice::copy",
        num_calls: 5,
        call_us: 110.0,
    };
    for unit in 0..num_units {
        step(run, unit, LATTICE, |run, _| {
            on_all(run, |run, lane| {
                run.kernel(lane, &collide);
                run.enter(lane, "Lattice::halo");
                for neighbour in neighbours(lane) {
                    run.send(lane, neighbour);
                }
            });
            on_all(run, |run, lane| {
                for neighbour in neighbours(lane) {
                    run.receive(lane, neighbour, "MPI_Wait()");
                }
                run.leave(lane);
                run.kernel(lane, &stream);
            });
            if unit % 12 == 5 {
                run.call(WRITER, "Lattice::snapshot", 2_600.0);
            }
        });
    }
}

const RELAX: &str = "Line::relax";

/// Waves along lines of ranks, from both ends in turn; a norm after every sixth.
pub(super) const LINE_RELAXATION: SimulatedProgram = SimulatedProgram {
    name: "line relaxation",
    root: RELAX,
    num_ranks: 12,
    num_threads: 1,
    num_units: 220,
    usual_us: 1_800.0,
    spread: 0.05,
    run: line_relaxation,
};

/// Number of ranks of a line.
const LINE: usize = 6;
/// Number of parts in which a rank forwards its data.
const NUM_PARTS: usize = 4;

fn line_relaxation(run: &mut Simulation<'_>, num_units: usize) {
    let rows = KernelCall {
        name: "Line::rows",
        inner: "Line::solve",
        num_calls: 4,
        call_us: 75.0,
    };
    let lanes: Vec<usize> = (0..run.num_lanes()).collect();
    for unit in 0..num_units {
        let is_backward = unit % 2 == 1;
        for line in 0..lanes.len() / LINE {
            let rank_at = |at: usize| line * LINE + if is_backward { LINE - 1 - at } else { at };
            for at in 0..LINE {
                let rank = rank_at(at);
                run.begin_root(rank, unit, RELAX);
                for _ in 0..NUM_PARTS {
                    if at > 0 {
                        run.receive(rank, rank_at(at - 1), "MPI_Recv()");
                    }
                    run.kernel(rank, &rows);
                    if at + 1 < LINE {
                        run.send(rank, rank_at(at + 1));
                    }
                }
                run.end_root(rank, unit);
            }
        }
        if unit % 6 == 5 {
            run.collective("MPI_Allreduce()", &lanes, 18.0);
        }
    }
}

const FILTER: &str = "Ensemble::member";

/// Members of an ensemble exchange in pairs whose distance doubles, and one analyses in every 9th cycle.
pub(super) const ENSEMBLE: SimulatedProgram = SimulatedProgram {
    name: "ensemble",
    root: FILTER,
    num_ranks: 8,
    num_threads: 1,
    num_units: 270,
    usual_us: 2_300.0,
    spread: 0.08,
    run: ensemble,
};

fn ensemble(run: &mut Simulation<'_>, num_units: usize) {
    let forecast = KernelCall {
        name: "Ensemble::forecast",
        inner: "Model::column",
        num_calls: 8,
        call_us: 170.0,
    };
    let innovate = KernelCall {
        name: "Ensemble::innovate",
        inner: "Model::observe",
        num_calls: 6,
        call_us: 120.0,
    };
    let num_ranks = run.num_lanes();
    for unit in 0..num_units {
        let distance = 1 << (unit % 3);
        step(run, unit, FILTER, |run, _| {
            on_all(run, |run, lane| run.kernel(lane, &forecast));
            if unit % 9 == 4 {
                run.call(3, "Ensemble::analyse", 1_700.0);
            }
            on_all(run, |run, lane| {
                run.enter(lane, "Ensemble::exchange");
                run.send(lane, lane ^ distance);
            });
            for lane in 0..num_ranks {
                run.receive(lane, lane ^ distance, "MPI_Sendrecv()");
                run.leave(lane);
            }
            on_all(run, |run, lane| run.kernel(lane, &innovate));
        });
    }
}
