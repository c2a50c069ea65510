//! The drawn vertices and their sizes; independent of the screen.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, DurationNs, FuncId};
use callgrove_session::DifferenceKind;

/// Number of calls from which repeated calls are merged by default.
pub(super) const MERGE_FROM: usize = 1_500;
/// Maximum number of drawn vertices.
pub(super) const MAX_VERTICES: usize = 8_000;
/// Radius of a tree of median duration at its root, in points at zoom 1.
const MEDIAN_RADIUS: f32 = 20.0;
/// Range of radii, in points at zoom 1.
const RADIUS_RANGE: (f32, f32) = (2.5, 220.0);
/// Fraction of the other tree's duration below which a difference of times is ignored.
const SAME_SHARE: f64 = 0.01;
/// Minimum radius of a disc as a fraction of the root's radius, so that it is visible next to the root.
const MIN_SHARE: f32 = 0.03;

/// Area per time, the same for all trees of a forest, so that slow trees are large.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Scale {
    area_per_ns: f32,
}

/// A call, or merged calls, as one disc.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Vertex {
    pub(super) func: FuncId,
    /// The first of its calls, an index into the tree.
    pub(super) first: usize,
    pub(super) num_calls: usize,
    pub(super) inclusive: DurationNs,
    pub(super) exclusive: DurationNs,
    /// The index of the caller's vertex, smaller than its own; `None` for the root.
    pub(super) parent: Option<usize>,
    /// Radius at zoom 1, in points.
    pub(super) radius: f32,
    /// The calls of the other tree along the same path, if the tree is compared with one.
    pub(super) other: Option<OtherSide>,
}

/// The calls of another tree along a path; all 0 if it has none.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct OtherSide {
    /// The first of them, an index into that tree.
    pub(super) first: usize,
    pub(super) num_calls: usize,
    pub(super) inclusive: DurationNs,
    pub(super) exclusive: DurationNs,
}

/// The vertices of a tree, callers before callees.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Drawing {
    pub(super) vertices: Vec<Vertex>,
    /// The vertex of each call of the tree.
    pub(super) vertex_of_call: Vec<usize>,
}

/// A step between vertices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TreeMove {
    /// To the caller.
    Caller,
    /// To the longest callee.
    Callee,
    /// To the previous vertex with the same caller.
    Before,
    /// To the next vertex with the same caller.
    After,
}

/// The rule that merges calls into one vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Merging {
    Nothing,
    /// Merges calls of one function by one caller that have no callees.
    RepeatedLeaves,
    /// Merges calls with the same path from the root.
    SamePaths,
}

impl Scale {
    /// Returns the scale of a forest with the median duration `median`.
    pub(super) fn new(median: DurationNs) -> Self {
        let area = std::f32::consts::PI * MEDIAN_RADIUS * MEDIAN_RADIUS;
        Self {
            area_per_ns: area / median.0.max(1) as f32,
        }
    }

    /// Returns the radius of a disc for a time.
    pub(super) fn radius(self, time: DurationNs) -> f32 {
        self.unbounded_radius(time)
            .clamp(RADIUS_RANGE.0, RADIUS_RANGE.1)
    }

    /// Returns round times whose discs, drawn at `zoom`, explain the scale: a small one and one ten times as long.
    pub(super) fn examples(self, zoom: f32) -> [DurationNs; 2] {
        let powers = (0..17).map(|power| 10_i64.pow(power));
        let mut round = powers
            .flat_map(|power| [power, 2 * power, 5 * power])
            .map(DurationNs);
        let small = round
            .find(|&time| self.unbounded_radius(time) * zoom >= 3.0)
            .unwrap_or(DurationNs(1));
        [small, DurationNs(small.0 * 10)]
    }

    fn unbounded_radius(self, time: DurationNs) -> f32 {
        (self.area_per_ns * time.0.max(0) as f32 / std::f32::consts::PI).sqrt()
    }
}

impl Vertex {
    /// Returns the longer one of its times in the compared trees.
    fn weight(&self) -> DurationNs {
        let other = self.other.unwrap_or_default();
        self.inclusive.max(other.inclusive)
    }
}

