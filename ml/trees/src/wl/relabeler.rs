//! A subtree corpus that grows: new trees join without recomputing the old ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgrove_model::{Cancelled, Forest, FuncId, NameTable, Progress, TreeIdx};
use rayon::prelude::*;

use super::bags::BagEntry;
use super::classes::{ClassId, ClassTable, Classifier, UsesOfTrees};
use super::labels::{ClassLabels, LabelId, SubtreeLabel, largest_degree_within};
use super::params::ValidWlParams;
use super::subtrees::Subtrees;
use super::vocabulary::{Subtree, SubtreeIdx};
use crate::error::{MlError, Result};
use crate::real::fraction;

/// Maximum number of labels of all classes together, one for each degree of each different complete subtree. Only
/// forests of very deep trees approach it: they may have few different labels, but finding them takes too long.
pub const MAX_LABELS: u64 = 1 << 25;

/// Maximum number of different subtrees of a forest; if there would be more, the largest degree is lowered.
pub const MAX_SUBTREES: u64 = 1 << 20;

/// Number of trees of one task; the result does not depend on it.
const TREES_PER_TASK: usize = 256;
/// Number of trees that are processed together; the result does not depend on it.
const TREES_PER_ROUND: usize = 64 * TREES_PER_TASK;

/// The subtree of a label without one.
const NO_SUBTREE: SubtreeIdx = SubtreeIdx(u32::MAX);

/// Relabels trees one after another.
///
/// However the trees are divided into calls of [`Relabeler::join`], the corpus and the bags are those of all trees at
/// once, in the order in which they joined. The number of threads does not matter.
#[derive(Clone, Debug)]
pub struct Relabeler {
    max_subtrees: u64,
    params: ValidWlParams,
    names: NameTable,
    table: ClassTable,
    labels: ClassLabels,
    /// The subtree of each label.
    subtree_of: Vec<SubtreeIdx>,
    /// Class of each tree's root.
    roots: Vec<ClassId>,
    subtrees: Subtrees,
}

impl Relabeler {
    /// Creates a relabeler without trees.
    pub fn new(params: ValidWlParams) -> Self {
        Self::with_at_most(MAX_SUBTREES, params)
    }

    /// Creates a relabeler without trees, with another limit than [`MAX_SUBTREES`].
    pub fn with_at_most(max_subtrees: u64, params: ValidWlParams) -> Self {
        Self {
            max_subtrees,
            params,
            names: NameTable::default(),
            table: ClassTable::new(params.siblings()),
            labels: ClassLabels::new(params),
            subtree_of: Vec::new(),
            roots: Vec::new(),
            subtrees: Subtrees {
                max_degree: params.max_degree(),
                ..Subtrees::default()
            },
        }
    }

    /// Returns the settings; the largest degree is that of [`Subtrees::max_degree`].
    pub fn params(&self) -> ValidWlParams {
        self.params
    }

    /// Returns the names that [`Subtree::func`] refers to: those of the forest that joined first, then those added by
    /// others.
    pub fn names(&self) -> &NameTable {
        &self.names
    }

    /// Returns the corpus and the bags of all trees so far, in the order in which they joined.
    pub fn subtrees(&self) -> &Subtrees {
        &self.subtrees
    }

    /// Returns the corpus and the bags of all trees.
    pub fn into_subtrees(self) -> Subtrees {
        self.subtrees
    }

    /// Adds trees of a forest: new trees of one that grew, or trees of another run.
    ///
    /// New subtrees change the numbers of others, since the corpus is ordered by content; bags are updated.
    ///
    /// # Errors
    /// [`MlError::TooManySubtrees`], [`MlError::Cancelled`]; the trees of earlier complete rounds (of 16,384) have
    /// joined then.
    pub fn join(
        &mut self,
        forest: &Forest,
        trees: &[TreeIdx],
        progress: Progress<'_>,
    ) -> Result<()> {
        let names = forest.trace().names.iter().map(|(_, name)| name);
        self.join_as(forest, names, trees, progress)
    }

