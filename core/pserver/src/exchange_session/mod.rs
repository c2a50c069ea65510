//! An AD instance's side of the exchange, over any transport. It keeps what the server lacks, and the newest models.

mod function_indices;
mod model_cache;
mod outbox;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_detect::FuncModel;
use callgrove_model::{FuncId, ProgramId, RankId, StepId};

use crate::contribution::{Contribution, ModelKind};
use crate::error::PserverError;
use crate::final_anomalies::FinalAnomalies;
use crate::model_exchange::{Hello, Link, ModelExchange, RunProgress, Synced, Welcome};
use crate::protocol::{SyncReply, SyncRequest, Transport};
use crate::report::StepReport;
use crate::statistics::RankKey;
use crate::tree_model_book::TreeModelUpdate;
use function_indices::FunctionIndices;
use model_cache::ModelCache;
use outbox::{ContributionPart, Outbox};

/// The exchange of one AD instance over some transport.
///
/// Contributions of the instance stay in an outbox until the server has them, and as long as a restart of the server
/// could lose them; see [`crate::Retention`]. A repeated contribution has the same sequence number and is merged once. The
/// memory of the outbox does not grow with the number of steps.
#[derive(Debug)]
pub struct ExchangeSession<T> {
    transport: T,
    hello: Option<Hello>,
    attached: bool,
    epoch: u64,
    frozen: bool,
    indices: FunctionIndices,
    outbox: Outbox,
    models: ModelCache,
    model_kind: ModelKind,
    /// The learnt steps of the next contribution.
    learnt: BTreeMap<RankKey, StepId>,
    /// The generation of the tree models received so far.
    tree_generation: u64,
    /// The received tree models that the caller has not taken yet.
    tree_models: Vec<TreeModelUpdate>,
    ended: BTreeSet<RankKey>,
    final_anomalies: BTreeMap<RankKey, FinalAnomalies>,
}

impl<T: Transport> ExchangeSession<T> {
    /// Creates a session over a transport; call [`ModelExchange::register`] next.
    pub fn new(transport: T) -> Self {
        Self {
            transport,
            hello: None,
            attached: false,
            epoch: 0,
            frozen: false,
            indices: FunctionIndices::default(),
            outbox: Outbox::default(),
            models: ModelCache::default(),
            model_kind: ModelKind::default(),
            learnt: BTreeMap::new(),
            tree_generation: 0,
            tree_models: Vec::new(),
            ended: BTreeSet::new(),
            final_anomalies: BTreeMap::new(),
        }
    }

    /// Returns the transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Returns the number of I/O steps whose own anomaly counts were dropped while the server was away; the totals
    /// include them.
    pub fn num_dropped_steps(&self) -> usize {
        self.outbox.num_dropped_steps()
    }

    /// Registers, and sends the server the names that it may have lost.
    fn attach(&mut self) -> Result<Welcome, PserverError> {
        let Some(hello) = &self.hello else {
            return Err(PserverError::NotRegistered {
                instance: String::from("(no name yet)"),
            });
        };
        let registered = self.transport.register(hello)?;
        let is_new_epoch = registered.epoch != self.epoch;
        self.indices.announce(&mut self.transport, is_new_epoch)?;
        self.outbox.restart_parts();
        if is_new_epoch {
            self.models.forget_cursor();
            // Request all tree models again: a server that lost some may reuse their generation for others.
            self.tree_generation = 0;
            let is_recorded = hello.recorded_ranks.is_some();
            self.outbox
                .begin_epoch(registered.last_sequence, registered.retention, is_recorded);
            self.epoch = registered.epoch;
        }
        self.frozen = registered.welcome.frozen;
        self.attached = true;
        self.take_asked();
        Ok(registered.welcome)
    }

    fn try_ask(&mut self, program: ProgramId, names: &[String]) -> Result<(), PserverError> {
        if !self.transport.is_up() {
            return Err(self.transport.absence());
        }
        if !self.attached {
            self.attach()?;
        }
        self.indices.ask(&mut self.transport, program, names)?;
        self.take_asked();
        Ok(())
    }

