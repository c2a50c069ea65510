//! Which trees are in the list.

use callgrove_model::TreeIdx;
use callgrove_session::Snapshot;

/// A choice of candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CandidateFilter {
    /// All trees.
    #[default]
    All,
    /// Trees without a label.
    Unlabelled,
    /// Trees with a negative score.
    Abnormal,
    /// Trees with a label.
    Labelled,
}

impl CandidateFilter {
    /// All choices, in order.
    pub const ALL: [Self; 4] = [Self::All, Self::Unlabelled, Self::Abnormal, Self::Labelled];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Unlabelled => "Unlabelled",
            Self::Abnormal => "Abnormal",
            Self::Labelled => "Labelled",
        }
    }

    /// What is in the list.
    pub fn help(self) -> &'static str {
        match self {
            Self::All => "All executions",
            Self::Unlabelled => "Executions that nobody has judged",
            Self::Abnormal => "Executions with a negative score",
            Self::Labelled => "Executions with a label",
        }
    }

    /// Why the list is empty.
    pub fn when_empty(self) -> &'static str {
        match self {
            Self::All => "The function was never executed.",
            Self::Unlabelled => "Every execution has a label.",
            Self::Abnormal => "The model calls no execution abnormal.",
            Self::Labelled => "Press N or X on an execution to label it.",
        }
    }

    fn takes(self, snapshot: &Snapshot, tree: TreeIdx) -> bool {
        match self {
            Self::All => true,
            Self::Unlabelled => snapshot.label(tree).is_none(),
            Self::Abnormal => snapshot
                .detection
                .as_ref()
                .is_some_and(|detection| detection.is_abnormal(tree)),
            Self::Labelled => snapshot.label(tree).is_some(),
        }
    }
}

/// The trees of a choice whose code begins with `search` (`4-40`, `#4-40` or `4`), most abnormal first.
pub(super) fn candidates(
    snapshot: &Snapshot,
    filter: CandidateFilter,
    search: &str,
) -> Vec<TreeIdx> {
    let (Some(analysis), Some(detection)) = (&snapshot.analysis, &snapshot.detection) else {
        return Vec::new();
    };
    let wanted = wanted_code(search);
    let is_found = |tree: TreeIdx| {
        wanted.is_empty()
            || analysis
                .forest
                .code(tree)
                .to_string()
                .strip_prefix('#')
                .is_some_and(|code| code.starts_with(wanted))
    };
    detection
        .order
        .iter()
        .copied()
        .filter(|&tree| filter.takes(snapshot, tree) && is_found(tree))
        .collect()
}

/// What is looked for, without the sign and space around it.
pub(super) fn wanted_code(search: &str) -> &str {
    search.trim().trim_start_matches('#')
}
