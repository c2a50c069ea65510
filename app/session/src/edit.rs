//! What a person can change of what is known about a run.

use std::fmt;
use std::sync::Arc;

use callgrove_model::Label;
use serde::{Deserialize, Serialize};

use crate::label::label_name;
use crate::{LabelKey, Mark, ModelSettings, ModelUse};

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
    /// The labels that wait to be learned stand for their executions alone. Since version 3.
    Hold,
    /// The model learns those too. Since version 3.
    LearnHeld,
    /// The own model has other settings; `None` are the defaults.
    Tune(Option<ModelSettings>),
    /// Scores of a model file that fits are shown.
    LoadModel(String),
    /// Scores of a model file are shown, whether it fits or not. Since version 3.
    UseModel(ModelFile),
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

/// A model file and how it is used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelFile {
    /// Where it is.
    pub(crate) path: String,
    /// How far it may be used.
    pub(crate) fit: ModelUse,
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
    /// How the model file is used; since version 3.
    #[serde(default, skip_serializing_if = "ModelUse::is_as_made")]
    pub(crate) model_use: ModelUse,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<ModelSettings>,
    /// Whether what is not trained waits for an answer; since version 3.
    #[serde(default, skip_serializing_if = "is_off")]
    pub(crate) asking: bool,
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
    /// Whether it stands for its execution alone; since version 3.
    #[serde(default, skip_serializing_if = "is_off")]
    pub(crate) held: bool,
    /// Who gave it, if that is known. Files of before do not say it, and programs of before pass over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Arc<str>>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks by reference whether to leave a field out"
)]
fn is_off(flag: &bool) -> bool {
    !flag
}

impl ModelFile {
    /// A file that must fit.
    pub(crate) fn as_made(path: String) -> Self {
        Self {
            path,
            fit: ModelUse::AsMade,
        }
    }
}

impl Edit {
    /// Whether a person is asked before what the model learns by it takes effect, where that is much.
    pub(crate) fn teaches(&self) -> bool {
        matches!(
            self,
            Self::SetLabels(_) | Self::Train | Self::AutoTrain(true) | Self::LearnHeld
        )
    }

    /// What stands when the training after the edit is cancelled.
    pub(crate) fn kept(&self) -> &'static str {
        match self {
            Self::SetLabels(changes) if num_labelled(changes) == 1 => "The label is kept",
            Self::SetLabels(_) => "The labels are kept",
            Self::Train => "The wish to train is kept",
            Self::AutoTrain(_) | Self::Tune(_) => "The setting is kept",
            Self::Hold | Self::LearnHeld => "The answer is kept",
            Self::LoadModel(_) | Self::UseModel(_) => "The model is kept",
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
