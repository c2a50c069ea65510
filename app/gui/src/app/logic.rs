//! Decides: reacts to new snapshots, maps keys and actions, and sends commands.

use std::sync::Arc;
use std::time::Duration;

use callgrove_actions::{Action, LayoutName, View};
use callgrove_finding_views::incidents::IncidentsState;
use callgrove_session::{
    CallOf, Command, EventKey, Label, Selection, Snapshot, TrainingAnswer, UserCommand,
};
use callgrove_tree_views::candidates::Step;
use callgrove_watch::{QueryForm, WatchCommand};
use callgrove_widgets::theme::Theme;
use egui::Context;

use super::dock::{focus_id, newly_focused};
use super::help::Help;
use super::layouts::{
    Layout, NARROW_WINDOW, WIDE_WINDOW, arrange, bring_to_front, is_complete, is_in_front,
};
use super::overlay::Overlay;
use super::picker::Picker;
use super::{CallgroveApp, HandledState};
use crate::background::ExportJob;

/// Interval between two checks of the progress.
const PROGRESS_PERIOD: Duration = Duration::from_millis(100);
/// Interval after which a command is sent again to a busy session.
const RETRY_PERIOD: Duration = Duration::from_millis(30);

impl CallgroveApp {
    /// Takes over new snapshots; nothing here blocks.
    pub(super) fn update(&mut self, ctx: &Context) {
        while let Ok((purpose, path)) = self.answers.1.try_recv() {
            if let Some(command) = self.take_path(purpose, path) {
                self.session.send(command);
            }
        }
        let dropped = ctx.input(|input| input.raw.dropped_files.clone());
        for file in dropped {
            let command = self.platform.open(&file.path().to_string_lossy());
            self.session.send(command);
        }
        if self.session.update() {
            ctx.request_repaint_after(RETRY_PERIOD);
        }
        self.follow_export(ctx);
        self.react(ctx);
        self.continue_navigation();
        let is_dark = ctx.theme() == egui::Theme::Dark;
        let trace = self.session.snapshot().trace();
        if !self.theme.is_of(is_dark, trace) {
            self.theme = Theme::new(is_dark, trace);
        }
        if self.session.snapshot().work.is_some() {
            ctx.request_repaint_after(PROGRESS_PERIOD);
        }
        self.save_preferences(ctx);
    }

    /// Brings views with new content to the front.
    fn react(&mut self, ctx: &Context) {
        let snapshot = self.session.snapshot();
        let watch = &snapshot.watch;
        let now = HandledState {
            page: watch.visit().page,
            has_trees: snapshot.analysis().is_some(),
            causes: (snapshot.causes().cloned()).filter(|_| snapshot.tree_causes().is_some()),
            has_watch: watch.is_attached(),
            has_call: snapshot.inspected.call.is_some(),
            comparison: snapshot.comparison().cloned(),
            source: snapshot
                .source
                .clone()
                .filter(|_| snapshot.trace().is_some()),
            address: watch.address().to_owned(),
            view: snapshot.restored_view.clone(),
        };
        let before = std::mem::replace(&mut self.handled, now);
        let has_new_watch = self.handled.has_watch && !before.has_watch;
        if has_new_watch && !self.handled.has_trees && self.session.snapshot().source.is_none() {
            self.show_layout(LayoutName::Watch, ctx);
        } else if self.handled.has_trees && !before.has_trees && !before.has_watch {
            self.show_layout(LayoutName::Analyse, ctx);
        }
        if self.handled.page != before.page {
            let view = View::of_page(self.handled.page);
            bring_to_front(&mut self.layout, view);
            self.focus = Some(view);
        }
        if self.handled.causes.is_some() && before.causes.is_none() {
            self.show_first_incident();
        }
        if self.handled.has_call && !before.has_call {
            bring_to_front(&mut self.layout, View::Details);
        }
        if let Some(comparison) = &self.handled.comparison
            && !(before.comparison.as_ref()).is_some_and(|it| it.is_same(comparison))
        {
            bring_to_front(&mut self.layout, View::Changes);
            self.focus = Some(View::Changes);
        }
        if self.handled.view != before.view
            && let Some(layout) = self.handled.view.as_deref().and_then(layout_of)
        {
            self.layout = layout;
        }
        if self.handled.source != before.source
            && let Some(source) = &self.handled.source
        {
            self.preferences.add_recent(source);
        }
        if self.handled.address != before.address && !self.handled.address.is_empty() {
            self.preferences.add_recent(&self.handled.address);
        }
    }

