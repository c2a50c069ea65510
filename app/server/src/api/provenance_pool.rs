//! The provenance database as the endpoints ask it: a few stores, each opened when it is needed.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use callgrove_provdb::{ProvDbError, Store};
use tokio::sync::Semaphore;

use super::error::ApiError;

/// The provenance database, for a few questions at once. It is opened when the first question comes, so it may come
/// into being after the server.
#[derive(Clone)]
pub struct Documents {
    pool: Arc<Pool>,
}

type Open = dyn Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync;

struct Pool {
    open: Box<Open>,
    /// Open stores that nobody asks just now.
    idle: Mutex<Vec<Box<dyn Store>>>,
    /// As many as may be open.
    places: Arc<Semaphore>,
}

impl Documents {
    /// The database that `open` opens for reading, asked at most `max_at_once` (at least 1) questions at a time; more
    /// wait for their turn.
    pub fn new(
        max_at_once: usize,
        open: impl Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync + 'static,
    ) -> Self {
        let places = Arc::new(Semaphore::new(max_at_once.clamp(1, Semaphore::MAX_PERMITS)));
        let pool = Pool {
            open: Box::new(open),
            idle: Mutex::default(),
            places,
        };
        Self {
            pool: Arc::new(pool),
        }
    }

    /// The answer of a store, asked on a thread that may block.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn Store) -> Result<T, ProvDbError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let Ok(place) = Arc::clone(&self.pool.places).acquire_owned().await else {
            let message = "the server is about to stop";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message));
        };
        let pool = Arc::clone(&self.pool);
        let answer = tokio::task::spawn_blocking(move || {
            let answer = pool.ask(question);
            // A client that leaves does not end its question, which keeps its place until it is answered.
            drop(place);
            answer
        })
        .await;
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(refusal(&error)),
            Err(error) => Err(ApiError::defect(&error)),
        }
    }
}

impl Pool {
    fn ask<T>(
        &self,
        question: impl FnOnce(&mut dyn Store) -> Result<T, ProvDbError>,
    ) -> Result<T, ProvDbError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let mut store = known.map_or_else(|| (self.open)(), Ok)?;
        let answer = question(store.as_mut())?;
        // After a failure the store is opened anew: the folder may be another one, the server may have come back.
        idle().push(store);
        Ok(answer)
    }
}

fn refusal(error: &ProvDbError) -> ApiError {
    let status = match error {
        ProvDbError::Missing(_) => StatusCode::NOT_FOUND,
        ProvDbError::Filter(_) | ProvDbError::TooLarge { .. } => StatusCode::BAD_REQUEST,
        ProvDbError::Unreachable { .. } | ProvDbError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    ApiError::new(status, error.to_string())
}
