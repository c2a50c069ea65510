//! The facts about an incident for a picture.

use callgrove_session::{SimilarIncidents, Snapshot};
use callgrove_widgets::ViewNotes;
use callgrove_widgets::delay::trees_hit;

use super::card::{cost_text, facts_text};

/// Returns the title of an incident and the facts that its card shows; no legend.
pub fn incident_notes(snapshot: &Snapshot, number: usize) -> Option<ViewNotes> {
    let causes = snapshot.causes()?;
    let incident = causes.incident(number)?;
    let trees = trees_hit(snapshot, number);
    let mut facts = vec![
        causes.incident_sentence(incident),
        cost_text(incident),
        facts_text(snapshot, incident, &trees),
    ];
    facts.extend(causes.similar(number).map(SimilarIncidents::summary));
    facts.retain(|fact| !fact.is_empty());
    Some(ViewNotes {
        title: format!("Incident {}", number + 1),
        facts,
        legend: Vec::new(),
    })
}
