//! Runs jobs, several at the same time where that is possible.

/// Runs jobs.
pub trait Workers: Sync {
    /// Calls `job` with each number below `num_jobs`, and returns after the last call has. The order is arbitrary.
    fn run(&self, num_jobs: usize, job: &(dyn Fn(usize) + Sync));
}

/// Runs one job after another, on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneByOne;

impl Workers for OneByOne {
    fn run(&self, num_jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..num_jobs).for_each(job);
    }
}
