//! What every view is given: the snapshot to draw, the theme, and where commands go.

use callgrove_model::{FunctionName, TreeIdx};
use callgrove_session::watch::{Scope, WatchCommand};
use callgrove_session::{Command, Label, Selection, Snapshot};
use egui::Color32;

use crate::app::Action;
use crate::theme::Theme;

/// Lent to a view for one frame.
pub struct ViewContext<'a> {
    /// What to draw.
    pub snapshot: &'a Snapshot,
    /// Colours.
    pub theme: &'a Theme,
    /// Commands that the view wants carried out; the application sends them after the frame.
    pub commands: &'a mut Vec<Command>,
    /// What the window itself shall do after the frame.
    pub(crate) actions: &'a mut Vec<Action>,
    /// Whether keys without a modifier are meant for the view that is drawn.
    pub has_focus: bool,
}

impl ViewContext<'_> {
    /// Lends what a view needs that is drawn by itself, outside the window; the answer is what it asked for.
    pub fn alone(
        snapshot: &Snapshot,
        theme: &Theme,
        draw: impl FnOnce(&mut ViewContext<'_>),
    ) -> Vec<Command> {
        let mut commands = Vec::new();
        draw(&mut ViewContext {
            snapshot,
            theme,
            commands: &mut commands,
            actions: &mut Vec::new(),
            has_focus: false,
        });
        commands
    }

    /// Asks for a command.
    pub fn send(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Asks for something of the watched run.
    pub fn watch(&mut self, command: WatchCommand) {
        self.send(Command::Watch(command));
    }

    /// Asks for a tree to be selected in all views.
    pub fn select(&mut self, tree: TreeIdx) {
        self.send(Command::Select(Selection::One(tree)));
    }

    /// What a click on a rank, function or step of the watched run asks for: its executions; with Ctrl,
    /// only to choose it.
    pub fn choose(&mut self, scope: Scope, ui: &egui::Ui) {
        let only_chooses = ui.input(|input| input.modifiers.command);
        self.watch(if only_chooses {
            WatchCommand::Scope(scope)
        } else {
            WatchCommand::QueryScope(scope)
        });
    }

    /// What is chosen of the watched run.
    pub fn scope(&self) -> Scope {
        self.snapshot.watch.visit().focus
    }

    /// The colour of a function, the same everywhere.
    pub fn color_of(&self, func: &str) -> Color32 {
        self.theme.function_named(func)
    }

    /// `rank 3`, with the program where the watched run has several.
    pub fn rank_name(&self, app: u32, rank: u32) -> String {
        let ranks = &self.snapshot.watch.overview().ranks;
        if ranks.iter().any(|known| known.app != app) {
            format!("rank {rank} of program {app}")
        } else {
            format!("rank {rank}")
        }
    }

    /// What a person calls a function of the watched run.
    pub fn func_name(&self, app: u32, fid: u32) -> String {
        let known = self.snapshot.watch.overview().func(app, fid);
        known.map_or_else(
            || format!("function {fid}"),
            |func| short_name(&func.name).to_owned(),
        )
    }
}

/// What a person calls a function: its name without arguments and file.
pub fn short_name(func: &str) -> &str {
    let short = FunctionName::parse(func).short;
    if short.is_empty() { func } else { short }
}

/// A label in words.
pub fn label_name(label: Label) -> &'static str {
    match label {
        Label::Normal => "normal",
        Label::Abnormal => "abnormal",
    }
}
