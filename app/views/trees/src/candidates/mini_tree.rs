//! The summary structure of a tree, small enough for a card.
//!
//! Callers are left of their callees. The area of a node is its time, on a scale that all cards share, so that slow
//! executions have large nodes. Its colour is the function.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use callgrove_model::{DurationNs, FuncId, TreeIdx, thousands};
use callgrove_session::{Analysis, Snapshot, SummaryNode, SummaryOf};
use callgrove_widgets::theme::{SMALLEST_TEXT, Theme};
use egui::{FontId, Painter, Pos2, Rect, Stroke, Vec2, vec2};

use crate::labels::{NameRequest, is_inside, place_labels};

/// Maximum number of nodes in a card.
const MAX_NODES: usize = 9;
/// Maximum number of kept trees; more than fit on any screen.
const MAX_KEPT: usize = 1024;
/// Radius of a node that takes the time of [`SCALE_MEDIANS`] median executions, in points.
const MAX_RADIUS: f32 = 12.0;
/// Time of the largest node, in median executions.
const SCALE_MEDIANS: f64 = 12.0;
/// Smallest radius of a node, in points.
const MIN_RADIUS: f32 = 1.8;
/// Width of a count of calls, in points.
const COUNT_WIDTH: f32 = 30.0;

/// The summaries made so far, for one forest.
#[derive(Default)]
pub(super) struct MiniTrees {
    analysis: Option<Arc<Analysis>>,
    by_tree: BTreeMap<TreeIdx, Vec<MiniNode>>,
}

/// All calls of one function along one path, and their position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct MiniNode {
    func: FuncId,
    num_calls: u32,
    time: DurationNs,
    parent: Option<u32>,
    /// Position from the left and from the top, each 0 to 1.
    place: [f32; 2],
}

impl MiniTrees {
    /// Returns the summary of a tree; empty while it is being loaded.
    pub(super) fn get(&mut self, snapshot: &Snapshot, tree: TreeIdx) -> &[MiniNode] {
        let Some(analysis) = snapshot.analysis() else {
            return &[];
        };
        let is_known = self
            .analysis
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, analysis));
        if !is_known || self.by_tree.len() > MAX_KEPT {
            self.analysis = Some(Arc::clone(analysis));
            self.by_tree.clear();
        }
        match self.by_tree.entry(tree) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let wanted = SummaryOf {
                    root: analysis.forest.trees()[tree.index()].root,
                    max_nodes: MAX_NODES,
                };
                let summary = snapshot.calls().and_then(|calls| calls.ask(&wanted));
                match summary {
                    Some(summary) => place.insert(layout(&summary)),
                    None => &[],
                }
            }
        }
    }
}

/// Lays out columns by depth; the function called last is the lowest, and a caller is in the middle of its callees.
fn layout(nodes: &[SummaryNode]) -> Vec<MiniNode> {
    let mut rows = vec![0.0_f32; nodes.len()];
    let mut num_leaves = 0;
    // The nodes are not in pre-order, so a walk from the root numbers the leaves.
    let children = |caller: usize| {
        (0..nodes.len()).filter(move |&node| nodes[node].parent == Some(caller as u32))
    };
    let mut open: Vec<(usize, bool)> = vec![(0, false)];
    while let Some((node, is_done)) = open.pop().filter(|_| !nodes.is_empty()) {
        let called: Vec<usize> = children(node).collect();
        if called.is_empty() {
            rows[node] = num_leaves as f32;
            num_leaves += 1;
        } else if is_done {
            rows[node] = called.iter().map(|&child| rows[child]).sum::<f32>() / called.len() as f32;
        } else {
            open.push((node, true));
            open.extend(called.into_iter().rev().map(|child| (child, false)));
        }
    }
    let num_columns = nodes.iter().map(|node| node.depth).max().unwrap_or(0);
    let share = |at: f32, of: f32| if of > 0.0 { at / of } else { 0.5 };
    nodes
        .iter()
        .zip(rows)
        .map(|(node, row)| MiniNode {
            func: node.func,
            num_calls: node.num_calls,
            time: node.inclusive,
            parent: node.parent,
            place: [
                if num_columns == 0 {
                    0.0
                } else {
                    node.depth as f32 / num_columns as f32
                },
                share(row, num_leaves as f32 - 1.0),
            ],
        })
        .collect()
}

