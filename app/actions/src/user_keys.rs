//! Keys of actions that the user has changed. The default keys are in the table of `actions.rs`.

use std::collections::BTreeMap;

use egui::{Context, Event, Key, KeyboardShortcut, ModifierNames, Popup};
use serde::{Deserialize, Serialize};

use super::actions::{ACTIONS, Action, Entry};
use super::view::View;

/// Keys by action.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyMap {
    /// Keys that the user has changed, by [`Entry::id`].
    chosen: BTreeMap<String, Vec<KeyboardShortcut>>,
}

impl KeyMap {
    /// Returns the keys of an action.
    pub(crate) fn keys<'a>(&'a self, entry: &'a Entry) -> &'a [KeyboardShortcut] {
        self.chosen
            .get(entry.id)
            .map_or(entry.keys, |keys| keys.as_slice())
    }

    /// Returns the keys of an action as text: `Ctrl+Z, Backspace`.
    pub fn text(&self, entry: &Entry) -> String {
        let keys: Vec<String> = self
            .keys(entry)
            .iter()
            .copied()
            .map(shortcut_text)
            .collect();
        keys.join(", ")
    }

    /// Returns the first key of an action as text.
    pub fn short_text(&self, action: Action) -> String {
        let entry = ACTIONS.iter().find(|entry| entry.action == action);
        let first = entry.and_then(|entry| self.keys(entry).first());
        first.copied().map_or_else(String::new, shortcut_text)
    }

    /// Gives an action one key and removes that key from any other action.
    pub fn choose(&mut self, chosen: &Entry, shortcut: KeyboardShortcut) {
        for entry in ACTIONS {
            if self.keys(&entry).contains(&shortcut) {
                let left = self.keys(&entry).iter().copied();
                let left = left.filter(|known| *known != shortcut).collect();
                self.chosen.insert(entry.id.to_owned(), left);
            }
        }
        self.chosen.insert(chosen.id.to_owned(), vec![shortcut]);
    }

    /// Returns whether the user has changed any key.
    pub fn is_changed(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// Returns the actions whose keys were pressed since the last frame.
    ///
    /// While a text field has the focus it gets all keys except those with Ctrl that do not edit. Keys without
    /// modifiers go first to the view in `focus`; Space, Enter and arrows go first to a widget that was reached by Tab.
    pub fn pressed(&self, ctx: &Context, focus: Option<View>, is_tabbing: bool) -> Vec<Action> {
        if Popup::is_any_open(ctx) {
            return Vec::new();
        }
        let is_typing = ctx.text_edit_focused();
        let is_widget_focused = is_tabbing && ctx.memory(|memory| memory.focused().is_some());
        let is_free = |shortcut: &KeyboardShortcut| {
            let key = shortcut.logical_key;
            if is_typing {
                return shortcut.modifiers.command && !matches!(key, Key::Z | Key::Y);
            }
            let belongs_to_widget = is_widget_focused
                && matches!(key, Key::Space | Key::Enter | Key::ArrowDown | Key::ArrowUp);
            let belongs_to_view = focus.is_some_and(|view| view.claims(key));
            shortcut.modifiers.any() || !(belongs_to_widget || belongs_to_view)
        };
        let mut bindings: Vec<(KeyboardShortcut, Action)> = ACTIONS
            .iter()
            .flat_map(|entry| self.keys(entry).iter().map(|keys| (*keys, entry.action)))
            .filter(|(shortcut, _)| is_free(shortcut))
            .collect();
        // Keys with more modifiers come first, since one with fewer would match too.
        bindings.sort_by_key(|(shortcut, _)| std::cmp::Reverse(num_modifiers(*shortcut)));
        ctx.input_mut(|input| {
            let mut actions = Vec::new();
            for (shortcut, action) in bindings {
                let num_presses =
                    input.count_and_consume_key(shortcut.modifiers, shortcut.logical_key);
                actions.extend(std::iter::repeat_n(action, num_presses));
            }
            actions
        })
    }
}

/// Returns the first key pressed in this frame, with its modifiers.
pub fn any_pressed(ctx: &Context) -> Option<KeyboardShortcut> {
    ctx.input_mut(|input| {
        let pressed = input.events.iter().find_map(|event| match event {
            Event::Key {
                key,
                pressed: true,
                modifiers,
                ..
            } => Some(KeyboardShortcut::new(*modifiers, *key)),
            _ => None,
        });
        if let Some(shortcut) = pressed {
            input.consume_shortcut(&shortcut);
        }
        pressed
    })
}

fn num_modifiers(shortcut: KeyboardShortcut) -> usize {
    let modifiers = shortcut.modifiers;
    [
        modifiers.alt,
        modifiers.shift,
        modifiers.ctrl || modifiers.command || modifiers.mac_cmd,
    ]
    .into_iter()
    .filter(|is_held| *is_held)
    .count()
}

fn shortcut_text(shortcut: KeyboardShortcut) -> String {
    let key = match shortcut.logical_key {
        Key::Period => ".",
        Key::Comma => ",",
        Key::Slash => "/",
        Key::Questionmark => "?",
        Key::ArrowUp => "↑",
        Key::ArrowDown => "↓",
        Key::ArrowLeft => "←",
        Key::ArrowRight => "→",
        Key::Escape => "Esc",
        key => key.name(),
    };
    let modifiers = ModifierNames::NAMES.format(&shortcut.modifiers, false);
    if modifiers.is_empty() {
        key.to_owned()
    } else {
        format!("{modifiers}+{key}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use egui::Modifiers;

    use super::*;

    fn entry(action: Action) -> &'static Entry {
        ACTIONS
            .iter()
            .find(|entry| entry.action == action)
            .expect("every action is in the table")
    }

    #[test]
    fn every_key_and_every_id_is_unique() {
        let mut keys = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for entry in &ACTIONS {
            assert!(ids.insert(entry.id), "{} is used twice", entry.id);
            for shortcut in entry.keys {
                let text = shortcut_text(*shortcut);
                assert!(keys.insert(text.clone()), "{text} is used twice");
            }
        }
    }

    #[test]
    fn a_changed_key_is_removed_from_its_former_action() {
        let mut map = KeyMap::default();
        let shortcut = KeyboardShortcut::new(Modifiers::NONE, Key::N);
        map.choose(entry(Action::Abnormal), shortcut);
        assert_eq!(map.text(entry(Action::Abnormal)), "N");
        assert_eq!(map.text(entry(Action::Normal)), "");
        assert!(map.is_changed());
        let text = serde_json::to_string(&map).unwrap();
        assert_eq!(serde_json::from_str::<KeyMap>(&text).unwrap(), map);
    }

    #[test]
    fn keys_are_written_as_on_the_keyboard() {
        let texts = [Action::Redo, Action::Next, Action::Back, Action::Escape]
            .map(|action| KeyMap::default().text(entry(action)));
        assert_eq!(texts, ["Ctrl+Shift+Z, Ctrl+Y", "., ↓", "Alt+←", "Esc"]);
    }
}
