//! A call tree that prints itself, with the differences from the usual tree.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callgrove_export::{TableCell, TableColumn, UntypedTable};
use callgrove_model::{DurationNs, Forest, FuncId, FunctionName, Reason, TreeIdx};
use pyo3::prelude::*;

use crate::batch::batch_of;
use crate::table::{PyTable, TableRows};

/// Number of lines that `print` shows.
const MAX_LINES: usize = 100;

/// The calls of one execution, with calls of the same path as one line.
///
/// `print(tree)` shows the time and the number of calls of each path, and how it differs from the usual execution.
#[pyclass(frozen, module = "callgrove")]
pub(crate) struct Tree {
    /// Its name, `#RANK-INDEX`.
    #[pyo3(get)]
    name: String,
    /// Its event label, `RANK:STEP:INDEX`.
    #[pyo3(get)]
    event_id: String,
    /// The time of its first call, in nanoseconds since the epoch.
    #[pyo3(get)]
    entry_ns: i64,
    /// Its duration in nanoseconds; its weight, if the unit of the run is not time.
    #[pyo3(get)]
    duration_ns: i64,
    /// Why it is unusual, the most important reason first.
    #[pyo3(get)]
    reasons: Vec<String>,
    /// Its title.
    title: String,
    nodes: Vec<TreeNode>,
    /// The differences of calls that it does not make.
    missing: Vec<String>,
}

/// The calls of one path.
struct TreeNode {
    function: String,
    depth: usize,
    calls: u64,
    inclusive: DurationNs,
    exclusive: DurationNs,
    amount: String,
    difference: Option<String>,
}

/// The calls of one path while they are added up.
struct PathCalls {
    func: FuncId,
    calls: u64,
    inclusive: DurationNs,
    exclusive: DurationNs,
    /// In order of the first call.
    children: Vec<usize>,
}

impl Tree {
    /// Returns the calls of a tree, compared with usual ones by `reasons`.
    pub(crate) fn new(forest: &Forest, tree: TreeIdx, reasons: &[Reason], title: String) -> Self {
        let cstree = forest.tree(tree);
        let paths = paths_of(forest, tree);
        let mut shown = Shown {
            forest,
            paths: &paths,
            reasons: reasons.iter().map(|it| (&*it.path, it)).collect(),
            path: Vec::new(),
            nodes: Vec::new(),
        };
        shown.add(0);
        let missing = reasons.iter().filter(|it| it.count == 0);
        Self {
            name: forest.code(tree).to_string(),
            event_id: forest.label(tree).to_string(),
            entry_ns: cstree.entry().first().map_or(0, |it| it.0),
            duration_ns: cstree.duration().0,
            reasons: reasons.iter().map(Reason::words).collect(),
            title,
            nodes: shown.nodes,
            missing: missing.map(Reason::words).collect(),
        }
    }

