//! The points of the map.

use callgrove_export::TableColumn;
use callgrove_model::{Label, TreeIdx};
use callgrove_session::Snapshot;
use serde::Serialize;

use crate::flat_table::FlatRow;
use crate::trees::execution_columns;

/// An execution on the map.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MapPointRow {
    tree: String,
    event_id: String,
    program: u32,
    rank: u32,
    thread: u32,
    index: u32,
    x: f32,
    y: f32,
    score: f64,
    abnormal: bool,
    label: Option<Label>,
}

impl MapPointRow {
    /// Returns the points of all trees, in the order of the forest. `None` if a forest is not judged or has no map.
    pub fn all(snapshot: &Snapshot) -> Option<Vec<Self>> {
        let forest = &snapshot.analysis()?.forest;
        let (map, detection) = (snapshot.map()?, snapshot.detection()?);
        let rows = map.points.iter().enumerate().map(|(index, &[x, y])| {
            let tree = TreeIdx::from_index(index);
            let (code, lane) = (forest.code(tree), forest.lane_of(tree));
            Self {
                tree: code.to_string(),
                event_id: forest.label(tree).to_string(),
                program: lane.program.0,
                rank: code.rank.0,
                thread: lane.thread.0,
                index: code.index,
                x,
                y,
                score: detection.scores[index],
                abnormal: detection.is_abnormal(tree),
                label: snapshot.edits.labels_by_tree.get(index).copied().flatten(),
            }
        });
        Some(rows.collect())
    }
}

impl FlatRow for MapPointRow {
    const TABLE: &'static str = "map";

    fn columns() -> Vec<TableColumn> {
        let mut columns = execution_columns();
        columns.extend([
            TableColumn::float("x"),
            TableColumn::float("y"),
            TableColumn::float("score"),
            TableColumn::bool("abnormal"),
            TableColumn::text("label").optional(),
        ]);
        columns
    }
}
