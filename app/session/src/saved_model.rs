//! A model file: what it says of a forest, what it was made for, and how far it may be used elsewhere.

use std::fmt;

use callgrove_ml::detector::{Misfit, ModelArtifact, ModelBorder};
use callgrove_model::{DurationNs, Forest, Progress};
use serde::{Deserialize, Serialize};

use crate::{Judged, LearningError};

/// A trained model that judges forests of this or other runs.
pub struct SavedModel(ModelArtifact);

/// What a model was made for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModelOrigin {
    /// Programs by the names of their files, ascending; empty if the trace did not say.
    pub programs: Vec<String>,
    /// Root functions.
    pub functions: Vec<String>,
    /// Ranks of the run.
    pub num_ranks: usize,
    /// Executions that it was trained on.
    pub num_trees: usize,
    /// Those of them that it calls abnormal.
    pub num_abnormal: usize,
    /// Their median duration.
    pub median_duration: DurationNs,
}

/// How a model file is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelUse {
    /// As it was made; it is refused where it does not fit.
    #[default]
    AsMade,
    /// The same, whether it fits or not.
    Anyway,
    /// With a border drawn by the distances of the run itself, whether it fits or not.
    Refitted,
}

impl SavedModel {
    pub(crate) fn new(model: ModelArtifact) -> Self {
        Self(model)
    }

    /// From the bytes of a model file.
    ///
    /// # Errors
    /// They are no model.
    pub fn read(bytes: &[u8]) -> Result<Self, LearningError> {
        let model = serde_json::from_slice(bytes).map_err(LearningError::NoModel)?;
        Ok(Self(model))
    }

    /// The text of its file.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(&self.0).expect("a model has string keys only")
    }

    /// What it was made for.
    pub fn origin(&self) -> ModelOrigin {
        let model = &self.0;
        ModelOrigin {
            programs: model.programs.clone(),
            functions: model.functions.clone(),
            num_ranks: model.num_ranks,
            num_trees: model.num_trees,
            num_abnormal: model.num_abnormal,
            median_duration: DurationNs(model.median_duration_ns),
        }
    }

    /// Judges a forest; with `is_refitted` the border is drawn by the forest's own distances. The second
    /// answer says why the model should not be used for it, if so.
    ///
    /// # Errors
    /// Cancelled, or the model cannot be used by this program.
    pub fn judge(
        &self,
        forest: &Forest,
        is_refitted: bool,
        progress: Progress<'_>,
    ) -> Result<(Judged, Option<Misfit>), LearningError> {
        let border = if is_refitted {
            ModelBorder::Refitted
        } else {
            ModelBorder::Learned
        };
        let found = self.0.judge(forest, border, progress)?;
        let judged = Judged {
            scores: found.scores,
            p_values: Some(found.p_values),
            causes: found.causes,
        };
        Ok((judged, found.misfit))
    }
}

impl ModelUse {
    /// Whether it is the usual way, which files need not mention.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks by reference whether to leave a field out"
    )]
    pub(crate) fn is_as_made(&self) -> bool {
        *self == Self::AsMade
    }
}

impl fmt::Display for ModelUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsMade => "as it was made",
            Self::Anyway => "though it does not fit",
            Self::Refitted => "with its border fitted to this run",
        })
    }
}