    /// Does the same as [`Relabeler::join`] with other names of the functions, by id.
    pub(super) fn join_as<'n>(
        &mut self,
        forest: &Forest,
        names: impl Iterator<Item = &'n str>,
        trees: &[TreeIdx],
        progress: Progress<'_>,
    ) -> Result<()> {
        let ids: Vec<FuncId> = names.map(|name| self.names.intern(name)).collect();
        let part = |round: usize| fraction(round * TREES_PER_ROUND, trees.len()).min(1.0);
        for (round, trees) in trees.chunks(TREES_PER_ROUND).enumerate() {
            let progress = progress.part(part(round), part(round + 1));
            self.join_round(forest, trees, &ids, progress)?;
        }
        Ok(())
    }

    fn join_round(
        &mut self,
        forest: &Forest,
        trees: &[TreeIdx],
        ids: &[FuncId],
        progress: Progress<'_>,
    ) -> Result<()> {
        let classes = self.classify(forest, trees, ids, progress.part(0.0, 0.8))?;
        progress.at(0.8)?;
        let lower = self.lower_degree();
        let params = lower.map_or(self.params, |degree| self.params.capped(degree));
        let num_labels = match lower {
            Some(_) => ClassLabels::new(params).num_after(&self.table),
            None => self.labels.num_after(&self.table),
        };
        if num_labels > MAX_LABELS {
            return Err(MlError::TooManySubtrees {
                found: num_labels,
                limit: MAX_LABELS,
            });
        }
        progress.at(0.85)?;
        if let Some(degree) = lower {
            self.lower_to(degree);
        }
        self.labels.extend(&self.table, &self.names);
        let labels = &self.labels;
        let mut rows: Vec<Rows> = classes
            .par_iter()
            .map(|trees| Aggregator::new(labels.labels.len()).aggregate(trees, labels))
            .collect();
        self.name_subtrees(&rows);
        let subtree_of = &self.subtree_of;
        rows.par_iter_mut().for_each(|rows| rows.order(subtree_of));
        let roots = classes.iter().flat_map(|trees| &trees.roots);
        let rows = rows.iter().flat_map(Rows::iter);
        for ((row, &root), &tree) in rows.zip(roots).zip(trees) {
            let duration = forest.tree(tree).duration();
            let structure = self.structure(root);
            self.subtrees.bags.push(row, structure, duration.0);
            self.roots.push(root);
        }
        Ok(progress.at(1.0)?)
    }

    /// Returns the degree that keeps within the limit, if it is a lower one.
    fn lower_degree(&self) -> Option<u16> {
        // If all classes have more labels than the limit, there are rarely that many different ones.
        let num_labels = self.labels.num_after(&self.table);
        let largest =
            || largest_degree_within(self.max_subtrees, MAX_LABELS, &self.table, self.params);
        (num_labels > self.max_subtrees).then(largest).flatten()
    }

    /// Removes subtrees of larger degree.
    fn lower_to(&mut self, max_degree: u16) {
        self.params = self.params.capped(max_degree);
        self.labels = ClassLabels::new(self.params);
        self.labels.extend(&self.table, &self.names);
        let Subtrees {
            vocabulary,
            max_degree: known,
            ..
        } = &mut self.subtrees;
        *known = Some(max_degree);
        vocabulary.truncate(max_degree);
        let find = |label: &SubtreeLabel| vocabulary.find(label.hash).unwrap_or(NO_SUBTREE);
        self.subtree_of = self.labels.labels.iter().map(find).collect();
        let num_subtrees = vocabulary.len();
        let structures = self.roots.iter().map(|&root| self.structure(root));
        let structures = structures.collect();
        self.subtrees.bags.truncate(num_subtrees, structures);
    }

    /// Returns the subtree of largest degree of a class.
    fn structure(&self, class: ClassId) -> SubtreeIdx {
        let labels = self.labels.of_class(class);
        self.subtree_of[labels[labels.len() - 1] as usize]
    }

    /// Returns classes of complete subtrees in the numbers of the table, task by task.
    fn classify(
        &mut self,
        forest: &Forest,
        trees: &[TreeIdx],
        ids: &[FuncId],
        progress: Progress<'_>,
    ) -> Result<Vec<UsesOfTrees>> {
        let num_done = AtomicUsize::new(0);
        let siblings = self.params.siblings();
        let parts = trees
            .par_chunks(TREES_PER_TASK)
            .map(|part| {
                let mut table = ClassTable::new(siblings);
                let mut classifier = Classifier::default();
                let mut uses = UsesOfTrees::default();
                for &tree in part {
                    classifier.classify(forest.tree(tree), ids, &mut table, &mut uses);
                }
                let num_done = num_done.fetch_add(part.len(), Ordering::Relaxed) + part.len();
                progress.at(fraction(num_done, trees.len()))?;
                Ok((table, uses))
            })
            .collect::<std::result::Result<Vec<_>, Cancelled>>()?;
        let join = |(part, mut uses): (ClassTable, UsesOfTrees)| {
            uses.rename(&self.table.join(&part));
            uses
        };
        Ok(parts.into_iter().map(join).collect())
    }

    /// Counts the trees of each subtree; labels that occur for the first time become subtrees. The rows still contain
    /// labels.
    fn name_subtrees(&mut self, rows: &[Rows]) {
        let vocabulary = &mut self.subtrees.vocabulary;
        let num_known = vocabulary.len();
        self.subtree_of.resize(self.labels.labels.len(), NO_SUBTREE);
        let mut fresh: Vec<Subtree> = Vec::new();
        let mut fresh_labels: Vec<LabelId> = Vec::new();
        let first_tree = self.subtrees.bags.len();
        for (tree, row) in rows.iter().flat_map(Rows::iter).enumerate() {
            for entry in row {
                let subtree_of = &mut self.subtree_of[entry.subtree.index()];
                if *subtree_of == NO_SUBTREE {
                    let label = self.labels.labels[entry.subtree.index()];
                    *subtree_of = SubtreeIdx::from_index(num_known + fresh.len());
                    fresh_labels.push(entry.subtree.0);
                    fresh.push(Subtree {
                        hash: label.hash,
                        degree: label.degree,
                        func: label.func,
                        name: Arc::from(self.names.name(label.func)),
                        example_tree: TreeIdx::from_index(first_tree + tree),
                        example_vertex: entry.vertex,
                        num_trees: 1,
                    });
                } else if subtree_of.index() < num_known {
                    vocabulary.count_tree(*subtree_of);
                } else {
                    fresh[subtree_of.index() - num_known].num_trees += 1;
                }
            }
        }
        if fresh.is_empty() {
            return;
        }
        let moved = vocabulary.insert(fresh);
        self.subtrees.bags.renumber(&moved);
        for subtree_of in self
            .subtree_of
            .iter_mut()
            .filter(|subtree_of| **subtree_of != NO_SUBTREE)
        {
            *subtree_of = moved[subtree_of.index()];
        }
    }
}

