//! Keys of the live view, in one table: what they do and what the help says.

use callgrove_session::monitor::Page;
use egui::{Context, Key, KeyboardShortcut, Modifiers, Popup};

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Show(Page),
    Pause,
    Back,
    Forward,
    Search,
    Next,
    Previous,
    Fit,
    Json,
    Connect,
    Help,
    Escape,
}

/// Some keys and what they do.
pub(super) struct Binding {
    action: Action,
    shortcuts: &'static [KeyboardShortcut],
    /// As a person reads them.
    pub(super) keys: &'static str,
    /// What they do.
    pub(super) help: &'static str,
}

const fn binding(
    action: Action,
    shortcuts: &'static [KeyboardShortcut],
    keys: &'static str,
    help: &'static str,
) -> Binding {
    Binding {
        action,
        shortcuts,
        keys,
        help,
    }
}

const fn key(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

const fn alt(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::ALT, key)
}

/// All keys. Those with more modifiers stand before those with fewer.
pub(super) const KEYS: [Binding; 16] = [
    binding(
        Action::Back,
        &[alt(Key::ArrowLeft), key(Key::Backspace)],
        "Alt+←, Backspace",
        "Back to where you were",
    ),
    binding(
        Action::Forward,
        &[alt(Key::ArrowRight)],
        "Alt+→",
        "Forward again",
    ),
    binding(
        Action::Connect,
        &[KeyboardShortcut::new(Modifiers::COMMAND, Key::L)],
        "Ctrl+L",
        "Connect to another server",
    ),
    binding(
        Action::Show(Page::Overview),
        &[key(Key::Num1)],
        "1",
        "Overview",
    ),
    binding(
        Action::Show(Page::Functions),
        &[key(Key::Num2)],
        "2",
        "Functions",
    ),
    binding(
        Action::Show(Page::Counters),
        &[key(Key::Num3)],
        "3",
        "Counters",
    ),
    binding(
        Action::Show(Page::Executions),
        &[key(Key::Num4)],
        "4",
        "Executions",
    ),
    binding(
        Action::Show(Page::Document),
        &[key(Key::Num5)],
        "5",
        "The open execution",
    ),
    binding(
        Action::Pause,
        &[key(Key::P)],
        "P",
        "Hold the picture still, or go on",
    ),
    binding(
        Action::Search,
        &[key(Key::Slash)],
        "/",
        "Search by name, or fill in a question",
    ),
    binding(
        Action::Next,
        &[key(Key::Period), key(Key::ArrowDown)],
        ".  or ↓",
        "Next execution",
    ),
    binding(
        Action::Previous,
        &[key(Key::Comma), key(Key::ArrowUp)],
        ",  or ↑",
        "Previous execution",
    ),
    binding(
        Action::Fit,
        &[key(Key::F)],
        "F",
        "Show all of the plot or timeline",
    ),
    binding(
        Action::Json,
        &[key(Key::J)],
        "J",
        "The open execution as JSON",
    ),
    binding(Action::Help, &[key(Key::Questionmark)], "?", "This page"),
    binding(
        Action::Escape,
        &[key(Key::Escape)],
        "Esc",
        "Put away, then choose nothing",
    ),
];

/// Keys and clicks of what is under the pointer or in focus.
pub(super) const VIEW_KEYS: [(&str, &str); 6] = [
    ("Click", "Executions of a rank, function or cell"),
    ("Ctrl+click", "Only choose it; Overview shows it"),
    ("Drag on the steps", "Choose a range of steps"),
    ("Arrows, Enter", "Move in the heat map, and ask"),
    ("W S", "Zoom plot or timeline"),
    ("A D", "Move plot or timeline"),
];

/// The actions that were asked for since the last frame. While a text is typed, all keys are its own; while a
/// widget has the focus of the keyboard, so are the arrows and Escape.
pub(super) fn pressed(ctx: &Context) -> Vec<Action> {
    if ctx.text_edit_focused() || Popup::is_any_open(ctx) {
        return Vec::new();
    }
    let is_widget_focused = ctx.memory(|memory| memory.focused().is_some());
    let belongs_to_widget = |shortcut: &KeyboardShortcut| {
        is_widget_focused
            && shortcut.modifiers.is_none()
            && matches!(shortcut.logical_key, Key::ArrowDown | Key::ArrowUp)
    };
    ctx.input_mut(|input| {
        let mut actions = Vec::new();
        for binding in &KEYS {
            for shortcut in binding.shortcuts {
                if belongs_to_widget(shortcut) {
                    continue;
                }
                let num_presses =
                    input.count_and_consume_key(shortcut.modifiers, shortcut.logical_key);
                actions.extend(std::iter::repeat_n(binding.action, num_presses));
            }
        }
        actions
    })
}
