//! Streams written by the tests, a store in memory, and functions that run instances on them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use callgrove_ad::{AdError, AdOptions, Instance, OpenStream, Pacing, Status, Stream, WriterGone};
use callgrove_detect::Params;
use callgrove_model::{
    CommKind, CounterId, FuncEventKind, FuncId, Metadata, NameTable, ProgramId, RankId,
    RunIdentity, StepBatch, StepId, ThreadId, TimeNs, Warnings,
};
use callgrove_provdb::{
    Claim, Collection, Document, ProvDbError, Query, SqlTable, StateChange, Store,
    UnknownCollection,
};
use callgrove_pserver::ModelExchange;
use callgrove_source::{EventStream, Next, SourceError};
use serde_json::Value;

/// A stream under construction: events are added to the last step. Times are in µs.
#[derive(Clone)]
pub(crate) struct Script {
    rank: RankId,
    steps: VecDeque<StepBatch>,
    functions: NameTable<FuncId>,
    counters: NameTable<CounterId>,
}

impl Script {
    pub(crate) fn new(rank: u32) -> Self {
        Self {
            rank: RankId(rank),
            steps: VecDeque::new(),
            functions: NameTable::default(),
            counters: NameTable::default(),
        }
    }

    pub(crate) fn step(&mut self, step: u32) -> &mut Self {
        self.steps
            .push_back(StepBatch::empty(ProgramId(0), self.rank, StepId(step)));
        self
    }

    pub(crate) fn keep_steps(&mut self, num_steps: usize) {
        self.steps.truncate(num_steps);
    }

    /// Returns the number of function events of the steps with these indices.
    pub(crate) fn num_events(&self, steps: Range<usize>) -> usize {
        let steps = self.steps.range(steps);
        steps.map(|step| step.funcs.len()).sum()
    }

    fn last(&mut self) -> &mut StepBatch {
        self.steps.back_mut().unwrap()
    }

    fn event(
        &mut self,
        kind: FuncEventKind,
        thread: u32,
        function: &str,
        time_us: u64,
    ) -> &mut Self {
        let func = self.functions.intern(function);
        let funcs = &mut self.last().funcs;
        let row = funcs.len() as u32;
        funcs.push(
            ThreadId(thread),
            kind,
            func,
            TimeNs::from_us(time_us).unwrap(),
            row,
        );
        self
    }

    pub(crate) fn enter(&mut self, thread: u32, function: &str, time_us: u64) -> &mut Self {
        self.event(FuncEventKind::Entry, thread, function, time_us)
    }

    pub(crate) fn exit(&mut self, thread: u32, function: &str, time_us: u64) -> &mut Self {
        self.event(FuncEventKind::Exit, thread, function, time_us)
    }

    pub(crate) fn call(
        &mut self,
        thread: u32,
        function: &str,
        entry_us: u64,
        exit_us: u64,
    ) -> &mut Self {
        self.enter(thread, function, entry_us)
            .exit(thread, function, exit_us)
    }

    pub(crate) fn counter(
        &mut self,
        thread: u32,
        name: &str,
        value: u64,
        time_us: u64,
    ) -> &mut Self {
        let counter = self.counters.intern(name);
        let time = TimeNs::from_us(time_us).unwrap();
        self.last()
            .counters
            .push(ThreadId(thread), counter, value, time);
        self
    }

    pub(crate) fn send(&mut self, thread: u32, to: u32, tag: u64, time_us: u64) -> &mut Self {
        let time = TimeNs::from_us(time_us).unwrap();
        self.last()
            .comms
            .push(ThreadId(thread), CommKind::Send, tag, RankId(to), 64, time);
        self
    }

    pub(crate) fn recv(&mut self, thread: u32, from: u32, tag: u64, time_us: u64) -> &mut Self {
        let time = TimeNs::from_us(time_us).unwrap();
        let comms = &mut self.last().comms;
        comms.push(
            ThreadId(thread),
            CommKind::Recv,
            tag,
            RankId(from),
            64,
            time,
        );
        self
    }

    pub(crate) fn metadata(&mut self, thread: u32, key: &str, value: &str) -> &mut Self {
        let rank = self.rank;
        self.last().metadata.push(Metadata {
            program: ProgramId(0),
            rank,
            thread: ThreadId(thread),
            key: key.to_owned(),
            value: value.to_owned(),
        });
        self
    }

    /// Adds `count` calls of about 100 µs from `time_us` on, 200 µs apart.
    pub(crate) fn usual_calls(&mut self, function: &str, time_us: u64, count: u64) -> &mut Self {
        for call in 0..count {
            let entry_us = time_us + 200 * call;
            self.call(0, function, entry_us, entry_us + 100 + call % 4);
        }
        self
    }

