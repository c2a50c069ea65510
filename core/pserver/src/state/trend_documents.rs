//! The documents of the collection `trends`.

use super::{ServerState, lock};
use crate::trend::TrendDocument;

impl ServerState {
    /// Returns the trends of the steps so far that are new, have changed or are not found any more, except those that
    /// [`ServerState::confirm_trends`] recorded as stored.
    pub fn trends(&self) -> Vec<TrendDocument> {
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        global.trends.due(&self.function_table())
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
