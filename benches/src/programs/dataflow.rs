//! Programs whose ranks wait for data of others.

use rand::Rng;

use super::bulk_synchronous::SIDE;
use super::program::SimulatedProgram;
use super::simulation::{KernelCall, Simulation};
use crate::rows::normal;

const ANGLES: &str = "Sweep::angles";
/// Number of parts in which a rank forwards its data.
const NUM_BLOCKS: usize = 3;

/// Waves from the four corners of a square of ranks in turn.
pub(super) const WAVEFRONT: SimulatedProgram = SimulatedProgram {
    name: "wavefront",
    root: ANGLES,
    num_ranks: SIDE * SIDE,
    num_threads: 1,
    num_units: 240,
    usual_us: 2_800.0,
    spread: 0.05,
    run: wavefront,
};

fn wavefront(run: &mut Simulation<'_>, num_units: usize) {
    let cells = KernelCall {
        name: "Sweep::cells",
        inner: "Sweep::flux",
        num_calls: 5,
        call_us: 90.0,
    };
    let lanes: Vec<usize> = (0..run.num_lanes()).collect();
    for unit in 0..num_units {
        let (from_east, from_south) = (unit % 2 == 1, unit % 4 >= 2);
        // In the order of the wave, so that each message has been sent before it is received.
        let mirrored = |at: usize, is_mirrored: bool| if is_mirrored { SIDE - 1 - at } else { at };
        let rank_at = |x: usize, y: usize| mirrored(y, from_south) * SIDE + mirrored(x, from_east);
        for (x, y) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
            let rank = rank_at(x, y);
            run.begin_root(rank, unit, ANGLES);
            for _ in 0..NUM_BLOCKS {
                if x > 0 {
                    run.receive(rank, rank_at(x - 1, y), "MPI_Recv()");
                }
                if y > 0 {
                    run.receive(rank, rank_at(x, y - 1), "MPI_Recv()");
                }
                run.kernel(rank, &cells);
                if x + 1 < SIDE {
                    run.send(rank, rank_at(x + 1, y));
                }
                if y + 1 < SIDE {
                    run.send(rank, rank_at(x, y + 1));
                }
            }
            run.end_root(rank, unit);
        }
        if unit % 8 == 7 {
            run.collective("MPI_Allreduce()", &lanes, 14.0);
        }
    }
}

const EVALUATE: &str = "Worker::evaluate";

/// Tasks of two kinds and many sizes, each for the worker that requests first.
pub(super) const MASTER_AND_WORKERS: SimulatedProgram = SimulatedProgram {
    name: "master and workers",
    root: EVALUATE,
    num_ranks: 13,
    num_threads: 1,
    num_units: 190,
    usual_us: 1_500.0,
    spread: 0.06,
    run: master_and_workers,
};

fn master_and_workers(run: &mut Simulation<'_>, num_units: usize) {
    let num_ranks = run.num_lanes();
    let mut num_done = vec![1; num_ranks];
    for worker in 1..num_ranks {
        run.send(0, worker);
        evaluate(run, worker, 0);
    }
    for _ in num_ranks - 1..num_units * (num_ranks - 1) {
        let arrivals = (1..num_ranks).filter_map(|it| Some((run.arrival_us(it, 0)?, it)));
        let first = arrivals.min_by(|one, other| one.0.total_cmp(&other.0));
        let Some((_, worker)) = first else {
            return;
        };
        run.enter(0, "Master::serve");
        run.receive(0, worker, "MPI_Recv()");
        run.call(0, "Master::store", 20.0);
        run.send(0, worker);
        run.leave(0);
        evaluate(run, worker, num_done[worker]);
        num_done[worker] += 1;
    }
}

/// A worker receives its task, and sends the result.
fn evaluate(run: &mut Simulation<'_>, worker: usize, unit: usize) {
    run.begin_root(worker, unit, EVALUATE);
    run.receive(worker, 0, "MPI_Recv()");
    let rng = run.lane(worker).rng();
    let is_alignment = rng.random_bool(0.6);
    let size = (0.3 * normal(rng)).exp();
    let read = KernelCall {
        name: "Task::read",
        inner: "Task::decode",
        num_calls: 3,
        call_us: 60.0,
    };
    let work = if is_alignment {
        KernelCall {
            name: "Genome::align",
            inner: "Genome::extend",
            num_calls: (6.0 * size).round().max(1.0) as usize,
            call_us: 200.0,
        }
    } else {
        KernelCall {
            name: "Genome::score",
            inner: "Genome::matrix",
            num_calls: 2,
            call_us: 600.0 * size,
        }
    };
    run.kernel(worker, &read);
    run.kernel(worker, &work);
    run.send(worker, 0);
    run.end_root(worker, unit);
}

const PROCESS: &str = "Stage::process";
/// Stages of a pipeline.
const NUM_STAGES: usize = 4;

/// Three pipelines of four stages, of which the second takes longest.
pub(super) const STAGED_PIPELINE: SimulatedProgram = SimulatedProgram {
    name: "staged pipeline",
    root: PROCESS,
    num_ranks: 3 * NUM_STAGES,
    num_threads: 1,
    num_units: 280,
    usual_us: 1_900.0,
    spread: 0.06,
    run: staged_pipeline,
};

fn staged_pipeline(run: &mut Simulation<'_>, num_units: usize) {
    const KERNELS: [(&str, &str, f64); NUM_STAGES] = [
        ("Reader::parse", "Reader::token", 140.0),
        ("Filter::apply", "Filter::tap", 200.0),
        ("Encoder::encode", "Encoder::block", 150.0),
        ("Writer::format", "Writer::line", 120.0),
    ];
    let prepare = KernelCall {
        name: "Stage::prepare",
        inner: "Stage::copy",
        num_calls: 4,
        call_us: 50.0,
    };
    for unit in 0..num_units {
        // Earlier stages come first, so that each message has been sent before it is received.
        for rank in 0..run.num_lanes() {
            let stage = rank % NUM_STAGES;
            let (name, inner, call_us) = KERNELS[stage];
            let work = KernelCall {
                name,
                inner,
                num_calls: 8,
                call_us,
            };
            run.begin_root(rank, unit, PROCESS);
            if stage > 0 {
                run.receive(rank, rank - 1, "MPI_Recv()");
            }
            run.kernel(rank, &prepare);
            run.kernel(rank, &work);
            if stage + 1 < NUM_STAGES {
                run.send(rank, rank + 1);
            }
            run.end_root(rank, unit);
        }
    }
}
