//! Functions in which a lane waits for others.

use callgrove_model::FunctionName;

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

/// Returns whether a lane can wait in a function of this name: an MPI function, a barrier or a synchronisation.
pub fn can_wait(name: &str) -> bool {
    let name = FunctionName::parse(name);
    if name.is_mpi() {
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
        ] {
            assert!(can_wait(name), "{name}");
        }
        for name in [
            "Heat::row(int)",
            "double Heat::residual() [{/src/app.cpp} {3,0}]",
            "",
        ] {
            assert!(!can_wait(name), "{name}");
        }
    }
}
