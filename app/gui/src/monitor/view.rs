//! The live view: state and frame loop.

use std::time::Duration;

use callgrove_session::monitor::{Focus, Monitor, MonitorCommand, MonitorHandle, Page};
use egui::{CentralPanel, Frame, Margin, Panel, Ui};

use super::bar::{BarWish, bar_ui};
use super::connect::{ConnectForm, needs_start, start_ui};
use super::context::MonitorContext;
use super::counters::{CountersState, counters_ui};
use super::document::{DocumentState, document_ui};
use super::executions::{ExecutionsState, executions_ui};
use super::functions::{FunctionsState, functions_ui};
use super::help::help_ui;
use super::keys::{self, Action};
use super::overview::{OverviewState, overview_ui};
use crate::theme::Theme;

/// How soon a carrier that was too busy is asked again, and more updates are looked for.
const RETRY_PERIOD: Duration = Duration::from_millis(30);

/// The live view, drawn into whatever window holds it.
pub(crate) struct MonitorView {
    pub(super) monitor: Monitor,
    theme: Theme,
    form: ConnectForm,
    is_help_open: bool,
    can_leave: bool,
    wants_to_leave: bool,
    overview: OverviewState,
    functions: FunctionsState,
    counters: CountersState,
    executions: ExecutionsState,
    document: DocumentState,
}

impl MonitorView {
    /// A view of what comes through `handle`; `token` is filled in where one may be asked for.
    pub(crate) fn new(handle: MonitorHandle, token: Option<String>) -> Self {
        Self {
            monitor: Monitor::new(handle),
            theme: Theme::new(true, None),
            form: ConnectForm::new(token),
            is_help_open: false,
            can_leave: false,
            wants_to_leave: false,
            overview: OverviewState::default(),
            functions: FunctionsState::default(),
            counters: CountersState::default(),
            executions: ExecutionsState::default(),
            document: DocumentState::default(),
        }
    }

    /// The same in a window that shows traces too, with a way back to them.
    #[must_use]
    pub(crate) fn beside_traces(mut self) -> Self {
        self.can_leave = true;
        self
    }

    /// Whether the person wants to go back to the traces; said once.
    pub(crate) fn take_wish_to_leave(&mut self) -> bool {
        std::mem::take(&mut self.wants_to_leave)
    }

    /// Takes over what is new; nothing here waits.
    pub(crate) fn update(&mut self, ctx: &egui::Context) {
        if self.monitor.update() {
            ctx.request_repaint_after(RETRY_PERIOD);
        }
        let is_dark = ctx.theme() == egui::Theme::Dark;
        if !self.theme.is_of(is_dark, None) {
            self.theme = Theme::new(is_dark, None);
        }
    }

    /// Carries out a wish.
    pub(crate) fn carry_out(&mut self, command: MonitorCommand) {
        self.monitor.carry_out(command);
    }

    /// Takes keys, draws, and carries out what was wished.
    pub(crate) fn ui(&mut self, ui: &mut Ui) {
        let mut commands = Vec::new();
        for action in keys::pressed(ui.ctx()) {
            let is_put_away = action == Action::Escape;
            if self.form.is_open {
                self.form.is_open &= !is_put_away;
            } else if !self.is_help_open || is_put_away || action == Action::Help {
                self.act(action, &mut commands);
            }
        }
        let mut wishes = Vec::new();
        self.draw(ui, &mut commands, &mut wishes);
        for command in commands {
            self.monitor.carry_out(command);
            ui.ctx().request_repaint();
        }
        for wish in wishes {
            match wish {
                BarWish::Connect => self.form.open(self.monitor.address()),
                BarWish::Help => self.is_help_open = true,
                BarWish::Leave => self.wants_to_leave = true,
                BarWish::SwitchAppearance => {
                    let is_dark = !self.theme.is_dark();
                    ui.ctx().set_theme(egui::Theme::from_dark_mode(is_dark));
                }
            }
            ui.ctx().request_repaint();
        }
    }

    fn draw(&mut self, ui: &mut Ui, commands: &mut Vec<MonitorCommand>, wishes: &mut Vec<BarWish>) {
        let mut ctx = MonitorContext {
            monitor: &self.monitor,
            theme: &self.theme,
            commands,
        };
        let bar = Frame::side_top_panel(ui.style()).inner_margin(Margin::symmetric(12, 4));
        Panel::top("monitor bar")
            .exact_size(40.0)
            .frame(bar)
            .show(ui, |ui| bar_ui(&mut ctx, wishes, self.can_leave, ui));
        let frame = Frame::central_panel(ui.style()).inner_margin(Margin::same(8));
        CentralPanel::default().frame(frame).show(ui, |ui| {
            let page = ctx.monitor.place().page;
            let is_looked_up = matches!(page, Page::Executions | Page::Document);
            if needs_start(&ctx) && !is_looked_up {
                return start_ui(&mut ctx, &mut self.form, ui);
            }
            match page {
                Page::Overview => overview_ui(&mut ctx, &mut self.overview, ui),
                Page::Functions => functions_ui(&mut ctx, &mut self.functions, ui),
                Page::Counters => counters_ui(&mut ctx, &mut self.counters, ui),
                Page::Executions => executions_ui(&mut ctx, &mut self.executions, ui),
                Page::Document => document_ui(&mut ctx, &mut self.document, ui),
            }
        });
        self.form.modal_ui(&mut ctx, ui.ctx());
        if self.is_help_open {
            self.is_help_open = help_ui(ui.ctx());
        }
    }

    fn act(&mut self, action: Action, commands: &mut Vec<MonitorCommand>) {
        match action {
            Action::Show(Page::Document) if self.monitor.place().document.is_none() => {}
            Action::Show(page) => commands.push(MonitorCommand::Show(page)),
            Action::Pause => commands.push(MonitorCommand::Pause(!self.monitor.is_paused())),
            Action::Back => commands.push(MonitorCommand::Back),
            Action::Forward => commands.push(MonitorCommand::Forward),
            Action::Search => self.begin_search(),
            Action::Next => commands.extend(self.step(1)),
            Action::Previous => commands.extend(self.step(-1)),
            Action::Fit => {
                self.executions.fit();
                self.document.fit();
            }
            Action::Json => self.document.toggle_json(),
            Action::Connect => self.form.open(self.monitor.address()),
            Action::Help => self.is_help_open = !self.is_help_open,
            Action::Escape if self.is_help_open => self.is_help_open = false,
            Action::Escape => commands.push(MonitorCommand::Focus(Focus::default())),
        }
    }

    fn begin_search(&mut self) {
        match self.monitor.place().page {
            Page::Overview => self.overview.begin_search(),
            Page::Functions => self.functions.begin_search(),
            Page::Counters => self.counters.begin_search(),
            Page::Executions => self.executions.begin_search(),
            Page::Document => {}
        }
    }

    /// Opens the execution that is `by` places from the open one, in the order of the table.
    fn step(&self, by: isize) -> Option<MonitorCommand> {
        let place = self.monitor.place();
        let results = place.results.as_ref()?;
        let order = self.executions.order(results);
        let open = place.document.as_ref();
        let at = order.iter().position(|&index| {
            open.is_some_and(|open| std::sync::Arc::ptr_eq(open, &results.documents[index]))
        });
        let next = match at {
            Some(at) => at.checked_add_signed(by)?,
            None => 0,
        };
        order.get(next).map(|&index| MonitorCommand::Open(index))
    }
}
