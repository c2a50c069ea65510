//! The layout of a picture: title and facts, the view, its legend.

use callgrove_session::Snapshot;
use egui::{Frame, Label, Margin, Panel, RichText, Ui};

use super::wanted::ViewPicture;
use crate::command::PictureView;
use crate::context::ViewContext;
use crate::theme::Theme;
use crate::views::incidents::incident_notes;
use crate::views::patterns::{PatternsState, patterns_picture_ui};
use crate::views::scatter::{ScatterState, map_picture_ui};
use crate::views::timeline::{TimelineState, timeline_picture_ui};
use crate::views::tree::{TreeState, tree_picture_ui};
use crate::widgets::{ViewNotes, legend_ui};

/// Margin around everything, in points.
const MARGIN: i8 = 12;
/// Size of the title, in points.
const TITLE_SIZE: f32 = 17.0;
/// Size of the facts, in points.
const FACTS_SIZE: f32 = 12.0;
/// Maximum share of the height that facts and legend have each.
const MAX_SHARE: f32 = 0.25;

/// The states of the views that can be pictures.
pub(crate) struct ViewStates<'a> {
    pub(crate) timeline: &'a mut TimelineState,
    pub(crate) map: &'a mut ScatterState,
    pub(crate) tree: &'a mut TreeState,
    pub(crate) patterns: &'a mut PatternsState,
}

/// Draws a page with the title, the facts and the legend of the previous frame. Returns those of this frame.
pub(super) fn page_ui(
    ctx: &mut ViewContext<'_>,
    states: &mut ViewStates<'_>,
    (wanted, known): (&ViewPicture, &ViewNotes),
    ui: &mut Ui,
) -> ViewNotes {
    let margin = Margin::same(MARGIN);
    let mut notes = ViewNotes::default();
    Frame::new().inner_margin(margin).show(ui, |ui| {
        ui.set_min_size(ui.available_size());
        heading_ui(ctx.theme, known, ui);
        if !known.legend.is_empty() {
            let height = ui.available_height() * MAX_SHARE;
            let above = Margin {
                top: 6,
                ..Margin::ZERO
            };
            Panel::bottom("legend")
                .max_size(height)
                .resizable(false)
                .show_separator_line(false)
                .frame(Frame::new().inner_margin(above))
                .show(ui, |ui| legend_ui(ctx.theme, &known.legend, ui));
        }
        notes = view_ui(ctx, states, wanted.view, ui);
    });
    if let Some(title) = &wanted.title {
        notes.title.clone_from(title);
    }
    notes.facts.extend(run_name(ctx.snapshot));
    notes
}

fn heading_ui(theme: &Theme, notes: &ViewNotes, ui: &mut Ui) {
    ui.spacing_mut().item_spacing.y = 3.0;
    let title = RichText::new(&notes.title).size(TITLE_SIZE).strong();
    ui.add(Label::new(title).truncate());
    let facts = RichText::new(notes.facts.join(" · "))
        .size(FACTS_SIZE)
        .color(theme.weak_text());
    ui.add(Label::new(facts).wrap());
    ui.add_space(5.0);
}

/// Returns the last part of the name of the run's source.
fn run_name(snapshot: &Snapshot) -> Option<String> {
    let source = snapshot.source.as_deref()?;
    let name = source
        .trim_end_matches(['/', '\\'])
        .rsplit(['/', '\\'])
        .next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn view_ui(
    ctx: &mut ViewContext<'_>,
    states: &mut ViewStates<'_>,
    view: PictureView,
    ui: &mut Ui,
) -> ViewNotes {
    match view {
        PictureView::Timeline => timeline_picture_ui(ctx, states.timeline, ui),
        PictureView::Map => map_picture_ui(ctx, states.map, ui),
        PictureView::Tree => tree_picture_ui(ctx, states.tree, ui),
        PictureView::Patterns => patterns_picture_ui(ctx, states.patterns, ui),
        PictureView::Incident => {
            let drawn = timeline_picture_ui(ctx, states.timeline, ui);
            let number = ctx.snapshot.incident;
            let notes = number.and_then(|number| incident_notes(ctx.snapshot, number));
            ViewNotes {
                legend: drawn.legend.clone(),
                ..notes.unwrap_or(drawn)
            }
        }
    }
}
