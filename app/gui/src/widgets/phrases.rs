//! A sentence about a delay whose parts are links.

use callgrove_model::Trace;
use callgrove_session::{CauseEvidence, CausePhrase, Command};
use egui::{Link, RichText, Ui};

use crate::app::Action;
use crate::context::ViewContext;

/// Draws `subject` and the sentence, wrapped. A click on a call selects it; a click on a rank pins it to the top of the
/// timeline.
pub(crate) fn phrases_ui(
    ctx: &mut ViewContext<'_>,
    trace: &Trace,
    subject: &str,
    phrases: &[CausePhrase],
    ui: &mut Ui,
) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        if !subject.is_empty() {
            ui.label(RichText::new(format!("{subject} ")).strong());
        }
        for phrase in phrases {
            let text = RichText::new(&phrase.text);
            match phrase.evidence {
                None => {
                    ui.label(text);
                }
                Some(CauseEvidence::Call(call)) => {
                    let link = ui.add(Link::new(text)).on_hover_text("Show this call");
                    if link.clicked() {
                        ctx.send(Command::SelectCall(Some(call)));
                    }
                }
                Some(CauseEvidence::Rank(lane)) => {
                    let hint = "Pin the rank to the top of the timeline";
                    if ui.add(Link::new(text)).on_hover_text(hint).clicked() {
                        let lane = trace.lane(lane);
                        ctx.actions.push(Action::ShowRank(lane.program, lane.rank));
                    }
                }
            }
        }
    });
}
