//! Draws: bars, and the views where they are docked.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_session::UserCommand;
use egui::{CentralPanel, Frame, Margin, Panel, Ui};

use super::CallgroveApp;
use super::dock::Dock;
use crate::background::ExportJob;
use crate::panels;

impl CallgroveApp {
    /// Draws the window.
    pub(super) fn draw(&mut self, ui: &mut Ui, commands: &mut Vec<UserCommand>) {
        let snapshot = Arc::clone(self.session.snapshot());
        let theme = self.theme.clone();
        let mut actions = std::mem::take(&mut self.actions);
        let mut ctx = ViewContext {
            snapshot: &snapshot,
            theme: &theme,
            commands,
            actions: &mut actions,
            has_focus: false,
        };
        let bar = Frame::side_top_panel(ui.style()).inner_margin(Margin::symmetric(10, 4));
        Panel::top("top bar")
            .exact_size(40.0)
            .frame(bar)
            .show(ui, |ui| {
                let (keys, layout) = (&self.preferences.keys, self.preferences.layout);
                panels::top_bar_ui(&mut ctx, &mut self.states.chooser, keys, layout, ui);
            });
        Panel::bottom("status bar")
            .exact_size(30.0)
            .frame(bar)
            .show(ui, |ui| {
                let num_unsent = self.session.num_unsent();
                let work = self.export.as_ref().map(ExportJob::work);
                let work = (num_unsent, work.as_ref());
                panels::status_bar_ui(&mut ctx, &mut self.states.status, work, ui);
            });
        if panels::needs_start(&snapshot) {
            CentralPanel::default().show(ui, |ui| {
                let states = &mut self.states;
                let recent = &self.preferences.recent;
                let platform = &*self.platform;
                panels::start_ui(&mut ctx, &mut states.start, recent, platform, ui);
            });
        } else {
            panels::questions_ui(&mut ctx, &self.preferences.keys, ui);
            let window = ui.ctx().content_rect();
            let bars = window.bottom() - ui.available_rect_before_wrap().bottom();
            let ground = Frame::new().fill(ui.visuals().panel_fill);
            CentralPanel::no_frame()
                .frame(ground)
                .show(ui, |ui| self.dock_ui(&mut ctx, ui));
            panels::notices_ui(&mut ctx, bars, ui.ctx());
        }
        self.overlay_ui(&mut ctx, ui.ctx());
        self.actions = actions;
    }

    fn dock_ui(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        let mut dock = Dock {
            ctx,
            states: &mut self.states,
            focus: self.focus,
        };
        self.layout.ui(&mut dock, ui);
    }
}
