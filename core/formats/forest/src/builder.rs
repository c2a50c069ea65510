//! Conversion of trees into the lanes of a trace.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use callgrove_model::{
    Comms, Counters, DurationNs, ExecIdx, Executions, Forest, FuncId, Label, Lane, NameTable,
    ProgramId, RankId, StepId, ThreadId, TimeNs, Trace, WeightUnit,
};

use crate::error::TreeFault;

/// Maximum number of vertices of one rank; rows of a lane are counted in 32 bits, and one value means no row.
const MAX_VERTICES: usize = u32::MAX as usize - 1;

/// The meaning of the weights of vertices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// The weight of the complete subtree, as for a duration; used unchanged.
    #[default]
    Inclusive,
    /// The weight of the vertex alone; subtrees get the sum of their vertices.
    Own,
}

/// One tree as lists of equal length, the root first, parents before children.
#[derive(Clone, Copy, Debug)]
pub struct PlainTree<'a> {
    /// Its number, unique in a forest.
    pub id: u32,
    /// The group it belongs to.
    pub rank: RankId,
    /// Its start; `None` for the same as that of the previous tree.
    pub entry: Option<TimeNs>,
    /// Its label.
    pub label: Option<Label>,
    /// Parent of each vertex; the root's is -1.
    pub parent: &'a [i64],
    /// Name of each vertex, an id of the builder's table.
    pub func: &'a [FuncId],
    /// Weight of each vertex, at least 0, in nanoseconds; [`WeightUnit`] defines their unit.
    pub weight: &'a [i64],
}

/// A forest that was read or generated, and the labels of its trees.
#[derive(Clone, Debug)]
pub struct ForestFile {
    /// The trees, ordered by rank, then in their original order.
    pub forest: Forest,
    /// The label of each tree in the file, shape `[n_trees]`.
    pub labels: Vec<Option<Label>>,
}

/// Collects trees one by one and creates a [`Forest`] of them.
#[derive(Clone, Debug, Default)]
pub struct ForestBuilder {
    names: NameTable<FuncId>,
    weights: Weights,
    unit: WeightUnit,
    lanes: BTreeMap<RankId, GrowingLane>,
    ids: HashSet<u32>,
    order: PreOrder,
}

#[derive(Clone, Debug, Default)]
struct GrowingLane {
    executions: Executions,
    labels: Vec<Option<Label>>,
    last_entry: Option<TimeNs>,
}

/// Buffers that are reused from tree to tree.
#[derive(Clone, Debug, Default)]
struct PreOrder {
    /// Vertices of the original tree, in pre-order.
    vertex: Vec<usize>,
    /// Index of each vertex in that order.
    index: Vec<usize>,
    next_sibling: Vec<usize>,
    first_child: Vec<usize>,
}

impl ForestBuilder {
    /// Creates an empty forest.
    pub fn new(weights: Weights) -> Self {
        Self {
            weights,
            ..Self::default()
        }
    }

    /// Returns the builder with weights of this unit instead of times.
    #[must_use]
    pub fn with_unit(self, unit: WeightUnit) -> Self {
        Self { unit, ..self }
    }

    /// Returns the id of a name.
    pub fn intern(&mut self, name: &str) -> FuncId {
        self.names.intern(name)
    }

    /// Returns the number of names.
    pub fn num_names(&self) -> usize {
        self.names.len()
    }

    /// Returns the number of trees.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether there are no trees.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Adds a tree.
    ///
    /// # Errors
    /// [`TreeFault`] if the tree is invalid; the forest is unchanged then.
    pub fn push(&mut self, tree: &PlainTree<'_>) -> Result<(), TreeFault> {
        self.check(tree)?;
        self.ids.insert(tree.id);
        self.order.sort(tree.parent);
        let lane = self.lanes.entry(tree.rank).or_default();
        let entry = tree.entry.or(lane.last_entry).unwrap_or_default();
        lane.last_entry = Some(entry);
        lane.labels.push(tree.label);
        lane.push(tree, entry, &self.order, self.weights);
        Ok(())
    }

    /// Returns the forest.
    pub fn finish(self) -> ForestFile {
        let mut labels = Vec::with_capacity(self.ids.len());
        let lanes = self.lanes.into_iter().map(|(rank, lane)| {
            labels.extend(lane.labels);
            Lane {
                program: ProgramId::default(),
                rank,
                thread: ThreadId::default(),
                executions: lane.executions,
                comms: Comms::default(),
                counters: Counters::default(),
            }
        });
        let trace = Trace {
            lanes: lanes.collect(),
            names: self.names,
            is_forest: true,
            unit: self.unit,
            ..Trace::default()
        };
        ForestFile {
            forest: Forest::of_outermost(Arc::new(trace)),
            labels,
        }
    }

