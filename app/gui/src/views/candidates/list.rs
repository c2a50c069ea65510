//! Which trees are in the list, and in which order.

use std::cmp::Ordering;

use callgrove_model::{RankId, TreeIdx};
use callgrove_session::{Analysis, Detection, Snapshot};

/// A choice of candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CandidateFilter {
    /// All trees.
    #[default]
    All,
    /// Trees without a label.
    Unlabelled,
    /// Trees that are called abnormal.
    Abnormal,
    /// Trees with a label.
    Labelled,
    /// Trees that are rare or long by design.
    ByDesign,
}

impl CandidateFilter {
    /// All choices, in order.
    pub const ALL: [Self; 5] = [
        Self::All,
        Self::Unlabelled,
        Self::Abnormal,
        Self::Labelled,
        Self::ByDesign,
    ];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Unlabelled => "Unlabelled",
            Self::Abnormal => "Abnormal",
            Self::Labelled => "Labelled",
            Self::ByDesign => "By design",
        }
    }

    /// What is in the list.
    pub fn help(self) -> &'static str {
        match self {
            Self::All => "All executions",
            Self::Unlabelled => "Executions that nobody has judged",
            Self::Abnormal => {
                "Executions so rare that only about the chosen share of them is so by chance; those that a trace write explains come last"
            }
            Self::Labelled => "Executions with a label",
            Self::ByDesign => {
                "Executions that are rare or long by design: at the start or end of ranks, or at equal distances; none is an alarm"
            }
        }
    }

    /// Why the list is empty.
    fn when_empty(self) -> &'static str {
        match self {
            Self::All => "The function was never executed.",
            Self::Unlabelled => "Every execution has a label.",
            Self::Abnormal => "The model calls no execution abnormal.",
            Self::Labelled => "Press N or X on an execution to label it.",
            Self::ByDesign => "No execution is rare or long by design.",
        }
    }

    fn takes(self, snapshot: &Snapshot, tree: TreeIdx) -> bool {
        match self {
            Self::All => true,
            Self::Unlabelled => snapshot.label(tree).is_none(),
            Self::Abnormal => snapshot
                .detection
                .as_ref()
                .is_some_and(|known| known.is_abnormal(tree) || known.cause(tree).is_some()),
            Self::Labelled => snapshot.label(tree).is_some(),
            Self::ByDesign => snapshot.by_design(tree).is_some(),
        }
    }
}

/// What comes first in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CandidateOrder {
    /// The most abnormal.
    #[default]
    Score,
    /// The longest.
    Duration,
    /// What began first.
    Time,
    /// The lowest rank, and what began first on it.
    Rank,
}

impl CandidateOrder {
    /// All orders.
    pub const ALL: [Self; 4] = [Self::Score, Self::Duration, Self::Time, Self::Rank];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Score => "by score",
            Self::Duration => "by duration",
            Self::Time => "by time",
            Self::Rank => "by rank",
        }
    }

    /// What comes first.
    pub fn help(self) -> &'static str {
        match self {
            Self::Score => "Most abnormal first",
            Self::Duration => "Longest first",
            Self::Time => "Earliest first",
            Self::Rank => "Lowest rank first, then in order of time",
        }
    }

    /// Which of two trees comes first; never equal for two trees.
    pub(super) fn compare(
        self,
        analysis: &Analysis,
        detection: &Detection,
        a: TreeIdx,
        b: TreeIdx,
    ) -> Ordering {
        let forest = &analysis.forest;
        let began = |tree: TreeIdx| forest.tree(tree).entry()[0];
        let place = |tree: TreeIdx| detection.place[tree.index()];
        let by_order = match self {
            Self::Score => Ordering::Equal,
            Self::Duration => forest.tree(b).duration().cmp(&forest.tree(a).duration()),
            Self::Time => began(a).cmp(&began(b)),
            Self::Rank => (forest.code(a).rank, began(a)).cmp(&(forest.code(b).rank, began(b))),
        };
        by_order.then(place(a).cmp(&place(b)))
    }
}

/// All that narrows and orders the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CandidateListing {
    pub(super) filter: CandidateFilter,
    pub(super) order: CandidateOrder,
    /// The rank whose executions are listed; all if `None`.
    pub(super) rank: Option<RankId>,
    /// Whether only the trees of the last group are listed.
    pub(super) only_group: bool,
    /// What the codes begin with.
    pub(super) search: String,
}

impl CandidateListing {
    /// What is looked for, without the sign and space around it.
    pub(super) fn wanted_code(&self) -> &str {
        self.search.trim().trim_start_matches('#')
    }

    /// Why the list is empty.
    pub(super) fn when_empty(&self) -> &'static str {
        match self {
            _ if !self.search.is_empty() => "No code in it begins with what you typed.",
            _ if self.only_group || self.rank.is_some() => {
                "None of this rank or group is what the list shows."
            }
            _ => self.filter.when_empty(),
        }
    }

    /// The trees of the choice whose code begins with the search (`4-40`, `#4-40` or `4`), in order.
    /// `group` is in ascending order.
    pub(super) fn candidates(&self, snapshot: &Snapshot, group: &[TreeIdx]) -> Vec<TreeIdx> {
        let (Some(analysis), Some(detection)) = (&snapshot.analysis, &snapshot.detection) else {
            return Vec::new();
        };
        let forest = &analysis.forest;
        let wanted = self.wanted_code();
        let is_found = |tree: TreeIdx| {
            wanted.is_empty() || {
                let code = forest.code(tree).to_string();
                code.trim_start_matches('#').starts_with(wanted)
            }
        };
        let is_taken = |&tree: &TreeIdx| {
            self.rank.is_none_or(|rank| forest.code(tree).rank == rank)
                && (!self.only_group || group.binary_search(&tree).is_ok())
                && self.filter.takes(snapshot, tree)
                && is_found(tree)
        };
        let mut trees: Vec<TreeIdx> = detection.order.iter().copied().filter(is_taken).collect();
        if self.order != CandidateOrder::Score {
            trees.sort_by(|&a, &b| self.order.compare(analysis, detection, a, b));
        }
        trees
    }
}
