//! Joining and leaving a run: what an instance reports to the database and the parameter server, and the state that it
//! takes from them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use callgrove_model::{ProgramId, RankId, StepId};
use callgrove_provdb::{Collection, Filter, Path, ProvDbError, Query, SortKey, Store};
use callgrove_pserver::{PserverError, StepReport, Welcome};
use serde_json::Value;

use super::{END_TIMEOUT, Instance, STATUS_DELAY, Status, pause};
use crate::AdError;
use crate::provenance_writer::ProvenanceWriter;
use crate::stream_reader::StepInput;

impl Instance {
    /// Registers the run at the database and the parameter server as soon as the first steps identify it, and again
    /// when more ranks join. The first steps of all ranks are not awaited, because ranks may wait for one another.
    pub(super) fn register_run(&mut self, inputs: &[(usize, StepInput)]) -> Result<(), AdError> {
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
            Ok(welcome) if !self.is_registered => self.apply_welcome(welcome)?,
            Ok(_) => {}
            // The server gets the run when it is back.
            Err(PserverError::NotConnected { .. }) if self.is_registered => {}
            Err(error) => return Err(error.into()),
        }
        self.is_registered = true;
        Ok(())
    }

    fn apply_welcome(&mut self, welcome: Welcome) -> Result<(), AdError> {
        if let Some(params) = welcome.params {
            self.options.params = params.check()?;
        }
        let reported_until: BTreeMap<_, _> = welcome.last_steps.into_iter().collect();
        let learnt_until: BTreeMap<_, _> = welcome.learnt_steps.into_iter().collect();
        let mut tree_p_values: BTreeMap<_, _> = welcome.tree_p_values.into_iter().collect();
        for (detector, rank) in self.detectors.iter_mut().zip(&self.hello.ranks) {
            detector.resume_after(tree_p_values.remove(rank).unwrap_or_default());
            detector.reported_until = reported_until.get(rank).copied();
            detector.learnt_until = learnt_until.get(rank).copied();
        }
        Ok(())
    }

    /// Sends the remaining reports, and waits until the server has saved them, also while it is unavailable for some
    /// time.
    pub(super) fn leave(
        &mut self,
        watch: &mut impl FnMut(&Status) -> ControlFlow<()>,
    ) -> Result<(), AdError> {
        let reports: Vec<StepReport> = self.reports.drain(..).map(|(_, report)| report).collect();
        self.exchange.sync_and_report(Vec::new(), &reports)?;
        let start = Instant::now();
        while let Some(cause) = self.exchange.unsettled()? {
            let waited = start.elapsed();
            if waited > END_TIMEOUT {
                return Err(AdError::Unsettled { cause, waited });
            }
            self.status.link_down = Some(cause).filter(|_| waited > STATUS_DELAY);
            // A request to stop does not end this wait, because the reports would be lost.
            let _is_stopped = watch(&self.status);
            std::thread::sleep(pause(waited));
        }
        self.status.link_down = None;
        Ok(self.exchange.goodbye()?)
    }
}

/// Returns the last step of a rank that the database has records of.
fn last_recorded(
    store: &mut dyn Store,
    program: ProgramId,
    rank: RankId,
) -> Result<Option<StepId>, ProvDbError> {
    let mut last = None;
    for collection in Collection::OF_STEPS {
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
