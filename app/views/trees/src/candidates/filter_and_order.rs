//! The filter and order of the list.

use std::cmp::Ordering;

use callgrove_model::{RankId, TreeIdx};
use callgrove_session::{Analysis, Detection, Snapshot};

/// A filter of the candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CandidateFilter {
    /// All trees.
    #[default]
    All,
    /// Trees without a label.
    Unlabelled,
    /// Trees that are classified as abnormal.
    Abnormal,
    /// Trees with a label.
    Labelled,
    /// Trees that are rare or long by design.
    ByDesign,
}

impl CandidateFilter {
    /// All filters, in order.
    pub const ALL: [Self; 5] = [
        Self::All,
        Self::Unlabelled,
        Self::Abnormal,
        Self::Labelled,
        Self::ByDesign,
    ];

    /// Returns the name that the user sees.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Unlabelled => "Unlabelled",
            Self::Abnormal => "Abnormal",
            Self::Labelled => "Labelled",
            Self::ByDesign => "By design",
        }
    }

    /// Returns a description of the filter.
    pub fn help(self) -> &'static str {
        match self {
            Self::All => "All executions",
            Self::Unlabelled => "Executions without a label",
            Self::Abnormal => {
                "Executions so rare that only the configured false-alarm rate of them is by chance; those explained by a trace write come last"
            }
            Self::Labelled => "Executions with a label",
            Self::ByDesign => {
                "Executions that are rare or long by design: at the start or end of ranks, or at regular intervals; none is an alarm"
            }
        }
    }

    /// Returns why the list is empty.
    fn when_empty(self) -> &'static str {
        match self {
            Self::All => "The function has no executions.",
            Self::Unlabelled => "Every execution has a label.",
            Self::Abnormal => "The model classifies no execution as abnormal.",
            Self::Labelled => "Press N or X on an execution to label it.",
            Self::ByDesign => "No execution is rare or long by design.",
        }
    }

    fn takes(self, snapshot: &Snapshot, tree: TreeIdx) -> bool {
        match self {
            Self::All => true,
            Self::Unlabelled => snapshot.label(tree).is_none(),
            Self::Abnormal => snapshot
                .detection()
                .is_some_and(|known| known.is_unusual(tree)),
            Self::Labelled => snapshot.label(tree).is_some(),
            Self::ByDesign => snapshot.by_design(tree).is_some(),
        }
    }
}

/// The order of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CandidateOrder {
    /// The most abnormal first.
    #[default]
    Score,
    /// The longest first.
    Duration,
    /// The earliest first.
    Time,
    /// The lowest rank first, then the earliest.
    Rank,
}

impl CandidateOrder {
    /// All orders.
    pub const ALL: [Self; 4] = [Self::Score, Self::Duration, Self::Time, Self::Rank];

    /// Returns the name that the user sees.
    pub fn name(self) -> &'static str {
        match self {
            Self::Score => "by score",
            Self::Duration => "by duration",
            Self::Time => "by time",
            Self::Rank => "by rank",
        }
    }

    /// Returns a description of the order.
    pub fn help(self) -> &'static str {
        match self {
            Self::Score => "Most abnormal first",
            Self::Duration => "Longest first",
            Self::Time => "Earliest first",
            Self::Rank => "Lowest rank first, then in order of time",
        }
    }

    /// Compares two trees in the order; never equal for two trees.
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

/// Filter, order and search of the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CandidateListing {
    pub(super) filter: CandidateFilter,
    pub(super) order: CandidateOrder,
    /// The rank whose executions are listed; all if `None`.
    pub(super) rank: Option<RankId>,
    /// True if only the trees of the last group are listed.
    pub(super) only_group: bool,
    /// Search text: a prefix of the codes.
    pub(super) search: String,
}

impl CandidateListing {
    /// Returns filter and order.
    pub(super) fn summary(&self) -> String {
        format!("{}, {}", self.filter.name(), self.order.name())
    }

    /// Returns the searched code, without `#` and spaces.
    pub(super) fn wanted_code(&self) -> &str {
        self.search.trim().trim_start_matches('#')
    }

    /// Returns why the list is empty.
    pub(super) fn when_empty(&self) -> &'static str {
        match self {
            _ if !self.search.is_empty() => "No code in the list starts with this text.",
            _ if self.only_group || self.rank.is_some() => {
                "No execution of this rank or group matches the filter."
            }
            _ => self.filter.when_empty(),
        }
    }

    /// Returns the trees of the filter whose code starts with the search (`4-40`, `#4-40` or `4`), in order. `group` is
    /// in ascending order.
    pub(super) fn candidates(&self, snapshot: &Snapshot, group: &[TreeIdx]) -> Vec<TreeIdx> {
        let (Some(analysis), Some(detection)) = (snapshot.analysis(), snapshot.detection()) else {
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
