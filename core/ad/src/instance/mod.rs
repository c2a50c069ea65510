//! An AD instance: its streams, the models, and the rounds in which it judges.
//!
//! ```text
//! recorded: learn all steps ─ wait until all ranks have ─ judge all steps again by the complete models
//! live:     learn and judge each step as it arrives ─ wait until all ranks have ─ judge the stored records again
//! ```

mod claimed_rank;
mod complete_models;
mod deltas;
mod final_pass;
mod joining;
mod late_ranks;
mod late_streams;
mod left_out;
mod live;
mod recorded;
mod recorder;
mod rejudge;
mod reporter;
mod status;
mod streams;
mod turn;

use std::ops::ControlFlow;
use std::sync::Arc;

use callgrove_detect::FuncModel;
use callgrove_model::{FuncId, RankId};
use callgrove_provdb::{ProvDbError, Store};
use callgrove_pserver::{ModelExchange, StepReport};
use callgrove_records::{NamedFunction, StorageStatus};

use crate::compiled_model::CompleteModels;
use crate::error::AdError;
use crate::functions::InstanceFunctions;
use crate::options::AdOptions;
use crate::rank_detector::{RankDetector, StepOutcome};
use crate::stream_reader::StepInput;
use crate::tree_models::TreeModels;

use deltas::ModelDeltas;
use late_streams::LateRanks;
pub use late_streams::{ExpectedStreams, LateStreams};
use recorder::Recorder;
use reporter::Reporter;
use status::OnStatus;
pub use status::Status;
pub use streams::Stream;
use streams::Streams;
use turn::Positioned;

