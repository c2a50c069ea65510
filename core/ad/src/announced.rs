//! What streams announce only once, kept in the provenance database for an instance that comes back to them.

use callgrove_model::{ProgramId, RankId};
use callgrove_provdb::Store;
use callgrove_trace::{Announcement, TraceSource};
use serde::{Deserialize, Serialize};

use crate::AdError;
use crate::provenance_writer::ProvenanceWriter;

/// What one stream has announced.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Announced {
    /// Of the stream; none if it tells everybody everything.
    identity: Option<String>,
    attributes: Vec<Announcement>,
}

impl Announced {
    /// Tells a stream what it has announced to an instance before this one. What another stream announced, or another
    /// release wrote, is no matter.
    pub(crate) fn recall(
        source: &mut dyn TraceSource,
        store: Option<&mut Box<dyn Store>>,
        program: ProgramId,
        rank: RankId,
    ) -> Result<Self, AdError> {
        let identity = source.identity();
        if let (Some(_), Some(store)) = (&identity, store)
            && let Some(bytes) = store.state(&state_name(program, rank))?
            && let Ok(known) = serde_json::from_slice::<Self>(&bytes)
            && known.identity == identity
        {
            source.recall(known.attributes);
        }
        Ok(Self {
            identity,
            attributes: Vec::new(),
        })
    }

    /// Takes in what is new, and has it stored.
    pub(crate) fn keep(
        &mut self,
        mut news: Vec<Announcement>,
        writer: Option<&ProvenanceWriter>,
        program: ProgramId,
        rank: RankId,
    ) {
        if news.is_empty() {
            return;
        }
        self.attributes.append(&mut news);
        if let (Some(writer), Ok(bytes)) = (writer, serde_json::to_vec(self)) {
            writer.keep(state_name(program, rank), bytes);
        }
    }
}

fn state_name(program: ProgramId, rank: RankId) -> String {
    format!("announced by {program}:{rank}")
}