impl Drawing {
    /// Merges `tree` and `other`: calls with the same path from the root are one vertex.
    pub(super) fn compared(tree: CsTree<'_>, other: CsTree<'_>, scale: Scale) -> Self {
        let mut drawing = Self::merged(tree, Merging::SamePaths);
        let mut known = BTreeMap::new();
        for (at, vertex) in drawing.vertices.iter_mut().enumerate() {
            vertex.other = Some(OtherSide::default());
            known.insert((vertex.parent, vertex.func), at);
        }
        let mut vertex_of_other: Vec<usize> = Vec::with_capacity(other.len());
        for call in 0..other.len() {
            let parent = other.parent(call).map(|parent| vertex_of_other[parent]);
            let func = other.funcs()[call];
            let vertex = *known.entry((parent, func)).or_insert_with(|| {
                drawing.vertices.push(Vertex {
                    func,
                    first: 0,
                    num_calls: 0,
                    inclusive: DurationNs::ZERO,
                    exclusive: DurationNs::ZERO,
                    parent,
                    radius: 0.0,
                    other: Some(OtherSide::default()),
                });
                drawing.vertices.len() - 1
            });
            vertex_of_other.push(vertex);
            if let Some(side) = &mut drawing.vertices[vertex].other {
                if side.num_calls == 0 {
                    side.first = call;
                }
                side.num_calls += 1;
                side.inclusive += other.inclusive()[call];
                side.exclusive += other.exclusive()[call];
            }
        }
        drawing.keep_heaviest(MAX_VERTICES);
        drawing.set_radii(scale);
        drawing
    }

    /// Returns how a vertex differs from the same path of the other tree, if the tree is compared with one.
    pub(super) fn change(&self, vertex: usize) -> Option<DifferenceKind> {
        let (here, root) = (self.vertices.get(vertex)?, self.vertices.first()?);
        let (other, whole) = (here.other?, root.other?);
        let longer_ns = (here.exclusive - other.exclusive).0 as f64;
        let is_same = longer_ns.abs() <= SAME_SHARE * whole.inclusive.0 as f64;
        match (here.num_calls, other.num_calls) {
            (_, 0) => Some(DifferenceKind::New),
            (0, _) => Some(DifferenceKind::Missing),
            (mine, theirs) if mine > theirs => Some(DifferenceKind::MoreCalls),
            (mine, theirs) if mine < theirs => Some(DifferenceKind::FewerCalls),
            _ if is_same => None,
            _ if longer_ns > 0.0 => Some(DifferenceKind::Longer),
            _ => Some(DifferenceKind::Shorter),
        }
    }

    /// Returns the vertices of `tree`. Repeated calls are merged on request, and if there are too many vertices to
    /// draw.
    pub(super) fn new(tree: CsTree<'_>, merges_repeated: bool, scale: Scale) -> Self {
        let stages = [
            Merging::Nothing,
            Merging::RepeatedLeaves,
            Merging::SamePaths,
        ];
        let mut drawing = Self::default();
        for merging in stages.into_iter().skip(usize::from(merges_repeated)) {
            drawing = Self::merged(tree, merging);
            if drawing.vertices.len() <= MAX_VERTICES {
                break;
            }
        }
        drawing.keep_heaviest(MAX_VERTICES);
        drawing.set_radii(scale);
        drawing
    }

    fn set_radii(&mut self, scale: Scale) {
        let root = self.vertices.first();
        let least = root.map_or(0.0, |root| MIN_SHARE * scale.radius(root.weight()));
        for vertex in &mut self.vertices {
            vertex.radius = scale.radius(vertex.weight()).max(least);
        }
    }

    /// Returns the number of merged calls, and of the vertices that represent them.
    pub(super) fn num_merged(&self) -> (usize, usize) {
        let merged = self.vertices.iter().filter(|vertex| vertex.num_calls > 1);
        merged.fold((0, 0), |(calls, vertices), vertex| {
            (calls + vertex.num_calls, vertices + 1)
        })
    }

    /// Returns the vertices of calls of the tree, in ascending order and without duplicates.
    pub(super) fn vertices_of(&self, calls: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let found = calls
            .into_iter()
            .filter_map(|call| self.vertex_of_call.get(call).copied());
        let mut vertices: Vec<usize> = found.collect();
        vertices.sort_unstable();
        vertices.dedup();
        vertices
    }

    /// Returns the vertex that a step leads to; `vertex` itself if no vertex is in that direction.
    pub(super) fn step(&self, vertex: usize, tree_move: TreeMove) -> usize {
        let Some(here) = self.vertices.get(vertex) else {
            return 0;
        };
        let called_by = |caller: Option<usize>| {
            let vertices = self.vertices.iter().enumerate();
            vertices.filter(move |(_, other)| other.parent == caller)
        };
        let found = match tree_move {
            TreeMove::Caller => here.parent,
            TreeMove::Callee => called_by(Some(vertex))
                .max_by_key(|(at, other)| (other.weight(), std::cmp::Reverse(*at)))
                .map(|(at, _)| at),
            TreeMove::Before => called_by(here.parent)
                .map(|(at, _)| at)
                .take_while(|&at| at < vertex)
                .last(),
            TreeMove::After => called_by(here.parent)
                .map(|(at, _)| at)
                .find(|&at| at > vertex),
        };
        found.unwrap_or(vertex)
    }

