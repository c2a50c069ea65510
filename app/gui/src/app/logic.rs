//! Decides: which snapshot is shown, what keys mean, where commands and wishes go.

use std::sync::Arc;
use std::time::Duration;

use callgrove_model::TreeIdx;
use callgrove_session::{Command, Label, Selection, Snapshot};
use egui::Context;

use super::CallgroveApp;
use super::keys::{self, Action};
use crate::monitor::MonitorView;
use crate::panels::{PathDialog, Wish};
use crate::platform::FilePurpose;
use crate::theme::Theme;
use crate::views::candidates::Step;

/// How often progress is looked at.
const PROGRESS_PERIOD: Duration = Duration::from_millis(100);
/// How soon commands are offered to a busy session again.
const RETRY_PERIOD: Duration = Duration::from_millis(30);

impl CallgroveApp {
    /// Takes over what is new; nothing here waits.
    pub(super) fn update(&mut self, ctx: &Context) {
        while let Some(command) = self.unsent.pop_front() {
            if let Err(command) = self.handle.send(command) {
                self.unsent.push_front(command);
                ctx.request_repaint_after(RETRY_PERIOD);
                break;
            }
        }
        while let Ok((purpose, path)) = self.answers.1.try_recv() {
            self.send(purpose.command(path));
        }
        let newest = self.handle.snapshot();
        if !Arc::ptr_eq(&newest, &self.newest) {
            let before = std::mem::replace(&mut self.newest, newest);
            self.forget_answered(&before);
            self.show_newest();
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.update(ctx);
        }
        let is_dark = ctx.theme() == egui::Theme::Dark;
        let trace = self.shown.trace.as_ref();
        if !self.theme.is_of(is_dark, trace) {
            self.theme = Theme::new(is_dark, trace);
        }
        if self.shown.work.is_some() {
            ctx.request_repaint_after(PROGRESS_PERIOD);
        }
    }

    /// Selections that the session has taken over, or has replaced by its own, are not ours any more.
    fn forget_answered(&mut self, before: &Snapshot) {
        let now = &self.newest.selection;
        if let Some(at) = self
            .unanswered
            .iter()
            .rposition(|selection| selection == now)
        {
            self.unanswered.drain(..=at);
        } else if *now != before.selection {
            self.unanswered.clear();
        }
    }

    /// Shows the newest snapshot with the person's last selection.
    fn show_newest(&mut self) {
        self.shown = match self.unanswered.back() {
            None => Arc::clone(&self.newest),
            Some(selection) => {
                let explanation = self.newest.explanation.clone();
                let explanation =
                    explanation.filter(|about| *selection == Selection::One(about.tree));
                Arc::new(Snapshot {
                    selection: selection.clone(),
                    explanation,
                    ..Snapshot::clone(&self.newest)
                })
            }
        };
    }

    /// Turns keys into commands and wishes.
    pub(super) fn take_keys(&mut self, ctx: &Context, commands: &mut Vec<Command>) {
        if self.path_dialog.is_some() {
            return;
        }
        self.panels.candidates.refresh(&self.shown);
        ctx.input(|input| {
            self.is_tabbing |= input.key_pressed(egui::Key::Tab);
            self.is_tabbing &= !input.pointer.any_click();
        });
        for action in keys::pressed(ctx, self.is_tabbing) {
            if self.is_help_open && !matches!(action, Action::Help | Action::Escape) {
                continue;
            }
            self.act(action, commands);
        }
    }

