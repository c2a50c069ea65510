//! Draws each docked view, or a hint about what is missing when a view has no content.

use callgrove_actions::context::ViewContext;
use callgrove_actions::{Action, View};
use callgrove_finding_views::{changes, incidents, patterns, waits};
use callgrove_job_views::{counters, overview, profile, record, records};
use callgrove_timeline_view::timeline_ui;
use callgrove_tree_views::{candidates, details, scatter, tree};
use egui::{EventFilter, Frame, Id, Margin, RichText, Sense, Stroke, StrokeKind, Ui, WidgetText};
use egui_tiles::{SimplificationOptions, TileId, UiResponse};

use super::{States, layouts};
use crate::panels;

/// Margin around a view, in points.
const MARGIN: i8 = 6;
/// Minimum size of a view, in points.
const MIN_SIZE: f32 = 90.0;

/// The data that the docking borrows for one frame.
pub(super) struct Dock<'a, 'c> {
    pub(super) ctx: &'a mut ViewContext<'c>,
    pub(super) states: &'a mut States,
    /// The view with the keyboard focus.
    pub(super) focus: Option<View>,
}

/// Returns the id of the widget that represents a view in the Tab order.
pub(super) fn focus_id(view: View) -> Id {
    Id::unique(("view", view))
}

impl egui_tiles::Behavior<View> for Dock<'_, '_> {
    fn pane_ui(&mut self, ui: &mut Ui, _: TileId, view: &mut View) -> UiResponse {
        let view = *view;
        let place = ui.max_rect();
        let response = ui.interact(place, focus_id(view), Sense::focusable_noninteractive());
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::Pane, true, format!("{} view", view.name()))
        });
        self.ctx.has_focus = self.focus == Some(view);
        Frame::new()
            .inner_margin(Margin::same(MARGIN))
            .show(ui, |ui| self.view_ui(view, ui));
        if response.has_focus() {
            // The arrow keys move inside the view instead of moving the focus.
            let arrows = EventFilter {
                horizontal_arrows: true,
                vertical_arrows: true,
                ..EventFilter::default()
            };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
            let stroke = Stroke::new(2.0, self.ctx.theme.focus());
            ui.painter()
                .rect_stroke(place.shrink(1.0), 2.0, stroke, StrokeKind::Inside);
        }
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, view: &View) -> WidgetText {
        let title = RichText::new(view.name());
        if self.focus == Some(*view) {
            title.strong().into()
        } else if panels::missing(*view, self.ctx.snapshot).is_some() {
            title.color(self.ctx.theme.weak_text()).italics().into()
        } else {
            title.into()
        }
    }

    fn on_tab_button(
        &mut self,
        tiles: &mut egui_tiles::Tiles<View>,
        tile: TileId,
        button: egui::Response,
    ) -> egui::Response {
        let Some(view) = tiles.get_pane(&tile) else {
            return button;
        };
        if button.clicked() {
            self.ctx.actions.push(Action::Focus(*view));
        }
        button.accessible_name(format!("Tab {}", view.name()))
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions {
            all_panes_must_have_tabs: true,
            ..SimplificationOptions::default()
        }
    }

    fn min_size(&self) -> f32 {
        MIN_SIZE
    }

    fn gap_width(&self, _: &egui::Style) -> f32 {
        3.0
    }
}

impl Dock<'_, '_> {
    fn view_ui(&mut self, view: View, ui: &mut Ui) {
        let snapshot = self.ctx.snapshot;
        if let Some(missing) = panels::missing(view, snapshot) {
            return panels::missing_ui(self.ctx, (view, missing), ui);
        }
        let (ctx, states) = (&mut *self.ctx, &mut self.states.views);
        match view {
            View::Incidents => incidents::incidents_ui(ctx, &mut states.incidents, ui),
            View::Candidates => {
                candidates::candidates_ui(ctx, &mut states.candidates, ui);
            }
            View::Map => scatter::scatter_ui(ctx, &mut states.scatter, ui),
            View::Tree => tree::tree_ui(ctx, &mut states.tree, ui),
            View::Timeline => timeline_ui(ctx, &mut states.timeline, ui),
            View::Details => details::details_ui(ctx, &mut states.details, ui),
            View::Training => {
                let (settings, publication) =
                    (&mut self.states.settings, &mut self.states.publication);
                panels::training_ui(ctx, &mut states.candidates, settings, publication, ui);
            }
            View::Overview => overview::overview_ui(ctx, &mut states.overview, ui),
            View::Profile => profile::functions_ui(ctx, &mut states.profile, ui),
            View::Patterns => patterns::patterns_ui(ctx, &mut states.patterns, ui),
            View::Changes => changes::changes_ui(ctx, &mut states.changes, ui),
            View::Waits => waits::waits_ui(ctx, &mut states.waits, ui),
            View::Counters => counters::counters_ui(ctx, &mut states.counters, ui),
            View::Records => records::executions_ui(ctx, &mut states.records, ui),
            View::Record => record::document_ui(ctx, &mut states.record, ui),
        }
    }
}

/// Returns the view that got the focus in this frame, by a click or by Tab.
pub(super) fn newly_focused(layout: &layouts::Layout, ctx: &egui::Context) -> Option<View> {
    let pressed =
        ctx.input(|input| (input.pointer.any_pressed()).then(|| input.pointer.interact_pos()));
    if let Some(at) = pressed.flatten() {
        return layouts::view_at(layout, at);
    }
    let focused = ctx.memory(egui::Memory::focused)?;
    View::ALL
        .into_iter()
        .find(|view| focus_id(*view) == focused)
}