    fn show_layout(&mut self, name: LayoutName, ctx: &Context) {
        self.keep_layout(ctx);
        self.preferences.layout = name;
        self.layout = self.preferences.layout(ctx.content_rect().size());
        self.focus = Some(match name {
            LayoutName::Analyse => View::Candidates,
            LayoutName::Watch => View::Overview,
        });
    }

    /// Arranges a layout that the user has not changed for each new size of the window.
    fn keep_layout(&mut self, ctx: &Context) {
        let name = self.preferences.layout;
        // The window may have had another size when the layout was made.
        let sizes = [ctx.content_rect().size(), NARROW_WINDOW, WIDE_WINDOW];
        if !sizes
            .into_iter()
            .any(|size| self.layout == arrange(name, size))
        {
            self.preferences.layouts.insert(name, self.layout.clone());
        }
    }

    /// Stores the preferences for the next start, once the window is at rest.
    fn save_preferences(&mut self, ctx: &Context) {
        let is_busy = ctx.input(|input| input.pointer.any_down());
        let size = ctx.input(|input| input.viewport().inner_rect);
        self.preferences.window = size
            .map(|rect| [rect.width(), rect.height()])
            .or(self.preferences.window);
        let zoom = ctx.zoom_factor();
        self.preferences.zoom = Some(zoom).filter(|zoom| (zoom - 1.0).abs() > 1e-3);
        if !is_busy {
            self.keep_layout(ctx);
            self.store_preferences();
        }
    }

    pub(super) fn store_preferences(&mut self) {
        let text = self.preferences.to_text();
        if text != self.stored {
            self.platform.store_preferences(&text);
            self.stored = text;
        }
    }

    /// Turns keys into commands and actions.
    pub(super) fn take_keys(&mut self, ctx: &Context, commands: &mut Vec<UserCommand>) {
        let is_open = self.overlay.is_some();
        if matches!(
            self.overlay,
            Some(Overlay::Path(_) | Overlay::Connect | Overlay::Palette(_) | Overlay::GoTo(_))
        ) {
            return;
        }
        let snapshot = self.session.snapshot().clone();
        self.states.views.candidates.refresh(&snapshot);
        ctx.input(|input| {
            self.is_tabbing |= input.key_pressed(egui::Key::Tab);
            self.is_tabbing &= !input.pointer.any_click();
        });
        if let Some(view) = newly_focused(&self.layout, ctx).filter(|_| !is_open) {
            self.focus = Some(view);
        }
        let pressed = self
            .preferences
            .keys
            .pressed(ctx, self.focus, self.is_tabbing);
        for action in pressed {
            if is_open && !matches!(action, Action::Help | Action::Escape) {
                continue;
            }
            if action.is_possible(&snapshot) {
                self.perform(action, ctx, commands);
            }
        }
    }

    /// Sends the commands of the frame and carries out its actions.
    pub(super) fn carry_out(&mut self, ctx: &Context, mut commands: Vec<UserCommand>) {
        for action in std::mem::take(&mut self.actions) {
            self.perform(action, ctx, &mut commands);
            ctx.request_repaint();
        }
        if !commands.is_empty() {
            ctx.request_repaint();
        }
        for command in commands {
            self.session.send(command);
        }
    }

