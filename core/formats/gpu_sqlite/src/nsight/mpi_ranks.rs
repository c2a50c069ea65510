//! The ranks and communicators of MPI that a file states.

use std::collections::BTreeMap;

use crate::database::Database;
use crate::nsight::global_id::process_of;
use crate::process::ProcessKey;
use crate::scan::Scan;

/// Maximum number of rows of a table about MPI: several communicators of each rank.
const MAX_ROWS: u64 = 1 << 20;
/// Marks the numbers of MPI's communicators, so that they differ from those of kernels.
const MPI_COMMUNICATOR: u64 = 1 << 63;
/// Maximum rank that is plausible.
const MAX_RANK: u32 = 1 << 24;

/// Ranks and communicators of MPI.
#[derive(Debug, Default)]
pub(crate) struct MpiRanks {
    pub(crate) of_process: BTreeMap<ProcessKey, u32>,
    /// By rank, handle, and time of creation in nanoseconds: a handle may be used again.
    communicators: BTreeMap<(u32, i64, i64), u64>,
}

impl MpiRanks {
    pub(crate) fn read(database: &Database) -> Self {
        let mut ranks = Self::default();
        let columns: &[&[&str]] = &[&["globalTid"], &["rank"]];
        if let Some(mut scan) = Scan::of_table(database, "MPI_RANKS", columns) {
            scan.read(database, MAX_ROWS, MAX_ROWS, |cells| {
                let rank = cells.integer(1).and_then(|it| u32::try_from(it).ok());
                if let (Some(global), Some(rank)) = (cells.id(0), rank.filter(|it| *it < MAX_RANK))
                {
                    ranks.of_process.entry(process_of(global)).or_insert(rank);
                }
            });
        }
        ranks.read_communicators(database);
        ranks
    }

    fn read_communicators(&mut self, database: &Database) {
        let columns: &[&[&str]] = &[
            &["rank"],
            &["commHandle"],
            &["timestamp"],
            &["commUid"],
            &["groupRoot"],
            &["groupRootUid"],
        ];
        let Some(mut scan) = Scan::of_table(database, "MPI_COMMUNICATORS", columns) else {
            return;
        };
        scan.read(database, MAX_ROWS, MAX_ROWS, |cells| {
            let rank = cells.integer(0).and_then(|it| u32::try_from(it).ok());
            let uid = cells.id(3).or_else(|| {
                // The root numbers its communicators.
                let (root, number) = (cells.id(4)?, cells.id(5)?);
                Some(root << 32 ^ number)
            });
            if let (Some(rank), Some(handle), Some(uid)) = (rank, cells.integer(1), uid) {
                let created_ns = cells.integer(2).unwrap_or(i64::MIN);
                let number = uid | MPI_COMMUNICATOR;
                self.communicators
                    .insert((rank, handle, created_ns), number);
            }
        });
    }

    /// Returns the number of the communicator of a handle in a process at a time of the file, in nanoseconds.
    pub(crate) fn communicator(
        &self,
        process: ProcessKey,
        handle: i64,
        time_ns: i64,
    ) -> Option<u64> {
        let rank = *self.of_process.get(&process)?;
        let all = (rank, handle, i64::MIN)..=(rank, handle, i64::MAX);
        let until = (rank, handle, i64::MIN)..=(rank, handle, time_ns);
        let latest = self.communicators.range(until).next_back();
        // Those that exist from the beginning may be recorded late.
        let found = latest.or_else(|| self.communicators.range(all).next());
        found.map(|(_, number)| *number)
    }
}
