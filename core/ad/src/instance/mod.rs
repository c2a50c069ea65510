//! An AD instance: its streams, the models, and the rounds in which it judges.
//!
//! ```text
//! recorded: learn all steps ─ wait until all ranks have ─ judge all steps again by the complete models
//! live:     learn and judge each step as it arrives ─ wait until all ranks have ─ judge the stored records again
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

use callgrove_model::{RankId, RunIdentity};
use callgrove_provdb::{Claim, Store};
use callgrove_pserver::{Hello, ModelExchange, StepReport};

use crate::announcements::StreamAnnouncements;
use crate::compiled_model::CompleteModels;
use crate::functions::InstanceFunctions;
use crate::provenance_writer::{ProvenanceWriter, StorageStatus};
use crate::rank_detector::RankDetector;
use crate::record_builder::NamedFunction;
use crate::stream_reader::{OpenStream, Reading, StepInput, StepSignal, StreamReader};
use crate::tree_models::TreeModels;
use crate::{AdError, AdOptions, Pacing};

pub use status::Status;
use turn::ExchangePace;

/// How long an ending instance waits for a parameter server that is unavailable or has not saved all reports.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// The shortest and the longest pause between two checks of a condition that is waited for.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// How long the instance waits before its status says why.
const STATUS_DELAY: Duration = Duration::from_secs(2);

/// A stream to read.
pub struct Stream {
    /// Its rank.
    pub rank: RankId,
    /// Opens the stream; runs on the thread that reads it.
    pub open: OpenStream,
    /// The name of the stream in warnings.
    pub path: String,
    /// Opens a recorded stream for the second pass, which judges; `None` for a live stream, which is read once.
    pub reopen: Option<OpenStream>,
}

/// A running AD instance.
pub struct Instance {
    options: AdOptions,
    readers: Vec<StreamReader>,
    /// Signals that one of the readers has a step.
    signal: StepSignal,
    detectors: Vec<RankDetector>,
    announced: Vec<StreamAnnouncements>,
    /// For each stream: opens it for the second pass; `None` for live streams and once it was opened again.
    reopen: Vec<Option<OpenStream>>,
    /// The largest number of ranks that any stream states.
    num_ranks: u32,
    /// The complete models of all ranks, once they are available.
    complete: Option<CompleteModels>,
    exchange: Box<dyn ModelExchange>,
    /// The registration at the parameter server. It grows when the first steps of more ranks arrive.
    hello: Hello,
    is_registered: bool,
    /// `None` after the first step, which identifies the run: then the writer has the store.
    store: Option<Box<dyn Store>>,
    /// All known facts of the run.
    run: RunIdentity,
    writer: Option<ProvenanceWriter>,
    /// Held so that no other instance writes the same ranks.
    claims: Vec<Claim>,
    functions: InstanceFunctions,
    tree_models: TreeModels,
    pace: ExchangePace,
    /// Reports that are not sent yet, oldest first, each with the number of documents that were handed to the writer
    /// before it. A report is sent once these documents are stored, so that everything counted can be read.
    reports: VecDeque<(u64, StepReport)>,
    status: Status,
}

