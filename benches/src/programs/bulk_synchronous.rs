//! Programs whose ranks execute the same steps together.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::program::SimulatedProgram;
use super::simulation::{KernelCall, Simulation};
use crate::rows::normal;

/// Side of the square of ranks.
pub(super) const SIDE: usize = 4;

/// Returns the neighbours of a rank in the square, without wrapping around.
pub(super) fn neighbours(rank: usize) -> impl Iterator<Item = usize> {
    let (x, y) = (rank % SIDE, rank / SIDE);
    let west = (x > 0).then(|| rank - 1);
    let east = (x + 1 < SIDE).then_some(rank + 1);
    let north = (y > 0).then(|| rank - SIDE);
    let south = (y + 1 < SIDE).then_some(rank + SIDE);
    [west, east, north, south].into_iter().flatten()
}

/// Sends a message from each rank to the next one, and from the last to the first.
fn shift(run: &mut Simulation<'_>, num_ranks: usize, name: &str) {
    for rank in 0..num_ranks {
        run.enter(rank, name);
        run.send(rank, (rank + 1) % num_ranks);
    }
    for rank in 0..num_ranks {
        run.receive(rank, (rank + num_ranks - 1) % num_ranks, "MPI_Wait()");
        run.leave(rank);
    }
}

pub(super) fn on_all<'a>(
    run: &mut Simulation<'a>,
    mut work: impl FnMut(&mut Simulation<'a>, usize),
) {
    for lane in 0..run.num_lanes() {
        work(run, lane);
    }
}

