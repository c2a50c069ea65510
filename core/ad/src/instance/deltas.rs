//! What a round adds to the models.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use callgrove_detect::{FuncModel, RunningThreshold};
use callgrove_model::FuncId;

use crate::AdError;

/// The deltas of all ranks, merged in order of rank, by global index of the function. `fids` and
/// `reached`, the highest thresholds so far, are by number.
pub(super) fn merge_deltas(
    learnt: Vec<Vec<(u32, FuncModel)>>,
    fids: &[FuncId],
    reached: &[RunningThreshold],
) -> Result<Vec<(FuncId, FuncModel)>, AdError> {
    let mut by_number: BTreeMap<u32, FuncModel> = BTreeMap::new();
    for (number, model) in learnt.into_iter().flatten() {
        match by_number.entry(number) {
            Entry::Vacant(entry) => {
                entry.insert(model);
            }
            Entry::Occupied(mut entry) => entry.get_mut().merge(&model)?,
        }
    }
    let with_fid = by_number.into_iter().map(|(number, mut model)| {
        model.raise_threshold(reached[number as usize].value());
        (fids[number as usize], model)
    });
    Ok(with_fid.collect())
}
