//! Changes of the models that are not sent yet.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use callgrove_detect::{FuncModel, RunningThreshold};
use callgrove_model::{FuncId, RankId, StepId};

use crate::AdError;

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

    /// Returns the models by global function index. `fids` and `reached`, the highest thresholds so far, are indexed by
    /// function number.
    pub(super) fn by_fid(
        self,
        fids: &[FuncId],
        reached: &[RunningThreshold],
    ) -> Vec<(FuncId, FuncModel)> {
        let with_fid = self.models.into_iter().map(|(number, mut model)| {
            model.raise_threshold(reached[number as usize].value());
            (fids[number as usize], model)
        });
        with_fid.collect()
    }
}
