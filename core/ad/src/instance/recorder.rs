//! The records of an instance: what goes to the provenance database, and when it is stored.

use std::sync::mpsc::{Receiver, sync_channel};

use callgrove_model::{ProgramId, RankId, RunIdentity, StepId};
use callgrove_provdb::{Claim, Document, ProvDbError, Store};
use callgrove_records::{ProvenanceWriter, StorageStatus};

use super::claimed_rank::ClaimedRank;
use crate::announcements::StreamAnnouncements;
use crate::error::AdError;

/// Records the steps of an instance in the provenance database; without a store it records nothing.
pub(super) struct Recorder {
    program: ProgramId,
    /// The name of the instance, with which it claims ranks.
    name: String,
    /// `None` after the first step, which identifies the run: then the writer has the store.
    store: Option<Box<dyn Store>>,
    writer: Option<ProvenanceWriter>,
    /// All known facts of the run.
    run: RunIdentity,
    /// The announcements of each stream.
    announced: Vec<StreamAnnouncements>,
    /// Held so that no other instance writes the same ranks.
    claims: Vec<Claim>,
}

impl Recorder {
    /// Returns the recorder of the instance `name`, which has no ranks yet.
    pub(super) fn new(store: Option<Box<dyn Store>>, program: ProgramId, name: &str) -> Self {
        Self {
            program,
            name: name.to_owned(),
            store,
            writer: None,
            run: RunIdentity::default(),
            announced: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// Claims a rank before the first step.
    pub(super) fn claim(&mut self, rank: RankId) -> Result<ClaimedRank, ProvDbError> {
        match &mut self.store {
            Some(store) => ClaimedRank::of(&mut **store, self.program, rank, &self.name),
            None => Ok(ClaimedRank::default()),
        }
    }

    /// Claims a rank at any time. Once the writer has the store, it claims the rank after what was sent to it before; the
    /// answer never comes if the database does not accept anything any more.
    pub(super) fn claim_late(
        &mut self,
        rank: RankId,
    ) -> Receiver<Result<ClaimedRank, ProvDbError>> {
        let (sender, claimed) = sync_channel(1);
        let Some(writer) = &self.writer else {
            sender.send(self.claim(rank)).ok();
            return claimed;
        };
        let (program, name) = (self.program, self.name.clone());
        writer.ask(
            move |store| match ClaimedRank::of(store, program, rank, &name) {
                Err(error) if !matches!(error, ProvDbError::Claimed { .. }) => Err(error),
                of_rank => {
                    sender.send(of_rank).ok();
                    Ok(())
                }
            },
        );
        claimed
    }

    /// Adds a claimed rank, whose stream gets the next index.
    pub(super) fn add_rank(&mut self, claim: Option<Claim>) {
        self.claims.extend(claim);
        self.announced.push(StreamAnnouncements::default());
    }

    /// Joins the run of the database. The first time, the writer starts.
    pub(super) fn join_run(&mut self, run: &RunIdentity) -> Result<(), AdError> {
        self.run.join(run).map_err(AdError::OtherRun)?;
        if let Some(mut store) = self.store.take() {
            self.run = store.join_run(run)?;
            self.writer = Some(ProvenanceWriter::start(store)?);
        } else if let Some(writer) = &self.writer {
            writer.join_run(run);
        }
        Ok(())
    }

    /// Returns whether records are written.
    pub(super) fn is_recording(&self) -> bool {
        self.writer.is_some()
    }

    /// Records new announcements of the stream at an index.
    pub(super) fn announce(&mut self, position: usize, rank: RankId, news: StreamAnnouncements) {
        self.announced[position].save(news, self.writer.as_ref(), self.program, rank);
    }

    /// Sends the documents of a step to the writer, which first removes those of a `replaced` one. Returns the number
    /// of documents sent so far.
    pub(super) fn record(
        &mut self,
        rank: RankId,
        replaced: Option<StepId>,
        documents: Vec<Document>,
    ) -> u64 {
        let Some(writer) = &mut self.writer else {
            return 0;
        };
        if let Some(replaced) = replaced {
            writer.remove_step(self.program, rank, replaced);
        }
        writer.send(documents)
    }

    /// Returns the counts of stored documents, if records are written.
    pub(super) fn stored(&self) -> Option<StorageStatus> {
        self.writer.as_ref().map(ProvenanceWriter::stored)
    }

    /// Returns the number of sent documents that no report waits for any more: the stored and the lost ones. While the
    /// database refuses, no report is held back, because viewers have nothing else.
    pub(super) fn num_settled(&self) -> u64 {
        match self.stored() {
            Some(stored) if stored.refusal.is_none() => stored.num_documents + stored.num_lost,
            _ => u64::MAX,
        }
    }

    /// Takes the writer, if records are written.
    pub(super) fn take_writer(&mut self) -> Option<ProvenanceWriter> {
        self.writer.take()
    }

    /// Drops the claims on the ranks.
    pub(super) fn release(&mut self) {
        self.claims.clear();
    }
}
