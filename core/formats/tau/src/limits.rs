//! Limits that the operating system enforces on a process.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limits this process: excess processor time ends it, and further memory is refused.
pub(crate) fn limit_this_process(cpu: Duration, num_bytes: u64) {
    for (resource, limit) in [
        (Resource::Cpu, cpu.as_secs()),
        (Resource::As, num_bytes),
        // No core dump, which is never read.
        (Resource::Core, 0),
    ] {
        let maximum = getrlimit(resource).maximum;
        let limit = Rlimit {
            current: Some(maximum.map_or(limit, |most| most.min(limit))),
            maximum,
        };
        // The parent process has a timeout of its own, so a failure has no effect.
        setrlimit(resource, limit).ok();
    }
}
