//! The layout of a picture: title and facts, the view, its legend.

use callgrove_actions::PictureView;
use callgrove_actions::context::ViewContext;
use callgrove_finding_views::changes::changes_ui;
use callgrove_finding_views::incidents::{incident_notes, incidents_ui};
use callgrove_finding_views::patterns::patterns_picture_ui;
use callgrove_finding_views::waits::waits_ui;
use callgrove_job_views::counters::counters_ui;
use callgrove_job_views::overview::overview_ui;
use callgrove_job_views::profile::functions_ui;
use callgrove_job_views::record::document_ui;
use callgrove_job_views::records::executions_ui;
use callgrove_session::Snapshot;
use callgrove_timeline_view::timeline_picture_ui;
use callgrove_tree_views::candidates::candidates_ui;
use callgrove_tree_views::details::details_ui;
use callgrove_tree_views::scatter::map_picture_ui;
use callgrove_tree_views::tree::tree_picture_ui;
use callgrove_widgets::theme::Theme;
use callgrove_widgets::{
    LegendItem, LegendMark, PictureHeader, ViewNotes, legend_ui, picture_title, view_header,
};
use egui::{Frame, Label, Margin, Panel, RichText, Ui};

use super::picture_request::ViewPicture;
use crate::states::ViewStates;

/// Margin around everything, in points.
const MARGIN: i8 = 12;
/// Size of the title, in points.
const TITLE_SIZE: f32 = 17.0;
/// Size of the facts, in points.
const FACTS_SIZE: f32 = 12.0;
/// Maximum share of the height that facts and legend have each.
const MAX_SHARE: f32 = 0.25;

/// Draws a page with the title, the facts and the legend of the previous frame. Returns those of this frame.
pub(super) fn page_ui(
    ctx: &mut ViewContext<'_>,
    states: &mut ViewStates,
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
    states: &mut ViewStates,
    view: PictureView,
    ui: &mut Ui,
) -> ViewNotes {
    match view {
        PictureView::Timeline => return timeline_picture_ui(ctx, &mut states.timeline, ui),
        PictureView::Map => return map_picture_ui(ctx, &mut states.scatter, ui),
        PictureView::Tree => return tree_picture_ui(ctx, &mut states.tree, ui),
        PictureView::Patterns => return patterns_picture_ui(ctx, &mut states.patterns, ui),
        PictureView::Incident => return incident_ui(ctx, states, ui),
        PictureView::Incidents => incidents_ui(ctx, &mut states.incidents, ui),
        PictureView::Candidates => candidates_ui(ctx, &mut states.candidates, ui),
        PictureView::Waits => waits_ui(ctx, &mut states.waits, ui),
        PictureView::Changes => changes_ui(ctx, &mut states.changes, ui),
        PictureView::Details => details_ui(ctx, &mut states.details, ui),
        PictureView::Profile => functions_ui(ctx, &mut states.profile, ui),
        PictureView::Counters => counters_ui(ctx, &mut states.counters, ui),
        PictureView::Records => executions_ui(ctx, &mut states.records, ui),
        PictureView::Record => document_ui(ctx, &mut states.record, ui),
        PictureView::Overview => {
            // Each of its parts has a header.
            view_header(ui, "Anomalies of the run", |_| {});
            overview_ui(ctx, &mut states.overview, ui);
        }
    }
    let PictureHeader { title, mut facts } = picture_title(ui);
    facts.dedup();
    let legend = match view {
        PictureView::Candidates => {
            let mark = LegendMark::Fill(ctx.theme.abnormal());
            vec![LegendItem::new(mark, "called abnormal")]
        }
        _ => Vec::new(),
    };
    ViewNotes {
        title: title.unwrap_or_else(|| view.name().to_owned()),
        facts,
        legend,
    }
}

fn incident_ui(ctx: &mut ViewContext<'_>, states: &mut ViewStates, ui: &mut Ui) -> ViewNotes {
    let drawn = timeline_picture_ui(ctx, &mut states.timeline, ui);
    let number = ctx.snapshot.inspected.incident;
    let notes = number.and_then(|number| incident_notes(ctx.snapshot, number));
    ViewNotes {
        legend: drawn.legend.clone(),
        ..notes.unwrap_or(drawn)
    }
}
