//! Forests for tests: from literal trees, and from the JSON-lines forests of the fixtures.

use std::path::Path;
use std::sync::Arc;

use callgrove_model::{
    Comms, Counters, DurationNs, ExecIdx, Executions, Forest, FuncId, Lane, NameTable, NonMaxIdx,
    ProgramId, RankId, StepId, ThreadId, TimeNs, Trace,
};
use callgrove_trees::dataset::{DenseRows, Rows};
use serde::Deserialize;
use serde_json::Value;

/// A tree in pre-order; the parent of the root is -1.
#[derive(Clone, Debug, Deserialize)]
pub struct PlainTree {
    /// The rank that it belongs to.
    #[serde(default)]
    pub node: u32,
    /// Parents of the vertices; -1 for the root.
    pub parent: Vec<i64>,
    /// Functions of the vertices, indices into the names.
    #[serde(rename = "fn")]
    pub func: Vec<u32>,
    /// Inclusive weights of the vertices.
    pub w: Vec<i64>,
    /// The kind of the planted anomaly; empty for a usual tree.
    #[serde(default)]
    pub kind: String,
}

/// Returns the path of a fixture.
pub fn fixture_path(name: &str) -> String {
    format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the content of a file.
pub fn read_text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path.as_ref()).expect("the fixture exists")
}

/// Returns the content of a JSON fixture.
pub fn fixture(name: &str) -> Value {
    serde_json::from_str(&read_text(fixture_path(name))).expect("the fixture is JSON")
}

/// Reads a JSON-lines forest: a header with the function names, then one tree per line.
pub fn read_forest(path: impl AsRef<Path>) -> (Vec<String>, Vec<PlainTree>) {
    #[derive(Deserialize)]
    struct Header {
        functions: Vec<String>,
    }
    let text = read_text(path);
    let mut lines = text.lines();
    let header: Header = serde_json::from_str(lines.next().expect("a header")).expect("a header");
    let trees = lines
        .map(|line| serde_json::from_str(line).expect("a tree"))
        .collect();
    (header.functions, trees)
}

/// Returns a forest of the given trees; they keep their order if their nodes ascend.
pub fn forest(names: &[String], trees: &[PlainTree]) -> Forest {
    let mut table = NameTable::default();
    let ids: Vec<FuncId> = names.iter().map(|name| table.intern(name)).collect();
    let mut lanes: Vec<Lane> = Vec::new();
    let mut roots = Vec::new();
    for tree in trees {
        if lanes.last().is_none_or(|lane| lane.rank.0 != tree.node) {
            lanes.push(Lane {
                program: ProgramId(0),
                rank: RankId(tree.node),
                thread: ThreadId(0),
                executions: Executions::default(),
                comms: Comms::default(),
                counters: Counters::default(),
            });
        }
        let lane = lanes.last_mut().expect("one was pushed");
        push_tree(&mut lane.executions, tree, &ids);
        roots.push(ids[tree.func[0] as usize]);
    }
    let trace = Trace {
        names: table,
        lanes,
        ..Trace::default()
    };
    let forest = Forest::grow(Arc::new(trace), &roots);
    assert_eq!(
        forest.len(),
        trees.len(),
        "root functions occur at roots only"
    );
    forest
}

fn push_tree(columns: &mut Executions, tree: &PlainTree, ids: &[FuncId]) {
    let start = columns.len();
    let end = start + tree.func.len();
    let mut exclusive = tree.w.clone();
    let mut subtree_end: Vec<usize> = (0..tree.func.len()).map(|vertex| vertex + 1).collect();
    for vertex in (1..tree.func.len()).rev() {
        let parent = usize::try_from(tree.parent[vertex]).expect("only the root has no parent");
        exclusive[parent] -= tree.w[vertex];
        subtree_end[parent] = subtree_end[parent].max(subtree_end[vertex]);
    }
    let mut depth: Vec<u16> = Vec::new();
    for vertex in 0..tree.func.len() {
        let parent = usize::try_from(tree.parent[vertex]).ok();
        depth.push(parent.map_or(0, |parent| depth[parent] + 1));
        columns.func.push(ids[tree.func[vertex] as usize]);
        columns.entry.push(TimeNs((start + vertex) as i64));
        columns.inclusive.push(DurationNs(tree.w[vertex]));
        columns.exclusive.push(DurationNs(exclusive[vertex]));
        let parent = parent.map(|parent| NonMaxIdx::from(ExecIdx::from_index(start + parent)));
        columns.parent.push(parent);
        columns
            .subtree_end
            .push(ExecIdx::from_index(start + subtree_end[vertex]));
        columns.depth.push(depth[vertex]);
        columns.step.push(StepId(0));
        columns.row.push((start + vertex) as u32);
        columns.closed.push(true);
    }
    assert_eq!(columns.len(), end);
}

/// Returns a JSON list as numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list of numbers");
    list.iter()
        .map(|number| number.as_f64().expect("a number"))
        .collect()
}

/// Returns a JSON number.
pub fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Returns a JSON list of lists as rows of features.
pub fn dense_rows(value: &Value) -> Rows {
    let rows: Vec<Vec<f64>> = value
        .as_array()
        .expect("rows")
        .iter()
        .map(numbers)
        .collect();
    let num_columns = rows[0].len();
    Rows::Dense(DenseRows::new(num_columns, rows.concat()).expect("finite numbers"))
}

/// Returns the largest absolute difference of two lists of one length.
pub fn max_abs_diff(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}
