//! The name of this machine.

/// Returns the name under which other machines find this one; `None` if the system does not report it.
pub fn host_name() -> Option<String> {
    // The same text as of uname(2), without a system call of another library. Other systems have no such file.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