/// A running AD instance.
pub struct Instance {
    options: AdOptions,
    streams: Streams,
    late: LateRanks,
    /// The detectors of the streams.
    detectors: Vec<RankDetector>,
    functions: InstanceFunctions,
    tree_models: TreeModels,
    /// The complete models of all ranks, once they are available.
    complete: Option<CompleteModels>,
    recorder: Recorder,
    reporter: Reporter,
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
        store: Option<Box<dyn Store>>,
        name: &str,
    ) -> Result<Self, AdError> {
        streams.sort_by_key(|stream| stream.rank);
        let program = options.program;
        let ranks: Vec<RankId> = streams.iter().map(|stream| stream.rank).collect();
        let mut recorder = Recorder::new(store, program, name);
        // All ranks are claimed before any stream is opened: an SST writer may not survive a reader that leaves at once.
        let claimed = ranks.iter().map(|&rank| recorder.claim(rank));
        let claimed = claimed.collect::<Result<Vec<_>, _>>()?;
        let are_recorded = streams.iter().all(|stream| stream.reopen.is_some());
        let mut added = Streams::new(options.pacing, are_recorded);
        let mut detectors = Vec::with_capacity(ranks.len());
        for (stream, claimed) in streams.into_iter().zip(claimed) {
            let mut detector = RankDetector::new(program, stream.rank);
            detector.known.recorded_until = claimed.recorded_until;
            detectors.push(detector);
            recorder.add_rank(claimed.claim);
            added.add(stream, claimed.announced)?;
        }
        Ok(Self {
            detectors,
            streams: added,
            late: LateRanks::new(None),
            functions: InstanceFunctions::default(),
            tree_models: TreeModels::default(),
            complete: None,
            recorder,
            reporter: Reporter::new(exchange, name, program, ranks),
            status: Status::default(),
            options,
        })
    }

    /// Also reads streams that appear later.
    #[must_use]
    pub fn with_late_streams(mut self, streams: Box<dyn LateStreams>) -> Self {
        self.late = LateRanks::new(Some(streams));
        self
    }

    /// Reads the streams until all have ended or `watch`, which gets the status after each round, breaks. Returns the
    /// final status, after everything is written.
    ///
    /// # Errors
    /// [`AdError::OtherRun`], [`AdError::ProvDb`] and [`AdError::Exchange`] if database or parameter server belong to
    /// another run; [`AdError::Exchange`] also if the parameter server refuses, or cannot be reached at the end;
    /// [`AdError::Records`] if the provenance database did not store everything; [`AdError::Source`] if no stream can be
    /// opened.
    pub fn run(
        mut self,
        mut watch: impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<Status, AdError> {
        let mut followed = self.follow(&mut watch);
        let counted = self.record_left_out();
        // Even after an error, all results are stored, then reported, and the claims on the ranks are dropped.
        let mut stored = Ok(StorageStatus::default());
        if let Some(writer) = self.recorder.take_writer() {
            stored = writer.finish().map(|(status, mut store)| {
                let judged = |()| self.judge_stored(&mut *store);
                followed = std::mem::replace(&mut followed, Ok(())).and_then(judged);
                // A server that does not hear it waits a few seconds longer at its end.
                store.leave().ok();
                status
            });
        }
        let has_left = if self.reporter.is_registered {
            self.reporter.leave(&mut self.status, &mut watch)
        } else {
            Ok(())
        };
        for detector in std::mem::take(&mut self.detectors) {
            self.status.warnings.join(detector.finish());
        }
        let names = self.functions.names().iter().map(|(_, name)| name);
        self.status.idle_rules = self.options.rules.without_effect(names);
        self.recorder.release();
        followed?;
        counted?;
        self.status.stored = stored?;
        has_left?;
        Ok(self.status)
    }

    fn follow(&mut self, watch: &mut impl OnStatus) -> Result<(), AdError> {
        let is_recorded = self.streams.recorded_ranks().is_some();
        if is_recorded {
            if self.learn_all(watch)?.is_break() {
                return Ok(());
            }
            self.complete(watch)?;
            self.start_second_pass()?;
        }
        let (mut is_stopped, mut asked_to_end) = (false, None);
        while !is_stopped && (!self.streams.have_ended() || self.awaits_ranks()?) {
            self.add_late_ranks()?;
            if is_recorded {
                self.second_pass_round(watch)?;
            } else {
                self.live_round()?;
            }
            if let Some(stored) = self.recorder.stored() {
                self.status.stored = stored;
            }
            if self.status.stored.is_closed {
                return Ok(());
            }
            self.status.opening = self.streams.opening().or_else(|| self.waiting_for_ranks());
            is_stopped = watch(&self.status).is_break() && self.streams.may_end(&mut asked_to_end);
        }
        if is_stopped && !is_recorded {
            self.judge_read_ahead()?;
        }
        self.status.opening = None;
        if let Some(error) = self.streams.failure_of_all() {
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

    /// Sends changes and reports to the parameter server, and updates the status of the connection. Returns the newest
    /// models of the changed functions.
    fn exchange_models(
        &mut self,
        deltas: ModelDeltas,
        reports: &[StepReport],
    ) -> Result<Vec<(FuncId, Arc<FuncModel>)>, AdError> {
        let synced = self
            .reporter
            .exchange_models(deltas, &self.functions, reports)?;
        self.status.set_link(synced.link);
        Ok(synced.models)
    }

    /// Takes over tree models that have been put in force.
    fn take_tree_models(&mut self) {
        let updates = self.reporter.exchange.take_tree_models();
        if !updates.is_empty() {
            let (trees, functions) = (&self.options.trees, self.functions.names());
            self.status.tree_trouble = self.tree_models.take(updates, trees, functions);
        }
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
            let fids = self.reporter.exchange.functions(options.program, &new)?;
            self.functions.extend(fids, &options.rules);
            let names = new.iter().map(String::as_str);
            self.tree_models.name_functions(names, &options.trees);
        }
        Ok(())
    }

    /// Passes on the results of a round, in order of rank.
    fn add_outcomes(
        &mut self,
        judged: Positioned<Vec<Result<StepOutcome, ProvDbError>>>,
    ) -> Result<(), AdError> {
        let steps = judged.into_iter();
        for (position, step) in
            steps.flat_map(|(at, steps)| steps.into_iter().map(move |it| (at, it)))
        {
            let step = step?;
            self.status.num_executions += step.num_executions;
            self.status.num_left_out += step.num_left_out;
            let fits = self.status.count_trees(step.trees).into_iter();
            let (trees, functions) = (&self.options.trees, self.functions.names());
            let unfit = self.tree_models.add_fits(fits, trees, functions);
            self.status.count_unfit(unfit);
            match &step.report {
                Some(_) => self.status.num_anomalies += step.num_anomalies,
                None => self.status.num_known_steps += 1,
            }
            let rank = self.reporter.hello.ranks[position];
            let num_sent = self.recorder.record(rank, step.replaced, step.documents);
            if let Some(report) = step.report {
                self.reporter.add_report(num_sent, report);
            }
        }
        Ok(())
    }
}
