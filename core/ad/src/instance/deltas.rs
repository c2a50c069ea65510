//! Changes of the models that are not sent yet.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use callgrove_detect::FuncModel;
use callgrove_model::{FuncId, RankId, StepId};

use crate::error::AdError;
use crate::functions::InstanceFunctions;

/// Changes of the models and the steps that they come from. Both are sent together, so that the server knows which
/// steps its models include.
#[derive(Debug, Default)]
pub(super) struct ModelDeltas {
    /// The changes by function number.
    models: BTreeMap<u32, FuncModel>,
    pub(super) steps: Vec<(RankId, StepId)>,
}

impl ModelDeltas {
    /// Adds the changes of some steps. The changes of all ranks come in order of rank.
    pub(super) fn add(
        &mut self,
        steps: Vec<(RankId, StepId)>,
        models: impl IntoIterator<Item = (u32, FuncModel)>,
    ) -> Result<(), AdError> {
        self.steps.extend(steps);
        for (number, model) in models {
            match self.models.entry(number) {
                Entry::Vacant(entry) => {
                    entry.insert(model);
                }
                Entry::Occupied(mut entry) => entry.get_mut().merge(&model)?,
            }
        }
        Ok(())
    }

    /// Returns the models by global function index, with the highest thresholds so far.
    pub(super) fn by_fid(self, functions: &InstanceFunctions) -> Vec<(FuncId, FuncModel)> {
        let with_fid = self.models.into_iter().map(|(number, mut model)| {
            let function = functions.get(number);
            model.raise_threshold(function.reached.value());
            (function.fid, model)
        });
        with_fid.collect()
    }
}
