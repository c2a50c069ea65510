//! Preferences that the window keeps between starts: appearance, size, layouts, keys, recent runs.

use std::collections::BTreeMap;

use callgrove_actions::{KeyMap, LayoutName};
use egui::Vec2;
use serde::{Deserialize, Serialize};

use super::layouts::{Layout, arrange, is_complete};

/// Maximum number of recent runs.
const MAX_RECENT: usize = 10;
/// Valid sizes of a stored window, in points; other values are damage.
const SIZES: std::ops::RangeInclusive<f32> = 300.0..=20_000.0;

/// The stored preferences. Every field may be missing, so that older and newer files can be read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Preferences {
    /// Dark (`true`) or light; `None` follows the system.
    pub(crate) is_dark: Option<bool>,
    /// Zoom factor of the whole window.
    pub(crate) zoom: Option<f32>,
    /// Size of the window in points.
    pub(crate) window: Option<[f32; 2]>,
    pub(crate) layout: LayoutName,
    /// Layouts that the user has changed.
    pub(crate) layouts: BTreeMap<LayoutName, Layout>,
    pub(crate) keys: KeyMap,
    /// The user's name.
    pub(crate) name: Option<String>,
    /// Recently opened sources, the newest first: traces by path, databases and servers by address.
    pub(crate) recent: Vec<String>,
}

impl Preferences {
    /// Reads the text of [`Preferences::to_text`]; entries that cannot be read count as missing.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut read: Self = serde_json::from_str(text).unwrap_or_default();
        read.layouts.retain(|_, layout| is_complete(layout));
        let is_size = |size: &[f32; 2]| size.iter().all(|side| SIZES.contains(side));
        read.window = read.window.filter(is_size);
        read.zoom = read.zoom.filter(|zoom| (0.5..=4.0).contains(zoom));
        read.recent.truncate(MAX_RECENT);
        read
    }

    /// Returns the preferences as text.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("all keys are strings")
    }

    /// Moves a run to the front of the recent ones.
    pub(crate) fn add_recent(&mut self, source: &str) {
        self.recent.retain(|known| known != source);
        self.recent.insert(0, source.to_owned());
        self.recent.truncate(MAX_RECENT);
    }

    /// Returns the layout as the user last arranged it, or the default one.
    pub(crate) fn layout(&self, size: Vec2) -> Layout {
        let kept = self.layouts.get(&self.layout).cloned();
        kept.unwrap_or_else(|| arrange(self.layout, size))
    }
}

/// Returns the size of the window in points from stored preferences.
pub fn stored_window_size(preferences: &str) -> Option<[f32; 2]> {
    Preferences::from_text(preferences).window
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_and_foreign_files_count_as_missing() {
        for text in ["", "{", "[]", r#"{"window":[1e9,-4],"zoom":0.0,"later":1}"#] {
            let read = Preferences::from_text(text);
            assert_eq!((read.window, read.zoom), (None, None), "{text}");
        }
        let lost = r#"{"layouts":{"watch":{"id":1,"root":7,"tiles":{"next_tile_id":1,"tiles":{},"invisible":[]}}}}"#;
        assert!(Preferences::from_text(lost).layouts.is_empty());
    }

    #[test]
    fn the_newest_run_is_first_and_listed_once() {
        let mut preferences = Preferences::default();
        for source in ["a", "b", "a"] {
            preferences.add_recent(source);
        }
        assert_eq!(preferences.recent, ["a", "b"]);
        let back = Preferences::from_text(&preferences.to_text());
        assert_eq!(back.recent, preferences.recent);
    }
}
