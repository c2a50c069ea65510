//! The limit on open files of the process: each connection is one.

/// Number of open files that are not connections: databases, streams, logs.
#[cfg(unix)]
const OTHERS: usize = 256;

/// Raises the limit on open files as far as the system allows, and returns how many of `wanted` connections are
/// possible in addition to the `pending` ones; at least one.
#[cfg(unix)]
pub(crate) fn connections_within(wanted: usize, pending: usize) -> usize {
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
    let possible = allowed.saturating_sub(OTHERS + pending).clamp(1, wanted);
    if possible < wanted {
        tracing::warn!(
            possible,
            wanted,
            allowed,
            "fewer connections than requested: the system allows the process too few open files (`ulimit -Hn`)"
        );
    }
    possible
}

#[cfg(not(unix))]
pub(crate) fn connections_within(wanted: usize, _pending: usize) -> usize {
    wanted
}
