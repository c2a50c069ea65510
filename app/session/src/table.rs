//! The table of `callgrove analyze`: one row per tree, with fixed column names.

use callgrove_judge::detector::Cause;
use callgrove_model::{DurationNs, Forest, Label, Reason, TreeIdx, WeightUnit};
use callgrove_query::{DelayRole, RunCauses};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::explain::design_text;
use crate::snapshot::Detection;

/// One CSTree of the forest.
///
/// Trees of a forest file fill the same columns: rank and index are the
/// group and the index in it, the event label is `rank:0:id`, program and thread are 0. If the unit
/// of the file is not time, columns `entry`, `weight` and `unit` replace `entry_us` and `exit_us`.
#[derive(Clone, PartialEq, Debug)]
pub struct TreeRow {
    /// `#rank-index`; the index counts the executions of a rank in order of entry.
    pub tree: String,
    /// Event label `rank:step:idx` of the root.
    pub event_id: String,
    /// Program.
    pub program: u32,
    /// Rank.
    pub rank: u32,
    /// Thread.
    pub thread: u32,
    /// Invocation number on the rank.
    pub index: u32,
    /// Entry of the root, microseconds since the epoch.
    pub entry_us: i64,
    /// Exit of the root, microseconds since the epoch.
    pub exit_us: i64,
    /// Score; the smaller, the more abnormal. It orders executions; `abnormal` classifies them.
    pub score: f64,
    /// Share of normal executions that are at least as unusual, in (0, 1]; `None` if there were too few
    /// executions to score any. With a reference it is an estimate: at .01 it was within a factor of 2 on 7 of 12
    /// programs that no setting was chosen on, and at most 6 times too small on the others (`ml/STUDY.md`).
    pub p_value: Option<f64>,
    /// True if it is called abnormal. About the chosen share of these is abnormal by chance.
    pub abnormal: bool,
    /// Label, if any.
    pub label: Option<Label>,
    /// Cause outside the program that explains an abnormal execution, if any.
    pub cause: Option<Cause>,
    /// Class of executions that are rare or long by design, as text, if it belongs to one.
    pub by_design: Option<String>,
    /// `root`, `victim` or `undecided` in a delay of the run; `None` for an execution that was on time, and if causes
    /// were not computed.
    pub role: Option<String>,
    /// Rank where that delay began.
    pub root_rank: Option<u32>,
    /// Reasons why it is unusual; empty if reasons were not computed.
    pub reasons: Reasons,
    /// The unit of its weight.
    pub unit: WeightUnit,
}

impl TreeRow {
    /// Returns its duration or weight.
    pub fn weight(&self) -> DurationNs {
        DurationNs::from_us(self.exit_us - self.entry_us)
    }
}

impl Serialize for TreeRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let num_fields = self.unit.of_kind(17, 18);
        let mut row = serializer.serialize_struct("TreeRow", num_fields)?;
        row.serialize_field("tree", &self.tree)?;
        row.serialize_field("event_id", &self.event_id)?;
        row.serialize_field("program", &self.program)?;
        row.serialize_field("rank", &self.rank)?;
        row.serialize_field("thread", &self.thread)?;
        row.serialize_field("index", &self.index)?;
        match &self.unit {
            WeightUnit::Time => {
                row.serialize_field("entry_us", &self.entry_us)?;
                row.serialize_field("exit_us", &self.exit_us)?;
            }
            WeightUnit::Other(unit) => {
                row.serialize_field("entry", &self.entry_us)?;
                row.serialize_field("weight", &(self.exit_us - self.entry_us))?;
                row.serialize_field("unit", unit)?;
            }
        }
        row.serialize_field("score", &self.score)?;
        row.serialize_field("p_value", &self.p_value)?;
        row.serialize_field("abnormal", &self.abnormal)?;
        row.serialize_field("label", &self.label)?;
        row.serialize_field("cause", &self.cause)?;
        row.serialize_field("by_design", &self.by_design)?;
        row.serialize_field("role", &self.role)?;
        row.serialize_field("root_rank", &self.root_rank)?;
        row.serialize_field("reasons", &self.reasons)?;
        row.end()
    }
}

/// The reasons why a tree is unusual: a list, or text where one table cell must hold it.
#[derive(Clone, PartialEq, Debug, Serialize)]
// Untagged: a list or a string in JSON.
#[serde(untagged)]
pub enum Reasons {
    /// All reasons, the most important first.
    List(Vec<Reason>),
    /// The first reasons as text.
    Words(String),
}

/// Returns the rows of all trees, the most abnormal first, with explained ones after the other abnormal ones. `labels`
/// has shape `[n_trees]`. `causes` fill the columns of roles, if computed. `reasons_of` returns the reasons to list
/// for a tree.
pub fn tree_rows<'a>(
    forest: &'a Forest,
    detection: &'a Detection,
    labels: &'a [Option<Label>],
    causes: Option<&'a RunCauses>,
    reasons_of: impl Fn(TreeIdx) -> Vec<Reason> + 'a,
) -> impl Iterator<Item = TreeRow> + 'a {
    let trees = detection.order.iter().copied();
    listed_rows((forest, detection, labels), causes, trees, reasons_of)
}

/// Returns the rows of some trees in their order, as [`tree_rows`] returns those of all.
pub fn listed_rows<'a>(
    (forest, detection, labels): (&'a Forest, &'a Detection, &'a [Option<Label>]),
    causes: Option<&'a RunCauses>,
    trees: impl Iterator<Item = TreeIdx> + 'a,
    reasons_of: impl Fn(TreeIdx) -> Vec<Reason> + 'a,
) -> impl Iterator<Item = TreeRow> + 'a {
    trees.map(move |tree| row(forest, detection, labels, causes, tree, &reasons_of))
}

impl Reasons {
    /// Returns at most `most` reasons as text.
    pub fn words(&self, most: usize) -> String {
        match self {
            Self::List(reasons) => {
                let words: Vec<String> = reasons.iter().take(most).map(Reason::words).collect();
                words.join("; ")
            }
            Self::Words(words) => words.clone(),
        }
    }
}

fn row(
    forest: &Forest,
    detection: &Detection,
    labels: &[Option<Label>],
    causes: Option<&RunCauses>,
    tree: TreeIdx,
    reasons_of: impl Fn(TreeIdx) -> Vec<Reason>,
) -> TreeRow {
    let (code, lane, cstree) = (forest.code(tree), forest.lane_of(tree), forest.tree(tree));
    let exec = forest.trees()[tree.index()].root;
    let late = causes
        .map(|causes| (causes, causes.of(exec)))
        .filter(|(_, late)| late.role != DelayRole::OnTime);
    TreeRow {
        tree: code.to_string(),
        event_id: forest.label(tree).to_string(),
        program: lane.program.0,
        rank: code.rank.0,
        thread: lane.thread.0,
        index: code.index,
        entry_us: cstree.entry()[0].as_us(),
        exit_us: cstree.exit().as_us(),
        score: detection.scores[tree.index()],
        p_value: detection.p_value(tree),
        abnormal: detection.is_abnormal(tree),
        label: labels.get(tree.index()).copied().flatten(),
        cause: detection.cause(tree),
        by_design: detection.by_design(tree).map(design_text),
        role: late.as_ref().map(|(_, late)| late.role.to_string()),
        root_rank: late.and_then(|(causes, late)| {
            let root = causes.roots().get(late.root?)?;
            Some(root.rank.0)
        }),
        reasons: Reasons::List(reasons_of(tree)),
        unit: forest.unit().clone(),
    }
}
