//! The newest models of an instance: those of the server, plus what the instance has learnt since.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::FuncModel;
use callgrove_model::FuncId;

use crate::contribution::merge_model;
use crate::protocol::Cursor;

/// Models by the instance's own function indices.
#[derive(Debug, Default)]
pub(super) struct ModelCache {
    models: BTreeMap<FuncId, Arc<FuncModel>>,
    /// Models of functions that the instance has not asked for yet, by the server's index, each with the server's
    /// version. They are sent only once, and the instance may find the function later.
    unasked: BTreeMap<FuncId, (u64, Arc<FuncModel>)>,
    cursor: Cursor,
}

impl ModelCache {
    /// Adds what the instance has learnt.
    pub(super) fn learn(&mut self, deltas: &BTreeMap<FuncId, FuncModel>) {
        for (&fid, delta) in deltas {
            self.models
                .entry(fid)
                .and_modify(|model| merge_model(Arc::make_mut(model), delta))
                .or_insert_with(|| Arc::new(delta.clone()));
        }
    }

    /// Replaces a model by the server's, plus everything that the server's version lacks.
    pub(super) fn replace<'a>(
        &mut self,
        fid: FuncId,
        mut model: Arc<FuncModel>,
        newer: impl Iterator<Item = &'a FuncModel>,
    ) {
        for delta in newer {
            merge_model(Arc::make_mut(&mut model), delta);
        }
        self.models.insert(fid, model);
    }

    /// Keeps a model of a function that the instance has not asked for, under the server's index.
    pub(super) fn keep(&mut self, server_fid: FuncId, version: u64, model: Arc<FuncModel>) {
        self.unasked.insert(server_fid, (version, model));
    }

    /// Takes the models of functions that the instance has asked for since, each with its own index and the version.
    pub(super) fn take_asked(
        &mut self,
        of_server: impl Fn(FuncId) -> Option<FuncId>,
    ) -> Vec<(FuncId, u64, Arc<FuncModel>)> {
        let asked = self
            .unasked
            .extract_if(.., |fid, _| of_server(*fid).is_some());
        let asked: Vec<_> = asked.collect();
        asked
            .into_iter()
            .filter_map(|(fid, (version, model))| Some((of_server(fid)?, version, model)))
            .collect()
    }

    pub(super) fn get(&self, fid: FuncId) -> Option<Arc<FuncModel>> {
        self.models.get(&fid).map(Arc::clone)
    }

    pub(super) fn cursor(&self) -> Cursor {
        self.cursor
    }

    pub(super) fn advance(&mut self, cursor: Cursor) {
        self.cursor = cursor;
    }

    /// The server's epoch has changed, so its version numbers are no longer comparable, and its indices may be others.
    pub(super) fn forget_cursor(&mut self) {
        self.cursor = Cursor::default();
        self.unasked.clear();
    }
}