    fn act(&mut self, action: Action, commands: &mut Vec<Command>) {
        match action {
            Action::Normal => commands.extend(
                self.panels
                    .candidates
                    .label_selection(&self.shown, Label::Normal),
            ),
            Action::Abnormal => commands.extend(
                self.panels
                    .candidates
                    .label_selection(&self.shown, Label::Abnormal),
            ),
            Action::Unlabel => {
                commands.extend(self.panels.candidates.unlabel_selection(&self.shown));
            }
            Action::Deselect => commands.push(Command::Select(Selection::None)),
            Action::Next => commands.extend(self.step(Step::Next)),
            Action::Previous => commands.extend(self.step(Step::Previous)),
            Action::Skip => {
                let next = self.panels.candidates.skip(&self.shown);
                commands.extend(next.map(|tree| Command::Select(Selection::One(tree))));
            }
            Action::Undo => commands.push(Command::Undo),
            Action::Redo => commands.push(Command::Redo),
            Action::Train => commands.push(Command::Train),
            Action::Lasso => self.panels.scatter.toggle_lasso(),
            Action::Fit => self.fit(),
            Action::Search => self.panels.candidates.begin_search(),
            Action::Open => self.wishes.push(Wish::File(FilePurpose::OpenTrace)),
            Action::Save => self.wishes.push(Wish::File(FilePurpose::SaveSession)),
            Action::Help => self.is_help_open = !self.is_help_open,
            Action::Escape => commands.extend(self.escape()),
        }
    }

    /// Fits the view under the pointer; the map if it is elsewhere.
    fn fit(&mut self) {
        if self.panels.timeline.has_pointer() {
            self.panels.timeline.fit();
        } else if self.panels.tree.has_pointer() {
            self.panels.tree.fit();
        } else {
            self.panels.scatter.fit();
        }
    }

    fn step(&self, step: Step) -> Option<Command> {
        let tree: TreeIdx = self.panels.candidates.step(&self.shown, step)?;
        Some(Command::Select(Selection::One(tree)))
    }

    /// Puts the topmost thing away: the page, what narrows the list, the lasso, then the group, of which
    /// the centre stays selected. The views are never emptied.
    fn escape(&mut self) -> Option<Command> {
        if self.is_help_open {
            self.is_help_open = false;
            return None;
        }
        if self.panels.candidates.widen() || self.panels.scatter.cancel_lasso() {
            return None;
        }
        let is_group = matches!(self.shown.selection, Selection::Group(_));
        let centre = self.shown.focus().filter(|_| is_group)?;
        Some(Command::Select(Selection::One(centre)))
    }

    /// After the frame: sends its commands and fulfils its wishes.
    pub(super) fn carry_out(&mut self, ctx: &Context, commands: Vec<Command>) {
        for command in commands {
            self.send(command);
        }
        for wish in std::mem::take(&mut self.wishes) {
            match wish {
                Wish::File(purpose) => self.ask_for_path(ctx, purpose),
                Wish::Help => self.is_help_open = true,
                Wish::Monitor => self.monitor_job(ctx),
                Wish::SwitchAppearance => {
                    ctx.set_theme(egui::Theme::from_dark_mode(!self.theme.is_dark()));
                }
                Wish::Cancel => self.handle.cancel(),
            }
            ctx.request_repaint();
        }
        if !self.unsent.is_empty() {
            ctx.request_repaint_after(RETRY_PERIOD);
        }
    }

    /// Sends a command, or keeps it until the session can take it. A selection is shown at once.
    pub(super) fn send(&mut self, command: Command) {
        if let Command::Select(selection) = &command {
            self.unanswered.push_back(selection.clone());
            self.show_newest();
        }
        if !self.unsent.is_empty() {
            self.unsent.push_back(command);
        } else if let Err(command) = self.handle.send(command) {
            self.unsent.push_back(command);
        }
    }

    /// Shows the live view; what fetches its news is started the first time.
    fn monitor_job(&mut self, ctx: &Context) {
        if self.monitor.is_none() {
            let handle = self.platform.monitor(ctx);
            self.monitor = handle.map(|handle| MonitorView::new(handle, None).beside_traces());
        }
        self.is_monitoring = self.monitor.is_some();
    }

    fn ask_for_path(&mut self, ctx: &Context, purpose: FilePurpose) {
        let (answers, waker) = (self.answers.0.clone(), ctx.clone());
        let reply = move |path: Option<String>| {
            let is_taken = path.is_some_and(|path| answers.try_send((purpose, path)).is_ok());
            if is_taken {
                waker.request_repaint();
            }
        };
        if !self
            .platform
            .pick(purpose, purpose.suggested_name(), Box::new(reply))
        {
            self.path_dialog = Some(PathDialog::new(purpose));
        }
    }
}
