//! Announcements of streams, kept in the provenance database for an instance that reopens a stream.

use callgrove_model::{ProgramId, RankId};
use callgrove_provdb::{ProvDbError, Store};
use callgrove_records::ProvenanceWriter;
use callgrove_source::Announcement;
use serde::{Deserialize, Serialize};

/// The announcements of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamAnnouncements {
    /// The identity of the stream; `None` until it has made an announcement that it makes only once.
    pub(crate) identity: Option<String>,
    pub(crate) attributes: Vec<Announcement>,
}

impl StreamAnnouncements {
    /// Returns what the stream of a rank announced to an earlier instance; empty if another release wrote it.
    pub(crate) fn load(
        store: &mut dyn Store,
        program: ProgramId,
        rank: RankId,
    ) -> Result<Self, ProvDbError> {
        let bytes = store.state(&state_name(program, rank))?;
        let known = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(known.unwrap_or_default())
    }

    /// Adds new announcements and stores them.
    pub(crate) fn save(
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
            writer.replace_state(state_name(program, rank), bytes);
        }
    }
}

fn state_name(program: ProgramId, rank: RankId) -> String {
    format!("announced by {program}:{rank}")
}