/// Runs a step of all ranks: `work` between entry and exit of the root function.
pub(super) fn step(
    run: &mut Simulation<'_>,
    unit: usize,
    root: &'static str,
    work: impl FnOnce(&mut Simulation<'_>, &[usize]),
) {
    let lanes: Vec<usize> = (0..run.num_lanes()).collect();
    on_all(run, |run, lane| run.begin_root(lane, unit, root));
    work(run, &lanes);
    on_all(run, |run, lane| run.end_root(lane, unit));
}

const OCEAN: &str = "Ocean::step";

/// Exchanges with neighbours, a reduction in every fourth step, diagnostics in every 40th.
pub(super) const HALO: SimulatedProgram = SimulatedProgram {
    name: "halo",
    root: OCEAN,
    num_ranks: SIDE * SIDE,
    num_threads: 1,
    num_units: 200,
    usual_us: 2_500.0,
    spread: 0.05,
    run: halo,
};

fn halo(run: &mut Simulation<'_>, num_units: usize) {
    let momentum = KernelCall {
        name: "Ocean::momentum",
        inner: "Ocean::level",
        num_calls: 8,
        call_us: 160.0,
    };
    let pressure = KernelCall {
        name: "Ocean::pressure",
        inner: "Ocean::relax",
        num_calls: 6,
        call_us: 140.0,
    };
    for unit in 0..num_units {
        step(run, unit, OCEAN, |run, lanes| {
            on_all(run, |run, lane| {
                if unit == 0 {
                    run.call(lane, "Ocean::allocate", 800.0);
                }
                run.kernel(lane, &momentum);
                run.enter(lane, "Ocean::exchange");
                for neighbour in neighbours(lane) {
                    run.call(lane, "Ocean::pack", 12.0);
                    run.send(lane, neighbour);
                }
            });
            on_all(run, |run, lane| {
                for neighbour in neighbours(lane) {
                    run.receive(lane, neighbour, "MPI_Wait()");
                    run.call(lane, "Ocean::unpack", 9.0);
                }
                run.leave(lane);
                run.kernel(lane, &pressure);
            });
            if unit % 4 == 3 {
                run.collective("MPI_Allreduce()", lanes, 14.0);
            }
            if unit % 40 == 39 {
                on_all(run, |run, lane| run.call(lane, "Ocean::diagnostics", 700.0));
            }
        });
    }
}

const SPECTRAL: &str = "Spectral::transform";

/// Two all-to-all exchanges in each step.
pub(super) const ALL_TO_ALL: SimulatedProgram = SimulatedProgram {
    name: "all-to-all",
    root: SPECTRAL,
    num_ranks: 16,
    num_threads: 1,
    num_units: 180,
    usual_us: 3_400.0,
    spread: 0.08,
    run: all_to_all,
};

fn all_to_all(run: &mut Simulation<'_>, num_units: usize) {
    let transform = |name| KernelCall {
        name,
        inner: "Fft::butterfly",
        num_calls: 12,
        call_us: 110.0,
    };
    for unit in 0..num_units {
        step(run, unit, SPECTRAL, |run, lanes| {
            on_all(run, |run, lane| run.kernel(lane, &transform("Fft::rows")));
            run.collective("MPI_Alltoall()", lanes, 180.0);
            on_all(run, |run, lane| {
                run.kernel(lane, &transform("Fft::columns"));
            });
            run.collective("MPI_Alltoall()", lanes, 180.0);
            on_all(run, |run, lane| run.call(lane, "Spectral::filter", 250.0));
        });
    }
}

const PUSH: &str = "Particles::push";

/// Particles wander between ranks; every 50th step balances them.
pub(super) const DRIFTING_WORK: SimulatedProgram = SimulatedProgram {
    name: "drifting work",
    root: PUSH,
    num_ranks: 16,
    num_threads: 1,
    num_units: 200,
    usual_us: 2_200.0,
    spread: 0.06,
    run: drifting_work,
};

fn drifting_work(run: &mut Simulation<'_>, num_units: usize) {
    let num_ranks = run.num_lanes();
    let mut rng = ChaCha8Rng::seed_from_u64(run.seed() ^ 0xd71f);
    let mut share = vec![1.0_f64; num_ranks];
    for unit in 0..num_units {
        for share in &mut share {
            *share = (*share * (0.04 * normal(&mut rng)).exp()).clamp(0.4, 2.5);
        }
        step(run, unit, PUSH, |run, lanes| {
            if unit % 50 == 49 {
                share.fill(1.0);
                on_all(run, |run, lane| run.enter(lane, "Particles::rebalance"));
                run.collective("MPI_Alltoallv()", lanes, 300.0);
                on_all(run, Simulation::leave);
            }
            // The total work grows by half over the run.
            let growth = 1.0 + 0.5 * unit as f64 / num_units as f64;
            on_all(run, |run, lane| {
                let num_cells = (10.0 * growth * share[lane]).round() as usize;
                let gather = KernelCall {
                    name: "Particles::gather",
                    inner: "Cell::interpolate",
                    num_calls: num_cells.max(1),
                    call_us: 110.0,
                };
                let deposit = KernelCall {
                    name: "Particles::deposit",
                    inner: "Cell::scatter",
                    num_calls: 4,
                    call_us: 150.0,
                };
                run.kernel(lane, &gather);
                run.kernel(lane, &deposit);
            });
            shift(run, num_ranks, "Particles::migrate");
        });
    }
}

const ITERATE: &str = "Solver::iterate";

/// A different method in the second half of the run.
pub(super) const PHASES: SimulatedProgram = SimulatedProgram {
    name: "phases",
    root: ITERATE,
    num_ranks: 8,
    num_threads: 1,
    num_units: 300,
    usual_us: 2_000.0,
    spread: 0.10,
    run: phases,
};

fn phases(run: &mut Simulation<'_>, num_units: usize) {
    let kernel = |name, inner, num_calls, call_us| KernelCall {
        name,
        inner,
        num_calls,
        call_us,
    };
    for unit in 0..num_units {
        let (first, second) = if unit < num_units / 2 {
            (
                kernel("Explicit::flux", "Explicit::face", 8, 120.0),
                kernel("Explicit::update", "Explicit::cell", 4, 100.0),
            )
        } else {
            (
                kernel("Implicit::assemble", "Implicit::row", 6, 150.0),
                kernel("Implicit::smooth", "Implicit::colour", 10, 130.0),
            )
        };
        step(run, unit, ITERATE, |run, lanes| {
            on_all(run, |run, lane| run.kernel(lane, &first));
            if unit >= num_units / 2 {
                run.collective("MPI_Allreduce()", lanes, 12.0);
            }
            on_all(run, |run, lane| run.kernel(lane, &second));
            run.collective("MPI_Allreduce()", lanes, 12.0);
            if unit % 30 == 29 {
                on_all(run, |run, lane| run.call(lane, "Solver::monitor", 300.0));
            }
        });
    }
}

const FACTOR: &str = "Block::factor";

/// Broadcasts in rows and reductions in columns of ranks; the columns take turns with the pivots.
pub(super) const ROW_COLLECTIVES: SimulatedProgram = SimulatedProgram {
    name: "row collectives",
    root: FACTOR,
    num_ranks: SIDE * SIDE,
    num_threads: 1,
    num_units: 200,
    usual_us: 2_600.0,
    spread: 0.07,
    run: row_collectives,
};

fn row_collectives(run: &mut Simulation<'_>, num_units: usize) {
    let panel = KernelCall {
        name: "Block::panel",
        inner: "Block::pivot",
        num_calls: 5,
        call_us: 180.0,
    };
    let update = KernelCall {
        name: "Block::update",
        inner: "Block::gemm",
        num_calls: 9,
        call_us: 150.0,
    };
    for unit in 0..num_units {
        step(run, unit, FACTOR, |run, _| {
            on_all(run, |run, lane| {
                if lane % SIDE == unit % SIDE {
                    run.kernel(lane, &panel);
                }
            });
            for row in 0..SIDE {
                let ranks: Vec<usize> = (0..SIDE).map(|x| row * SIDE + x).collect();
                run.collective("MPI_Bcast()", &ranks, 40.0);
            }
            on_all(run, |run, lane| run.kernel(lane, &update));
            for column in 0..SIDE {
                let ranks: Vec<usize> = (0..SIDE).map(|y| y * SIDE + column).collect();
                run.collective("MPI_Reduce()", &ranks, 30.0);
            }
        });
    }
}

const ADVANCE: &str = "Step::advance";

/// In every 20th step one rank writes the data of all.
pub(super) const CHECKPOINTING: SimulatedProgram = SimulatedProgram {
    name: "checkpointing",
    root: ADVANCE,
    num_ranks: 16,
    num_threads: 1,
    num_units: 220,
    usual_us: 2_100.0,
    spread: 0.04,
    run: checkpointing,
};

fn checkpointing(run: &mut Simulation<'_>, num_units: usize) {
    let force = KernelCall {
        name: "Step::force",
        inner: "Pair::compute",
        num_calls: 10,
        call_us: 130.0,
    };
    let integrate = KernelCall {
        name: "Step::integrate",
        inner: "Atom::move",
        num_calls: 5,
        call_us: 90.0,
    };
    let num_ranks = run.num_lanes();
    for unit in 0..num_units {
        step(run, unit, ADVANCE, |run, _| {
            on_all(run, |run, lane| run.kernel(lane, &force));
            shift(run, num_ranks, "Step::exchange");
            on_all(run, |run, lane| run.kernel(lane, &integrate));
            if unit % 7 == 6 {
                run.call(0, "Step::log", 80.0);
            }
            if unit % 20 == 19 {
                for rank in 1..num_ranks {
                    run.enter(rank, "Checkpoint::save");
                    run.send(rank, 0);
                    run.leave(rank);
                }
                run.enter(0, "Checkpoint::save");
                for rank in 1..num_ranks {
                    run.receive(0, rank, "MPI_Recv()");
                }
                run.call(0, "Checkpoint::write", 5_000.0);
                run.leave(0);
            }
        });
    }
}

const GMRES: &str = "Gmres::iteration";
/// Iterations between restarts.
const RESTART_EVERY: usize = 10;

/// Each iteration has one more product than the previous one, until the method restarts.
pub(super) const RESTARTED_SOLVER: SimulatedProgram = SimulatedProgram {
    name: "restarted solver",
    root: GMRES,
    num_ranks: 16,
    num_threads: 1,
    num_units: 240,
    usual_us: 1_300.0,
    spread: 0.05,
    run: restarted_solver,
};

fn restarted_solver(run: &mut Simulation<'_>, num_units: usize) {
    let apply = KernelCall {
        name: "Matrix::apply",
        inner: "Matrix::block",
        num_calls: 6,
        call_us: 170.0,
    };
    for unit in 0..num_units {
        let orthogonalise = KernelCall {
            name: "Gmres::orthogonalise",
            inner: "Vector::dot",
            num_calls: unit % RESTART_EVERY + 1,
            call_us: 40.0,
        };
        step(run, unit, GMRES, |run, lanes| {
            on_all(run, |run, lane| {
                if unit > 0 && unit.is_multiple_of(RESTART_EVERY) {
                    run.call(lane, "Gmres::update_solution", 400.0);
                }
                run.kernel(lane, &apply);
                run.kernel(lane, &orthogonalise);
            });
            run.collective("MPI_Allreduce()", lanes, 15.0);
        });
    }
}
