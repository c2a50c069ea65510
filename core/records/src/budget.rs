//! The budget of a run for documents, and what is left of the share of one rank.
//!
//! A share is a token bucket in the time of the trace, so that what a rank may record depends on its steps alone, and
//! not on the processes that read them or on their speed:
//!
//! ```text
//! level ← min(level + budget · Δt, burst)      at each step; it begins with the burst
//! level ← level − number of ranks              for each document
//! ```
//!
//! where budget is documents per second of all ranks, Δt the time between the ends of two steps, burst = budget ·
//! [`BURST_S`], but at least one document. All numbers are integers: the level is in documents · µs · ranks.

use std::num::NonZeroU32;

/// Time in s for which an unused share is kept, and for which preferred documents overdraw it.
const BURST_S: i128 = 10;
/// Number of µs in a second.
const US_PER_S: i128 = 1_000_000;

/// The number of documents that all ranks of a program together record in a second of the trace; each rank has the same
/// share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocumentBudget(pub NonZeroU32);

/// How far a document may use up the share of its rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DocumentPriority {
    /// Recorded in any case. It uses up what is left of the share, but never overdraws it.
    Required,
    /// Recorded unless the share is overdrawn by what accrues in 10 s.
    Preferred,
    /// Recorded if the share has a document left.
    Optional,
}

/// The share of a rank: what it may still record.
#[derive(Clone, Debug, Default)]
pub struct BudgetShare {
    /// In documents · µs · ranks.
    level: i128,
    /// The largest level, in the same unit.
    burst: i128,
    /// The cost of a document, in the same unit.
    cost: i128,
    /// The end of the last step, in µs since the epoch; `None` before the first.
    last_us: Option<u64>,
}

impl BudgetShare {
    /// Adds what has accrued until the end of a step, in µs since the epoch; a step without events ends at 0. The share
    /// is one of `num_ranks`.
    pub fn begin_step(&mut self, budget: DocumentBudget, end_us: u64, num_ranks: u32) {
        let rate = i128::from(budget.0.get());
        self.cost = i128::from(num_ranks.max(1)) * US_PER_S;
        self.burst = (rate * BURST_S * US_PER_S).max(self.cost);
        let end_us = Some(end_us).filter(|it| *it > 0).or(self.last_us);
        self.level = match self.last_us.zip(end_us) {
            // In a damaged trace, time can go back.
            Some((last_us, end_us)) => {
                self.level + rate * i128::from(end_us.saturating_sub(last_us))
            }
            None => self.burst,
        };
        self.level = self.level.min(self.burst);
        self.last_us = end_us;
    }

    /// Returns whether a document is recorded, and takes it from the share if it is.
    pub fn admits(&mut self, priority: DocumentPriority) -> bool {
        let after = self.level - self.cost;
        let lowest = match priority {
            DocumentPriority::Required => {
                self.level = after.max(self.level.min(0));
                return true;
            }
            DocumentPriority::Preferred => -self.burst,
            DocumentPriority::Optional => 0,
        };
        let is_admitted = after >= lowest;
        if is_admitted {
            self.level = after;
        }
        is_admitted
    }
}