    fn merged(tree: CsTree<'_>, merging: Merging) -> Self {
        let mut drawing = Self::default();
        let mut known: BTreeMap<(Option<usize>, FuncId), usize> = BTreeMap::new();
        for call in 0..tree.len() {
            let parent = tree
                .parent(call)
                .map(|parent| drawing.vertex_of_call[parent]);
            let is_merged = match merging {
                Merging::Nothing => false,
                Merging::RepeatedLeaves => tree.subtree_end(call) == call + 1,
                Merging::SamePaths => true,
            };
            let key = (parent, tree.funcs()[call]);
            let known_vertex = known.get(&key).copied().filter(|_| is_merged);
            let vertex = known_vertex.unwrap_or_else(|| {
                drawing.vertices.push(Vertex {
                    func: tree.funcs()[call],
                    first: call,
                    num_calls: 0,
                    inclusive: DurationNs::ZERO,
                    exclusive: DurationNs::ZERO,
                    parent,
                    radius: 0.0,
                    other: None,
                });
                drawing.vertices.len() - 1
            });
            if is_merged {
                known.insert(key, vertex);
            }
            drawing.vertices[vertex].num_calls += 1;
            drawing.vertices[vertex].inclusive += tree.inclusive()[call];
            drawing.vertices[vertex].exclusive += tree.exclusive()[call];
            drawing.vertex_of_call.push(vertex);
        }
        drawing
    }