/// Paints a summary into `rect`.
pub(super) fn paint(
    painter: &Painter,
    rect: Rect,
    nodes: &[MiniNode],
    median: DurationNs,
    theme: &Theme,
) {
    let radius = |time: DurationNs| {
        let share = time.0 as f64 / (median.0 as f64 * SCALE_MEDIANS).max(1.0);
        (share.sqrt() as f32 * MAX_RADIUS).clamp(MIN_RADIUS, MAX_RADIUS)
    };
    // No disc exceeds the edge, however large; the counts fit right of the last column.
    let margin = vec2(MAX_RADIUS + 1.0, MAX_RADIUS + 1.0);
    let area = rect
        .shrink2(margin)
        .with_max_x(rect.right() - margin.x - COUNT_WIDTH);
    let at = |node: &MiniNode| -> Pos2 { area.lerp_inside(Vec2::from(node.place)) };
    for node in nodes {
        if let Some(caller) = node.parent.and_then(|parent| nodes.get(parent as usize)) {
            painter.line_segment(
                [at(caller), at(node)],
                Stroke::new(1.0, theme.weak_text().gamma_multiply(0.6)),
            );
        }
    }
    for node in nodes {
        painter.circle(
            at(node),
            radius(node.time),
            theme.function(node.func),
            Stroke::new(1.0, theme.card()),
        );
    }
    let discs: Vec<(Pos2, f32)> = nodes
        .iter()
        .map(|node| (at(node), radius(node.time)))
        .collect();
    paint_counts(painter, rect, nodes, &discs, theme);
}

/// Paints the number of calls of a disc next to it, where it covers nothing; the longest first.
fn paint_counts(
    painter: &Painter,
    rect: Rect,
    nodes: &[MiniNode],
    discs: &[(Pos2, f32)],
    theme: &Theme,
) {
    let mut counted: Vec<usize> = (0..nodes.len())
        .filter(|&node| nodes[node].num_calls > 1)
        .collect();
    counted.sort_by_key(|&node| std::cmp::Reverse(nodes[node].time));
    let color = theme.text();
    let galleys: Vec<_> = counted
        .iter()
        .map(|&node| {
            let text = format!("×{}", thousands(nodes[node].num_calls as usize));
            painter.layout_no_wrap(text, FontId::proportional(SMALLEST_TEXT), color)
        })
        .collect();
    let requests: Vec<NameRequest> = counted
        .iter()
        .zip(&galleys)
        .map(|(&node, galley)| NameRequest {
            centre: discs[node].0,
            radius: discs[node].1,
            size: galley.size(),
        })
        .collect();
    let places = place_labels(&requests, discs, rect);
    for (at, (place, galley)) in places.into_iter().zip(galleys).enumerate() {
        let Some(place) = place else { continue };
        if is_inside(&requests[at], place) {
            let on_disc = theme.text_on(theme.function(nodes[counted[at]].func));
            painter.galley_with_override_text_color(place.min, galley, on_disc);
        } else {
            // Clears the lines below it.
            painter.rect_filled(place, 2.0, theme.card().gamma_multiply(0.8));
            painter.galley(place.min, galley, color);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<u32>, depth: u32) -> SummaryNode {
        let time = DurationNs(1);
        SummaryNode {
            func: FuncId(0),
            num_calls: 1,
            inclusive: time,
            exclusive: time,
            parent,
            depth,
            first_vertex: 0,
        }
    }

    #[test]
    fn callers_are_left_of_and_between_their_callees() {
        // The second node is called last but summarized first.
        let nodes = [
            node(None, 0),
            node(Some(0), 1),
            node(Some(0), 1),
            node(Some(1), 2),
            node(Some(1), 2),
        ];
        let places: Vec<[f32; 2]> = layout(&nodes).iter().map(|node| node.place).collect();
        assert_eq!(
            places,
            [
                [0.0, 0.625],
                [0.5, 0.25],
                [0.5, 1.0],
                [1.0, 0.0],
                [1.0, 0.5]
            ]
        );
    }

    #[test]
    fn a_single_root_has_a_position() {
        let [x, y] = layout(&[node(None, 0)])[0].place;
        assert!(x.abs() < 1e-6 && (y - 0.5).abs() < 1e-6, "{x} {y}");
        assert!(layout(&[]).is_empty());
    }
}
