//! What the endpoints of a server show.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::provenance_pool::Documents;
use super::tree_model_desk::TreeModelDesk;
use crate::hub::Hub;

/// What a server has to show.
#[derive(Clone)]
pub struct Api {
    /// The running job.
    pub live: Live,
    /// The provenance database, if this server can ask it.
    pub documents: Option<Documents>,
    /// The tree models of the running job, if this server keeps them.
    pub tree_models: Option<TreeModelDesk>,
}

impl Api {
    pub(super) fn tree_models(&self) -> Result<&TreeModelDesk, ApiError> {
        self.tree_models.as_ref().ok_or_else(|| {
            ApiError::new(
                StatusCode::NOT_FOUND,
                "this server keeps no tree models: ask the parameter server of the run (`callgrove pserver` or `callgrove run --listen`)",
            )
        })
    }

    pub(super) fn documents(&self) -> Result<&Documents, ApiError> {
        self.documents.as_ref().ok_or_else(|| {
            ApiError::new(
                StatusCode::NOT_FOUND,
                "this server has no provenance database: start it with --provdb, or ask `callgrove provdb`",
            )
        })
    }
}

/// Where packets about the running job come from.
#[derive(Clone)]
pub enum Live {
    /// This server knows nothing about it.
    Absent,
    /// The program publishes them itself; the interface shows them.
    Published(Arc<Hub>),
    /// A parameter server posts them to `/api/anomalydata`; the interface shows them.
    Posted(Arc<Hub>),
}

impl Live {
    pub(super) fn hub(&self) -> Result<&Arc<Hub>, ApiError> {
        match self {
            Self::Published(hub) | Self::Posted(hub) => Ok(hub),
            Self::Absent => Err(ApiError::new(
                StatusCode::NOT_FOUND,
                "this server has no live data: ask the parameter server of the run (`callgrove pserver` or `callgrove run`)",
            )),
        }
    }
}

/// An answer whose JSON is already written.
pub(super) fn written(json: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
