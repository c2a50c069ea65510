//! The files that the process may have open: each connection is one.

/// Files that are no connections: databases, streams, logs.
#[cfg(unix)]
const OTHERS: usize = 256;

/// Has the system allow as many open files as it can be asked for, and returns how many of `wanted` connections there can be
/// beside `newcomers`; at least one.
#[cfg(unix)]
pub(crate) fn connections_within(wanted: usize, newcomers: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let Some(allowed) = allowed.and_then(|it| usize::try_from(it).ok()) else {
        return wanted;
    };
    let possible = allowed.saturating_sub(OTHERS + newcomers).clamp(1, wanted);
    if possible < wanted {
        tracing::warn!(
            possible,
            wanted,
            allowed,
            "fewer connections than wanted: the system allows the process too few open files (`ulimit -Hn`)"
        );
    }
    possible
}

#[cfg(not(unix))]
pub(crate) fn connections_within(wanted: usize, _newcomers: usize) -> usize {
    wanted
}
