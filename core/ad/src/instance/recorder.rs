//! The records of an instance: what goes to the provenance database, and when it is stored.

use callgrove_model::{ProgramId, RankId, RunIdentity, StepId};
use callgrove_provdb::{
    Claim, Collection, Document, Filter, Path, ProvDbError, Query, SortKey, Store,
};
use serde_json::Value;

use crate::announcements::StreamAnnouncements;
use crate::error::AdError;
use crate::provenance_writer::{ProvenanceWriter, StorageStatus};
use crate::rank_detector::RankDetector;

/// Records the steps of an instance in the provenance database; without a store it records nothing.
pub(super) struct Recorder {
    program: ProgramId,
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
    /// Claims the ranks as `name`.
    pub(super) fn claim(
        mut store: Option<Box<dyn Store>>,
        program: ProgramId,
        ranks: &[RankId],
        name: &str,
    ) -> Result<Self, ProvDbError> {
        let mut claims = Vec::new();
        if let Some(store) = &mut store {
            for rank in ranks {
                claims.push(store.claim(program.0, rank.0, name)?);
            }
        }
        Ok(Self {
            program,
            store,
            writer: None,
            run: RunIdentity::default(),
            announced: vec![StreamAnnouncements::default(); ranks.len()],
            claims,
        })
    }

    /// Returns what the stream of a rank announced to an earlier instance.
    pub(super) fn known_announcements(
        &mut self,
        rank: RankId,
    ) -> Result<StreamAnnouncements, AdError> {
        StreamAnnouncements::load(self.store.as_mut(), self.program, rank)
    }

    /// Joins the run of the database. The first time, the writer starts, and the detectors get the last recorded steps.
    pub(super) fn join_run(
        &mut self,
        run: &RunIdentity,
        detectors: &mut [RankDetector],
    ) -> Result<(), AdError> {
        self.run.join(run).map_err(AdError::OtherRun)?;
        if let Some(mut store) = self.store.take() {
            self.run = store.join_run(run)?;
            for detector in detectors {
                let rank = detector.rank();
                detector.known.recorded_until = last_recorded(&mut *store, self.program, rank)?;
            }
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
