//! The documents of the collection `trends`.

use super::{ServerState, lock};
use crate::trend::TrendDocument;

impl ServerState {
    /// The trends of the steps so far that are new or have changed, as far as [`ServerState::confirm_trends`] does not say that
    /// they are stored, and those that are not seen any more.
    pub fn trends(&self) -> Vec<TrendDocument> {
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        global.trends.due(&self.function_table())
    }

    /// Says whether all documents of [`ServerState::trends`] are safe in the database.
    pub fn confirm_trends(&self, documents: &[TrendDocument], are_stored: bool) {
        let mut global = lock(&self.global);
        if are_stored {
            global.trends.confirm(documents);
        } else {
            global.trends.look_again();
        }
    }
}
