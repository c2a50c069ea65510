//! An AD instance: its streams, the models, and the rounds in which it judges.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_detect::{FuncModel, RunningThreshold};
use callgrove_model::{FuncId, NameTable, ProgramId, RankId, RunIdentity, StepId, Warnings};
use callgrove_provdb::{Claim, Collection, Filter, Path, ProvDbError, Query, SortKey, Store};
use callgrove_pserver::{Hello, Link, ModelExchange, PserverError, StepReport, Welcome};
use callgrove_trace::TraceSource;
use rayon::prelude::*;
use serde_json::Value;

use crate::compiled_model::compile_models;
use crate::provenance_writer::{ProvenanceWriter, StorageStatus};
use crate::rank_detector::{RankDetector, StepOutcome};
use crate::record_builder::NamedFunction;
use crate::stream_reader::{StepInput, StepPoll, StreamReader};
use crate::{AdError, AdOptions, Pacing};

/// How long a live round waits before it looks at all streams again.
const LIVE_WAIT: Duration = Duration::from_millis(5);

/// How long the end waits for a parameter server that is away or has not saved what it was told.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two looks at it.
const SETTLE_WAIT: Duration = Duration::from_millis(50);
/// Who waits longer is told why.
const LONG: Duration = Duration::from_secs(2);

/// A stream to be followed.
pub struct Stream {
    /// Its rank.
    pub rank: RankId,
    /// Where its steps come from.
    pub source: Box<dyn TraceSource>,
    /// What it is called in warnings.
    pub path: String,
}

/// How an instance fares; all counts are since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// I/O steps of all streams.
    pub num_steps: u64,
    /// Those that the parameter server knew already; their outliers are recorded, and not counted here.
    pub num_known_steps: u64,
    /// Function events.
    pub num_events: u64,
    /// Executions that were judged.
    pub num_executions: u64,
    /// Outliers among them.
    pub num_anomalies: u64,
    /// What the provenance database has.
    pub stored: StorageStatus,
    /// Why the parameter server cannot be reached, if it cannot.
    pub link_down: Option<String>,
    /// What was found wrong in the streams that have ended.
    pub warnings: Warnings,
}

