//! A stream that reads a file as a whole before its first step.

use std::collections::BTreeMap;
use std::time::Duration;

use callgrove_model::{CounterId, FuncId, NameTable, RankId, Warnings, fraction};

use super::rank_events::RankEvents;
use super::rank_steps::RankSteps;
use crate::error::SourceError;
use crate::stream::{EventStream, Next, Projection, Ranks};

/// Share of the position that reading the file takes. Delivering the steps takes the rest.
const READING_SHARE: f32 = 0.8;

/// Decodes a file whose events are not in order of time.
pub trait FileDecoder: Send {
    /// Reads on for a fraction of a second; returns false at the end of the file. Damage ends the file with a warning
    /// in the [`DecodedRun`] if anything was read before.
    ///
    /// # Errors
    /// Any [`SourceError`] that leaves nothing to show.
    fn read_on(&mut self) -> Result<bool, SourceError>;

    /// Returns the share of the file that was read, from 0 to 1.
    fn position(&self) -> f32;

    /// Returns the rank of the file, if it has only one and has stated it already.
    fn only_rank(&self) -> Option<RankId> {
        None
    }

    /// Returns the contents that were read. It is called once, after the end.
    fn finish(self: Box<Self>) -> DecodedRun;
}

/// The contents of a file.
#[derive(Debug, Default)]
pub struct DecodedRun {
    /// Function names of all ranks.
    pub names: NameTable<FuncId>,
    /// Counter names of all ranks.
    pub counter_names: NameTable<CounterId>,
    /// The ranks.
    pub ranks: BTreeMap<RankId, RankEvents>,
    /// The number of ranks of the run, if the file states it.
    pub num_ranks: Option<u32>,
    /// Damage and assumptions.
    pub warnings: Warnings,
}

impl DecodedRun {
    /// Removes a rank, and returns it as a run of its own; `None` if it is not in the run. The first one has the
    /// warnings.
    pub(super) fn take_rank(&mut self, rank: RankId) -> Option<Self> {
        let events = self.ranks.remove(&rank)?;
        Some(Self {
            names: self.names.clone(),
            counter_names: self.counter_names.clone(),
            ranks: BTreeMap::from([(rank, events)]),
            num_ranks: self.num_ranks,
            warnings: std::mem::take(&mut self.warnings),
        })
    }
}

/// The steps of a file that is read as a whole: rank by rank, each in order of time.
pub struct OrderingStream {
    projection: Projection,
    decoder: Option<Box<dyn FileDecoder>>,
    position: f32,
    functions_only: bool,
    names: NameTable<FuncId>,
    counter_names: NameTable<CounterId>,
    num_ranks: Option<u32>,
    warnings: Warnings,
    ranks: BTreeMap<RankId, RankEvents>,
    /// The number of ranks in the file that are read.
    num_read: usize,
    current: Option<(RankId, RankSteps)>,
}

impl OrderingStream {
    /// Returns the stream of a file.
    pub fn new(decoder: Box<dyn FileDecoder>, projection: &Projection) -> Self {
        let mut stream = Self::without_decoder(projection);
        stream.decoder = Some(decoder);
        stream
    }

    fn without_decoder(projection: &Projection) -> Self {
        Self {
            projection: *projection,
            decoder: None,
            position: 0.0,
            functions_only: false,
            names: NameTable::default(),
            counter_names: NameTable::default(),
            num_ranks: None,
            warnings: Warnings::default(),
            ranks: BTreeMap::new(),
            num_read: 0,
            current: None,
        }
    }

    /// Returns the stream of a file that has already been read.
    pub(super) fn of_run(run: DecodedRun, projection: &Projection) -> Self {
        let mut stream = Self::without_decoder(projection);
        stream.take_in(run);
        stream
    }

    fn take_in(&mut self, run: DecodedRun) {
        self.names = run.names;
        self.counter_names = run.counter_names;
        self.num_ranks = run.num_ranks;
        self.warnings.join(run.warnings);
        self.ranks = run.ranks;
        if let Ranks::One(_, wanted) = self.projection.ranks {
            self.ranks.retain(|rank, _| *rank == wanted);
        }
        self.num_read = self.ranks.len();
    }

    fn position_of_steps(&self) -> f32 {
        let left = self.ranks.len() + usize::from(self.current.is_some());
        let done = fraction(
            self.num_read - left.min(self.num_read),
            self.num_read.max(1),
        );
        READING_SHARE + (1.0 - READING_SHARE) * done
    }
}

impl EventStream for OrderingStream {
    fn next_step(&mut self, _: Duration) -> Result<Next, SourceError> {
        if let Some(mut decoder) = self.decoder.take() {
            if decoder.read_on()? {
                self.position = READING_SHARE * decoder.position();
                self.decoder = Some(decoder);
                return Ok(Next::Reading);
            }
            self.take_in(decoder.finish());
        }
        loop {
            if let Some((_, steps)) = &mut self.current
                && let Some(batch) = steps.next_step(self.functions_only)
            {
                self.position = self.position_of_steps();
                return Ok(Next::Step(Box::new(batch)));
            }
            let Some((rank, events)) = self.ranks.pop_first() else {
                self.current = None;
                return Ok(Next::End);
            };
            let program = self.projection.program;
            let steps = RankSteps::new(program, rank, events, &mut self.warnings);
            self.current = Some((rank, steps));
        }
    }

    fn rank(&self) -> Option<RankId> {
        match self.projection.ranks {
            Ranks::One(_, rank) => Some(rank),
            Ranks::All | Ranks::Own => self.current.as_ref().map(|(rank, _)| *rank),
        }
    }

    fn num_ranks(&self) -> Option<u32> {
        self.num_ranks
    }

    fn position(&self) -> f32 {
        self.position
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.names
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.counter_names
    }

    fn functions_only(&mut self) {
        self.functions_only = true;
    }

    fn take_warnings(&mut self) -> Warnings {
        std::mem::take(&mut self.warnings)
    }
}
