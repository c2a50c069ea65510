//! What every panel of the live view is given for one frame.

use callgrove_model::FunctionName;
use callgrove_session::monitor::{Focus, Monitor, MonitorCommand};
use egui::Color32;

use crate::theme::Theme;

/// Lent to a panel for one frame.
pub(super) struct MonitorContext<'a> {
    /// What to draw.
    pub(super) monitor: &'a Monitor,
    /// Colours.
    pub(super) theme: &'a Theme,
    /// Wishes; carried out after the frame.
    pub(super) commands: &'a mut Vec<MonitorCommand>,
}

impl MonitorContext<'_> {
    /// Asks for something.
    pub(super) fn send(&mut self, command: MonitorCommand) {
        self.commands.push(command);
    }

    /// What a click on a rank, function or step asks for: its executions; with Ctrl, only to choose it.
    pub(super) fn choose(&mut self, focus: Focus, ui: &egui::Ui) {
        let only_chooses = ui.input(|input| input.modifiers.command);
        self.send(if only_chooses {
            MonitorCommand::Focus(focus)
        } else {
            MonitorCommand::QueryFocus(focus)
        });
    }

    /// The colour of a function, the same everywhere.
    pub(super) fn color(&self, func: &str) -> Color32 {
        self.theme.function_named(func)
    }

    /// What is chosen now.
    pub(super) fn focus(&self) -> Focus {
        self.monitor.place().focus
    }

    /// `rank 3`, with the program where there are several.
    pub(super) fn rank_name(&self, app: u32, rank: u32) -> String {
        let has_others = |other: u32| other != app;
        let ranks = &self.monitor.overview().ranks;
        if ranks.iter().any(|known| has_others(known.app)) {
            format!("rank {rank} of program {app}")
        } else {
            format!("rank {rank}")
        }
    }

    /// What a person calls a function.
    pub(super) fn func_name(&self, app: u32, fid: u32) -> String {
        let known = self.monitor.overview().func(app, fid);
        known.map_or_else(
            || format!("function {fid}"),
            |func| short_name(&func.name).to_owned(),
        )
    }
}

/// What a person calls a function: its name without arguments and file.
pub(super) fn short_name(func: &str) -> &str {
    let short = FunctionName::parse(func).short;
    if short.is_empty() { func } else { short }
}
