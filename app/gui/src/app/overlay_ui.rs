//! Draws the overlay, and carries out what was chosen there.

use callgrove_actions::context::ViewContext;
use callgrove_actions::{ACTIONS, Action, View};

use super::CallgroveApp;
use super::go_to::{Target, targets};
use super::help::help_ui;
use super::overlay::Overlay;
use super::picker::{Choice, Picked, fit};
use crate::panels::PathAnswer;

impl CallgroveApp {
    /// Draws the overlay, and removes it when it is done.
    pub(super) fn overlay_ui(&mut self, ctx: &mut ViewContext<'_>, egui_ctx: &egui::Context) {
        let Some(mut overlay) = self.overlay.take() else {
            return;
        };
        let stays = match &mut overlay {
            Overlay::Help(help) => help_ui(ctx, help, &mut self.preferences.keys, egui_ctx),
            Overlay::Palette(picker) => {
                let picked = picker.ui(egui_ctx, "Run a command", |typed| {
                    self.matching_commands(ctx, typed)
                });
                match picked {
                    Picked::Chosen(action) => {
                        ctx.actions.push(action);
                        false
                    }
                    Picked::Closed => false,
                    Picked::Open => true,
                }
            }
            Overlay::GoTo(picker) => {
                let title = "Go to #rank-index, rank:step:row, rank 3, 1.5 s, a function, a view";
                match picker.ui(egui_ctx, title, |typed| targets(ctx.snapshot, typed)) {
                    Picked::Chosen(target) => {
                        self.go_to_target(ctx, target);
                        false
                    }
                    Picked::Closed => false,
                    Picked::Open => true,
                }
            }
            Overlay::Path(dialog) => match dialog.ui(egui_ctx) {
                PathAnswer::Open => true,
                PathAnswer::Closed => false,
                PathAnswer::Given(purpose, path) => {
                    if let Some(command) = self.take_path(purpose, path) {
                        ctx.send(command);
                    }
                    false
                }
            },
            Overlay::Connect => self.states.connect.modal_ui(ctx, egui_ctx),
        };
        if stays {
            self.overlay = Some(overlay);
        }
    }

    /// Returns the possible actions whose names match, the best first.
    fn matching_commands(&self, ctx: &ViewContext<'_>, typed: &str) -> Vec<Choice<Action>> {
        let possible = ACTIONS.iter().filter(|entry| {
            !matches!(entry.action, Action::Palette | Action::Escape)
                && entry.action.is_possible(ctx.snapshot)
        });
        let mut found: Vec<(usize, Choice<Action>)> = possible
            .filter_map(|entry| {
                let choice = Choice {
                    text: entry.name.to_owned(),
                    hint: self.preferences.keys.text(entry),
                    value: entry.action,
                };
                Some((fit(entry.name, typed)?, choice))
            })
            .collect();
        found.sort_by_key(|(place, _)| *place);
        found.into_iter().map(|(_, choice)| choice).collect()
    }

    fn go_to_target(&mut self, ctx: &mut ViewContext<'_>, target: Target) {
        match target {
            Target::Command(command) => ctx.send(command),
            Target::Action(action) => ctx.actions.push(action),
            Target::Rank(program, rank) => {
                self.states.views.timeline.pin((program, rank));
                ctx.actions.push(Action::Focus(View::Timeline));
            }
            Target::Shown(view, command) => {
                ctx.send(command);
                ctx.actions.push(Action::Focus(view));
            }
        }
    }
}
