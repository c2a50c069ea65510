//! Functions in which a lane waits for others.

use callgrove_model::FunctionName;

/// Beginnings of names of functions that wait, in lower case: threads of OpenMP and POSIX, queues of GPUs.
const BEGINNINGS: &[&str] = &[
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

/// Endings of such names, in lower case: `cudaStreamSynchronize`, `hipDeviceSynchronize`.
const ENDINGS: &[&str] = &["synchronize", "::wait", "::barrier", "thread::join"];

/// Returns whether a lane can wait in a function of this name: one of MPI, of a barrier, or of a synchronisation.
pub fn can_wait(name: &str) -> bool {
    let name = FunctionName::parse(name);
    if name.is_mpi() {
        return true;
    }
    let plain = name.qualified.to_ascii_lowercase();
    BEGINNINGS.iter().any(|it| plain.starts_with(it))
        || ENDINGS.iter().any(|it| plain.ends_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_from_work_by_name() {
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