    pub(crate) fn stream(&self) -> Stream {
        Stream {
            rank: self.rank,
            open: self.ending(End::Good),
            path: "script".to_owned(),
            reopen: None,
            writer_gone: WriterGone::default(),
        }
    }

    /// Returns a stream that can be read twice, like a file.
    pub(crate) fn recorded(&self) -> Stream {
        Stream {
            reopen: Some(self.ending(End::Good)),
            ..self.stream()
        }
    }

    /// Returns a recorded stream of the first steps only. What it costs to make it does not depend on their number.
    pub(crate) fn recorded_steps(&self, num_steps: usize) -> Stream {
        let first = || -> OpenStream {
            let mut script = self.clone();
            Box::new(move || {
                script.keep_steps(num_steps);
                Ok(Box::new(Scripted(script, End::Good)))
            })
        };
        Stream {
            open: first(),
            reopen: Some(first()),
            ..self.stream()
        }
    }

    /// Returns a recorded stream whose first pass waits at the barrier for the first pass of the others.
    pub(crate) fn recorded_with_barrier(&self, others: &Arc<Barrier>) -> Stream {
        Stream {
            open: self.ending(End::Waits(Arc::clone(others))),
            ..self.recorded()
        }
    }

    /// Returns a stream that panics at the end of the script.
    pub(crate) fn stream_that_panics(&self) -> Stream {
        Stream {
            open: self.ending(End::Panics),
            ..self.stream()
        }
    }

    /// Returns a stream that sends a message when its end is read.
    pub(crate) fn stream_that_announces_its_end(&self, is_read: SyncSender<()>) -> Stream {
        Stream {
            open: self.ending(End::Announces(is_read)),
            ..self.stream()
        }
    }

    /// Returns a stream that stays open after the last step.
    pub(crate) fn stream_that_lingers(&self) -> Stream {
        Stream {
            open: self.ending(End::Lingers),
            ..self.stream()
        }
    }

    fn ending(&self, end: End) -> OpenStream {
        let script = self.clone();
        Box::new(move || Ok(Box::new(Scripted(script, end))))
    }
}

/// A script and how it ends.
struct Scripted(Script, End);

enum End {
    Good,
    Panics,
    Lingers,
    Waits(Arc<Barrier>),
    Announces(SyncSender<()>),
}

impl EventStream for Scripted {
    fn next_step(&mut self, _: Duration) -> Result<Next, SourceError> {
        match &self.1 {
            End::Waits(others) if self.0.steps.is_empty() => drop(others.wait()),
            End::Announces(is_read) if self.0.steps.is_empty() => is_read.send(()).unwrap(),
            End::Panics => assert!(!self.0.steps.is_empty(), "the reader panics"),
            End::Lingers if self.0.steps.is_empty() => {
                std::thread::sleep(Duration::from_millis(5));
                return Ok(Next::NotReady);
            }
            _ => {}
        }
        Ok(self
            .0
            .steps
            .pop_front()
            .map_or(Next::End, |batch| Next::Step(Box::new(batch))))
    }

    fn rank(&self) -> Option<RankId> {
        Some(self.0.rank)
    }

    fn num_ranks(&self) -> Option<u32> {
        None
    }

    fn position(&self) -> f32 {
        0.0
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.0.functions
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.0.counters
    }

    fn take_warnings(&mut self) -> Warnings {
        Warnings::default()
    }
}

/// A store in memory: documents by collection and key, and the number of writes to refuse.
#[derive(Clone, Default)]
pub(crate) struct MemoryStore {
    pub(crate) documents: Arc<Mutex<BTreeMap<(Collection, String), String>>>,
    pub(crate) num_refusals: Arc<Mutex<u32>>,
    /// Keys of the documents that it never accepts.
    pub(crate) unfit: Arc<Mutex<Vec<String>>>,
    /// True if another instance has taken the rank.
    pub(crate) is_lost: Arc<Mutex<bool>>,
    /// True if it panics.
    pub(crate) breaks: bool,
}

impl MemoryStore {
    /// Returns the documents of a collection, in order of key.
    pub(crate) fn of(&self, collection: Collection) -> Vec<Value> {
        let documents = self.documents.lock().unwrap();
        let of_collection = documents.iter().filter(|((of, _), _)| *of == collection);
        of_collection
            .map(|(_, json)| serde_json::from_str(json).unwrap())
            .collect()
    }
}