impl Instance {
    /// Claims the ranks of `streams` as `name`, and starts to read. Without a store, nothing is recorded.
    ///
    /// # Errors
    /// [`AdError::ProvDb`], also if another instance has claimed one of the ranks; [`AdError::Thread`].
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
        let is_recorded = streams.iter().all(|stream| stream.reopen.is_some());
        let signal = StepSignal::default();
        let mut readers = Vec::with_capacity(streams.len());
        let mut detectors = Vec::with_capacity(streams.len());
        let mut reopen = Vec::with_capacity(streams.len());
        for stream in streams {
            reopen.push(stream.reopen);
            let reading = Reading {
                open: stream.open,
                rank: stream.rank,
                path: stream.path,
                known: StreamAnnouncements::load(store.as_mut(), program, stream.rank)?,
                is_live,
                // The first pass only learns, and models need nothing but function events.
                functions_only: is_recorded,
            };
            detectors.push(RankDetector::new(program, stream.rank));
            let reader = match options.pacing {
                Pacing::Lockstep => StreamReader::new(reading),
                Pacing::Live => StreamReader::ahead(reading, signal.clone())?,
            };
            readers.push(reader);
        }
        Ok(Self {
            options,
            announced: vec![StreamAnnouncements::default(); readers.len()],
            readers,
            signal,
            detectors,
            reopen,
            num_ranks: 0,
            complete: None,
            exchange,
            hello,
            is_registered: false,
            store,
            run: RunIdentity::default(),
            writer: None,
            claims,
            functions: InstanceFunctions::default(),
            tree_models: TreeModels::default(),
            pace: ExchangePace::default(),
            reports: VecDeque::new(),
            status: Status::default(),
        })
    }

    /// Reads the streams until all have ended or `watch`, which gets the status after each round, breaks. Returns the
    /// final status, after everything is written.
    ///
    /// # Errors
    /// [`AdError::OtherRun`], [`AdError::ProvDb`] and [`AdError::Exchange`] if database or parameter server belong to
    /// another run; [`AdError::Exchange`] also if the parameter server refuses, or cannot be reached at the end;
    /// [`AdError::Lost`] if the provenance database did not store everything; [`AdError::Trace`] if no stream can be
    /// opened.
    pub fn run(
        mut self,
        mut watch: impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<Status, AdError> {
        let mut followed = self.follow(&mut watch);
        // Even after an error, all results are stored, then reported, and the claims on the ranks are dropped.
        let mut stored = Ok(StorageStatus::default());
        if let Some(writer) = self.writer.take() {
            stored = writer.finish().map(|(status, mut store)| {
                let judged = |()| self.judge_stored(&mut *store);
                followed = std::mem::replace(&mut followed, Ok(())).and_then(judged);
                status
            });
        }
        let has_left = if self.is_registered {
            self.leave(&mut watch)
        } else {
            Ok(())
        };
        for detector in &mut self.detectors {
            let warnings = detector.finish();
            self.status.warnings.join(warnings);
        }
        let names = self.functions.names().iter().map(|(_, name)| name);
        self.status.idle_rules = self.options.rules.without_effect(names);
        drop(std::mem::take(&mut self.claims));
        followed?;
        self.status.stored = stored?;
        has_left?;
        Ok(self.status)
    }

    fn follow(
        &mut self,
        watch: &mut impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<(), AdError> {
        let is_recorded = !self.reopen.is_empty() && self.reopen.iter().all(Option::is_some);
        if is_recorded {
            if self.learn_all(watch)?.is_break() {
                return Ok(());
            }
            self.complete(watch)?;
            self.start_second_pass()?;
        }
        let (mut is_stopped, mut asked_to_end) = (false, None);
        while !is_stopped && self.readers.iter().any(|reader| !reader.has_ended()) {
            if is_recorded {
                self.second_pass_round()?;
            } else {
                let inputs = self.collect();
                if inputs.is_empty() {
                    self.send_settled_reports()?;
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
            self.update_opening_status();
            is_stopped = watch(&self.status).is_break() && self.may_end(&mut asked_to_end);
        }
        self.status.opening = None;
        if let Some(error) = self.failure_of_all() {
            return Err(error.into());
        }
        // Registers the ranks even if there was no step.
        self.register_run(&[])?;
        match is_recorded {
            true if is_stopped => {}
            true => self.conclude(),
            false => self.complete(watch)?,
        }
        Ok(())
    }

    /// Returns the reports whose documents are stored. So a server that outlives this process has counted nothing that
    /// cannot be read. While the database refuses, no report is held back, because viewers have nothing else.
    fn settled_reports(&mut self) -> Vec<StepReport> {
        let num_settled = match &self.writer {
            Some(writer) if self.exchange.is_remote() => {
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

    /// Assigns numbers and global indices to functions that are new in this round.
    fn name_functions(&mut self, inputs: &[(usize, StepInput)]) -> Result<(), AdError> {
        let mut numbers = Vec::new();
        for (position, input) in inputs {
            for name in &input.functions {
                numbers.push((*position, self.functions.intern(name)));
            }
        }
        self.add_functions()?;
        for (position, number) in numbers {
            let function = self.functions.get(number.0);
            let named = NamedFunction {
                name: Arc::from(self.functions.names().name(number)),
                fid: function.fid.0,
            };
            let judged = (!function.is_ignored).then_some(number.0);
            self.detectors[position].name_function(named, judged);
        }
        Ok(())
    }

    /// Gets the global indices of the functions that have none yet.
    fn add_functions(&mut self) -> Result<(), AdError> {
        let (new, options) = (self.functions.new_names(), &self.options);
        if !new.is_empty() {
            let fids = self.exchange.functions(options.program, &new)?;
            self.functions.extend(fids, &options.rules);
            let names = new.iter().map(String::as_str);
            self.tree_models.name_functions(names, &options.trees);
        }
        Ok(())
    }
}

/// Returns the pause until the next check of something awaited for `waited`: an eighth of that time, so that many
/// waiting instances cost the server almost nothing.
fn pause(waited: Duration) -> Duration {
    (waited / 8).clamp(PAUSES[0], PAUSES[1])
}
