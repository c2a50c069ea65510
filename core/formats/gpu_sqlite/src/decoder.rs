//! Reads a file, table by table and chunk by chunk.

use callgrove_model::{RankId, WarningKind};
use callgrove_source::{DecodedRun, FileDecoder, Input, SourceError};

use crate::database::{Database, LogState};
use crate::error::{GpuSqliteError, invalid};
use crate::nsight::NsightReader;
use crate::profiled_run::ProfiledRun;
use crate::rocpd::RocpdReader;
use crate::rpd::RpdReader;
use crate::scan::{ChunkEnd, Scan};
use crate::tool::ProfilerTool;
use crate::tool_reader::ToolReader;

/// Number of rows that are read before control returns to the caller: some tenths of a second.
const CHUNK_ROWS: u64 = 100_000;

/// A file that is being read.
pub(crate) struct GpuDecoder {
    database: Database,
    reader: Box<dyn ToolReader>,
    run: ProfiledRun,
    scans: Vec<Scan>,
    /// The index of the table that is being read.
    current: usize,
    assumed: RankId,
    /// The reason why the first unreadable table could not be read.
    first_fault: Option<String>,
}

impl GpuDecoder {
    /// Opens a file.
    ///
    /// # Errors
    /// [`SourceError::Io`], [`SourceError::Damaged`]; [`SourceError::Invalid`] with a [`GpuSqliteError`].
    pub(crate) fn open(input: &Input, assumed: RankId) -> Result<Self, SourceError> {
        let database = Database::open(input)?;
        let tool = ProfilerTool::of(&database.relations);
        let (mut reader, strings): (Box<dyn ToolReader>, _) = match tool {
            Some(ProfilerTool::Nsight) => {
                (Box::new(NsightReader::default()), NsightReader::STRINGS)
            }
            Some(ProfilerTool::Rocpd) => (Box::new(RocpdReader::default()), RocpdReader::STRINGS),
            Some(ProfilerTool::Rpd) => (Box::new(RpdReader::default()), RpdReader::STRINGS),
            None if database.log == LogState::Unmerged => {
                return Err(invalid(database.path(), GpuSqliteError::UnmergedLog));
            }
            None => return Err(invalid(database.path(), GpuSqliteError::NoTables)),
        };
        let mut run = ProfiledRun::new(strings, database.num_bytes());
        let scans = reader.begin(&database, &mut run);
        if scans.is_empty() && tool == Some(ProfilerTool::Rocpd) {
            return Err(invalid(database.path(), GpuSqliteError::NoViews));
        }
        let path = database.path().display().to_string();
        if let Some(damage) = &database.damage {
            let place = || format!("{damage}: {path}");
            run.warnings
                .count(WarningKind::StreamTruncated, None, place);
        }
        if database.log == LogState::Unmerged {
            let place = || format!("{}: {path}", GpuSqliteError::UnmergedLog);
            run.warnings
                .count(WarningKind::StreamTruncated, None, place);
        }
        Ok(Self {
            database,
            reader,
            run,
            scans,
            current: 0,
            assumed,
            first_fault: None,
        })
    }

    /// Returns an error if nothing was read.
    fn check_read(&mut self) -> Result<(), SourceError> {
        if !self.run.is_empty() {
            return Ok(());
        }
        let fault = self.first_fault.take().or(self.database.damage.take());
        let error = match (fault, self.database.log) {
            (_, LogState::Unmerged) => GpuSqliteError::UnmergedLog,
            (Some(fault), LogState::Merged) => GpuSqliteError::Unreadable(fault),
            (None, LogState::Merged) => GpuSqliteError::NoEvents,
        };
        Err(invalid(self.database.path(), error))
    }
}

impl FileDecoder for GpuDecoder {
    fn read_on(&mut self) -> Result<bool, SourceError> {
        let Self {
            database,
            reader,
            run,
            ..
        } = self;
        let Some(scan) = self.scans.get_mut(self.current) else {
            reader.finish(run);
            self.check_read()?;
            return Ok(false);
        };
        let before = scan.num_rows();
        let (table, relation) = (self.current, scan.relation().to_owned());
        let mut row = before;
        // Each table has its own bound, so that a view with too many rows costs no other table.
        let rows_left = database.max_rows().saturating_sub(before);
        let end = scan.read(database, CHUNK_ROWS, rows_left, |cells| {
            row += 1;
            if reader.take(table, cells, database, run).is_none() {
                run.count_bad_row(&relation, row, database);
            }
        });
        match end {
            ChunkEnd::More => return Ok(true),
            ChunkEnd::End => {}
            ChunkEnd::Broken(reason) => {
                let path = database.path().display();
                let place = || format!("{relation}, after row {row}: {reason}: {path}");
                run.warnings
                    .count(WarningKind::StreamTruncated, None, place);
                self.first_fault.get_or_insert(reason);
            }
        }
        self.current += 1;
        Ok(true)
    }

    fn position(&self) -> f32 {
        let current = self.scans.get(self.current).map_or(0.0, Scan::position);
        let share = callgrove_model::fraction(1_usize, self.scans.len().max(1));
        let done = callgrove_model::fraction(self.current, self.scans.len().max(1));
        (done + share * current).min(1.0)
    }

    fn finish(self: Box<Self>) -> DecodedRun {
        let place = self.database.path().display().to_string();
        self.run.into_decoded(self.assumed, &place)
    }
}
