//! The models that replies read: immutable, replaced as a whole by each fold.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::FuncId;

use super::global::{GlobalState, VersionedModel};
use super::log_progress::{GroupProgress, LogProgress};
use crate::contribution::model_wire_bytes;
use crate::protocol::{Cursor, PublishedModel};

/// Approximate maximum size of the models in one reply, in bytes; a reply has at least one model.
const MAX_REPLY_BYTES: usize = 1 << 20;

/// The models that changed since a cursor.
#[derive(Clone, Debug)]
pub struct ChangedModels {
    /// Version of the global model that they belong to.
    pub version: u64,
    /// The entries of the log up to this position are in the models.
    pub log_position: u64,
    /// How far the logs of groups are in the models.
    pub groups: Arc<BTreeMap<u32, GroupProgress>>,
    /// In order of version and function.
    pub models: Vec<PublishedModel>,
    /// The cursor for the next request.
    pub cursor: Cursor,
    /// True if more models follow.
    pub more: bool,
}

/// The models of one version.
#[derive(Clone, Debug, Default)]
pub(super) struct PublishedModels {
    pub(super) version: u64,
    log_position: u64,
    groups: Arc<BTreeMap<u32, GroupProgress>>,
    models: Arc<BTreeMap<FuncId, VersionedModel>>,
}

impl PublishedModels {
    /// Returns the models of the global state.
    pub(super) fn of(global: &GlobalState) -> Self {
        Self {
            version: global.version,
            log_position: global.log.position,
            groups: Arc::new(global.log.groups.clone()),
            models: Arc::new(global.models.clone()),
        }
    }

    /// Returns the same models for another version.
    pub(super) fn at(&self, version: u64, log: &LogProgress) -> Self {
        Self {
            version,
            log_position: log.position,
            groups: Arc::new(log.groups.clone()),
            models: Arc::clone(&self.models),
        }
    }

    /// Returns the models after a cursor.
    pub(super) fn since(&self, cursor: Cursor) -> ChangedModels {
        let mut found = ChangedModels {
            version: self.version,
            log_position: self.log_position,
            groups: Arc::clone(&self.groups),
            models: Vec::new(),
            cursor: Cursor {
                version: self.version,
                fid: FuncId(u32::MAX),
            },
            more: false,
        };
        if cursor >= found.cursor {
            return found;
        }
        let mut changed: Vec<(Cursor, &VersionedModel)> = self
            .models
            .iter()
            .map(|(&fid, versioned)| {
                let version = versioned.version;
                (Cursor { version, fid }, versioned)
            })
            .filter(|(place, _)| *place > cursor)
            .collect();
        changed.sort_unstable_by_key(|(place, _)| *place);
        let mut num_bytes = 0;
        found.models.reserve(changed.len());
        let mut last = None;
        for (place, VersionedModel { model, coded, .. }) in changed {
            num_bytes += model_wire_bytes(model);
            if num_bytes > MAX_REPLY_BYTES
                && let Some(last) = last
            {
                found.cursor = last;
                found.more = true;
                return found;
            }
            last = Some(place);
            let (model, coded) = (Arc::clone(model), coded.clone());
            let model = PublishedModel::with_code(place.fid, model, coded);
            found.models.push(model);
        }
        found
    }
}
