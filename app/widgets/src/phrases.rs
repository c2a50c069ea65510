//! A sentence about a delay whose parts are links.

use callgrove_session::{CauseEvidence, CausePhrase};
use egui::{Link, RichText, Ui};

/// Draws `subject` and the sentence, wrapped. Returns the evidence whose link was clicked.
pub fn phrases_ui(subject: &str, phrases: &[CausePhrase], ui: &mut Ui) -> Option<CauseEvidence> {
    let mut clicked = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        if !subject.is_empty() {
            ui.label(RichText::new(format!("{subject} ")).strong());
        }
        for phrase in phrases {
            let text = RichText::new(&phrase.text);
            let Some(evidence) = phrase.evidence else {
                ui.label(text);
                continue;
            };
            let hint = match evidence {
                CauseEvidence::Call(_) => "Show this call",
                CauseEvidence::Rank(_) => "Pin the rank to the top of the timeline",
            };
            if ui.add(Link::new(text)).on_hover_text(hint).clicked() {
                clicked = Some(evidence);
            }
        }
    });
    clicked
}
