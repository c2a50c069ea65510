//! The kind of a function in the search for causes: work, or a call in which a lane can wait.

use callgrove_model::{FuncId, FunctionName, NameTable};

use crate::wait_names;

/// The way in which a call can wait. Point-to-point partners follow from its messages; the name determines the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    /// Work of the program itself.
    Work,
    /// A call of the communication library that is not a collective.
    PointToPoint,
    /// All ranks of a communicator send and receive.
    Collective,
    /// One rank of a communicator sends to all, or receives from all: not every rank waits for every other.
    Rooted,
    /// All ranks of a communicator synchronise.
    Barrier,
    /// TAU's probe inside a collective: it waits until all ranks have arrived.
    SyncProbe,
    /// The threads of one rank synchronise, or one waits for another.
    ThreadSync,
    /// The host waits for its device.
    DeviceSync,
    /// The tracer writes its own data (TAU's and Score-P's regions).
    TracerFlush,
}

/// Names of collectives without the prefix `MPI_` and without the `I` of the non-blocking ones.
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

/// Names of the collectives that have a root rank.
const ROOTED: &[&str] = &[
    "Bcast", "Gather", "Gatherv", "Reduce", "Scatter", "Scatterv",
];

/// Lower-case names of regions in which a tracer writes its buffer.
const FLUSHES: &[&str] = &["flush", "trace buffer flush", "tau_flush"];

/// Lower-case suffix of the calls by which a host waits for its device; they begin with one of [`DEVICE_APIS`].
const DEVICE_SYNC_END: &str = "synchronize";

/// Lower-case prefixes of the names of calls of device libraries.
const DEVICE_APIS: &[&str] = &["cuda", "cu", "hip"];

impl CallKind {
    /// Returns the kinds of all functions in a table, by index.
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

    /// Returns whether a lane can wait in it.
    pub(super) fn can_wait(self) -> bool {
        !matches!(self, Self::Work | Self::TracerFlush)
    }

    /// Returns whether the ranks of a communicator call it together.
    pub(super) fn is_collective(self) -> bool {
        matches!(self, Self::Collective | Self::Rooted | Self::Barrier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_names() {
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