    /// Returns at most `max_lines` lines of the tree, and how many are left out.
    fn text(&self, max_lines: usize) -> String {
        let width = |cells: &dyn Fn(&TreeNode) -> String| {
            let lengths = self.nodes.iter().map(|it| cells(it).chars().count());
            lengths.max().unwrap_or(0).max("calls".len())
        };
        let amounts = width(&|it| it.amount.clone());
        let calls = width(&|it| it.calls.to_string());
        let mut text = format!(
            "{}\n{:>amounts$}  {:>calls$}  function\n",
            self.title, "total", "calls"
        );
        for node in self.nodes.iter().take(max_lines) {
            let indent = 2 * node.depth;
            let (amount, num, function) = (&node.amount, node.calls, &node.function);
            let line = format!(
                "{amount:>amounts$}  {num:>calls$}  {:indent$}{function}",
                ""
            );
            text.push_str(&line);
            if let Some(difference) = &node.difference {
                let _written = write!(text, "    <- {difference}");
            }
            text.push('\n');
        }
        if self.nodes.len() > max_lines {
            let left = self.nodes.len() - max_lines;
            let _written = writeln!(
                text,
                "… {left} more lines; text({}) has all",
                self.nodes.len()
            );
        }
        for missing in &self.missing {
            let _written = writeln!(text, "<- {missing}");
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Adds up the calls of a tree by path. The first is the root.
fn paths_of(forest: &Forest, tree: TreeIdx) -> Vec<PathCalls> {
    let cstree = forest.tree(tree);
    let mut paths: Vec<PathCalls> = Vec::new();
    let mut path_of: BTreeMap<(Option<usize>, FuncId), usize> = BTreeMap::new();
    // Shape [n_vertices].
    let mut of_vertex: Vec<usize> = Vec::with_capacity(cstree.len());
    for vertex in 0..cstree.len() {
        let parent = cstree.parent(vertex).map(|it| of_vertex[it]);
        let func = cstree.funcs()[vertex];
        let path = *path_of.entry((parent, func)).or_insert_with(|| {
            let path = paths.len();
            if let Some(parent) = parent {
                paths[parent].children.push(path);
            }
            paths.push(PathCalls {
                func,
                calls: 0,
                inclusive: DurationNs::ZERO,
                exclusive: DurationNs::ZERO,
                children: Vec::new(),
            });
            path
        });
        let sums = &mut paths[path];
        sums.calls += 1;
        sums.inclusive.0 += cstree.inclusive()[vertex].0;
        sums.exclusive.0 += cstree.exclusive()[vertex].0;
        of_vertex.push(path);
    }
    paths
}

/// Lists the paths of a tree, each below its caller.
struct Shown<'a> {
    forest: &'a Forest,
    paths: &'a [PathCalls],
    /// The reasons by the path of their function.
    reasons: BTreeMap<&'a [String], &'a Reason>,
    path: Vec<String>,
    nodes: Vec<TreeNode>,
}

impl Shown<'_> {
    fn add(&mut self, root: usize) {
        // A call stack can be deeper than this thread's: no recursion. `None` leaves a function.
        let mut waiting = vec![Some(root)];
        while let Some(next) = waiting.pop() {
            let Some(calls) = next.and_then(|it| self.paths.get(it)) else {
                self.path.pop();
                continue;
            };
            let name = FunctionName::parse(self.forest.trace().names.name(calls.func));
            let depth = self.path.len();
            self.path.push(name.qualified.to_owned());
            let reason = self.reasons.get(&*self.path).filter(|it| it.count > 0);
            self.nodes.push(TreeNode {
                function: name.short.to_owned(),
                depth,
                calls: calls.calls,
                inclusive: calls.inclusive,
                exclusive: calls.exclusive,
                amount: self.forest.unit().amount(calls.inclusive).to_string(),
                difference: reason.map(|it| it.words()),
            });
            waiting.push(None);
            waiting.extend(calls.children.iter().rev().map(|&it| Some(it)));
        }
    }
}

#[pymethods]
impl Tree {
    /// Returns the tree as text of at most `max_lines` lines.
    #[pyo3(name = "text", signature = (max_lines = MAX_LINES))]
    fn text_of(&self, max_lines: usize) -> String {
        self.text(max_lines)
    }

    /// Prints the tree.
    #[pyo3(signature = (max_lines = MAX_LINES))]
    fn show(&self, py: Python<'_>, max_lines: usize) -> PyResult<()> {
        let print = py.import("builtins")?.getattr("print")?;
        print.call1((self.text(max_lines),)).map(|_| ())
    }

    /// Returns the lines of the tree as a table.
    fn table(&self) -> PyResult<PyTable> {
        let columns = [
            TableColumn::int("depth"),
            TableColumn::text("function"),
            TableColumn::int("calls"),
            TableColumn::int("inclusive_ns"),
            TableColumn::int("exclusive_ns"),
            TableColumn::text("difference").optional(),
        ];
        let integer = |number: usize| TableCell::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let rows = self.nodes.iter().map(|node| {
            let difference = node.difference.clone();
            let cells = vec![
                integer(node.depth),
                TableCell::Text(node.function.clone()),
                TableCell::Int(i64::try_from(node.calls).unwrap_or(i64::MAX)),
                TableCell::Int(node.inclusive.0),
                TableCell::Int(node.exclusive.0),
                difference.map_or(TableCell::Null, TableCell::Text),
            ];
            ((), cells)
        });
        let table = UntypedTable::new("tree", &columns);
        Ok(PyTable(TableRows::Batch(batch_of(&table, rows)?)))
    }

    fn __len__(&self) -> usize {
        self.nodes.len()
    }

    fn __str__(&self) -> String {
        self.text(MAX_LINES)
    }

    fn __repr__(&self) -> String {
        self.text(MAX_LINES)
    }
}
