//! Relabelling of a forest into a subtree corpus and bags of subtrees.

use callgrove_model::{Forest, FuncId, Progress, TreeIdx};

use super::classes::{ClassId, ClassTable, Classifier, UsesOfTrees};
use super::labels::ClassLabels;
use super::params::ValidWlParams;
use super::relabeler::{MAX_LABELS, MAX_SUBTREES, Relabeler};
use super::subtrees::Subtrees;
use super::vocabulary::SubtreeHash;
use crate::error::{MlError, Result};

/// The labels of one tree, vertex by vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeLabels {
    class_of: Vec<ClassId>,
    hashes_of_class: Vec<Vec<SubtreeHash>>,
}

/// Finds all subtrees of all degrees (section 4.1) and aggregates them into bags (section 4.2).
///
/// In a forest with more than [`super::MAX_SUBTREES`] different subtrees only those of small degree are found:
/// [`Subtrees::max_degree`] is the limit.
///
/// # Errors
/// [`MlError::EmptyForest`], [`MlError::TooManySubtrees`], [`MlError::Cancelled`].
pub fn relabel(forest: &Forest, params: ValidWlParams, progress: Progress<'_>) -> Result<Subtrees> {
    let names = forest.trace().names.iter().map(|(_, name)| name);
    relabel_within(MAX_SUBTREES, forest, names, params, progress)
}

/// Does the same as [`relabel`] with all subtrees of the selected degrees, however many there are, and with other names
/// of the functions, by id: for a forest whose subtrees are compared with those of a training, with the names there.
///
/// # Errors
/// See [`relabel`].
pub fn relabel_as(
    forest: &Forest,
    names: &[String],
    params: ValidWlParams,
    progress: Progress<'_>,
) -> Result<Subtrees> {
    let names = names.iter().map(String::as_str);
    relabel_within(MAX_LABELS, forest, names, params, progress)
}

fn relabel_within<'n>(
    max_subtrees: u64,
    forest: &Forest,
    names: impl Iterator<Item = &'n str>,
    params: ValidWlParams,
    progress: Progress<'_>,
) -> Result<Subtrees> {
    if forest.is_empty() {
        return Err(MlError::EmptyForest);
    }
    let trees: Vec<TreeIdx> = (0..forest.len()).map(TreeIdx::from_index).collect();
    let mut relabeler = Relabeler::with_at_most(max_subtrees, params);
    relabeler.join_as(forest, names, &trees, progress)?;
    Ok(relabeler.into_subtrees())
}

/// Returns the labels of one tree, equal to those of [`relabel`] with these settings (and [`Subtrees::max_degree`]).
pub fn label_tree(forest: &Forest, tree: TreeIdx, params: ValidWlParams) -> TreeLabels {
    let names = &forest.trace().names;
    let ids: Vec<FuncId> = (0..names.len()).map(FuncId::from_index).collect();
    let mut table = ClassTable::new(params.siblings());
    let mut classifier = Classifier::default();
    let mut uses = UsesOfTrees::default();
    classifier.classify(forest.tree(tree), &ids, &mut table, &mut uses);
    let mut labels = ClassLabels::new(params);
    labels.extend(&table, names);
    let hash_of = |&label: &u32| labels.labels[label as usize].hash;
    let hashes_of_class = table
        .ids()
        .map(|class| labels.of_class(class).iter().map(hash_of).collect())
        .collect();
    TreeLabels {
        class_of: classifier.into_class_of(),
        hashes_of_class,
    }
}

impl TreeLabels {
    /// Returns the labels of the subtrees rooted at a vertex; index = degree.
    pub fn of_vertex(&self, vertex: usize) -> &[SubtreeHash] {
        &self.hashes_of_class[self.class_of[vertex] as usize]
    }

    /// Returns the vertices where a subtree is rooted, ascending.
    pub fn occurrences(&self, hash: SubtreeHash) -> impl Iterator<Item = usize> + '_ {
        (0..self.class_of.len()).filter(move |&vertex| self.of_vertex(vertex).contains(&hash))
    }
}
