//! Limits that the system holds a process to.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Ends this process when it takes more processor time, and refuses it more memory.
pub(crate) fn limit_this_process(cpu: Duration, num_bytes: u64) {
    for (resource, limit) in [
        (Resource::Cpu, cpu.as_secs()),
        (Resource::As, num_bytes),
        // Nobody reads what it leaves behind.
        (Resource::Core, 0),
    ] {
        let maximum = getrlimit(resource).maximum;
        let limit = Rlimit {
            current: Some(maximum.map_or(limit, |most| most.min(limit))),
            maximum,
        };
        // Whoever waits for it has a limit of its own.
        setrlimit(resource, limit).ok();
    }
}
