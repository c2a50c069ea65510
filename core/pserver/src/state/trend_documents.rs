//! The documents of the collection `trends`.

use super::{ServerState, lock};
use crate::trend::{DueTrends, TrendDocument};

impl ServerState {
    /// Returns the trends of the steps so far that are new, have changed or are not found any more, except those that
    /// [`ServerState::confirm_trends`] recorded as stored. Those of a recorded run are all returned once its ranks are
    /// judged or, with `is_last`, at the end.
    pub fn trends(&self, is_last: bool) -> DueTrends {
        let mut recorded = self.judged_programs();
        for is_judged in recorded.values_mut() {
            *is_judged |= is_last;
        }
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        global.trends.due(&recorded, &self.function_table())
    }

    /// Records whether all documents of [`ServerState::trends`] are safe in the database.
    pub fn confirm_trends(&self, documents: &[TrendDocument], are_stored: bool) {
        let mut global = lock(&self.global);
        if are_stored {
            global.trends.confirm(documents);
        } else {
            global.trends.invalidate();
        }
    }
}
