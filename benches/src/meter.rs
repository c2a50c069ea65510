//! What a stage of work costs: CPU time of all threads, also those that have ended, which other work on the machine does
//! not stretch as it does wall time, and memory. Linux only; elsewhere everything costs 0.

use std::fs;

/// Nanoseconds that this process has spent on a CPU.
pub fn cpu_ns() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        u64::try_from(spent.tv_sec * 1_000_000_000 + spent.tv_nsec).unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    0
}

/// CPU seconds of `work`, and its answer.
pub fn cpu_seconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu_ns();
    let answer = work();
    (answer, (cpu_ns() - before) as f64 * 1e-9)
}

/// Lets [`peak_memory_bytes`] begin again.
pub fn reset_peak_memory() {
    // Where this is not to be had, the peak is that of the whole run.
    fs::write("/proc/self/clear_refs", "5").ok();
}

/// The most memory that this process has held so far.
pub fn peak_memory_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// The memory that this process holds.
pub fn memory_bytes() -> u64 {
    status_bytes("VmRSS:")
}

fn status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix(field));
    let kib: Option<u64> = held.and_then(|held| held.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0) * 1_024
}
