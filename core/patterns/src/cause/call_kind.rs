//! What kind of call a function of the communication library is.

use callgrove_model::{FuncId, FunctionName, NameTable};

/// How a call can wait. What it sends and receives the messages in it tell; the name only tells the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    /// Not a call of the communication library.
    Work,
    /// A call of the library that is no collective.
    PointToPoint,
    /// All ranks give and take.
    Collective,
    /// All ranks meet.
    Barrier,
    /// TAU's probe inside a collective: it waits until all ranks have come.
    SyncProbe,
}

/// Collectives without their prefix `MPI_` and without the `I` of those that do not block.
const COLLECTIVES: &[&str] = &[
    "Allgather",
    "Allgatherv",
    "Allreduce",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Bcast",
    "Exscan",
    "Gather",
    "Gatherv",
    "Reduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scan",
    "Scatter",
    "Scatterv",
    "Comm_create",
    "Comm_dup",
    "Comm_split",
];

impl CallKind {
    /// Of every function in a table, by index.
    pub(super) fn of_all(names: &NameTable<FuncId>) -> Vec<Self> {
        names.iter().map(|(_, name)| Self::of(name)).collect()
    }

    fn of(name: &str) -> Self {
        let name = FunctionName::parse(name);
        if !name.is_mpi() {
            return Self::Work;
        }
        let Some(short) = name.qualified.strip_prefix("MPI_") else {
            return Self::SyncProbe;
        };
        match short {
            "Barrier" | "Finalize" => Self::Barrier,
            _ if COLLECTIVES.contains(&short) => Self::Collective,
            _ => Self::PointToPoint,
        }
    }

    /// Whether it is a call of the library.
    pub(super) fn can_wait(self) -> bool {
        self != Self::Work
    }

    /// Whether the ranks of a communicator call it together.
    pub(super) fn is_collective(self) -> bool {
        matches!(self, Self::Collective | Self::Barrier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_collectives_and_the_probe() {
        let check = |name, expected| assert_eq!(CallKind::of(name), expected, "{name}");
        check("MPI_Allreduce()", CallKind::Collective);
        check("MPI_Barrier()", CallKind::Barrier);
        check("MPI_Send()", CallKind::PointToPoint);
        check("MPI Collective Sync", CallKind::SyncProbe);
        check("Comm::exchange() [{comm.cpp} {1,0}]", CallKind::Work);
    }
}
