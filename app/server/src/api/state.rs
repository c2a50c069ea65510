//! The data that the endpoints of a server share.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::provenance_pool::Documents;
use super::tree_model_registry::TreeModelRegistry;
use crate::hub::Hub;

/// The data that a server offers.
#[derive(Clone)]
pub struct Api {
    /// The running job.
    pub live: Live,
    /// The provenance database, if this server can query it.
    pub documents: Option<Documents>,
    /// The tree models of the running job, if this server keeps them.
    pub tree_models: Option<TreeModelRegistry>,
}

impl Api {
    pub(super) fn tree_models(&self) -> Result<&TreeModelRegistry, ApiError> {
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

/// The source of the packets about the running job.
#[derive(Clone)]
pub enum Live {
    /// This server has no live data.
    Absent,
    /// This process publishes the packets itself.
    Published(Arc<Hub>),
    /// A parameter server posts the packets to `/api/anomalydata`.
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

/// Returns an answer whose body is the given JSON.
pub(super) fn json_response(json: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}
