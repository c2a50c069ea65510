//! The kind of a function in the search for causes: work, or a call in which a lane can wait.

use callgrove_model::{FuncId, FunctionName, NameTable, Trace, is_tracer_write};

use super::wait_names;

/// The way in which a call can wait. Point-to-point partners follow from its messages; the name determines the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallKind {
    /// Work of the program itself.
    Work,
    /// A call of the communication library that is not a collective: `MPI_Recv`, `MPI_Wait`, `MPI_Waitall` and so on. It
    /// waits for the messages that arrive in it (`Operation::rows`).
    PointToPoint,
    /// All ranks of a communicator send and receive.
    Collective,
    /// One rank of a communicator sends to all, or receives from all, or each sends to one: not every rank waits for
    /// every other.
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

/// Lower-case beginnings of the operations of communication kernels in which one rank sends to all or receives from
/// all, or each rank sends to one and receives from one.
const ROOTED_KERNELS: &[&str] = &[
    "broadcast",
    "reduce_",
    "collective-broadcast",
    "collective-permute",
];

/// MPI's collectives that no rank leaves before the last one has entered, without the prefix `MPI_`. Not among them:
/// those with a root or an order of ranks, those with a count for each rank, which may be 0, those that return at once,
/// and `Init` and `Finalize`, which need not synchronise.
const SYNCHRONISING: &[&str] = &[
    "Allgather",
    "Allreduce",
    "Alltoall",
    "Barrier",
    "Comm_dup",
    "Comm_split",
    "Reduce_scatter_block",
];

/// Beginnings of the operations of communication kernels for which the same holds, in lower case without separators.
const SYNCHRONISING_KERNELS: &[&str] = &["allgather", "allreduce", "barrier", "reducescatter"];

/// Lower-case suffix of the calls by which a host waits for its device; they begin with one of [`DEVICE_APIS`].
const DEVICE_SYNC_END: &str = "synchronize";

/// Lower-case prefixes of the names of calls of device libraries.
const DEVICE_APIS: &[&str] = &["cuda", "cu", "hip"];

impl CallKind {
    /// Returns the kinds of all functions of a trace, by index: as it states them, else by their names.
    pub fn of_trace(trace: &Trace) -> Vec<Self> {
        let mut kinds = Self::of_all(&trace.names);
        for it in &trace.collectives {
            let calls = &trace.lane(it.lane).executions;
            let from = calls.entry.partition_point(|entry| *entry < it.time);
            let entered = calls.entry[from..]
                .iter()
                .take_while(|entry| **entry == it.time);
            // The innermost call that begins then.
            if let Some(last) = entered.count().checked_sub(1) {
                let kind = &mut kinds[calls.func[from + last].index()];
                if *kind == Self::Work {
                    *kind = Self::Collective;
                }
            }
        }
        kinds
    }

    /// Returns the kinds of all functions in a table, by index.
    pub fn of_all(names: &NameTable<FuncId>) -> Vec<Self> {
        names.iter().map(|(_, name)| Self::of(name)).collect()
    }

    fn of(name: &str) -> Self {
        let parsed = FunctionName::parse(name);
        if parsed.is_mpi() {
            return Self::of_mpi(parsed.qualified);
        }
        if is_tracer_write(name) {
            return Self::TracerFlush;
        }
        let plain = parsed.qualified.to_ascii_lowercase();
        if let Some(operation) = wait_names::communication(parsed.qualified) {
            return Self::of_communication(&operation);
        }
        let is_device = DEVICE_APIS.iter().any(|it| plain.starts_with(it));
        match wait_names::can_wait(name) {
            true if is_device && plain.ends_with(DEVICE_SYNC_END) => Self::DeviceSync,
            true => Self::ThreadSync,
            false => Self::Work,
        }
    }

    /// Returns the kind of an operation of NCCL, RCCL, Gloo or XLA, whose names are in lower case.
    fn of_communication(operation: &str) -> Self {
        match operation {
            // Both ends are one kernel, which returns when both have come: the one that begins last is waited for.
            _ if operation.starts_with("sendrecv") => Self::Collective,
            _ if operation.starts_with("send") || operation.starts_with("recv") => {
                Self::PointToPoint
            }
            _ if operation.starts_with("barrier") => Self::Barrier,
            _ if ROOTED_KERNELS.iter().any(|it| operation.starts_with(it)) => Self::Rooted,
            _ => Self::Collective,
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
    pub fn can_wait(self) -> bool {
        !matches!(self, Self::Work | Self::TracerFlush)
    }

    /// Returns whether the ranks of a communicator call it together.
    pub fn is_collective(self) -> bool {
        matches!(self, Self::Collective | Self::Rooted | Self::Barrier)
    }
}

/// Returns whether a function is a collective that no rank leaves before the last one has entered.
pub(crate) fn synchronises(name: &str) -> bool {
    let parsed = FunctionName::parse(name);
    if parsed.is_mpi() {
        let short = parsed.qualified.strip_prefix("MPI_");
        return short.is_some_and(|it| SYNCHRONISING.contains(&it));
    }
    let operation = wait_names::communication(parsed.qualified);
    operation.is_some_and(|it| {
        let it = it.replace(['_', '-'], "");
        SYNCHRONISING_KERNELS
            .iter()
            .any(|kernel| it.starts_with(kernel))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_of_all_with_all_synchronise() {
        let check = |name, expected| assert_eq!(synchronises(name), expected, "{name}");
        check("MPI_Allreduce()", true);
        check("MPI_Barrier()", true);
        check("MPI_Iallreduce()", false);
        check("MPI_Alltoallv()", false);
        check("MPI_Scan()", false);
        check("MPI_Bcast()", false);
        check("MPI_Init()", false);
        check("MPI_Finalize()", false);
        check("gloo:all_reduce", true);
        check("gloo:broadcast", false);
        check(
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)",
            true,
        );
        check("ncclDevKernel_SendRecv(ncclDevComm*)", false);
        check("all_reduce(double *)", false);
    }

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
        check(
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)",
            CallKind::Collective,
        );
        check(
            "ncclKernel_ReduceScatter_RING_LL_Sum_half",
            CallKind::Collective,
        );
        check("ncclDevKernel_Reduce_Sum_f32_RING_LL", CallKind::Rooted);
        check("ncclDevKernel_SendRecv(ncclDevComm*)", CallKind::Collective);
        check("gloo:all_reduce", CallKind::Collective);
        check("all-reduce.2", CallKind::Collective);
        check("reduce-scatter", CallKind::Collective);
        check("psum.3", CallKind::Collective);
        check("ppermute.3", CallKind::Rooted);
        check("gloo:send", CallKind::PointToPoint);
        check("Comm::exchange() [{comm.cpp} {1,0}]", CallKind::Work);
    }
}
