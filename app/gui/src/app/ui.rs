//! Draws: bars, panels and views, each in its place.

use callgrove_session::Command;
use egui::{CentralPanel, Frame, Margin, Panel, Ui};

use super::CallgroveApp;
use crate::context::ViewContext;
use crate::panels::{self, PathAnswer};
use crate::views;

/// Margin around panels, in points.
const MARGIN: i8 = 8;

impl CallgroveApp {
    /// Draws the window.
    pub(super) fn draw(&mut self, ui: &mut Ui, commands: &mut Vec<Command>) {
        let can_monitor = self.platform.can_monitor();
        let snapshot = std::sync::Arc::clone(&self.shown);
        let theme = self.theme.clone();
        let mut ctx = ViewContext {
            snapshot: &snapshot,
            theme: &theme,
            commands,
        };
        let bar = Frame::side_top_panel(ui.style()).inner_margin(Margin::symmetric(12, 4));
        Panel::top("top bar")
            .exact_size(40.0)
            .frame(bar)
            .show(ui, |ui| {
                let chooser = &mut self.panels.chooser;
                panels::top_bar_ui(&mut ctx, chooser, &mut self.wishes, can_monitor, ui);
            });
        Panel::bottom("status bar")
            .exact_size(30.0)
            .frame(bar)
            .show(ui, |ui| {
                panels::status_bar_ui(
                    &ctx,
                    &mut self.panels.status,
                    self.unsent.len(),
                    &mut self.wishes,
                    ui,
                );
            });
        if panels::needs_start(&snapshot) {
            CentralPanel::default().show(ui, |ui| {
                let panels = &mut self.panels;
                panels::start_ui(
                    &mut ctx,
                    &mut panels.start,
                    &mut panels.chooser,
                    &mut self.wishes,
                    can_monitor,
                    ui,
                );
            });
        } else {
            self.draw_views(&mut ctx, ui);
            panels::notices_ui(&mut ctx, ui.ctx());
        }
        if self.is_help_open {
            self.is_help_open = panels::help_ui(&ctx, ui.ctx());
        }
        self.draw_path_dialog(ui);
    }

    /// Candidates and training on the left; map, tree and timeline in the middle.
    fn draw_views(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        let Sizes {
            candidates_width,
            training_height,
            timeline_height,
            tree_width,
        } = Sizes::of(ui);
        let frame = Frame::side_top_panel(ui.style()).inner_margin(Margin::same(MARGIN));
        let panels = &mut self.panels;
        Panel::left("left")
            .default_size(candidates_width)
            .size_range(340.0..=560.0)
            .frame(frame)
            .show(ui, |ui| {
                let frame = Frame::new().inner_margin(Margin {
                    top: MARGIN,
                    ..Margin::ZERO
                });
                Panel::bottom("training")
                    .resizable(true)
                    .default_size(training_height)
                    .min_size(90.0)
                    .frame(frame)
                    .show(ui, |ui| {
                        panels::training_ui(
                            ctx,
                            &mut panels.candidates,
                            &mut panels.settings,
                            &mut self.wishes,
                            ui,
                        );
                    });
                CentralPanel::no_frame().show(ui, |ui| {
                    views::candidates::candidates_ui(ctx, &mut panels.candidates, ui);
                });
            });
        Panel::bottom("timeline")
            .resizable(true)
            .default_size(timeline_height)
            .min_size(120.0)
            .frame(frame)
            .show(ui, |ui| {
                views::timeline::timeline_ui(ctx, &mut panels.timeline, ui);
            });
        Panel::right("tree")
            .default_size(tree_width)
            .min_size(240.0)
            .frame(frame)
            .show(ui, |ui| {
                views::tree::tree_ui(ctx, &mut panels.tree, ui);
            });
        CentralPanel::default().frame(frame).show(ui, |ui| {
            views::scatter::scatter_ui(ctx, &mut panels.scatter, ui);
        });
    }

    fn draw_path_dialog(&mut self, ui: &Ui) {
        let Some(dialog) = &mut self.path_dialog else {
            return;
        };
        match dialog.ui(ui.ctx()) {
            PathAnswer::Open => return,
            PathAnswer::Closed => {}
            PathAnswer::Given(purpose, path) => self.send(purpose.command(path)),
        }
        self.path_dialog = None;
    }
}

/// Sizes of a window that nobody has touched, in points.
struct Sizes {
    candidates_width: f32,
    training_height: f32,
    timeline_height: f32,
    tree_width: f32,
}

impl Sizes {
    fn of(ui: &Ui) -> Self {
        let size = ui.available_size();
        let candidates_width = (size.x * 0.24).clamp(344.0, 400.0);
        Self {
            candidates_width,
            training_height: (size.y * 0.34).min(340.0),
            timeline_height: size.y * 0.40,
            tree_width: (size.x - candidates_width) * 0.54,
        }
    }
}
