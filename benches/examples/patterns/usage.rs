//! What this process used so far (Linux only; zero elsewhere).

use std::fs;

/// Ticks of the kernel's clock in a second, as it shows them to programs.
const TICKS_A_SECOND: f64 = 100.0;

/// CPU seconds in the program itself and in the system.
pub(crate) fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may hold blanks; it ends with the last bracket.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|it| it.parse::<f64>().ok()).sum::<f64>() / TICKS_A_SECOND
}

/// The most memory that the process held, in MiB.
pub(crate) fn peak_mib() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
