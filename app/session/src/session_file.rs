//! The session file: what a person needs to go on elsewhere or later.

use callgrove_model::Label;
use serde::{Deserialize, Serialize};

use crate::history::EditState;
use crate::{LabelSet, ModelSettings, TreeKey};

/// The version that this program writes.
const VERSION: u32 = 1;

/// A saved session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionFile {
    /// Version of the format.
    callgrove_session: u32,
    /// Trace as the person named it.
    pub(crate) source: String,
    /// Root function.
    pub(crate) root: String,
    /// What the person made.
    pub(crate) state: SavedState,
}

/// What the person made, as it stands in files. Missing fields have their defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedState {
    #[serde(default)]
    labels: Vec<SavedLabel>,
    #[serde(default)]
    auto_train: bool,
    #[serde(default)]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settings: Option<ModelSettings>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct SavedLabel {
    #[serde(flatten)]
    tree: TreeKey,
    label: Label,
    /// Whether the model has learned it.
    trained: bool,
}

impl SessionFile {
    /// The file of a state.
    pub(crate) fn of(source: &str, root: &str, state: &EditState) -> Self {
        Self {
            callgrove_session: VERSION,
            source: source.to_owned(),
            root: root.to_owned(),
            state: SavedState::of(state),
        }
    }

    /// The text of the file.
    pub(crate) fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a session has string keys only");
        text.push('\n');
        text
    }

    /// Reads a file.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let file: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("this is no session file of Callgrove ({error})"))?;
        if file.callgrove_session > VERSION {
            return Err(format!(
                "the session was saved by a newer Callgrove (version {}, this one reads up to {VERSION})",
                file.callgrove_session
            ));
        }
        Ok(file)
    }
}

impl SavedState {
    /// What is to be saved of a state.
    pub(crate) fn of(state: &EditState) -> Self {
        let labels = state
            .labels
            .iter()
            .map(|(tree, label)| SavedLabel {
                tree,
                label,
                trained: state.trained.get(&tree) == Some(label),
            })
            .collect();
        Self {
            labels,
            auto_train: state.auto_train,
            model: state.model.clone(),
            settings: state.settings,
        }
    }

    /// The state that was saved.
    pub(crate) fn restore(&self) -> EditState {
        let all = self.labels.iter().map(|saved| (saved.tree, saved.label));
        let trained = self
            .labels
            .iter()
            .filter(|saved| saved.trained)
            .map(|saved| (saved.tree, saved.label));
        EditState {
            labels: all.collect::<LabelSet>().into(),
            trained: trained.collect::<LabelSet>().into(),
            auto_train: self.auto_train,
            model: self.model.clone(),
            settings: self.settings,
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::{ProgramId, RankId};

    use super::*;

    /// The format is promised to stay readable: this is version 1 as written.
    const VERSION_1: &str = r#"{
  "callgrove_session": 1,
  "source": "run",
  "root": "compute",
  "state": {
    "labels": [
      {
        "program": 0,
        "rank": 4,
        "index": 40,
        "label": "abnormal",
        "trained": false
      }
    ],
    "auto_train": false,
    "model": null
  }
}
"#;

    #[test]
    fn version_1_is_read_and_written() {
        let file = SessionFile::from_bytes(VERSION_1.as_bytes()).unwrap();
        let state = file.state.restore();
        let key = TreeKey {
            program: ProgramId(0),
            rank: RankId(4),
            index: 40,
        };
        assert_eq!(state.labels.get(&key), Some(Label::Abnormal));
        assert!(state.trained.is_empty(), "the label was not trained");
        assert_eq!(
            SessionFile::of("run", "compute", &state).to_text(),
            VERSION_1
        );
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let error = SessionFile::from_bytes(b"{}").unwrap_err();
        assert!(
            error.starts_with("this is no session file of Callgrove"),
            "{error}"
        );
        let newer = VERSION_1.replace("\"callgrove_session\": 1", "\"callgrove_session\": 9");
        let error = SessionFile::from_bytes(newer.as_bytes()).unwrap_err();
        assert!(error.contains("newer Callgrove"), "{error}");
    }
}