    fn perform(&mut self, action: Action, ctx: &Context, commands: &mut Vec<UserCommand>) {
        let snapshot = self.session.snapshot().clone();
        match action {
            Action::File(purpose) => self.ask_for_path(ctx, purpose),
            Action::ExportView => self.ask_for_picture(ctx),
            Action::ExportTable => self.ask_for_table(ctx),
            Action::CancelExport => self.export.iter().for_each(ExportJob::cancel),
            Action::EndComparison => commands.push(Command::EndComparison.into()),
            Action::Connect => self.connect(),
            Action::Disconnect => commands.push(WatchCommand::Disconnect.into()),
            Action::Demo => commands.extend(self.platform.demo()),
            Action::Undo => commands.push(Command::Undo.into()),
            Action::Redo => commands.push(Command::Redo.into()),
            Action::Normal => commands.extend(self.label(Some(Label::Normal))),
            Action::Abnormal => commands.extend(self.label(Some(Label::Abnormal))),
            Action::Skip => {
                let next = self.states.views.candidates.skip(&snapshot);
                commands.extend(next.map(|tree| Command::Select(Selection::One(tree)).into()));
            }
            Action::Unlabel => commands.extend(self.label(None)),
            Action::ClearSelection => commands.push(Command::Select(Selection::None).into()),
            Action::Next => commands.extend(self.step(Step::Next)),
            Action::Previous => commands.extend(self.step(Step::Previous)),
            Action::Find => self.find(),
            Action::GoTo => self.overlay = Some(Overlay::GoTo(Picker::new())),
            Action::Palette => self.overlay = Some(Overlay::Palette(Picker::new())),
            Action::Back => commands.push(WatchCommand::Back.into()),
            Action::Forward => commands.push(WatchCommand::Forward.into()),
            Action::Show(view) => bring_to_front(&mut self.layout, view),
            Action::Focus(view) => self.focus_on(view, ctx, commands),
            Action::Layout(name) => self.show_layout(name, ctx),
            Action::ResetLayout => {
                self.preferences.layouts.remove(&self.preferences.layout);
                self.layout = self.preferences.layout(ctx.content_rect().size());
            }
            Action::Fit => self.fit(),
            Action::Lasso => self.states.views.scatter.toggle_lasso(),
            Action::DrawMap(method) => commands.push(Command::SetMap(method).into()),
            Action::OpenInTrace => commands.extend(self.open_in_trace(ctx)),
            Action::FindRecords => commands.extend(self.find_records()),
            Action::ToggleCascade => {
                bring_to_front(&mut self.layout, View::Timeline);
                self.states.views.timeline.toggle_cascade();
            }
            Action::ShowRank(program, rank) => {
                bring_to_front(&mut self.layout, View::Timeline);
                self.states.views.timeline.pin((program, rank));
            }
            Action::FindCalls(func) => {
                bring_to_front(&mut self.layout, View::Timeline);
                self.states.views.timeline.find_calls(func);
            }
            Action::ShowTime(range) => {
                bring_to_front(&mut self.layout, View::Timeline);
                self.states.views.timeline.show_time(range);
            }
            Action::Train => commands.push(Command::Train.into()),
            Action::Keep => commands.push(Command::Answer(TrainingAnswer::Keep).into()),
            Action::OnlyThese => commands.push(Command::Answer(TrainingAnswer::OnlyThese).into()),
            Action::LearnHeld => commands.push(Command::LearnHeld.into()),
            Action::Pause => {
                let is_paused = snapshot.watch.is_paused();
                commands.push(UserCommand::Watch(WatchCommand::Pause(!is_paused)));
            }
            Action::ToggleJson => self.states.views.record.toggle_json(),
            Action::SwitchAppearance => {
                let is_dark = !self.theme.is_dark();
                self.preferences.is_dark = Some(is_dark);
                ctx.set_theme(egui::Theme::from_dark_mode(is_dark));
            }
            Action::Help if self.overlay.is_some() => self.overlay = None,
            Action::Help => self.overlay = Some(Overlay::Help(Help::default())),
            Action::Cancel => self.session.cancel(),
            Action::Escape => commands.extend(self.escape()),
        }
    }

