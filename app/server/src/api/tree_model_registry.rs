//! The tree models of a parameter server, where a change is acknowledged once it is saved.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use callgrove_detect::TreeModelReader;
use callgrove_pserver::ServerState;
use tokio::time::{Instant, sleep};

use super::error::ApiError;

/// Timeout for a published model to be saved.
const SAVE_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of the check whether a model has been saved.
const SAVE_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The tree models of a parameter server, as the interface lists and changes them.
#[derive(Clone)]
pub struct TreeModelRegistry {
    /// The parameter server.
    pub state: Arc<ServerState>,
    /// The reader that checks whether a model can be used.
    pub reader: Arc<dyn TreeModelReader>,
    /// True if a change is acknowledged only once it is on disk.
    pub is_kept: bool,
}

impl TreeModelRegistry {
    pub(super) async fn wait_until_saved(&self, generation: u64) -> Result<(), ApiError> {
        let deadline = Instant::now() + SAVE_TIMEOUT;
        while self.is_kept && !self.state.has_saved_tree_models(generation) {
            if Instant::now() > deadline {
                let message = "the model is in force, but the provenance database has not stored it yet, and a restart of \
                               the parameter server would lose it: see what it reports about its database";
                return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message));
            }
            sleep(SAVE_POLL_INTERVAL).await;
        }
        Ok(())
    }
}
