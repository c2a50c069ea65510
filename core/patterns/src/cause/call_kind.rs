//! What a function is to the search for causes: work, or a call in which a lane can wait.

use callgrove_model::{FuncId, FunctionName, NameTable};

use crate::wait_names;

/// How a call can wait. What it sends and receives the messages in it say; the name says only the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    /// Work of the program itself.
    Work,
    /// A call of the communication library that is no collective.
    PointToPoint,
    /// All ranks of a communicator give and take.
    Collective,
    /// One rank of a communicator gives to all, or takes from all: not everyone waits for everyone.
    Rooted,
    /// All ranks of a communicator meet.
    Barrier,
    /// TAU's probe inside a collective: it waits until all ranks have come.
    SyncProbe,
    /// Threads of one rank meet, or one waits for another.
    ThreadSync,
    /// The host waits for its device.
    DeviceSync,
    /// The tracer writes its own data (TAU's and Score-P's regions).
    TracerFlush,
}

/// Collectives without their prefix `MPI_` and without the `I` of those that do not block.
const COLLECTIVES: &[&str] = &[
    "Allgather",
    "Allgatherv",
    "Allreduce",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Exscan",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scan",
    "Comm_create",
    "Comm_dup",
    "Comm_split",
    "Init",
    "Init_thread",
];

/// Those with one rank at their root.
const ROOTED: &[&str] = &[
    "Bcast", "Gather", "Gatherv", "Reduce", "Scatter", "Scatterv",
];

/// Regions in which a tracer writes what it has in memory, in lower case.
const FLUSHES: &[&str] = &["flush", "trace buffer flush", "tau_flush"];

/// Calls by which a host waits for its device end like this, in lower case, and begin with one of [`DEVICE_APIS`].
const DEVICE_SYNC_END: &str = "synchronize";

/// Beginnings of the names of calls of device libraries, in lower case.
const DEVICE_APIS: &[&str] = &["cuda", "cu", "hip"];

impl CallKind {
    /// Of every function in a table, by index.
    pub(super) fn of_all(names: &NameTable<FuncId>) -> Vec<Self> {
        names.iter().map(|(_, name)| Self::of(name)).collect()
    }

    fn of(name: &str) -> Self {
        let parsed = FunctionName::parse(name);
        if parsed.is_mpi() {
            return Self::of_mpi(parsed.qualified);
        }
        let plain = parsed.qualified.to_ascii_lowercase();
        if FLUSHES.contains(&plain.as_str()) {
            return Self::TracerFlush;
        }
        let is_device = DEVICE_APIS.iter().any(|it| plain.starts_with(it));
        match wait_names::can_wait(name) {
            true if is_device && plain.ends_with(DEVICE_SYNC_END) => Self::DeviceSync,
            true => Self::ThreadSync,
            false => Self::Work,
        }
    }

    fn of_mpi(qualified: &str) -> Self {
        let Some(short) = qualified.strip_prefix("MPI_") else {
            return Self::SyncProbe;
        };
        match short {
            "Barrier" | "Finalize" => Self::Barrier,
            _ if ROOTED.contains(&short) => Self::Rooted,
            _ if COLLECTIVES.contains(&short) => Self::Collective,
            _ => Self::PointToPoint,
        }
    }

    /// Whether a lane can wait in it.
    pub(super) fn can_wait(self) -> bool {
        !matches!(self, Self::Work | Self::TracerFlush)
    }

    /// Whether the ranks of a communicator call it together.
    pub(super) fn is_collective(self) -> bool {
        matches!(self, Self::Collective | Self::Rooted | Self::Barrier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_call_can_wait_for() {
        let check = |name, expected| assert_eq!(CallKind::of(name), expected, "{name}");
        check("MPI_Allreduce()", CallKind::Collective);
        check("MPI_Bcast()", CallKind::Rooted);
        check("MPI_Barrier()", CallKind::Barrier);
        check("MPI_Send()", CallKind::PointToPoint);
        check("MPI Collective Sync", CallKind::SyncProbe);
        check("omp_barrier_wait", CallKind::ThreadSync);
        check("cudaStreamSynchronize", CallKind::DeviceSync);
        check("FLUSH", CallKind::TracerFlush);
        check("Comm::exchange() [{comm.cpp} {1,0}]", CallKind::Work);
    }
}
