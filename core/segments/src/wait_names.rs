//! Functions in which a lane waits for others.

use callgrove_model::{FunctionName, communication_kernel};

/// Lower-case prefixes of the names of functions that wait: OpenMP and POSIX threads, GPU queues.
const PREFIXES: &[&str] = &[
    "omp_barrier",
    "openmp_barrier",
    "openmp_sync_region",
    "openmp_wait",
    "openmp_implicit_barrier",
    "__kmpc_barrier",
    "gomp_barrier",
    "gomp_team_end",
    "c10d::",
    "pthread_join",
    "pthread_cond",
    "pthread_barrier",
    "pthread_mutex_lock",
    "sem_wait",
    "nccl",
    "rccl",
    "shmem_barrier",
    "shmem_wait",
    "shmem_quiet",
];

/// Lower-case suffixes of the names of functions that wait, as in `cudaStreamSynchronize` and `hipDeviceSynchronize`.
const SUFFIXES: &[&str] = &["synchronize", "::wait", "::barrier", "thread::join"];

/// Lower-case prefix of the operations of PyTorch's back end for CPUs.
const GLOO: &str = "gloo:";

/// The instructions of XLA in which devices wait for one another, without a number and what follows; and the operations
/// of `jax.lax` by which JAX names such an instruction. Each with the name of the instruction.
const XLA_COLLECTIVES: &[(&str, &str)] = &[
    ("all-gather", "all-gather"),
    ("all_gather", "all-gather"),
    ("all_gather_invariant", "all-gather"),
    ("all_gather_reduced", "all-gather"),
    ("all-reduce", "all-reduce"),
    ("psum", "all-reduce"),
    ("psum_invariant", "all-reduce"),
    ("pmax", "all-reduce"),
    ("pmin", "all-reduce"),
    ("all-to-all", "all-to-all"),
    ("all_to_all", "all-to-all"),
    ("collective-broadcast", "collective-broadcast"),
    ("pbroadcast", "collective-broadcast"),
    ("collective-permute", "collective-permute"),
    ("ppermute", "collective-permute"),
    ("ragged-all-to-all", "ragged-all-to-all"),
    ("ragged_all_to_all", "ragged-all-to-all"),
    ("reduce-scatter", "reduce-scatter"),
    ("reduce_scatter", "reduce-scatter"),
];
/// Suffixes of the second half of such an instruction that runs in the background, which waits.
const XLA_DONE: [&str; 2] = ["-done", "_done"];

/// Returns the lower-case name of the operation of a call by which ranks communicate: `all_reduce` for
/// `gloo:all_reduce`, `all-reduce` for XLA's `all-reduce.2` and JAX's `psum.2`, `allreduce_sum_f32` for a kernel of
/// NCCL; `None` for other names, and for MPI.
pub(crate) fn communication(name: &str) -> Option<String> {
    if let Some(kernel) = communication_kernel(name) {
        return Some(kernel.to_ascii_lowercase());
    }
    let plain = name.to_ascii_lowercase();
    if let Some(operation) = plain.strip_prefix(GLOO) {
        return Some(operation.to_owned());
    }
    let instruction = plain.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let mut done = XLA_DONE.iter();
    let whole = done.find_map(|done| instruction.strip_suffix(done));
    let whole = whole.unwrap_or(instruction);
    let known = XLA_COLLECTIVES.iter().find(|it| it.0 == whole);
    known.map(|it| it.1.to_owned())
}

/// Returns whether a lane can wait in a function of this name: an MPI function, a barrier or a synchronisation.
pub fn can_wait(name: &str) -> bool {
    let name = FunctionName::parse(name);
    if name.is_mpi() || communication(name.qualified).is_some() {
        return true;
    }
    let plain = name.qualified.to_ascii_lowercase();
    PREFIXES.iter().any(|it| plain.starts_with(it)) || SUFFIXES.iter().any(|it| plain.ends_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_recognised_by_name() {
        for name in [
            "MPI_Allreduce()",
            "MPI Collective Sync",
            "omp_barrier_wait",
            "OpenMP_Sync_Region_Barrier: main",
            "cudaStreamSynchronize",
            "std::thread::join() [{x.cpp} {1,0}]",
            "gloo:all_reduce",
            "all-reduce.2",
            "all-gather-done.11",
            "psum_invariant.7",
            "ppermute.19",
            "reduce_scatter_done.1",
        ] {
            assert!(can_wait(name), "{name}");
        }
        for name in [
            "Heat::row(int)",
            "double Heat::residual() [{/src/app.cpp} {3,0}]",
            "all-gather-start.11",
            "reduce.3",
            "",
        ] {
            assert!(!can_wait(name), "{name}");
        }
    }
}
