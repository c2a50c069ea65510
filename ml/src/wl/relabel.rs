//! A forest becomes a subtree corpus and bags of subtrees.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgrove_model::{Cancelled, Forest, NameTable, Progress, TreeIdx};
use rayon::prelude::*;

use super::bags::{Bags, Entry};
use super::classes::{ClassId, ClassTable, ClassUse, Classifier};
use super::labels::ClassLabels;
use super::params::ValidWlParams;
use super::vocabulary::{Subtree, SubtreeHash, SubtreeIdx, Vocabulary};
use crate::error::{MlError, Result};

/// Trees that one task takes; the result does not depend on it.
const TREES_PER_TASK: usize = 256;

/// The subtree corpus of a forest and the bag of each tree.
#[derive(Clone, PartialEq, Debug)]
pub struct Subtrees {
    /// Every different subtree.
    pub vocabulary: Vocabulary,
    /// A row per tree.
    pub bags: Bags,
}

/// The labels of one tree, vertex by vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeLabels {
    class_of: Vec<ClassId>,
    hashes_of_class: Vec<Vec<SubtreeHash>>,
}

/// Finds all subtrees of all degrees (section 4.1) and aggregates them to bags (section 4.2).
///
/// # Errors
/// [`MlError::EmptyForest`], [`MlError::Cancelled`].
pub fn relabel(forest: &Forest, params: ValidWlParams, progress: Progress<'_>) -> Result<Subtrees> {
    if forest.is_empty() {
        return Err(MlError::EmptyForest);
    }
    let (table, uses) = classify(forest, progress.part(0.0, 0.8))?;
    let labels = ClassLabels::new(&table, &forest.trace().names, params);
    progress.at(0.85)?;
    let root_labels: Vec<u32> = uses.iter().map(|uses| root_label(&labels, uses)).collect();
    let entries: Vec<Vec<Entry>> = uses
        .par_chunks(TREES_PER_TASK)
        .flat_map_iter(|trees| {
            let mut aggregator = Aggregator::new(labels.labels.len());
            trees
                .iter()
                .map(|uses| aggregator.aggregate(uses, &labels))
                .collect::<Vec<_>>()
        })
        .collect();
    progress.at(0.95)?;
    let (vocabulary, place) = describe(&labels, &uses, &entries, &forest.trace().names);
    let mut bags = Bags::with_capacity(forest.len());
    for (index, mut row) in entries.into_iter().enumerate() {
        for entry in &mut row {
            entry.subtree = place[entry.subtree.index()];
        }
        row.sort_unstable_by_key(|entry| entry.subtree);
        let duration = forest.tree(TreeIdx::from_index(index)).duration();
        bags.push(&row, place[root_labels[index] as usize], duration.0);
    }
    progress.at(1.0)?;
    Ok(Subtrees { vocabulary, bags })
}

/// The labels of one tree, the same as [`relabel`] gives it.
pub fn label_tree(forest: &Forest, tree: TreeIdx, params: ValidWlParams) -> TreeLabels {
    let mut table = ClassTable::default();
    let mut classifier = Classifier::default();
    classifier.classify(forest.tree(tree), &mut table);
    let labels = ClassLabels::new(&table, &forest.trace().names, params);
    let hashes_of_class = (0..table.len() as ClassId)
        .map(|class| {
            let of_class = labels.of_class(class).iter();
            of_class
                .map(|&label| labels.labels[label as usize].hash)
                .collect()
        })
        .collect();
    TreeLabels {
        class_of: classifier.class_of().to_vec(),
        hashes_of_class,
    }
}

impl TreeLabels {
    /// Labels of the subtrees rooted at a vertex; index = degree.
    pub fn of_vertex(&self, vertex: usize) -> &[SubtreeHash] {
        &self.hashes_of_class[self.class_of[vertex] as usize]
    }

    /// The vertices where a subtree is rooted, ascending.
    pub fn occurrences(&self, hash: SubtreeHash) -> impl Iterator<Item = usize> + '_ {
        (0..self.class_of.len()).filter(move |&vertex| self.of_vertex(vertex).contains(&hash))
    }
}