    fn check(&self, tree: &PlainTree<'_>) -> Result<(), TreeFault> {
        let len = tree.parent.len();
        if tree.func.len() != len || tree.weight.len() != len {
            return Err(TreeFault::Lengths {
                parents: len,
                names: tree.func.len(),
                weights: tree.weight.len(),
            });
        }
        let parents = tree.parent.iter().enumerate();
        for (vertex, &parent) in parents {
            match (vertex, parent) {
                (0, -1) => {}
                (0, parent) => return Err(TreeFault::Root { parent }),
                (_, parent) if usize::try_from(parent).is_ok_and(|parent| parent < vertex) => {}
                _ => return Err(TreeFault::Parent { vertex, parent }),
            }
        }
        if let Some(vertex) = tree.weight.iter().position(|&weight| weight < 0) {
            let weight = tree.weight[vertex];
            return Err(TreeFault::Weight { vertex, weight });
        }
        let num_names = self.names.len();
        if let Some(vertex) = tree.func.iter().position(|func| func.index() >= num_names) {
            return Err(TreeFault::UnknownName {
                vertex,
                func: tree.func[vertex].0.into(),
                num_names,
            });
        }
        if self.ids.contains(&tree.id) {
            return Err(TreeFault::SameId { id: tree.id });
        }
        let lane = self.lanes.get(&tree.rank);
        let num_vertices = lane.map_or(0, |lane| lane.executions.len());
        let rank = tree.rank.0;
        if len == 0 {
            Err(TreeFault::Empty)
        } else if num_vertices.saturating_add(len) > MAX_VERTICES {
            let limit = MAX_VERTICES;
            Err(TreeFault::TooManyVertices { rank, limit })
        } else if tree.entry.is_some() && tree.entry < lane.and_then(|lane| lane.last_entry) {
            Err(TreeFault::EntryGoesBack { rank })
        } else {
            Ok(())
        }
    }
}

impl GrowingLane {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "vertices are checked to be at most MAX_VERTICES, and parents to be vertices"
    )]
    fn push(&mut self, tree: &PlainTree<'_>, entry: TimeNs, order: &PreOrder, weights: Weights) {
        let columns = &mut self.executions;
        let start = columns.len();
        for (index, &vertex) in order.vertex.iter().enumerate() {
            let parent = (index > 0).then(|| start + order.index[tree.parent[vertex] as usize]);
            let weight = DurationNs(tree.weight[vertex]);
            let depth = parent.map_or(0, |parent| columns.depth[parent].saturating_add(1));
            columns.func.push(tree.func[vertex]);
            columns.entry.push(entry);
            columns.inclusive.push(weight);
            columns.exclusive.push(weight);
            columns
                .parent
                .push(parent.map(|parent| ExecIdx::from_index(parent).into()));
            columns
                .subtree_end
                .push(ExecIdx::from_index(start + index + 1));
            columns.depth.push(depth);
            columns.step.push(StepId::default());
            columns
                .row
                .push(if index == 0 { tree.id } else { vertex as u32 });
            columns.closed.push(true);
        }
        // Children come after their parents, so the backward loop visits them first.
        for row in (start + 1..columns.len()).rev() {
            let Some(parent) = columns.parent[row] else {
                continue;
            };
            let parent = ExecIdx::from(parent).index();
            columns.subtree_end[parent] = columns.subtree_end[parent].max(columns.subtree_end[row]);
            let weight = columns.inclusive[row];
            match weights {
                Weights::Inclusive => {
                    let rest = columns.exclusive[parent] - weight;
                    columns.exclusive[parent] = rest.max(DurationNs::ZERO);
                }
                Weights::Own => columns.inclusive[parent] += weight,
            }
        }
    }
}

impl PreOrder {
    /// Puts vertices in pre-order; siblings keep their order.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "parents but the root's are checked to be vertices"
    )]
    fn sort(&mut self, parent: &[i64]) {
        const NONE: usize = usize::MAX;
        let len = parent.len();
        for list in [&mut self.first_child, &mut self.next_sibling] {
            list.clear();
            list.resize(len, NONE);
        }
        for vertex in (1..len).rev() {
            let first = &mut self.first_child[parent[vertex] as usize];
            self.next_sibling[vertex] = *first;
            *first = vertex;
        }
        self.vertex.clear();
        self.index.clear();
        self.index.resize(len, 0);
        let mut vertex = 0;
        while vertex != NONE {
            self.index[vertex] = self.vertex.len();
            self.vertex.push(vertex);
            if self.first_child[vertex] != NONE {
                vertex = self.first_child[vertex];
                continue;
            }
            while vertex != 0 && self.next_sibling[vertex] == NONE {
                vertex = parent[vertex] as usize;
            }
            vertex = self.next_sibling[vertex];
        }
    }
}