    /// Sends the outbox; returns early, without an error, if the server is unreachable.
    fn flush(&mut self) -> Result<Link, PserverError> {
        match self.try_flush() {
            Ok(()) => Ok(Link::Up),
            Err(PserverError::NotConnected { address, cause }) => {
                self.attached = false;
                let cause = PserverError::NotConnected { address, cause }.to_string();
                Ok(Link::Down { cause })
            }
            Err(error) => Err(error),
        }
    }

    fn try_flush(&mut self) -> Result<(), PserverError> {
        let mut num_attached = 0;
        loop {
            if !self.transport.is_up() {
                return Err(self.transport.absence());
            }
            if !self.attached {
                num_attached += 1;
                self.attach()?;
            }
            match self.send_waiting() {
                // Forgotten by a restarted server, or silent past the lease: retry once with a new registration.
                Err(PserverError::NotRegistered { .. }) if num_attached < 2 => {
                    self.attached = false;
                }
                result => return result,
            }
        }
    }

    /// Sends the outbox. An empty one still sends a request, since the server may be in a new epoch.
    fn send_waiting(&mut self) -> Result<(), PserverError> {
        let mut has_asked = false;
        let max_bytes = self.transport.max_request_bytes();
        while let Some(part) = self.outbox.next(max_bytes) {
            match self.sync(part) {
                Ok(reply) => {
                    self.outbox.acknowledge(reply.included_in);
                    self.take_all(reply)?;
                    has_asked = true;
                }
                Err(error) => {
                    if error.is_about_data() {
                        self.outbox.discard();
                    }
                    return Err(error);
                }
            }
        }
        if !has_asked {
            let reply = self.sync(ContributionPart::default())?;
            self.take_all(reply)?;
        }
        Ok(())
    }

    /// Takes the models of a reply, and requests those that did not fit into it.
    fn take_all(&mut self, mut reply: SyncReply) -> Result<(), PserverError> {
        loop {
            let more = reply.more;
            self.take(reply)?;
            if !more {
                return Ok(());
            }
            reply = self.sync(ContributionPart::default())?;
        }
    }

    fn sync(&mut self, part: ContributionPart) -> Result<SyncReply, PserverError> {
        let Some(hello) = &self.hello else {
            return Err(self.transport.absence());
        };
        self.transport.sync(SyncRequest {
            instance: hello.instance.clone(),
            epoch: self.epoch,
            part: part.number,
            cursor: self.models.cursor(),
            contribution: self.indices.to_server(part.content),
            tree_generation: self.tree_generation,
        })
    }

    fn take(&mut self, reply: SyncReply) -> Result<(), PserverError> {
        self.model_kind
            .check(reply.models.iter().map(|it| &*it.model))?;
        self.models.advance(reply.cursor);
        self.tree_generation = reply.tree_generation;
        self.tree_models.extend(reply.tree_models);
        for published in reply.models {
            let (server_fid, model) = (published.fid, published.model);
            match self.indices.of_server(server_fid) {
                Some(fid) => self.replace(fid, reply.version, model),
                None => self.models.keep(server_fid, reply.version, model),
            }
        }
        self.outbox.settle(reply.version, reply.saved_version);
        Ok(())
    }

    fn replace(&mut self, fid: FuncId, version: u64, model: Arc<FuncModel>) {
        let frozen = self.frozen;
        let newer = self.outbox.models_after(version, fid);
        let newer = newer.filter(|_| !frozen);
        self.models.replace(fid, model, newer);
    }

    /// Takes the models that the server has sent of functions before the instance asked for them.
    fn take_asked(&mut self) {
        let indices = &self.indices;
        for (fid, version, model) in self.models.take_asked(|it| indices.of_server(it)) {
            self.replace(fid, version, model);
        }
    }
}

impl<T: Transport> ModelExchange for ExchangeSession<T> {
    fn register(&mut self, hello: &Hello) -> Result<Welcome, PserverError> {
        self.transport.begin_call();
        self.hello = Some(hello.clone());
        self.attached = false;
        self.attach()
    }

