//! The documents of the collection `incidents`.

use callgrove_incidents::{DueIncidents, IncidentDocument, RankProgress};

use super::{ServerState, lock};

impl ServerState {
    /// Returns the incidents that are complete, and those that changed since they were reported, except those that
    /// [`ServerState::confirm_incidents`] recorded as stored. Save the state first, so that their identifiers survive a
    /// restart. With `is_last`, incidents wait for no rank.
    pub fn incidents(&self, now_ms: u64, is_last: bool) -> DueIncidents {
        let mut progress = RankProgress {
            is_last,
            now_ms,
            recorded: self.judged_programs(),
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
        let former_ranks = lock(&self.former_ranks).clone();
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        for (rank, last_step) in &mut progress.live {
            *last_step = global.total.ranks.get(rank).map(|totals| totals.last_step);
        }
        let waited_for = progress.live.keys().chain(former_ranks.keys());
        let waited_for = waited_for.chain(global.total.ranks.keys());
        progress.settled = global.settled(waited_for);
        let functions = self.function_table();
        global.incidents.due(&progress, &*functions)
    }

    /// Records that all documents of [`ServerState::incidents`] are safe in the database.
    pub fn confirm_incidents(&self, documents: &[IncidentDocument]) {
        lock(&self.global).incidents.confirm(documents);
    }
}
