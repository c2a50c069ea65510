//! Keys, in one table: what they do and what the help says.

use egui::{Context, Key, KeyboardShortcut, Modifiers, Popup};

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Normal,
    Abnormal,
    Unlabel,
    Deselect,
    Next,
    Previous,
    Skip,
    Undo,
    Redo,
    Train,
    Lasso,
    Fit,
    Search,
    Open,
    Save,
    Help,
    Escape,
}

/// Some keys and what they do.
pub(crate) struct Binding {
    action: Action,
    shortcuts: &'static [KeyboardShortcut],
    /// As a person reads them.
    pub(crate) keys: &'static str,
    /// What they do.
    pub(crate) help: &'static str,
}

const fn key(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

const fn command(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND, key)
}

const fn shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::SHIFT, key)
}

const COMMAND_SHIFT: Modifiers = Modifiers::COMMAND.plus(Modifiers::SHIFT);

/// All keys. Those with more modifiers stand before those with fewer.
pub(crate) const KEYS: [Binding; 17] = [
    Binding {
        action: Action::Redo,
        shortcuts: &[
            KeyboardShortcut::new(COMMAND_SHIFT, Key::Z),
            command(Key::Y),
        ],
        keys: "Ctrl+Shift+Z",
        help: "Redo",
    },
    Binding {
        action: Action::Undo,
        shortcuts: &[command(Key::Z), key(Key::Backspace)],
        keys: "Ctrl+Z, Backspace",
        help: "Undo the last label or training",
    },
    Binding {
        action: Action::Open,
        shortcuts: &[command(Key::O)],
        keys: "Ctrl+O",
        help: "Open a trace",
    },
    Binding {
        action: Action::Save,
        shortcuts: &[command(Key::S)],
        keys: "Ctrl+S",
        help: "Save the session",
    },
    Binding {
        action: Action::Deselect,
        shortcuts: &[KeyboardShortcut::new(COMMAND_SHIFT, Key::A)],
        keys: "Ctrl+Shift+A",
        help: "Select nothing",
    },
    Binding {
        action: Action::Unlabel,
        shortcuts: &[shift(Key::N), shift(Key::X)],
        keys: "Shift+N, Shift+X",
        help: "Take the label away",
    },
    Binding {
        action: Action::Normal,
        shortcuts: &[key(Key::N)],
        keys: "N",
        help: "Label normal and go on; again: label the next",
    },
    Binding {
        action: Action::Abnormal,
        shortcuts: &[key(Key::X)],
        keys: "X",
        help: "Label abnormal and go on; again: label the next",
    },
    Binding {
        action: Action::Skip,
        shortcuts: &[key(Key::Space)],
        keys: "Space",
        help: "Next without a label",
    },
    Binding {
        action: Action::Next,
        shortcuts: &[key(Key::Period), key(Key::ArrowDown)],
        keys: ".  or ↓",
        help: "Next candidate",
    },
    Binding {
        action: Action::Previous,
        shortcuts: &[key(Key::Comma), key(Key::ArrowUp)],
        keys: ",  or ↑",
        help: "Previous candidate",
    },
    Binding {
        action: Action::Train,
        shortcuts: &[key(Key::R)],
        keys: "R",
        help: "Train",
    },
    Binding {
        action: Action::Lasso,
        shortcuts: &[key(Key::L)],
        keys: "L or Shift+drag",
        help: "Select a group on the map",
    },
    Binding {
        action: Action::Fit,
        shortcuts: &[key(Key::F)],
        keys: "F",
        help: "Show all of the view under the pointer",
    },
    Binding {
        action: Action::Search,
        shortcuts: &[key(Key::Slash)],
        keys: "/",
        help: "Find an execution by its code; Enter selects it",
    },
    Binding {
        action: Action::Help,
        shortcuts: &[key(Key::Questionmark)],
        keys: "?",
        help: "This page",
    },
    Binding {
        action: Action::Escape,
        shortcuts: &[key(Key::Escape)],
        keys: "Esc",
        help: "Put away what is on top: page, search, lasso, group",
    },
];

/// Keys of the view under the pointer, and what they do there.
pub(crate) const VIEW_KEYS: [(&str, &str); 2] = [
    ("W S", "Zoom the timeline, pointer on it"),
    ("A D", "Move the timeline, pointer on it"),
];

/// The actions that were asked for since the last frame.
///
/// While a text is typed all keys are its own, and while the person goes through the window by Tab
/// (`is_tabbing`) Space and the arrows belong to the widget in focus.
pub(super) fn pressed(ctx: &Context, is_tabbing: bool) -> Vec<Action> {
    if ctx.text_edit_focused() || Popup::is_any_open(ctx) {
        return Vec::new();
    }
    let is_widget_focused = is_tabbing && ctx.memory(|memory| memory.focused().is_some());
    let belongs_to_widget = |key: Key| {
        is_widget_focused
            && matches!(
                key,
                Key::Space | Key::ArrowDown | Key::ArrowUp | Key::Escape
            )
    };
    ctx.input_mut(|input| {
        let mut actions = Vec::new();
        for binding in &KEYS {
            for shortcut in binding
                .shortcuts
                .iter()
                .filter(|shortcut| !belongs_to_widget(shortcut.logical_key))
            {
                let num_presses =
                    input.count_and_consume_key(shortcut.modifiers, shortcut.logical_key);
                actions.extend(std::iter::repeat_n(binding.action, num_presses));
            }
        }
        actions
    })
}
