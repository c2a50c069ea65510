//! The documents of the collection `incidents`.

use super::{ServerState, lock};
use crate::incident::{IncidentDocument, RankProgress};

impl ServerState {
    /// The incidents that are complete and those that changed since they were told, as far as
    /// [`ServerState::confirm_incidents`] does not say that they are stored. Saving the state first keeps their names
    /// over a restart. With `is_last`, nobody is waited for.
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
        for (rank, told) in &mut progress.live {
            *told = global.total.ranks.get(rank).map(|totals| totals.last_step);
        }
        // Of a recorded run, more is learnt than told until all is judged.
        let told = |rank| global.total.ranks.get(rank).map(|totals| totals.last_step);
        let untold = global.ended.iter();
        let untold = untold.filter(|rank| told(rank) < global.learnt.get(rank).copied());
        progress.unjudged = untold.map(|&(program, _)| program).collect();
        let functions = self.function_table();
        let due = global.incidents.due(&progress, &functions);
        let documents = due
            .iter()
            .map(|(program, incident)| IncidentDocument::new(*program, incident, &functions));
        documents
            .filter(|it| !global.incidents.has(it.program, it.id, it.hash))
            .collect()
    }

    /// Tells that all documents of [`ServerState::incidents`] are safe in the database.
    pub fn confirm_incidents(&self, documents: &[IncidentDocument]) {
        let mut global = lock(&self.global);
        for document in documents {
            global
                .incidents
                .confirm(document.program, document.id, document.hash);
        }
        global.incidents.confirm_all();
    }
}
