//! The models that replies read: immutable, replaced as a whole by each fold.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::FuncId;

use super::global::{GlobalState, VersionedModel};
use crate::contribution::model_wire_bytes;
use crate::protocol::{Cursor, PublishedModel};

/// Approximate maximum size of the models in one reply, in bytes; a reply has at least one model.
const MAX_REPLY_BYTES: usize = 1 << 20;

/// The models of one version.
#[derive(Clone, Debug, Default)]
pub(super) struct PublishedModels {
    pub(super) version: u64,
    models: Arc<BTreeMap<FuncId, VersionedModel>>,
}

impl PublishedModels {
    /// Returns the models of the global state.
    pub(super) fn of(global: &GlobalState) -> Self {
        Self {
            version: global.version,
            models: Arc::new(global.models.clone()),
        }
    }

    /// Returns the same models for another version.
    pub(super) fn at(&self, version: u64) -> Self {
        Self {
            version,
            models: Arc::clone(&self.models),
        }
    }

    /// Returns the models after a cursor, in order of version and function; the next cursor; and whether more follow.
    pub(super) fn since(&self, cursor: Cursor) -> (Vec<PublishedModel>, Cursor, bool) {
        let end = Cursor {
            version: self.version,
            fid: FuncId(u32::MAX),
        };
        if cursor >= end {
            return (Vec::new(), end, false);
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
        let mut models = Vec::with_capacity(changed.len());
        let mut last = None;
        for (place, VersionedModel { model, coded, .. }) in changed {
            num_bytes += model_wire_bytes(model);
            if num_bytes > MAX_REPLY_BYTES
                && let Some(last) = last
            {
                return (models, last, true);
            }
            last = Some(place);
            let (model, coded) = (Arc::clone(model), coded.clone());
            models.push(PublishedModel::with_code(place.fid, model, coded));
        }
        (models, end, false)
    }
}
