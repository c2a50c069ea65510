//! An AD instance: its streams, the models, and the rounds in which it judges.
//!
//! ```text
//! recorded: learn all steps ─ wait until all ranks have ─ judge all steps again by the complete models
//! live:     learn and judge each step as it comes ─ wait until all ranks have ─ judge what is stored by the complete models
//! ```

mod complete;
mod deltas;
mod final_pass;
mod joining;
mod opening;
mod rejudge;
mod round;
mod status;
mod turn;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use callgrove_detect::{FuncModel, RunningThreshold};
use callgrove_model::{FuncId, NameTable, RankId, RunIdentity};
use callgrove_provdb::{Claim, Store};
use callgrove_pserver::{Hello, ModelExchange, StepReport};

use crate::announced::Announced;
use crate::compiled_model::CompleteModels;
use crate::provenance_writer::{ProvenanceWriter, StorageStatus};
use crate::rank_detector::RankDetector;
use crate::record_builder::NamedFunction;
use crate::stream_reader::{Bell, OpenStream, Reading, StepInput, StreamReader};
use crate::tree_models::TreeModels;
use crate::{AdError, AdOptions, Pacing};

pub use status::Status;
use turn::ExchangePace;

/// How long the end waits for a parameter server that is away or has not saved what it was told.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two looks at it, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// Who waits longer is told why.
const LONG: Duration = Duration::from_secs(2);

/// A stream to be followed.
pub struct Stream {
    /// Its rank.
    pub rank: RankId,
    /// Opens it, on the thread that reads it.
    pub open: OpenStream,
    /// What it is called in warnings.
    pub path: String,
    /// For a recorded stream, which is read to learn and again to judge; none for one that comes once.
    pub again: Option<OpenStream>,
}

/// An AD instance at work.
pub struct Instance {
    options: AdOptions,
    readers: Vec<StreamReader>,
    /// Rings when one of them has something.
    bell: Bell,
    detectors: Vec<RankDetector>,
    announced: Vec<Announced>,
    /// For each stream; none any more once it is read again.
    again: Vec<Option<OpenStream>>,
    /// Most ranks that a stream says there are.
    num_ranks: u32,
    /// By number: the models of all ranks, with everything that they told.
    complete: Option<CompleteModels>,
    exchange: Box<dyn ModelExchange>,
    /// What is told to it: grows with the ranks whose first steps came.
    hello: Hello,
    is_registered: bool,
    /// Before the first step, which says what run it is of.
    store: Option<Box<dyn Store>>,
    /// All that is known of the run.
    run: RunIdentity,
    writer: Option<ProvenanceWriter>,
    /// Held so that nobody else writes the same ranks.
    claims: Vec<Claim>,
    /// Functions of all streams; their place is the function's number in this instance.
    functions: NameTable<FuncId>,
    /// By number: the global index, and whether and how it is judged.
    fids: Vec<FuncId>,
    thresholds: Vec<Option<f64>>,
    is_ignored: Vec<bool>,
    /// By number: the newest model known.
    models: Vec<Option<Arc<FuncModel>>>,
    /// By number: the highest threshold of its score so far, which the models hand on.
    thresholds_reached: Vec<RunningThreshold>,
    tree_models: TreeModels,
    pace: ExchangePace,
    /// Reports that the server has not been told, oldest first. Each comes after as many documents were handed to the
    /// writer, and is told once these are stored: what is counted can be read.
    reports: VecDeque<(u64, StepReport)>,
    status: Status,
}

impl Instance {
    /// Claims the ranks of `streams` as `name`, and starts to read. Without a store, nothing is recorded.
    ///
    /// # Errors
    /// [`AdError::ProvDb`], also if another instance has one of the ranks; [`AdError::Thread`].
    pub fn start(
        mut streams: Vec<Stream>,
        options: AdOptions,
        exchange: Box<dyn ModelExchange>,
        mut store: Option<Box<dyn Store>>,
        name: &str,
    ) -> Result<Self, AdError> {
        streams.sort_by_key(|stream| stream.rank);
        let program = options.program;
        let mut claims = Vec::new();
        if let Some(store) = &mut store {
            for stream in &streams {
                claims.push(store.claim(program.0, stream.rank.0, name)?);
            }
        }
        let hello = Hello {
            instance: name.to_owned(),
            program,
            ranks: streams.iter().map(|stream| stream.rank).collect(),
            run: RunIdentity::default(),
        };
        let is_live = options.pacing == Pacing::Live;
        let is_recorded = streams.iter().all(|stream| stream.again.is_some());
        let bell = Bell::default();
        let mut readers = Vec::with_capacity(streams.len());
        let mut detectors = Vec::with_capacity(streams.len());
        let mut again = Vec::with_capacity(streams.len());
        for stream in streams {
            again.push(stream.again);
            let reading = Reading {
                open: stream.open,
                rank: stream.rank,
                path: stream.path,
                before: Announced::before(store.as_mut(), program, stream.rank)?,
                is_live,
                // They are read to learn first, and models know nothing else.
                functions_only: is_recorded,
            };
            detectors.push(RankDetector::new(program, stream.rank));
            let reader = match options.pacing {
                Pacing::Lockstep => StreamReader::new(reading),
                Pacing::Live => StreamReader::ahead(reading, bell.clone())?,
            };
            readers.push(reader);
        }
        Ok(Self {
            options,
            announced: vec![Announced::default(); readers.len()],
            readers,
            bell,
            detectors,
            again,
            num_ranks: 0,
            complete: None,
            exchange,
            hello,
            is_registered: false,
            store,
            run: RunIdentity::default(),
            writer: None,
            claims,
            functions: NameTable::default(),
            fids: Vec::new(),
            thresholds: Vec::new(),
            is_ignored: Vec::new(),
            models: Vec::new(),
            thresholds_reached: Vec::new(),
            tree_models: TreeModels::default(),
            pace: ExchangePace::default(),
            reports: VecDeque::new(),
            status: Status::default(),
        })
    }

