//! Measures the cost of a stage of work: memory, and CPU time of all threads, including ended ones, which other load on
//! the machine does not inflate as it does wall time. Linux only; elsewhere everything is 0.

use std::fs;

/// Returns the CPU time of this process in nanoseconds.
pub fn cpu_ns() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        u64::try_from(spent.tv_sec * 1_000_000_000 + spent.tv_nsec).unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    0
}

/// Returns the CPU seconds of `work`, and its result.
pub fn cpu_seconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu_ns();
    let answer = work();
    (answer, (cpu_ns() - before) as f64 * 1e-9)
}

/// Resets [`peak_memory_bytes`].
pub fn reset_peak_memory() {
    // If this is not supported, the peak is that of the whole run.
    fs::write("/proc/self/clear_refs", "5").ok();
}

/// Returns the peak memory of this process so far.
pub fn peak_memory_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// Returns the memory of this process.
pub fn memory_bytes() -> u64 {
    status_bytes("VmRSS:")
}

fn status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix(field));
    let kib: Option<u64> = held.and_then(|held| held.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0) * 1_024
}
