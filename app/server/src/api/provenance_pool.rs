//! The provenance database as the endpoints ask it: a few stores, each opened when it is needed.

use std::time::Duration;

use axum::http::StatusCode;
use callgrove_provdb::net::ReaderPool;
use callgrove_provdb::{ProvDbError, ReadLimits, Store};

use super::error::ApiError;

/// How much one question may cost: as long as a request of the JSON interface may take, and the documents of one answer.
const LIMITS: ReadLimits = ReadLimits {
    time: Duration::from_mins(2),
    num_rows: u64::MAX,
    num_bytes: 256 << 20,
    work_bytes: u64::MAX,
};

/// The provenance database, for a few questions at once. It is opened when the first question comes, so it may come
/// into being after the server.
#[derive(Clone)]
pub struct Documents {
    pool: ReaderPool,
}

impl Documents {
    /// The database that `open` opens for reading, asked at most `max_at_once` (at least 1) questions at a time; more
    /// wait for their turn.
    pub fn new(
        max_at_once: usize,
        open: impl Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            pool: ReaderPool::new(max_at_once, LIMITS, open),
        }
    }

    /// The answer of a store, asked on a thread that may block. A question ends with the future, and with `stopped`.
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
