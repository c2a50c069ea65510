//! The memory of this process.

/// Returns the resident memory in bytes, if the system reports it (Linux). `/proc/self/status` is in kibibytes; `statm`
/// would be in pages, whose size this program does not know.
pub fn resident_bytes() -> Option<u64> {
    resident_bytes_of(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn resident_bytes_of(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_in_bytes() {
        let status = "VmHWM:\t   9000 kB\nVmRSS:\t    8192 kB\nThreads:\t4\n";
        assert_eq!(resident_bytes_of(status), Some(8 << 20));
        for damaged in ["", "VmRSS:", "VmRSS: x kB", "VmRSS: 3 MB"] {
            assert_eq!(resident_bytes_of(damaged), None, "{damaged}");
        }
    }
}