/// An AD instance at work.
pub struct Instance {
    options: AdOptions,
    readers: Vec<StreamReader>,
    detectors: Vec<RankDetector>,
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
        let mut readers = Vec::with_capacity(streams.len());
        let mut detectors = Vec::with_capacity(streams.len());
        for Stream { rank, source, path } in streams {
            detectors.push(RankDetector::new(program, rank));
            readers.push(StreamReader::start(source, path, is_live)?);
        }
        Ok(Self {
            options,
            readers,
            detectors,
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
    /// [`AdError::Lost`] if the provenance database did not take everything.
    pub fn run(
        mut self,
        mut watch: impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<Status, AdError> {
        let followed = self.follow(&mut watch);
        // Whatever happened, what was found is stored, and then told, and the ranks are free afterwards.
        let stored = self.writer.take().map(ProvenanceWriter::finish).transpose();
        let farewell = if self.is_registered {
            self.take_leave(&mut watch)
        } else {
            Ok(())
        };
        for detector in &mut self.detectors {
            let warnings = detector.finish();
            self.status.warnings.join(warnings);
        }
        drop(std::mem::take(&mut self.claims));
        followed?;
        self.status.stored = stored?.unwrap_or_default();
        farewell?;
        Ok(self.status)
    }

    /// Tells the rest, and waits until the server cannot lose it any more, also for one that is away for a while.
    fn take_leave(
        &mut self,
        watch: &mut impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<(), AdError> {
        let reports: Vec<StepReport> = self.reports.drain(..).map(|(_, report)| report).collect();
        self.exchange.sync_and_report(Vec::new(), &reports)?;
        let start = Instant::now();
        while let Some(cause) = self.exchange.unsettled()? {
            let waited = start.elapsed();
            if waited > PATIENCE {
                return Err(AdError::Unsettled { cause, waited });
            }
            self.status.link_down = Some(cause).filter(|_| waited > LONG);
            let _is_enough = watch(&self.status);
            std::thread::sleep(SETTLE_WAIT);
        }
        self.status.link_down = None;
        Ok(self.exchange.goodbye()?)
    }

    fn follow(
        &mut self,
        watch: &mut impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<(), AdError> {
        while self.readers.iter().any(|reader| !reader.has_ended()) {
            let inputs = self.collect();
            if !inputs.is_empty() {
                self.round(inputs)?;
            }
            if let Some(writer) = &self.writer {
                self.status.stored = writer.stored();
            }
            if watch(&self.status).is_break() || self.status.stored.is_closed {
                return Ok(());
            }
        }
        // Without a single step, the server shall know all the same that the ranks were there.
        self.learn_run(&[])
    }

    /// Tells the database and the parameter server which run this is, once the first steps say so, and again when
    /// other ranks come: their first steps are not waited for, because ranks may wait for one another.
    fn learn_run(&mut self, inputs: &[(usize, StepInput)]) -> Result<(), AdError> {
        let mut is_news = !self.is_registered;
        for (_, input) in inputs {
            is_news |= !input.run.is_empty();
            self.hello.run.merge(&input.run);
        }
        if !is_news {
            return Ok(());
        }
        self.run.join(&self.hello.run).map_err(AdError::OtherRun)?;
        if let Some(mut store) = self.store.take() {
            self.run = store.join_run(&self.hello.run)?;
            let program = self.options.program;
            for (detector, rank) in self.detectors.iter_mut().zip(&self.hello.ranks) {
                detector.recorded_until = last_recorded(&mut *store, program, *rank)?;
            }
            self.writer = Some(ProvenanceWriter::start(store)?);
        } else if let Some(writer) = &self.writer {
            writer.join_run(&self.hello.run);
        }
        match self.exchange.register(&self.hello) {
            Ok(welcome) if !self.is_registered => self.heed(welcome)?,
            Ok(_) => {}
            // It is told when it is back.
            Err(PserverError::NotConnected { .. }) if self.is_registered => {}
            Err(error) => return Err(error.into()),
        }
        self.is_registered = true;
        Ok(())
    }

    fn heed(&mut self, welcome: Welcome) -> Result<(), AdError> {
        if let Some(params) = welcome.params {
            self.options.params = params.check()?;
        }
        let reported_until: BTreeMap<_, _> = welcome.last_steps.into_iter().collect();
        let learnt_until: BTreeMap<_, _> = welcome.learnt_steps.into_iter().collect();
        for (detector, rank) in self.detectors.iter_mut().zip(&self.hello.ranks) {
            detector.reported_until = reported_until.get(rank).copied();
            detector.learnt_until = learnt_until.get(rank).copied();
        }
        Ok(())
    }

    /// The steps of a round with the positions of their streams, in order of rank.
    fn collect(&mut self) -> Vec<(usize, StepInput)> {
        let mut inputs = Vec::new();
        for (position, reader) in self.readers.iter_mut().enumerate() {
            if reader.has_ended() {
                continue;
            }
            // A live round takes what is there, and waits a little if that is nothing.
            let wait = match self.options.pacing {
                Pacing::Lockstep => None,
                Pacing::Live if inputs.is_empty() => Some(LIVE_WAIT),
                Pacing::Live => Some(Duration::ZERO),
            };
            match reader.next(wait) {
                StepPoll::Step(input) => inputs.push((position, *input)),
                StepPoll::NotReady => {}
                StepPoll::End(warnings) => self.detectors[position].warnings.join(warnings),
            }
        }
        inputs
    }

    fn round(&mut self, inputs: Vec<(usize, StepInput)>) -> Result<(), AdError> {
        self.status.num_steps += inputs.len() as u64;
        let num_events = inputs
            .iter()
            .map(|(_, input)| input.batch.funcs.len() as u64);
        self.status.num_events += num_events.sum::<u64>();
        self.learn_run(&inputs)?;
        self.name_functions(&inputs)?;
        // The exchange has them then, whatever it answers.
        let reports = self.settled_reports();
        let mut at_work = Vec::with_capacity(inputs.len());
        let mut inputs = inputs.into_iter().peekable();
        for (position, detector) in self.detectors.iter_mut().enumerate() {
            if let Some((_, input)) = inputs.next_if(|(of, _)| *of == position) {
                at_work.push((detector, Some(input)));
            }
        }
        let learnt_steps = at_work.iter().filter_map(|(detector, input)| {
            let step = input.as_ref()?.batch.step;
            Some((detector.rank(), step)).filter(|_| !detector.has_learnt(step))
        });
        let learnt_steps: Vec<(RankId, StepId)> = learnt_steps.collect();
        let is_news = !learnt_steps.is_empty();
        let (options, models) = (&self.options, &self.models);
        let learnt: Vec<Vec<(u32, FuncModel)>> = at_work
            .par_iter_mut()
            .map(|(detector, input)| match input.take() {
                Some(input) => detector.take_in(input, options, models),
                None => Vec::new(),
            })
            .collect();
        let deltas = merge_deltas(learnt, &self.fids, &self.thresholds_reached)?;
        self.exchange.learn_steps(&learnt_steps);
        let synced = self.exchange.sync_and_report(deltas, &reports)?;
        self.status.link_down = match synced.link {
            Link::Up => None,
            Link::Down { cause } => Some(cause),
        };
        let compiled = compile_models(synced.models, &self.fids, &self.thresholds, options);
        let known = self.models.iter_mut().zip(&mut self.thresholds_reached);
        for ((model, reached), compiled) in known.zip(&compiled) {
            if let Some(compiled) = compiled {
                *model = Some(Arc::clone(&compiled.model));
                // Steps that are read again are judged by models of later ones.
                if is_news {
                    reached.raise(compiled.judge.threshold());
                }
            }
        }
        let (fids, recorded) = (&self.fids, self.writer.is_some());
        let judged = at_work
            .par_iter_mut()
            .map(|(detector, _)| detector.judge(&compiled, fids, options, recorded))
            .collect::<Result<Vec<StepOutcome>, _>>()?;
        for ((detector, _), step) in at_work.iter().zip(judged) {
            self.status.num_executions += step.num_executions;
            match &step.report {
                Some(_) => self.status.num_anomalies += step.num_anomalies,
                None => self.status.num_known_steps += 1,
            }
            let num_sent = self.writer.as_mut().map(|writer| {
                if let Some(replaced) = step.replaced {
                    writer.forget_step(options.program, detector.rank(), replaced);
                }
                writer.send(step.documents)
            });
            let num_sent = num_sent.unwrap_or_default();
            self.reports
                .extend(step.report.map(|report| (num_sent, report)));
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
        if !new.is_empty() {
            self.fids
                .extend(self.exchange.functions(self.options.program, &new)?);
        }
        for name in &new {
            self.models.push(None);
            self.thresholds_reached.push(RunningThreshold::default());
            self.is_ignored.push(self.options.rules.is_ignored(name));
            self.thresholds.push(self.options.rules.threshold(name));
        }
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
}

/// The last step of a rank that the database has records of.
fn last_recorded(
    store: &mut dyn Store,
    program: ProgramId,
    rank: RankId,
) -> Result<Option<StepId>, ProvDbError> {
    let mut last = None;
    for collection in Collection::JUDGED {
        let newest = Query {
            filter: Some(Filter::parse(&format!("rid = {rank} and pid = {program}"))?),
            sort: Some(SortKey {
                path: Path::parse("io_step")?,
                is_descending: true,
            }),
            limit: Some(1),
            ..Query::all(collection)
        };
        for document in store.find(&newest)? {
            let document: Value = serde_json::from_str(&document).unwrap_or_default();
            let step = document["io_step"]
                .as_u64()
                .and_then(|it| u32::try_from(it).ok());
            last = last.max(step.map(StepId));
        }
    }
    Ok(last)
}

/// The deltas of all ranks, merged in order of rank, by global index of the function. `fids` and
/// `reached`, the highest thresholds so far, are by number.
fn merge_deltas(
    learnt: Vec<Vec<(u32, FuncModel)>>,
    fids: &[FuncId],
    reached: &[RunningThreshold],
) -> Result<Vec<(FuncId, FuncModel)>, AdError> {
    let mut by_number: BTreeMap<u32, FuncModel> = BTreeMap::new();
    for (number, model) in learnt.into_iter().flatten() {
        match by_number.entry(number) {
            Entry::Vacant(entry) => {
                entry.insert(model);
            }
            Entry::Occupied(mut entry) => entry.get_mut().merge(&model)?,
        }
    }
    let with_fid = by_number.into_iter().map(|(number, mut model)| {
        model.raise_threshold(reached[number as usize].value());
        (fids[number as usize], model)
    });
    Ok(with_fid.collect())
}
