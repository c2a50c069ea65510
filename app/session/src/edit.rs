//! What a person can change of what is known about a run.

use std::fmt;

use callgrove_model::Label;
use serde::{Deserialize, Serialize};

use crate::label::label_name;
use crate::{LabelKey, Mark, ModelSettings};

/// Something that changes what the person made, as it stands in the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Edit {
    /// Labels given or taken away.
    SetLabels(Vec<LabelChange>),
    /// The model learns the labels given so far.
    Train,
    /// Every label trains at once, or not.
    AutoTrain(bool),
    /// The own model has other settings; `None` are the defaults.
    Tune(Option<ModelSettings>),
    /// Scores of a model file are shown.
    LoadModel(String),
    /// Everything is as in a saved session.
    Restore(SavedState),
    /// A mark is new, or the one of its number is another.
    SetMark(Mark),
    /// The mark of this number goes.
    DeleteMark(u64),
}

/// A label given, or taken away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct LabelChange {
    /// What it is given to.
    #[serde(flatten)]
    pub(crate) key: LabelKey,
    /// The label; `None` takes it away.
    pub(crate) label: Option<Label>,
}

/// What the person made, as it stands in files. Missing fields have their defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedState {
    #[serde(default)]
    pub(crate) labels: Vec<SavedLabel>,
    #[serde(default)]
    pub(crate) auto_train: bool,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<ModelSettings>,
    /// The marks of the run; `None` leaves them as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) marks: Option<Vec<Mark>>,
}

/// A label of a saved state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SavedLabel {
    #[serde(flatten)]
    pub(crate) key: LabelKey,
    pub(crate) label: Label,
    /// Whether the model has learned it.
    pub(crate) trained: bool,
}

impl Edit {
    /// What stands when the training after the edit is cancelled.
    pub(crate) fn kept(&self) -> &'static str {
        match self {
            Self::SetLabels(changes) if num_labelled(changes) == 1 => "The label is kept",
            Self::SetLabels(_) => "The labels are kept",
            Self::Train => "The wish to train is kept",
            Self::AutoTrain(_) | Self::Tune(_) => "The setting is kept",
            Self::LoadModel(_) => "The model is kept",
            Self::Restore(_) => "The session is open",
            Self::SetMark(_) | Self::DeleteMark(_) => "The mark is kept",
        }
    }
}

/// Executions that changes are about: a tree's label may take away that of its record.
fn num_labelled(changes: &[LabelChange]) -> usize {
    let num_trees = changes
        .iter()
        .filter(|change| matches!(change.key, LabelKey::Tree(_)))
        .count();
    if num_trees > 0 {
        num_trees
    } else {
        changes.len()
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetLabels(changes) => match (num_labelled(changes), changes.first()) {
                (1, Some(LabelChange { key, label })) => match label {
                    Some(label) => write!(f, "label {key} {}", label_name(*label)),
                    None => write!(f, "remove the label of {key}"),
                },
                (several, _) => write!(f, "label {several} trees"),
            },
            Self::Train => f.write_str("train"),
            Self::AutoTrain(true) => f.write_str("train after every label"),
            Self::AutoTrain(false) => f.write_str("train only when asked"),
            Self::Tune(Some(ModelSettings { nu, gamma, rate })) => write!(
                f,
                "set ν to {nu}, the kernel to {gamma} and false alarms to {rate}"
            ),
            Self::Tune(None) => f.write_str("set ν, kernel and false alarms to their defaults"),
            Self::LoadModel(path) => write!(f, "load model {path}"),
            Self::Restore(_) => f.write_str("open a saved session"),
            Self::SetMark(mark) => write!(f, "mark “{}”", mark.text),
            Self::DeleteMark(_) => f.write_str("delete a mark"),
        }
    }
}
