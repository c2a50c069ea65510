//! The documents of the collection `incidents`.

use callgrove_incidents::{IncidentDocument, RankProgress};

use super::{ServerState, lock};

impl ServerState {
    /// Returns the incidents that are complete, and those that changed since they were reported, except those that
    /// [`ServerState::confirm_incidents`] recorded as stored. Save the state first, so that their identifiers survive a
    /// restart. With `is_last`, incidents wait for no rank.
    pub fn incidents(&self, now_ms: u64, is_last: bool) -> Vec<IncidentDocument> {
        let mut progress = RankProgress {
            is_last,
            now_ms,
            ..RankProgress::default()
        };
        for partial_state in &self.partial_states {
            for registration in lock(partial_state).registrations() {
                if registration.is_live(now_ms) {
                    let ranks = registration.ranks.iter();
                    progress.live.extend(ranks.map(|&rank| (rank, None)));
                }
            }
        }
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        for (rank, last_step) in &mut progress.live {
            *last_step = global.total.ranks.get(rank).map(|totals| totals.last_step);
        }
        // In a recorded run, the models are ahead of the reports until everything is judged.
        let last_reported = |rank| global.total.ranks.get(rank).map(|totals| totals.last_step);
        let unreported = global.ended.iter();
        let unreported =
            unreported.filter(|rank| last_reported(rank) < global.learnt.get(rank).copied());
        progress.unjudged = unreported.map(|&(program, _)| program).collect();
        let functions = self.function_table();
        global.incidents.due(&progress, &*functions)
    }

    /// Records that all documents of [`ServerState::incidents`] are safe in the database.
    pub fn confirm_incidents(&self, documents: &[IncidentDocument]) {
        lock(&self.global).incidents.confirm(documents);
    }
}
