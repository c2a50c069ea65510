//! Trends as the parameter server recorded them: how they are asked for and read.

use callgrove_pserver::record::TrendRecord;
use serde::Deserialize;

use super::QueryRequest;

/// Trends that are listed.
const MAX_TRENDS: u64 = 200;

/// Returns the question for the trends that hold, the costliest first.
pub(super) fn trend_request(id: u64) -> QueryRequest {
    QueryRequest {
        id,
        collection: "trends".into(),
        filter: Some("holds = true".to_owned()),
        sort: Some("cost".into()),
        is_descending: true,
        limit: MAX_TRENDS,
        offset: 0,
    }
}

/// Reads documents; those that are no trends are left out.
pub(super) fn read_trends(documents: &[serde_json::Value]) -> Vec<TrendRecord> {
    let read = |document| TrendRecord::deserialize(document).ok();
    documents.iter().filter_map(read).collect()
}
