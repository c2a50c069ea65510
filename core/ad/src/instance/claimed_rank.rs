//! A claimed rank, and what the provenance database has of it.

use callgrove_model::{ProgramId, RankId, StepId};
use callgrove_provdb::{Claim, Collection, Filter, Path, ProvDbError, Query, SortKey, Store};
use serde_json::Value;

use crate::announcements::StreamAnnouncements;

/// A rank that this instance alone may write.
#[derive(Debug, Default)]
pub(super) struct ClaimedRank {
    /// `None` without a database.
    pub(super) claim: Option<Claim>,
    /// What its stream announced to an earlier instance.
    pub(super) announced: StreamAnnouncements,
    /// The last step of which an earlier instance stored records.
    pub(super) recorded_until: Option<StepId>,
}

impl ClaimedRank {
    /// Claims a rank as the instance `name`.
    pub(super) fn of(
        store: &mut dyn Store,
        program: ProgramId,
        rank: RankId,
        name: &str,
    ) -> Result<Self, ProvDbError> {
        Ok(Self {
            claim: Some(store.claim(program.0, rank.0, name)?),
            announced: StreamAnnouncements::load(store, program, rank)?,
            recorded_until: last_recorded(store, program, rank)?,
        })
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