/// Classes of whole subtrees, and how each tree uses them (the root's class first).
fn classify(forest: &Forest, progress: Progress<'_>) -> Result<(ClassTable, Vec<Vec<ClassUse>>)> {
    let starts: Vec<usize> = (0..forest.len()).step_by(TREES_PER_TASK).collect();
    let num_done = AtomicUsize::new(0);
    let parts = starts
        .par_iter()
        .map(|&start| {
            let mut table = ClassTable::default();
            let mut classifier = Classifier::default();
            let uses: Vec<Vec<ClassUse>> = (start..forest.len().min(start + TREES_PER_TASK))
                .map(|tree| classifier.classify(forest.tree(TreeIdx::from_index(tree)), &mut table))
                .collect();
            let num_done = num_done.fetch_add(1, Ordering::Relaxed) + 1;
            progress.at(num_done as f32 / starts.len() as f32)?;
            Ok((table, uses))
        })
        .collect::<std::result::Result<Vec<_>, Cancelled>>()?;
    // Joining part after part numbers classes as one pass over all trees would.
    let mut table = ClassTable::default();
    let mut all_uses = Vec::with_capacity(forest.len());
    for (part, uses) in parts {
        let class_of = table.join(&part);
        for mut tree_uses in uses {
            for found in &mut tree_uses {
                found.class = class_of[found.class as usize];
            }
            all_uses.push(tree_uses);
        }
    }
    Ok((table, all_uses))
}

fn root_label(labels: &ClassLabels, uses: &[ClassUse]) -> u32 {
    let of_root = uses
        .first()
        .map_or(&[][..], |root| labels.of_class(root.class));
    of_root.last().copied().unwrap_or(0)
}

/// Sums class uses up by label.
struct Aggregator {
    entry_of_label: Vec<Option<u32>>,
}

impl Aggregator {
    fn new(num_labels: usize) -> Self {
        Self {
            entry_of_label: vec![None; num_labels],
        }
    }

    /// Entries in order of first occurrence; their subtree is the label.
    fn aggregate(&mut self, uses: &[ClassUse], labels: &ClassLabels) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for found in uses {
            for &label in labels.of_class(found.class) {
                let slot = &mut self.entry_of_label[label as usize];
                let Some(place) = *slot else {
                    *slot = Some(entries.len() as u32);
                    entries.push(Entry {
                        subtree: SubtreeIdx(label),
                        count: found.count,
                        inclusive_ns: found.inclusive_ns,
                        exclusive_ns: found.exclusive_ns,
                        max_inclusive_ns: found.max_inclusive_ns,
                    });
                    continue;
                };
                let entry = &mut entries[place as usize];
                entry.count += found.count;
                entry.inclusive_ns = entry.inclusive_ns.saturating_add(found.inclusive_ns);
                entry.exclusive_ns = entry.exclusive_ns.saturating_add(found.exclusive_ns);
                entry.max_inclusive_ns = entry.max_inclusive_ns.max(found.max_inclusive_ns);
            }
        }
        for entry in &entries {
            self.entry_of_label[entry.subtree.index()] = None;
        }
        entries
    }
}

/// Builds the vocabulary; the answer also maps labels to subtrees.
fn describe(
    labels: &ClassLabels,
    uses: &[Vec<ClassUse>],
    entries: &[Vec<Entry>],
    names: &NameTable,
) -> (Vocabulary, Vec<SubtreeIdx>) {
    let mut name_of_func: Vec<Option<Arc<str>>> = vec![None; names.len()];
    let mut subtrees: Vec<Subtree> = labels
        .labels
        .iter()
        .map(|label| Subtree {
            hash: label.hash,
            degree: label.degree,
            func: label.func,
            name: Arc::clone(
                name_of_func[label.func.index()]
                    .get_or_insert_with(|| names.name(label.func).into()),
            ),
            example_tree: TreeIdx(0),
            example_vertex: u32::MAX,
            num_trees: 0,
        })
        .collect();
    for (tree, row) in entries.iter().enumerate() {
        let mut is_first_tree = false;
        for entry in row {
            let subtree = &mut subtrees[entry.subtree.index()];
            subtree.num_trees += 1;
            if subtree.num_trees == 1 {
                subtree.example_tree = TreeIdx::from_index(tree);
                is_first_tree = true;
            }
        }
        if is_first_tree {
            for found in &uses[tree] {
                for &label in labels.of_class(found.class) {
                    let subtree = &mut subtrees[label as usize];
                    if subtree.example_tree.index() == tree {
                        subtree.example_vertex = subtree.example_vertex.min(found.vertex);
                    }
                }
            }
        }
    }
    Vocabulary::new(subtrees)
}
