//! Differences of trees from the usual ones, for the window and for tables.

use std::sync::Arc;

use callgrove_model::{Forest, FuncId, FunctionName, Label, NameTable, Progress, Reason, TreeIdx};
use callgrove_trees::explain::{CallPaths, Difference, TreeExplanation, UsualTrees, explain};

use crate::learning::{LearningError, SavedModel};
use crate::snapshot::{Detection, Explanation};

/// Explains the trees of one forest by comparison with the usual trees of that forest, or of a model's training.
pub struct Explainer {
    forest: Forest,
    /// Names of the functions of a model; `None` if those of the forest are complete.
    names: Option<NameTable<FuncId>>,
    paths: Arc<CallPaths>,
    usual: UsualTrees,
}

impl Explainer {
    /// Prepares a forest whose paths are known. Trees that are called or labelled abnormal are not examples of usual
    /// trees; those labelled normal are. `labels` has shape `[n_trees]`.
    pub(crate) fn with_paths(
        forest: &Forest,
        paths: Arc<CallPaths>,
        detection: &Detection,
        labels: &[Option<Label>],
    ) -> Self {
        let is_normal = |tree: TreeIdx| match labels.get(tree.index()).copied().flatten() {
            Some(label) => label == Label::Normal,
            None => !detection.is_abnormal(tree),
        };
        let trees = (0..forest.len()).map(TreeIdx::from_index);
        let is_normal: Vec<bool> = trees.map(is_normal).collect();
        Self {
            usual: UsualTrees::of(forest, &paths, &is_normal),
            names: None,
            forest: forest.clone(),
            paths,
        }
    }

    /// Prepares a forest.
    ///
    /// # Errors
    /// Cancelled.
    pub fn new(
        forest: &Forest,
        detection: &Detection,
        labels: &[Option<Label>],
        progress: Progress<'_>,
    ) -> Result<Self, LearningError> {
        let paths = Arc::new(CallPaths::of(forest, progress)?);
        Ok(Self::with_paths(forest, paths, detection, labels))
    }

    /// Prepares a forest to be compared with the usual trees of a model's training.
    ///
    /// # Errors
    /// Cancelled.
    pub fn of_model(
        model: &SavedModel,
        forest: &Forest,
        progress: Progress<'_>,
    ) -> Result<Self, LearningError> {
        let (names, paths, usual) = model
            .tree_model()
            .artifact()
            .usual
            .of_forest(forest, progress)?;
        Ok(Self {
            forest: forest.clone(),
            names: Some(names),
            paths: Arc::new(paths),
            usual,
        })
    }

    fn explain(&self, tree: TreeIdx) -> TreeExplanation {
        explain(&self.forest, &self.paths, &self.usual, tree)
    }

    /// Returns the differences of a tree from the usual tree of its kind; without neighbours, which depend on a model.
    pub fn explanation(&self, tree: TreeIdx) -> Explanation {
        let why = self.explain(tree);
        Explanation {
            tree,
            neighbours: Vec::new(),
            findings: why.differences,
            usual: why.usual.unwrap_or(tree),
            num_usual: why.num_usual,
            is_same_shape: why.is_same_shape,
        }
    }

    /// Returns why a tree is unusual, the most important reason first.
    pub fn reasons(&self, tree: TreeIdx) -> Vec<Reason> {
        let differences = self.explain(tree).differences;
        let reasons = differences.iter().map(|found| self.reason(found));
        reasons.collect()
    }

    fn reason(&self, difference: &Difference) -> Reason {
        let names = self.names.as_ref().unwrap_or(&self.forest.trace().names);
        let name = |func| FunctionName::parse(names.name(func)).qualified.to_owned();
        Reason {
            kind: difference.kind,
            function: name(difference.func),
            path: difference.path.iter().map(|&func| name(func)).collect(),
            excess_us: difference.excess.0 as f64 / 1e3,
            count: difference.count,
            usual_count: difference.usual_count,
            usual_us: difference.usual_time.0 as f64 / 1e3,
            share: difference.share,
            unit: self.forest.unit().clone(),
        }
    }
}
