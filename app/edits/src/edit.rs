//! The edits that a user can make to a run.

use std::fmt;
use std::sync::Arc;

use callgrove_model::{Label, TimeNs};
use serde::{Deserialize, Serialize};

use crate::label::LabelKey;
use crate::mark::Mark;
use crate::model::{ModelSettings, ModelUse};

/// A change of the user's work, as stored in the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    /// Labels given or removed.
    SetLabels(Vec<LabelChange>),
    /// Trains the model with all labels given so far.
    Train,
    /// Switches training after every label on or off.
    AutoTrain(bool),
    /// The labels that wait for training apply to their executions only. Since version 3.
    Hold,
    /// Trains the model with those labels too. Since version 3.
    LearnHeld,
    /// Changes the settings of the trained model; `None` restores the defaults.
    Tune(Option<ModelSettings>),
    /// Shows the scores of a model file that fits.
    LoadModel(String),
    /// Shows the scores of a model file whether it fits or not. Since version 3.
    UseModel(ModelFile),
    /// Restores the state of a saved session.
    Restore(SavedState),
    /// Adds a mark, or replaces the mark with its number.
    SetMark(Mark),
    /// Deletes the mark with this number.
    DeleteMark(u64),
}

/// A label given or removed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LabelChange {
    /// The labelled tree or execution.
    #[serde(flatten)]
    pub key: LabelKey,
    /// The label; `None` removes it.
    pub label: Option<Label>,
}

/// A model file and how it is used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Path of the file.
    pub path: String,
    /// Use of the model; it may be used although it does not fit.
    pub fit: ModelUse,
}

/// The user's work as stored in files. Missing fields have their defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedState {
    /// All labels.
    #[serde(default)]
    pub labels: Vec<SavedLabel>,
    /// True if the model is trained after every label.
    #[serde(default)]
    pub auto_train: bool,
    /// Path of the model file whose scores are shown.
    #[serde(default)]
    pub model: Option<String>,
    /// Use of the model file. Since version 3.
    #[serde(default, skip_serializing_if = "ModelUse::is_as_made")]
    pub model_use: ModelUse,
    /// Settings of the trained model; `None` are the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<ModelSettings>,
    /// True if an untrained edit waits for the user's answer. Since version 3.
    #[serde(default, skip_serializing_if = "is_off")]
    pub asking: bool,
    /// The marks of the run; `None` leaves them unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<Vec<Mark>>,
}

/// A label of a saved state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SavedLabel {
    /// The labelled tree or execution.
    #[serde(flatten)]
    pub key: LabelKey,
    /// The label.
    pub label: Label,
    /// True if the model has been trained with it.
    pub trained: bool,
    /// True if it applies to its execution only. Since version 3.
    #[serde(default, skip_serializing_if = "is_off")]
    pub held: bool,
    /// Author, if known. Older files lack it, and older programs ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// Time since the epoch, if known. As the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<TimeNs>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks by reference whether to leave a field out"
)]
fn is_off(flag: &bool) -> bool {
    !flag
}

impl ModelFile {
    /// Returns a file that must fit.
    pub fn as_made(path: String) -> Self {
        Self {
            path,
            fit: ModelUse::AsMade,
        }
    }
}

impl Edit {
    /// Returns whether the edit trains the model, so that the user is asked first if the training changes many results.
    pub fn trains(&self) -> bool {
        matches!(
            self,
            Self::SetLabels(_) | Self::Train | Self::AutoTrain(true) | Self::LearnHeld
        )
    }

    /// Returns the text for what is kept when the training after the edit is cancelled.
    pub fn kept_text(&self) -> &'static str {
        match self {
            Self::SetLabels(changes) if num_labelled(changes) == 1 => "The label is kept",
            Self::SetLabels(_) => "The labels are kept",
            Self::Train => "The request to train is kept",
            Self::AutoTrain(_) | Self::Tune(_) => "The setting is kept",
            Self::Hold | Self::LearnHeld => "The answer is kept",
            Self::LoadModel(_) | Self::UseModel(_) => "The model is kept",
            Self::Restore(_) => "The session is open",
            Self::SetMark(_) | Self::DeleteMark(_) => "The mark is kept",
        }
    }
}

/// Returns the number of labelled executions: labelling a tree may also remove the label of its record.
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
                    Some(label) => write!(f, "label {key} {}", label.name()),
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
            Self::Hold => f.write_str("keep labels to their executions"),
            Self::LearnHeld => f.write_str("learn held labels"),
            Self::LoadModel(path) => write!(f, "load model {path}"),
            Self::UseModel(ModelFile { path, fit }) => write!(f, "use model {path} {fit}"),
            Self::Restore(_) => f.write_str("open a saved session"),
            Self::SetMark(mark) => write!(f, "mark “{}”", mark.text),
            Self::DeleteMark(_) => f.write_str("delete a mark"),
        }
    }
}
