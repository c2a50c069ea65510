//! Trends as recorded by the parameter server: their query, and reading them.

use callgrove_provdb::Collection;
use callgrove_pserver::record::TrendRecord;
use serde::Deserialize;

use crate::transport::DocumentsRequest;

/// Largest number of trends that are listed.
const MAX_TRENDS: u64 = 200;

/// Returns the query for the current trends, the costliest first.
pub(crate) fn trend_request() -> DocumentsRequest {
    DocumentsRequest {
        collection: Collection::Trends,
        filter: Some("holds = true".to_owned()),
        sort: Some("cost".to_owned()),
        is_descending: true,
        limit: MAX_TRENDS,
        offset: 0,
    }
}

/// Reads documents; invalid ones are omitted.
pub(crate) fn read_trends(documents: &[serde_json::Value]) -> Vec<TrendRecord> {
    let read = |document| TrendRecord::deserialize(document).ok();
    documents.iter().filter_map(read).collect()
}
