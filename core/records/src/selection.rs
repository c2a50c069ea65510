//! Which documents of a rank's step are recorded within the budget of its run.
//!
//! The most severe anomaly so far of each function is required, and so are its first normal execution and sampled trees.
//! The most severe anomaly of a step is preferred. All others are optional: the more severe ones come first, so the
//! share of the rank determines the severity below which documents of the step are left out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::budget::{BudgetShare, DocumentBudget, DocumentPriority};

/// What a candidate records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CandidateKind {
    /// An anomalous execution.
    Anomaly,
    /// A normal execution, for comparison with an anomaly of its function.
    Normal,
    /// An abnormal tree.
    AbnormalTree,
    /// A tree of the sample to learn from, whose size grows with the logarithm of the run.
    SampledTree,
}

/// A document that can be recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordCandidate {
    /// What it records.
    pub kind: CandidateKind,
    /// The number of the function.
    pub function: u32,
    /// The severity in µs; of a normal execution, that of the anomaly with which it is compared.
    pub severity_us: u64,
}

/// The documents of one rank within the budget of its run.
#[derive(Clone, Debug, Default)]
pub struct RecordSelection {
    share: BudgetShare,
    /// The largest severity in µs so far.
    worst_us: BTreeMap<(CandidateKind, u32), u64>,
    /// The functions with a normal execution.
    with_normal: BTreeSet<u32>,
    /// The number of documents left out, by function.
    left_out: BTreeMap<u32, u64>,
}

impl RecordSelection {
    /// Begins a step, which ends at a time in µs since the epoch, of one of `num_ranks` ranks.
    pub fn begin_step(&mut self, budget: DocumentBudget, end_us: u64, num_ranks: u32) {
        self.share.begin_step(budget, end_us, num_ranks);
    }

    /// Returns which candidates of the step are recorded, in their order.
    pub fn choose(&mut self, candidates: &[RecordCandidate]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_key(|&at| (Reverse(candidates[at].severity_us), at));
        let mut has_preferred = false;
        let mut by_priority: Vec<(DocumentPriority, usize)> = Vec::with_capacity(order.len());
        for at in order {
            let candidate = candidates[at];
            let is_first_anomaly = candidate.kind == CandidateKind::Anomaly && !has_preferred;
            has_preferred |= is_first_anomaly;
            let priority = match self.is_required(candidate) {
                true => DocumentPriority::Required,
                false if is_first_anomaly => DocumentPriority::Preferred,
                false => DocumentPriority::Optional,
            };
            by_priority.push((priority, at));
        }
        // The sort is stable: the order by severity remains.
        by_priority.sort_by_key(|it| it.0);
        let mut are_recorded = vec![false; candidates.len()];
        for (priority, at) in by_priority {
            are_recorded[at] = self.share.admits(priority);
            if !are_recorded[at] {
                *self.left_out.entry(candidates[at].function).or_default() += 1;
            }
        }
        are_recorded
    }

    /// Returns the number of documents left out so far, by function.
    pub fn left_out(&self) -> &BTreeMap<u32, u64> {
        &self.left_out
    }

    /// Returns whether a candidate, after all more severe ones of its step, is recorded in any case.
    fn is_required(&mut self, candidate: RecordCandidate) -> bool {
        let RecordCandidate {
            kind,
            function,
            severity_us,
        } = candidate;
        match kind {
            CandidateKind::Anomaly | CandidateKind::AbnormalTree => {
                let before = self.worst_us.get(&(kind, function)).copied();
                let is_worst = before < Some(severity_us);
                if is_worst {
                    self.worst_us.insert((kind, function), severity_us);
                }
                is_worst
            }
            CandidateKind::Normal => self.with_normal.insert(function),
            CandidateKind::SampledTree => true,
        }
    }
}
