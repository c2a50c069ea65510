//! The Overview: ranks and functions in order, anomalies by step, and the newest anomalies.

mod bars;
mod blocks;
mod heat;
mod history;
mod incidents;
mod recent;

use callgrove_actions::context::ViewContext;
use egui::{CentralPanel, Frame, Margin, Panel, Ui};

use bars::BarsState;
use heat::HeatState;
use history::HistoryState;
use recent::RecentState;

/// Height below which the plot of anomalies over time is left out, in points; the heat map shows the same data.
const MIN_HEIGHT_WITH_HISTORY: f32 = 340.0;

/// States of the parts.
#[derive(Default)]
pub struct OverviewState {
    bars: BarsState,
    heat: HeatState,
    history: HistoryState,
    recent: RecentState,
}

impl OverviewState {
    /// Moves the keyboard focus to the search field in the next frame.
    pub fn begin_search(&mut self) {
        self.bars.begin_search();
    }
}

/// Draws the page.
pub fn overview_ui(ctx: &mut ViewContext<'_>, state: &mut OverviewState, ui: &mut Ui) {
    let size = ui.available_size();
    let frame = |right: i8, top: i8| {
        Frame::new().inner_margin(Margin {
            right,
            top,
            ..Margin::ZERO
        })
    };
    Panel::left("rankings")
        .default_size((size.x * 0.3).clamp(320.0, 460.0))
        .size_range(280.0..=640.0)
        .frame(frame(8, 0))
        .show(ui, |ui| bars::bars_ui(ctx, &mut state.bars, ui));
    let is_low = size.y < MIN_HEIGHT_WITH_HISTORY;
    Panel::bottom("newest")
        .resizable(true)
        .default_size((size.y * 0.28).min(260.0))
        .min_size(90.0)
        .frame(frame(0, 8))
        .show(ui, |ui| recent::recent_ui(ctx, &mut state.recent, ui));
    CentralPanel::no_frame().show(ui, |ui| {
        let heat = state.heat.map(ctx, ui.available_width());
        if !is_low {
            history::history_ui(ctx, &mut state.history, &heat, ui);
        }
        heat::heat_ui(ctx, &mut state.heat, &heat, ui);
    });
}
