//! The tree models of a parameter server, where a change is acknowledged once it is kept.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use callgrove_detect::TreeModelReader;
use callgrove_pserver::ServerState;
use tokio::time::{Instant, sleep};

use super::error::ApiError;

/// How long a publication waits until it is on disk.
const SAVE_PATIENCE: Duration = Duration::from_secs(30);
const SAVE_LOOK: Duration = Duration::from_millis(20);

/// The tree models of a parameter server, as the interface shows and changes them.
#[derive(Clone)]
pub struct TreeModelDesk {
    /// The parameter server.
    pub state: Arc<ServerState>,
    /// Says whether a model can be used.
    pub reader: Arc<dyn TreeModelReader>,
    /// Whether a change is acknowledged only once it is on disk.
    pub is_kept: bool,
}

impl TreeModelDesk {
    pub(super) async fn wait_until_kept(&self, generation: u64) -> Result<(), ApiError> {
        let deadline = Instant::now() + SAVE_PATIENCE;
        while self.is_kept && !self.state.has_saved_tree_models(generation) {
            if Instant::now() > deadline {
                let message = "the model is in force, but the provenance database has not taken it so far, and a restart of \
                               the parameter server would lose it: see what it says of its database";
                return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message));
            }
            sleep(SAVE_LOOK).await;
        }
        Ok(())
    }
}
