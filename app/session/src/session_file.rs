//! The session file: everything that a user needs to continue elsewhere or later.

use callgrove_edits::{LabelKey, SavedState};
use callgrove_model::RunIdentity;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::Host;

/// The version that this program writes.
const VERSION: u32 = 3;

/// Number of bytes at the start of a session file that show what it is.
const START_BYTES: usize = 64;
/// The first key of a session file.
const FIRST_KEY: &[u8] = b"\"callgrove_session\"";

/// Returns whether a path is that of a saved session, by its contents.
pub fn is_session_file(host: &mut dyn Host, path: &str) -> bool {
    let start = host.file_start(path, START_BYTES);
    start
        .windows(FIRST_KEY.len())
        .any(|bytes| bytes == FIRST_KEY)
}

/// A saved session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionFile {
    /// Version of the format.
    callgrove_session: u32,
    /// Trace as the user named it.
    pub(crate) source: String,
    /// The run, as far as the trace identifies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunIdentity>,
    /// Root function.
    pub(crate) root: String,
    /// The user's work.
    pub(crate) state: SavedState,
    /// The selected trees.
    #[serde(default)]
    pub(crate) selection: Vec<LabelKey>,
    /// Layout of the window, in the window's own format.
    #[serde(default)]
    pub(crate) view: Value,
}

impl SessionFile {
    /// Returns the file of a state.
    pub(crate) fn new(
        source: &str,
        run: &RunIdentity,
        root: &str,
        state: SavedState,
        selection: Vec<LabelKey>,
        view: Value,
    ) -> Self {
        Self {
            callgrove_session: VERSION,
            source: source.to_owned(),
            run: (!run.is_empty()).then(|| run.clone()),
            root: root.to_owned(),
            state,
            selection,
            view,
        }
    }

    /// Returns the text of the file.
    pub(crate) fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a session has string keys only");
        text.push('\n');
        text
    }

    /// Reads a file.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let no_session = |error| format!("this is not a session file of Callgrove ({error})");
        let value: Value = serde_json::from_slice(bytes).map_err(no_session)?;
        let version = value.get("callgrove_session").and_then(Value::as_u64);
        if let Some(version) = version.filter(|&version| version > VERSION.into()) {
            return Err(format!(
                "the session was saved by a newer Callgrove (version {version}, this one reads up to {VERSION})"
            ));
        }
        serde_json::from_value(value).map_err(no_session)
    }
}

#[cfg(test)]
mod tests {
    use callgrove_edits::{SavedLabel, TreeKey};
    use callgrove_model::{Label, ProgramId, RankId};

    use super::*;

    /// Version 1 as it was written. The format must stay readable.
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

    /// Version 2 as it was written.
    const VERSION_2: &str = r#"{
  "callgrove_session": 2,
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
    "model": null,
    "marks": [
      {
        "id": 1,
        "range": {
          "from": 5,
          "to": 9
        },
        "text": "stop"
      }
    ]
  },
  "selection": [
    {
      "program": 0,
      "rank": 4,
      "index": 40
    }
  ],
  "view": {
    "layout": "Analyse"
  }
}
"#;

    /// Version 3 as it was written.
    const VERSION_3: &str = r#"{
  "callgrove_session": 3,
  "source": "run",
  "root": "compute",
  "state": {
    "labels": [
      {
        "program": 0,
        "rank": 4,
        "index": 40,
        "label": "abnormal",
        "trained": false,
        "held": true
      },
      {
        "program": 0,
        "rank": 4,
        "index": 41,
        "label": "normal",
        "trained": false
      }
    ],
    "auto_train": true,
    "model": "m.json",
    "model_use": "anyway",
    "asking": true
  },
  "selection": [],
  "view": null
}
"#;

    #[test]
    fn version_1_is_read() {
        let file = SessionFile::from_bytes(VERSION_1.as_bytes()).unwrap();
        let key = TreeKey {
            program: ProgramId(0),
            rank: RankId(4),
            index: 40,
        };
        let expected = SavedLabel {
            key: key.into(),
            label: Label::Abnormal,
            trained: false,
            held: false,
            by: None,
            at_ns: None,
        };
        assert_eq!(file.state.labels, [expected]);
        assert_eq!((file.state.marks, file.view), (None, Value::Null));
    }

    #[test]
    fn version_2_is_read() {
        let file = SessionFile::from_bytes(VERSION_2.as_bytes()).unwrap();
        let state = &file.state;
        assert_eq!((state.labels.len(), state.asking), (1, false));
        assert_eq!(state.marks.as_ref().map(Vec::len), Some(1));
        assert_eq!((file.selection.len(), state.labels[0].held), (1, false));
        assert_eq!(file.view["layout"], "Analyse");
        // New fields without a value are not written.
        let newer = VERSION_2.replace("\"callgrove_session\": 2", "\"callgrove_session\": 3");
        let again = SessionFile::from_bytes(newer.as_bytes()).unwrap();
        assert_eq!(again.to_text(), newer);
    }

    #[test]
    fn version_3_is_read_and_written() {
        let file = SessionFile::from_bytes(VERSION_3.as_bytes()).unwrap();
        assert_eq!(file.to_text(), VERSION_3);
    }

    #[test]
    fn the_author_of_a_label_is_kept_and_optional() {
        let with = VERSION_3.replace(
            "\"held\": true\n",
            "\"held\": true,\n        \"by\": \"ana\"\n",
        );
        let file = SessionFile::from_bytes(with.as_bytes()).unwrap();
        let by: Vec<_> = file
            .state
            .labels
            .iter()
            .map(|it| it.by.as_deref())
            .collect();
        assert_eq!(by, [Some("ana"), None]);
        assert_eq!(file.to_text(), with);
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let error = SessionFile::from_bytes(b"{}").unwrap_err();
        assert!(
            error.starts_with("this is not a session file of Callgrove"),
            "{error}"
        );
        let newer = VERSION_2.replace("\"view\"", "\"sound\"");
        assert!(SessionFile::from_bytes(newer.as_bytes()).is_err());
        let newer = newer.replace("\"callgrove_session\": 2", "\"callgrove_session\": 9");
        let error = SessionFile::from_bytes(newer.as_bytes()).unwrap_err();
        assert!(error.contains("newer Callgrove"), "{error}");
    }
}