    /// Labels the target of the keys (the open record, the incident or the selected trees) and goes on to the next.
    /// `None` removes the label and stays.
    fn label(&mut self, label: Option<Label>) -> Vec<UserCommand> {
        let snapshot = self.session.snapshot();
        let (labelled, next) = if self.is_among_records(snapshot) {
            let record = snapshot.watch.visit().document.as_ref();
            let labelled = record.and_then(|record| Command::label_record(record, label));
            let next = label.and_then(|_| self.step_records(1));
            (Vec::from_iter(labelled), Vec::from_iter(next))
        } else if self.is_among_incidents(snapshot) && snapshot.inspected.incident.is_some() {
            let labelled = IncidentsState::label(snapshot, label);
            let next = label.and_then(|_| IncidentsState::next_hit(snapshot));
            let next = next.into_iter().flatten().collect();
            (Vec::from_iter(labelled), next)
        } else {
            let candidates = &mut self.states.views.candidates;
            let labelled = match label {
                Some(label) => candidates.label_selection(snapshot, label),
                None => Vec::from_iter(candidates.unlabel_selection(snapshot)),
            };
            (labelled, Vec::new())
        };
        let labelled = labelled.into_iter().map(UserCommand::from);
        labelled.chain(next).collect()
    }

    /// Returns whether the step and label keys act on records: a record view has the focus, or no view has it and no
    /// trees are listed. The keys never act on a record while a tree is focused.
    fn is_among_records(&self, snapshot: &Snapshot) -> bool {
        snapshot.watch.visit().results.is_some()
            && self.focus.map_or_else(
                || !is_in_front(&self.layout, View::Candidates),
                View::is_of_watch,
            )
    }

    /// Brings a view to the front and focuses it.
    fn focus_on(&mut self, view: View, ctx: &Context, commands: &mut Vec<UserCommand>) {
        bring_to_front(&mut self.layout, view);
        self.focus = Some(view);
        ctx.memory_mut(|memory| memory.request_focus(focus_id(view)));
        let watch = &self.session.snapshot().watch;
        if let Some(page) = view.page()
            && watch.is_attached()
            && watch.visit().page != page
        {
            commands.push(UserCommand::Watch(WatchCommand::Show(page)));
        }
    }

    /// Fits the focused view to its content; the map if no view has the focus.
    fn fit(&mut self) {
        let states = &mut self.states;
        match self.focus {
            Some(View::Timeline | View::Incidents) => states.views.timeline.fit(),
            Some(View::Tree) => states.views.tree.fit(),
            Some(View::Records) => states.views.records.fit(),
            Some(View::Record) => states.views.record.fit(),
            _ => states.views.scatter.fit(),
        }
    }

    /// Puts the cursor into the search field of the focused view.
    fn find(&mut self) {
        let states = &mut self.states;
        match self.focus {
            Some(View::Overview) => states.views.overview.begin_search(),
            Some(View::Profile) => states.views.profile.begin_search(),
            Some(View::Counters) => states.views.counters.begin_search(),
            Some(View::Records) => states.views.records.begin_search(),
            _ => {
                bring_to_front(&mut self.layout, View::Candidates);
                states.views.candidates.begin_search();
            }
        }
    }