    fn functions(
        &mut self,
        program: ProgramId,
        names: &[String],
    ) -> Result<Vec<FuncId>, PserverError> {
        if let Some(fids) = self.indices.find_all(program, names) {
            return Ok(fids);
        }
        self.transport.begin_call();
        match self.try_ask(program, names) {
            Err(PserverError::NotConnected { .. }) => self.attached = false,
            result => result?,
        }
        self.indices.get_all(program, names)
    }

    fn is_remote(&self) -> bool {
        self.outbox.is_server_remote()
    }

    fn is_full(&self) -> bool {
        self.outbox.is_full()
    }

    fn learn_steps(&mut self, steps: &[(RankId, StepId)]) {
        if let Some(hello) = &self.hello {
            let keyed = steps
                .iter()
                .map(|&(rank, step)| ((hello.program, rank), step));
            self.learnt.extend(keyed);
        }
    }

    fn end_ranks(&mut self, ranks: &[RankId]) {
        if let Some(hello) = &self.hello {
            let keyed = ranks.iter().map(|&rank| (hello.program, rank));
            self.ended.extend(keyed);
        }
    }

    fn conclude(&mut self, final_anomalies: Vec<(RankId, FinalAnomalies)>) {
        if let Some(hello) = &self.hello {
            let keyed = final_anomalies.into_iter();
            let keyed = keyed.map(|(rank, anomalies)| ((hello.program, rank), anomalies));
            self.final_anomalies.extend(keyed);
        }
    }

    fn progress(&mut self, num_ranks: u32) -> Result<Option<RunProgress>, PserverError> {
        self.transport.begin_call();
        let Some(program) = self.hello.as_ref().map(|hello| hello.program) else {
            return Ok(None);
        };
        if let Link::Down { .. } = self.flush()? {
            return Ok(None);
        }
        let progress = self.transport.progress(program, num_ranks);
        // Who hears that the models are complete judges by them.
        let read = progress.and_then(|progress| {
            if progress.num_learning == 0 {
                let reply = self.sync(ContributionPart::default())?;
                self.take_all(reply)?;
            }
            Ok(progress)
        });
        match read {
            Err(PserverError::NotConnected { .. } | PserverError::NotRegistered { .. }) => {
                self.attached = false;
                Ok(None)
            }
            progress => progress.map(Some),
        }
    }

    fn sync_and_report(
        &mut self,
        models: Vec<(FuncId, FuncModel)>,
        reports: &[StepReport],
    ) -> Result<Synced, PserverError> {
        self.model_kind
            .check(models.iter().map(|(_, model)| model))?;
        let contribution = Contribution {
            learnt: std::mem::take(&mut self.learnt),
            ended: std::mem::take(&mut self.ended),
            final_anomalies: std::mem::take(&mut self.final_anomalies),
            ..Contribution::new(models, reports)
        };
        let asked: Vec<FuncId> = contribution.models.keys().copied().collect();
        if !self.frozen {
            self.models.learn(&contribution.models);
        }
        self.outbox.push(contribution);
        self.transport.begin_call();
        let link = self.flush()?;
        let models = asked.into_iter();
        Ok(Synced {
            models: models
                .filter_map(|fid| Some((fid, self.models.get(fid)?)))
                .collect(),
            link,
        })
    }

    fn take_tree_models(&mut self) -> Vec<TreeModelUpdate> {
        std::mem::take(&mut self.tree_models)
    }

    fn unsettled(&mut self) -> Result<Option<String>, PserverError> {
        self.transport.begin_call();
        Ok(match self.flush()? {
            Link::Down { cause } => Some(cause),
            Link::Up if self.outbox.is_settled() => None,
            Link::Up => {
                Some("the parameter server has not saved all of the data sent to it".to_owned())
            }
        })
    }

    fn goodbye(&mut self) -> Result<(), PserverError> {
        self.transport.begin_call();
        let outcome = self.try_flush().and_then(|()| match &self.hello {
            Some(hello) => self.transport.goodbye(&hello.instance),
            None => Ok(()),
        });
        match outcome {
            Err(PserverError::NotConnected { .. }) if self.outbox.is_settled() => Ok(()),
            outcome => outcome,
        }
    }
}