    /// Follows the streams until all have ended or `watch`, which sees the status after each round, has
    /// seen enough. The answer is the status at the end, with everything on disk.
    ///
    /// # Errors
    /// [`AdError::OtherRun`], [`AdError::ProvDb`] and [`AdError::Exchange`] if database or parameter server are of
    /// another run; [`AdError::Exchange`] also if the parameter server refuses, or cannot be reached at the end;
    /// [`AdError::Lost`] if the provenance database did not take everything; [`AdError::Trace`] if no stream can be
    /// opened.
    pub fn run(
        mut self,
        mut watch: impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<Status, AdError> {
        let mut followed = self.follow(&mut watch);
        // Whatever happened, what was found is stored, and then told, and the ranks are free afterwards.
        let mut stored = Ok(StorageStatus::default());
        if let Some(writer) = self.writer.take() {
            stored = writer.finish().map(|(status, mut store)| {
                let judged = |()| self.judge_stored(&mut *store);
                followed = std::mem::replace(&mut followed, Ok(())).and_then(judged);
                status
            });
        }
        let farewell = if self.is_registered {
            self.take_leave(&mut watch)
        } else {
            Ok(())
        };
        for detector in &mut self.detectors {
            let warnings = detector.finish();
            self.status.warnings.join(warnings);
        }
        let names = (0..self.functions.len()).map(FuncId::from_index);
        let names = names.map(|number| self.functions.name(number));
        self.status.idle_rules = self.options.rules.without_effect(names);
        drop(std::mem::take(&mut self.claims));
        followed?;
        self.status.stored = stored?;
        farewell?;
        Ok(self.status)
    }

    fn follow(
        &mut self,
        watch: &mut impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<(), AdError> {
        let is_recorded = !self.again.is_empty() && self.again.iter().all(Option::is_some);
        if is_recorded {
            if self.learn_all(watch)?.is_break() {
                return Ok(());
            }
            self.complete(watch)?;
            self.read_again()?;
        }
        let (mut is_stopped, mut asked_to_end) = (false, None);
        while !is_stopped && self.readers.iter().any(|reader| !reader.has_ended()) {
            if is_recorded {
                self.round_again()?;
            } else {
                let inputs = self.collect();
                if inputs.is_empty() {
                    self.tell_settled()?;
                } else {
                    self.round(inputs)?;
                }
            }
            if let Some(writer) = &self.writer {
                self.status.stored = writer.stored();
            }
            if self.status.stored.is_closed {
                return Ok(());
            }
            self.note_opening();
            is_stopped = watch(&self.status).is_break() && self.may_end(&mut asked_to_end);
        }
        self.status.opening = None;
        if let Some(error) = self.failure_of_all() {
            return Err(error.into());
        }
        // Without a single step, the server shall know all the same that the ranks were there.
        self.learn_run(&[])?;
        match is_recorded {
            true if is_stopped => {}
            true => self.conclude(),
            false => self.complete(watch)?,
        }
        Ok(())
    }

    /// The reports whose documents are stored: a server that goes on when this process dies has counted nothing then that
    /// cannot be read. While the database refuses, they are not held back: they are all that those who watch can see.
    fn settled_reports(&mut self) -> Vec<StepReport> {
        let num_settled = match &self.writer {
            Some(writer) if self.exchange.is_elsewhere() => {
                let stored = writer.stored();
                match stored.refusal {
                    Some(_) => u64::MAX,
                    None => stored.num_documents + stored.num_lost,
                }
            }
            _ => u64::MAX,
        };
        let is_settled = |(num_sent, _): &mut (u64, StepReport)| *num_sent <= num_settled;
        let settled = std::iter::from_fn(|| self.reports.pop_front_if(is_settled));
        settled.map(|(_, report)| report).collect()
    }

    /// Gives the functions that are new in this round their numbers and global indices.
    fn name_functions(&mut self, inputs: &[(usize, StepInput)]) -> Result<(), AdError> {
        let num_known = self.fids.len();
        let mut numbers = Vec::new();
        for (position, input) in inputs {
            for name in &input.functions {
                numbers.push((*position, self.functions.intern(name)));
            }
        }
        let new: Vec<String> = (num_known..self.functions.len())
            .map(|number| self.functions.name(FuncId::from_index(number)).to_owned())
            .collect();
        self.add_functions(&new)?;
        for (position, number) in numbers {
            let named = NamedFunction {
                name: Arc::from(self.functions.name(number)),
                fid: self.fids[number.index()].0,
            };
            let is_judged = !self.is_ignored[number.index()];
            self.detectors[position].name_function(named, is_judged.then_some(number.0));
        }
        Ok(())
    }

    /// Gives functions that follow those which are known their global indices.
    fn add_functions(&mut self, new: &[String]) -> Result<(), AdError> {
        if !new.is_empty() {
            self.fids
                .extend(self.exchange.functions(self.options.program, new)?);
        }
        self.tree_models
            .name_functions(new.iter().map(String::as_str), &self.options.trees);
        for name in new {
            self.models.push(None);
            self.thresholds_reached.push(RunningThreshold::default());
            self.is_ignored.push(self.options.rules.is_ignored(name));
            self.thresholds.push(self.options.rules.threshold(name));
        }
        Ok(())
    }
}

/// Returns the pause until the next look at what has been awaited for a time: an eighth of it, so that many instances which
/// wait cost the server next to nothing.
fn pause(waited: Duration) -> Duration {
    (waited / 8).clamp(PAUSES[0], PAUSES[1])
}