    /// Removes the lightest vertices; their calls count as their callers'. A caller is never lighter than its callees,
    /// so the caller of a kept vertex is kept.
    fn keep_heaviest(&mut self, max_vertices: usize) {
        if self.vertices.len() <= max_vertices {
            return;
        }
        let mut heaviest: Vec<usize> = (0..self.vertices.len()).collect();
        heaviest.sort_by_key(|&vertex| (std::cmp::Reverse(self.vertices[vertex].weight()), vertex));
        heaviest.truncate(max_vertices);
        heaviest.sort_unstable();
        let mut kept_as: Vec<usize> = Vec::with_capacity(self.vertices.len());
        for (vertex, drawn) in self.vertices.iter().enumerate() {
            kept_as.push(match (heaviest.binary_search(&vertex), drawn.parent) {
                (Ok(position), _) => position,
                (Err(_), Some(parent)) => kept_as[parent],
                (Err(_), None) => 0,
            });
        }
        self.vertices = heaviest
            .iter()
            .map(|&vertex| {
                let drawn = self.vertices[vertex];
                Vertex {
                    parent: drawn.parent.map(|parent| kept_as[parent]),
                    ..drawn
                }
            })
            .collect();
        for vertex in &mut self.vertex_of_call {
            *vertex = kept_as[*vertex];
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::forest_of;
    use callgrove_model::{TreeIdx, WeightUnit};

    use super::*;

    const SCALE: Scale = Scale { area_per_ns: 1.0 };
    const CALLS: &str = "+r +a -a +b +a -a -b +a -a +b -b +b -b -r";

    /// Returns vertices as `name×calls inclusive <caller`.
    fn drawn(calls: &str, merges: bool) -> Vec<String> {
        let forest = forest_of(calls);
        let drawing = Drawing::new(forest.tree(TreeIdx(0)), merges, SCALE);
        let name = |vertex: &Vertex| forest.trace().names.name(vertex.func).to_owned();
        let line = |vertex: &Vertex| {
            let caller = vertex.parent.map_or(String::new(), |parent| {
                format!(" <{}", name(&drawing.vertices[parent]))
            });
            format!(
                "{}×{} {}{caller}",
                name(vertex),
                vertex.num_calls,
                vertex.inclusive.0
            )
        };
        drawing.vertices.iter().map(line).collect()
    }

    #[test]
    fn without_merging_every_call_is_a_vertex() {
        let expected = [
            "r×1 13",
            "a×1 1 <r",
            "b×1 3 <r",
            "a×1 1 <b",
            "a×1 1 <r",
            "b×1 1 <r",
            "b×1 1 <r",
        ];
        assert_eq!(drawn(CALLS, false), expected);
    }

    #[test]
    fn repeated_calls_merge_only_without_callees() {
        let expected = ["r×1 13", "a×2 2 <r", "b×1 3 <r", "a×1 1 <b", "b×2 2 <r"];
        assert_eq!(drawn(CALLS, true), expected);
    }

    #[test]
    fn every_call_has_its_vertex() {
        let forest = forest_of(CALLS);
        let drawing = Drawing::new(forest.tree(TreeIdx(0)), true, SCALE);
        assert_eq!(drawing.vertex_of_call, [0, 1, 2, 3, 1, 4, 4]);
        assert_eq!(drawing.num_merged(), (4, 2));
        assert_eq!(drawing.vertices_of([6, 1, 4, 5, 99]), [1, 4]);
    }

    #[test]
    fn too_many_vertices_are_merged_by_path_and_then_the_lightest_removed() {
        let many: String = (0..=MAX_VERTICES).map(|_| "+a +b -b -a ").collect();
        let vertices = drawn(&format!("+r {many}-r"), false);
        assert_eq!(vertices.len(), 3, "calls with the same path are one");

        let forest = forest_of("+r +a +b -b -a +c -c -r");
        let mut drawing = Drawing::new(forest.tree(TreeIdx(0)), false, SCALE);
        drawing.keep_heaviest(2);
        assert_eq!(
            drawing
                .vertices
                .iter()
                .map(|vertex| vertex.parent)
                .collect::<Vec<_>>(),
            [None, Some(0)]
        );
        assert_eq!(drawing.vertex_of_call, [0, 1, 1, 0]);
    }

    #[test]
    fn a_compared_tree_has_the_paths_of_both_and_their_changes() {
        let forest =
            forest_of("+r +a -a +b +c -c -b -r +r +a -a +a -a +d +c -c -d -r +r +a -a +b -b -r");
        let compared = |tree, other| {
            let trees = [tree, other].map(|tree| forest.tree(TreeIdx(tree)));
            let drawing = Drawing::compared(trees[0], trees[1], SCALE);
            let name = |at: usize| {
                forest
                    .trace()
                    .names
                    .name(drawing.vertices[at].func)
                    .to_owned()
            };
            (0..drawing.vertices.len())
                .map(|at| {
                    let change = drawing
                        .change(at)
                        .map_or("same", |kind| kind.words(&WeightUnit::Time));
                    let vertex = &drawing.vertices[at];
                    assert!(vertex.parent.is_none_or(|parent| parent < at));
                    format!("{} {change}", name(at))
                })
                .collect::<Vec<_>>()
        };
        assert!(compared(0, 0).iter().all(|line| line.ends_with("same")));
        let expected = [
            "r longer",
            "a more calls",
            "d new",
            "c new",
            "b missing",
            "c missing",
        ];
        assert_eq!(compared(1, 0), expected);
        assert_eq!(compared(2, 0)[2..], ["b shorter", "c missing"]);
    }

    #[test]
    fn steps_lead_to_caller_callee_and_siblings_and_stop_at_the_ends() {
        // r 0 { a 1, b 2 { a 3 }, a 4, b 5, b 6 }
        let forest = forest_of(CALLS);
        let drawing = Drawing::new(forest.tree(TreeIdx(0)), false, SCALE);
        let moves = [
            TreeMove::Caller,
            TreeMove::Callee,
            TreeMove::Before,
            TreeMove::After,
        ];
        let from = |vertex| moves.map(|tree_move| drawing.step(vertex, tree_move));
        assert_eq!(from(0), [0, 2, 0, 0], "the longest callee");
        assert_eq!(from(2), [0, 3, 1, 4]);
        assert_eq!(from(6), [0, 6, 5, 6]);
        assert_eq!(from(99), [0; 4], "of another tree");
    }

    #[test]
    fn area_is_time() {
        let scale = Scale::new(DurationNs(1_000_000));
        let (one, four) = (
            scale.radius(DurationNs(1_000_000)),
            scale.radius(DurationNs(4_000_000)),
        );
        assert!((one - MEDIAN_RADIUS).abs() < 1e-3 && (four - 2.0 * one).abs() < 1e-3);
        let extremes = [0, i64::MAX].map(|time_ns| scale.radius(DurationNs(time_ns)));
        assert!(extremes[0] >= RADIUS_RANGE.0, "nothing is too small to see");
        assert!(extremes[1] <= RADIUS_RANGE.1, "nothing fills the screen");
    }

    #[test]
    fn the_scale_is_explained_with_round_visible_times() {
        let scale = Scale::new(DurationNs(300_000));
        for zoom in [0.05, 1.0, 20.0] {
            let [small, large] = scale.examples(zoom);
            assert_eq!(large.0, 10 * small.0);
            let radius = scale.unbounded_radius(small) * zoom;
            assert!((3.0..5.0).contains(&radius), "{radius} at zoom {zoom}");
        }
    }
}