/// The bags of some trees, one after the other.
#[derive(Debug, Default)]
struct Rows {
    entries: Vec<BagEntry>,
    ends: Vec<usize>,
}

impl Rows {
    fn iter(&self) -> impl Iterator<Item = &[BagEntry]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(&start, &end)| &self.entries[start..end])
    }

    /// Replaces the labels of entries by their subtrees, and sorts each row.
    fn order(&mut self, subtree_of: &[SubtreeIdx]) {
        for entry in &mut self.entries {
            entry.subtree = subtree_of[entry.subtree.index()];
        }
        let mut start = 0;
        for &end in &self.ends {
            self.entries[start..end].sort_unstable_by_key(|entry| entry.subtree);
            start = end;
        }
    }
}

/// Sums class uses by label.
struct Aggregator {
    entry_of_label: Vec<u32>,
}

impl Aggregator {
    fn new(num_labels: usize) -> Self {
        Self {
            entry_of_label: vec![u32::MAX; num_labels],
        }
    }

    /// Returns unsorted rows; the subtrees of entries are labels.
    fn aggregate(&mut self, trees: &UsesOfTrees, labels: &ClassLabels) -> Rows {
        let mut rows = Rows::default();
        for uses in trees.iter() {
            let start = rows.entries.len();
            for found in uses {
                for &label in labels.of_class(found.class) {
                    let slot = &mut self.entry_of_label[label as usize];
                    if *slot == u32::MAX {
                        #[expect(
                            clippy::cast_possible_truncation,
                            reason = "subtrees are counted in 32 bits"
                        )]
                        let entry = (rows.entries.len() - start) as u32;
                        *slot = entry;
                        rows.entries.push(BagEntry::new(SubtreeIdx(label), found));
                    } else {
                        rows.entries[start + *slot as usize].add(found);
                    }
                }
            }
            for entry in &rows.entries[start..] {
                self.entry_of_label[entry.subtree.index()] = u32::MAX;
            }
            rows.ends.push(rows.entries.len());
        }
        rows
    }
}
