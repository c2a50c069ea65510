//! What every view is given: the snapshot to draw, the theme, and where commands go.

use callgrove_model::TreeIdx;
use callgrove_session::{Command, Label, Selection, Snapshot};

use crate::theme::Theme;

/// Lent to a view for one frame.
pub struct ViewContext<'a> {
    /// What to draw.
    pub snapshot: &'a Snapshot,
    /// Colours.
    pub theme: &'a Theme,
    /// Commands that the view wants carried out; the application sends them after the frame.
    pub commands: &'a mut Vec<Command>,
}

impl ViewContext<'_> {
    /// Asks for a command.
    pub fn send(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Asks for a tree to be selected in all views.
    pub fn select(&mut self, tree: TreeIdx) {
        self.send(Command::Select(Selection::One(tree)));
    }
}

/// A label in words.
pub fn label_name(label: Label) -> &'static str {
    match label {
        Label::Normal => "normal",
        Label::Abnormal => "abnormal",
    }
}
