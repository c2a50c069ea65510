//! The context of every view: the snapshot to draw, the theme, and the commands to send.

use callgrove_model::{Trace, TreeIdx};
use callgrove_session::{CauseEvidence, Command, InspectCommand, Selection, Snapshot, UserCommand};
use callgrove_watch::{RankRange, Scope, WatchCommand};
use callgrove_widgets::text::short_name;
use callgrove_widgets::theme::Theme;
use egui::Color32;

use crate::actions::Action;

/// The data that a view borrows for one frame.
pub struct ViewContext<'a> {
    /// The snapshot to draw.
    pub snapshot: &'a Snapshot,
    /// The colour theme.
    pub theme: &'a Theme,
    /// Commands of the view; the application sends them after the frame.
    pub commands: &'a mut Vec<UserCommand>,
    /// Actions that the window carries out after the frame.
    pub actions: &'a mut Vec<Action>,
    /// True if keys without a modifier go to the view that is drawn.
    pub has_focus: bool,
}

impl ViewContext<'_> {
    /// Draws a view outside the window and returns its commands.
    pub fn alone(
        snapshot: &Snapshot,
        theme: &Theme,
        draw: impl FnOnce(&mut ViewContext<'_>),
    ) -> Vec<UserCommand> {
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

    /// Adds a command.
    pub fn send(&mut self, command: impl Into<UserCommand>) {
        self.commands.push(command.into());
    }

    /// Adds a command for the watched run.
    pub fn watch(&mut self, command: WatchCommand) {
        self.send(command);
    }

    /// Selects a tree in all views.
    pub fn select(&mut self, tree: TreeIdx) {
        self.send(Command::Select(Selection::One(tree)));
    }

    /// Shows the evidence of a delay: selects a call, or pins a rank to the top of the timeline.
    pub fn show_evidence(&mut self, trace: &Trace, evidence: CauseEvidence) {
        match evidence {
            CauseEvidence::Call(call) => self.send(InspectCommand::Call(Some(call))),
            CauseEvidence::Rank(lane) => {
                let lane = trace.lane(lane);
                self.actions.push(Action::ShowRank(lane.program, lane.rank));
            }
        }
    }

    /// Handles a click on a rank, function or step of the watched run: queries its executions; with Ctrl it only
    /// selects the scope.
    pub fn choose(&mut self, scope: Scope, ui: &egui::Ui) {
        let only_chooses = ui.input(|input| input.modifiers.command);
        self.watch(if only_chooses {
            WatchCommand::Scope(scope)
        } else {
            WatchCommand::QueryScope(scope)
        });
    }

    /// Returns the selected scope of the watched run.
    pub fn scope(&self) -> Scope {
        self.snapshot.watch.visit().focus
    }

    /// Returns the colour of a function, the same in every view.
    pub fn color_of(&self, func: &str) -> Color32 {
        self.theme.function_named(func)
    }

    /// Returns `rank 3`, with the program if the watched run has several.
    pub fn rank_name(&self, app: u32, rank: u32) -> String {
        self.of_program(format!("rank {rank}"), app)
    }

    /// Returns `ranks 3 to 5`, with the program if the watched run has several.
    pub fn ranks_name(&self, ranks: RankRange) -> String {
        if ranks.first_rank == ranks.last_rank {
            return self.rank_name(ranks.app, ranks.first_rank);
        }
        let name = format!("ranks {} to {}", ranks.first_rank, ranks.last_rank);
        self.of_program(name, ranks.app)
    }

    fn of_program(&self, name: String, app: u32) -> String {
        if self.snapshot.watch.overview().has_several_programs() {
            format!("{name} of program {app}")
        } else {
            name
        }
    }

    /// Returns the short name of a function of the watched run.
    pub fn func_name(&self, app: u32, fid: u32) -> String {
        let known = self.snapshot.watch.overview().func(app, fid);
        known.map_or_else(
            || format!("function {fid}"),
            |func| short_name(&func.name).to_owned(),
        )
    }
}