impl Store for MemoryStore {
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError> {
        assert!(!self.breaks, "the store breaks");
        let mut refusals = self.num_refusals.lock().unwrap();
        if *refusals > 0 {
            *refusals -= 1;
            return Err(UnknownCollection("no space left in the store".to_owned()).into());
        }
        if *self.is_lost.lock().unwrap() {
            return Err(ProvDbError::ClaimLost {
                program: 0,
                rank: 0,
                place: "the store".to_owned(),
            });
        }
        let unfit = self.unfit.lock().unwrap();
        if let Some(refused) = documents.iter().find(|it| unfit.contains(&it.key)) {
            return Err(ProvDbError::BadDocument {
                cause: "the document is invalid".to_owned(),
                collection: refused.collection,
                key: refused.key.clone(),
            });
        }
        let mut stored = self.documents.lock().unwrap();
        for document in documents {
            stored.insert(
                (document.collection, document.key.clone()),
                document.json.clone(),
            );
        }
        Ok(())
    }

    fn forget_step(&mut self, _: u32, _: u32, _: u32) -> Result<(), ProvDbError> {
        Ok(())
    }

    fn remove(&mut self, of: Collection, _: u32, keys: &[String]) -> Result<(), ProvDbError> {
        let mut documents = self.documents.lock().unwrap();
        documents.retain(|(collection, key), _| *collection != of || !keys.contains(key));
        Ok(())
    }

    fn change_states(&mut self, _: &[StateChange<'_>]) -> Result<(), ProvDbError> {
        Ok(())
    }

    fn state(&mut self, _: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        Ok(None)
    }

    /// Supports filters by rank and by the description of metadata only.
    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError> {
        let filter = query.filter.as_ref().map(ToString::to_string);
        let of_rank = |json: &str| {
            let document: Value = serde_json::from_str(json).unwrap();
            let rank = format!("rid = {}", document["rid"]);
            let description = format!("descr = '{}'", document["descr"].as_str().unwrap_or(""));
            filter.as_ref().is_none_or(|filter| {
                filter.contains(&rank)
                    && (!filter.contains("descr") || filter.contains(&description))
            })
        };
        let documents = self.documents.lock().unwrap();
        let found = (0..).zip(documents.iter());
        let found = found.filter(|(_, ((of, _), json))| *of == query.collection && of_rank(json));
        Ok(found.map(|(id, _)| id).collect())
    }

    fn documents(&mut self, _: Collection, ids: &[i64]) -> Result<Vec<String>, ProvDbError> {
        let documents = self.documents.lock().unwrap();
        let found = (0..).zip(documents.values());
        Ok(found
            .filter(|(id, _)| ids.contains(id))
            .map(|(_, json)| json.clone())
            .collect())
    }

    fn count(&mut self, _: &Query) -> Result<u64, ProvDbError> {
        Ok(0)
    }

    fn find_plain_sql(&mut self, _: &str) -> Result<SqlTable, ProvDbError> {
        Err(UnknownCollection("sql".to_owned()).into())
    }

    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError> {
        Ok(run.clone())
    }

    fn claim(&mut self, program: u32, rank: u32, _: &str) -> Result<Claim, ProvDbError> {
        Ok(Claim::new(program, rank, ()))
    }
}

/// Returns settings for recorded streams.
pub(crate) fn options(params: Params) -> AdOptions {
    AdOptions::new(params, Pacing::Lockstep).unwrap()
}

/// Reads the scripts to their ends.
pub(crate) fn follow(
    scripts: &[&Script],
    options: AdOptions,
    exchange: Box<dyn ModelExchange>,
    store: &MemoryStore,
) -> Result<Status, AdError> {
    let streams = scripts.iter().map(|script| script.stream()).collect();
    follow_streams(streams, options, exchange, store)
}

/// Reads streams to their ends.
pub(crate) fn follow_streams(
    streams: Vec<Stream>,
    options: AdOptions,
    exchange: Box<dyn ModelExchange>,
    store: &MemoryStore,
) -> Result<Status, AdError> {
    follow_as("test", streams, options, exchange, store)
}

/// Reads streams to their ends as an instance with this name.
pub(crate) fn follow_as(
    name: &str,
    streams: Vec<Stream>,
    options: AdOptions,
    exchange: Box<dyn ModelExchange>,
    store: &MemoryStore,
) -> Result<Status, AdError> {
    let store: Box<dyn Store> = Box::new(store.clone());
    Instance::start(streams, options, exchange, Some(store), name)?
        .run(|_| ControlFlow::Continue(()))
}