    /// Goes to the next candidate, or to the next incident or record if such a view has the focus.
    fn step(&mut self, step: Step) -> Vec<UserCommand> {
        let snapshot = &Arc::clone(self.session.snapshot());
        let offset = match step {
            Step::Next => 1,
            Step::Previous => -1,
        };
        if self.is_among_incidents(snapshot) {
            let step = IncidentsState::step(snapshot, offset);
            return step.map_or_else(Vec::new, Vec::from);
        }
        if self.focus == Some(View::Changes) {
            let (commands, action) = self.states.views.changes.step(snapshot, offset);
            self.actions.extend(action);
            return commands;
        }
        if self.is_among_records(snapshot) {
            return Vec::from_iter(self.step_records(offset));
        }
        let tree = self.states.views.candidates.step(snapshot, step);
        Vec::from_iter(tree.map(|tree| Command::Select(Selection::One(tree)).into()))
    }

    /// Opens the record `by` rows from the open one, in the order of the table.
    fn step_records(&self, by: isize) -> Option<UserCommand> {
        let snapshot = self.session.snapshot();
        let visit = snapshot.watch.visit();
        let results = visit.results.as_ref()?;
        let order = self.states.views.records.order(snapshot, results);
        let open = visit.document.as_ref();
        let at = order.iter().position(|&index| {
            open.is_some_and(|open| std::sync::Arc::ptr_eq(open, &results.documents[index]))
        });
        let next = match at {
            Some(at) => at.checked_add_signed(by)?,
            None => 0,
        };
        let index = *order.get(next)?;
        Some(WatchCommand::Open(index).into())
    }

    /// Opens the open record as a call of the trace, with the tree that contains it.
    fn open_in_trace(&mut self, ctx: &Context) -> Option<UserCommand> {
        let document = self.session.snapshot().watch.visit().document.clone()?;
        let EventKey { program, event } = document.key()?;
        if !is_in_front(&self.layout, View::Timeline) {
            self.show_layout(LayoutName::Analyse, ctx);
        }
        bring_to_front(&mut self.layout, View::Tree);
        Some(UserCommand::OpenExecution {
            program,
            label: event,
        })
    }

    /// Queries the records of the selected call, or of the focused tree, and of all calls below it.
    fn find_records(&self) -> Option<UserCommand> {
        let snapshot = self.session.snapshot();
        let calls = snapshot.calls()?;
        let (lane, entry, exit) = if let Some(call) = snapshot.inspected.call {
            let known = calls.ask(&CallOf(call))?;
            (calls.trace().lane(call.lane), known.entry, known.exit)
        } else {
            let (open, tree) = (snapshot.analysis()?, snapshot.focus()?);
            let root = open.forest.tree(tree);
            (open.forest.lane_of(tree), root.entry()[0], root.exit())
        };
        let form = QueryForm {
            apps: lane.program.to_string(),
            ranks: lane.rank.to_string(),
            filter: format!(
                "tid = {} and entry >= {} and exit <= {}",
                lane.thread,
                entry.0.div_euclid(1_000),
                exit.0.div_euclid(1_000) + 1
            ),
            ..QueryForm::default()
        };
        Some(WatchCommand::Query(Box::new(form)).into())
    }

    /// Closes the topmost item: the overlay, the filter of the list, the lasso, then the group, whose centre stays
    /// selected. The views are never emptied.
    fn escape(&mut self) -> Option<UserCommand> {
        let states = &mut self.states;
        if self.overlay.take().is_some()
            || states.views.candidates.widen()
            || states.views.scatter.cancel_lasso()
        {
            return None;
        }
        let snapshot = self.session.snapshot();
        let is_group = matches!(snapshot.selection, Selection::Group(_));
        let centre = snapshot.focus().filter(|_| is_group)?;
        Some(Command::Select(Selection::One(centre)).into())
    }

    fn connect(&mut self) {
        let address = self.session.snapshot().watch.address();
        self.states.connect.open(address);
        self.overlay = Some(Overlay::Connect);
    }
}

/// Returns the layout that a session was saved with, if it is complete.
fn layout_of(view: &serde_json::Value) -> Option<Layout> {
    let layout: Layout = serde_json::from_value(view.clone()).ok()?;
    is_complete(&layout).then_some(layout)
}
