//! What streams announce only once, kept in the provenance database for an instance that comes back to them.

use callgrove_model::{ProgramId, RankId};
use callgrove_provdb::Store;
use callgrove_trace::Announcement;
use serde::{Deserialize, Serialize};

use crate::AdError;
use crate::provenance_writer::ProvenanceWriter;

/// What one stream has announced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Announced {
    /// Of the stream; none before it has announced anything that it tells only once.
    pub(crate) identity: Option<String>,
    pub(crate) attributes: Vec<Announcement>,
}

impl Announced {
    /// What the stream of a rank announced to an instance before this one. What another release wrote is no matter.
    pub(crate) fn before(
        store: Option<&mut Box<dyn Store>>,
        program: ProgramId,
        rank: RankId,
    ) -> Result<Self, AdError> {
        let bytes = match store {
            Some(store) => store.state(&state_name(program, rank))?,
            None => None,
        };
        let known = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(known.unwrap_or_default())
    }

    /// Takes in what is new, and has it stored.
    pub(crate) fn keep(
        &mut self,
        mut news: Self,
        writer: Option<&ProvenanceWriter>,
        program: ProgramId,
        rank: RankId,
    ) {
        if news.attributes.is_empty() {
            return;
        }
        self.identity = news.identity;
        self.attributes.append(&mut news.attributes);
        if let (Some(writer), Ok(bytes)) = (writer, serde_json::to_vec(self)) {
            writer.keep(state_name(program, rank), bytes);
        }
    }
}

fn state_name(program: ProgramId, rank: RankId) -> String {
    format!("announced by {program}:{rank}")
}
