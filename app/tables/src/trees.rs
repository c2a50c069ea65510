//! The table of `callgrove analyze`.

use callgrove_export::{ResultTable, TableColumn, rounded};
use callgrove_model::{DurationNs, Forest, WeightUnit};
use callgrove_session::{Label, Reasons, TreeRow, median_duration, rareness_text};
use serde::Serialize;

/// Maximum number of reasons of a tree in a table.
const REASONS_IN_TABLE: usize = 3;

/// The table of `callgrove analyze`. The first columns of the text are the duration or weight of each tree, and the
/// comparison with the usual one.
pub struct TreeTable<'a> {
    /// The unit of the weights.
    unit: &'a WeightUnit,
    /// The median duration or weight.
    median: DurationNs,
    num_trees: usize,
    /// Begin of the run, microseconds since the epoch.
    begin_us: i64,
    /// True if the text has the reasons of each tree.
    with_reasons: bool,
}

impl<'a> TreeTable<'a> {
    /// The table of the trees of a forest, whose text has the reasons of each tree if that is wanted.
    pub fn new(forest: &'a Forest, with_reasons: bool) -> Self {
        let span = forest.trace().time_span();
        Self {
            unit: forest.unit(),
            median: median_duration(forest),
            num_trees: forest.len(),
            begin_us: span.map_or(0, |(begin, _)| begin.as_us()),
            with_reasons,
        }
    }
}

impl ResultTable for TreeTable<'_> {
    type Row = TreeRow;

    fn name(&self) -> &'static str {
        "trees"
    }

    fn columns(&self) -> Vec<TableColumn> {
        let mut columns = execution_columns();
        columns.extend(match self.unit {
            WeightUnit::Time => vec![TableColumn::int("entry_us"), TableColumn::int("exit_us")],
            WeightUnit::Other(_) => vec![
                TableColumn::int("entry"),
                TableColumn::int("weight"),
                TableColumn::text("unit"),
            ],
        });
        columns.extend([
            TableColumn::float("score"),
            TableColumn::float("p_value").optional(),
            TableColumn::bool("abnormal"),
            TableColumn::text("label").optional(),
            TableColumn::text("cause").optional(),
            TableColumn::text("by_design").optional(),
            TableColumn::text("role").optional(),
            TableColumn::int("root_rank").optional(),
            TableColumn::text("reasons"),
        ]);
        columns
    }

    fn headings(&self) -> Vec<&str> {
        let mut headings = vec![
            "tree",
            self.unit.heading(),
            "×median",
            "rare",
            "event_id",
            "program",
            "rank",
            "thread",
            "index",
        ];
        headings.push(self.unit.of_kind("at", "entry"));
        headings.extend(["score", "label", "cause", "role", "root_rank"]);
        if self.with_reasons {
            headings.push("reasons");
        }
        headings
    }

    fn cells(&self, row: &TreeRow) -> Vec<String> {
        let weight = row.weight();
        let ratio = weight.0 as f64 / (self.median.0 as f64).max(1.0);
        let label = row.label.map_or("", Label::name);
        let mut cells = vec![
            row.tree.clone(),
            self.unit.amount(weight).to_string(),
            format!("{ratio:.1}"),
            rareness(row, self.num_trees),
            row.event_id.clone(),
            row.program.to_string(),
            row.rank.to_string(),
            row.thread.to_string(),
            row.index.to_string(),
        ];
        cells.push(match self.unit {
            WeightUnit::Time => DurationNs::from_us(row.entry_us - self.begin_us).to_string(),
            WeightUnit::Other(_) => row.entry_us.to_string(),
        });
        cells.extend([
            rounded(row.score),
            label.to_owned(),
            cause(row),
            row.role.clone().unwrap_or_default(),
            row.root_rank.map_or(String::new(), |rank| rank.to_string()),
        ]);
        if self.with_reasons {
            cells.push(row.reasons.words(REASONS_IN_TABLE));
        }
        cells
    }

    fn record(&self, row: &TreeRow) -> impl Serialize {
        TreeRow {
            reasons: Reasons::Words(row.reasons.words(1)),
            ..row.clone()
        }
    }

    fn document(&self, row: &TreeRow) -> impl Serialize {
        row
    }
}

/// Returns the columns that say which execution a row is about.
pub fn execution_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::text("tree"),
        TableColumn::text("event_id"),
        TableColumn::int("program"),
        TableColumn::int("rank"),
        TableColumn::int("thread"),
        TableColumn::int("index"),
    ]
}

/// Returns what explains a row: a cause outside the program, or the program's design.
fn cause(row: &TreeRow) -> String {
    let design = row.by_design.as_ref();
    let of_design = || design.map_or_else(String::new, |words| format!("by design: {words}"));
    row.cause
        .map_or_else(of_design, |cause| cause.name().to_owned())
}

/// Returns in how many normal executions one is as unusual, with a mark if the execution is called abnormal.
fn rareness(row: &TreeRow, num_trees: usize) -> String {
    let mark = if row.abnormal { "! " } else { "" };
    row.p_value.map_or_else(String::new, |p_value| {
        format!("{mark}{}", rareness_text(p_value, num_trees))
    })
}
