//! Programs whose ranks have several threads or GPU streams.

use super::program::SimulatedProgram;
use super::simulation::{KernelCall, Simulation};

const REGION: &str = "Region::compute";
/// Threads of a rank.
const NUM_THREADS: usize = 4;

/// Ranks exchange between parallel regions of their threads.
pub(super) const THREADS: SimulatedProgram = SimulatedProgram {
    name: "threads",
    root: REGION,
    num_ranks: 4,
    num_threads: NUM_THREADS,
    num_units: 220,
    usual_us: 1_200.0,
    spread: 0.05,
    run: threads,
};

fn threads(run: &mut Simulation<'_>, num_units: usize) {
    let tiles = KernelCall {
        name: "Region::tiles",
        inner: "Tile::update",
        num_calls: 6,
        call_us: 150.0,
    };
    let sums = KernelCall {
        name: "Region::sums",
        inner: "Tile::sum",
        num_calls: 3,
        call_us: 60.0,
    };
    let num_ranks = run.num_lanes() / NUM_THREADS;
    for unit in 0..num_units {
        for rank in 0..num_ranks {
            run.enter(rank * NUM_THREADS, "Halo::swap");
            run.send(rank, (rank + 1) % num_ranks);
        }
        for rank in 0..num_ranks {
            let first = rank * NUM_THREADS;
            run.receive(rank, (rank + num_ranks - 1) % num_ranks, "MPI_Recv()");
            run.leave(first);
            let lanes: Vec<usize> = (first..first + NUM_THREADS).collect();
            let begin_us = run.lane(first).now_us;
            for &lane in &lanes {
                let now_us = run.lane(lane).now_us;
                run.lane(lane).now_us = now_us.max(begin_us);
                run.begin_root(lane, unit, REGION);
                run.kernel(lane, &tiles);
                run.kernel(lane, &sums);
            }
            run.collective("omp_barrier_wait", &lanes, 3.0);
            for &lane in &lanes {
                run.end_root(lane, unit);
            }
        }
    }
}

const FORWARD: &str = "Layer::forward";
/// One thread of the host and two streams.
const NUM_LANES: usize = 3;
/// Number of kernels launched by one execution of the root function.
const NUM_LAUNCHES: usize = 6;

/// The host launches kernels on two streams and waits for them.
pub(super) const GPU_STREAMS: SimulatedProgram = SimulatedProgram {
    name: "GPU streams",
    root: FORWARD,
    num_ranks: 4,
    num_threads: NUM_LANES,
    num_units: 400,
    usual_us: 1_100.0,
    spread: 0.03,
    run: gpu_streams,
};

fn gpu_streams(run: &mut Simulation<'_>, num_units: usize) {
    let prepare = KernelCall {
        name: "Layer::prepare",
        inner: "Layer::cast",
        num_calls: 4,
        call_us: 40.0,
    };
    let augment = KernelCall {
        name: "Layer::augment",
        inner: "Layer::crop",
        num_calls: 5,
        call_us: 70.0,
    };
    let convolve = KernelCall {
        name: "convolve",
        inner: "convolve_tile",
        num_calls: 2,
        call_us: 130.0,
    };
    let hosts: Vec<usize> = (0..run.num_lanes()).step_by(NUM_LANES).collect();
    for unit in 0..num_units {
        for &host in &hosts {
            run.begin_root(host, unit, FORWARD);
            for stream in 1..NUM_LANES {
                run.begin(host + stream, unit);
            }
            run.kernel(host, &prepare);
            for launch in 0..NUM_LAUNCHES {
                run.call(host, "cudaLaunchKernel", 6.0);
                let stream = host + 1 + launch % (NUM_LANES - 1);
                let launched_us = run.lane(host).now_us;
                let now_us = run.lane(stream).now_us;
                run.lane(stream).now_us = now_us.max(launched_us);
                run.kernel(stream, &convolve);
            }
            run.kernel(host, &augment);
            run.enter(host, "cudaDeviceSynchronize");
            let streams = (1..NUM_LANES).map(|stream| run.lane(host + stream).now_us);
            let done_us = streams.fold(0.0, f64::max);
            let now_us = run.lane(host).now_us;
            run.lane(host).now_us = now_us.max(done_us);
            run.leave(host);
        }
        run.collective("MPI_Allreduce()", &hosts, 25.0);
        for &host in &hosts {
            run.end_root(host, unit);
        }
    }
}
