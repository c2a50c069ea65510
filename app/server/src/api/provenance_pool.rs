//! The provenance database for the endpoints: a pool of stores, each opened when it is needed.

use std::time::Duration;

use axum::http::StatusCode;
use callgrove_provdb::{ProvDbError, ReadLimits, Store};
use callgrove_provdb_net::ReaderPool;

use super::error::ApiError;

/// Limits of one query: the time that a request of the JSON interface may take, and the size of one answer.
const LIMITS: ReadLimits = ReadLimits {
    time: Duration::from_mins(2),
    num_rows: u64::MAX,
    num_bytes: 256 << 20,
    work_bytes: u64::MAX,
};

/// The provenance database, for a few concurrent queries. It is opened for the first query, so it can be created after
/// the server.
#[derive(Clone)]
pub struct Documents {
    pool: ReaderPool,
}

impl Documents {
    /// A database that `open` opens for reading. At most `max_at_once` (at least 1) queries run at a time; further ones
    /// wait for their turn.
    pub fn new(
        max_at_once: usize,
        open: impl Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            pool: ReaderPool::new(max_at_once, LIMITS, open),
        }
    }

    /// Runs a query on a thread that may block. Dropping the future, or `stopped`, interrupts the query.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        stopped: impl Future<Output = ()>,
        question: impl FnOnce(&mut dyn Store) -> Result<T, ProvDbError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let answer = tokio::select! {
            answer = self.pool.read(question) => answer,
            () = stopped => Err(ProvDbError::Interrupted),
        };
        answer.map_err(|error| refusal(&error))
    }
}

fn refusal(error: &ProvDbError) -> ApiError {
    let status = match error {
        ProvDbError::Missing(_) => StatusCode::NOT_FOUND,
        ProvDbError::Filter(_)
        | ProvDbError::UnknownField(_)
        | ProvDbError::TooLarge { .. }
        | ProvDbError::AnswerTooLarge { .. } => StatusCode::BAD_REQUEST,
        ProvDbError::Unreachable { .. }
        | ProvDbError::Busy(_)
        | ProvDbError::TooSlow { .. }
        | ProvDbError::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    ApiError::new(status, error.to_string())
}
