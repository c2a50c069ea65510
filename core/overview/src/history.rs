//! Anomalies per I/O step of one rank, in bounded memory.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::packet::StepAnomalies;

/// Number of most recent steps that are kept individually.
pub const RECENT_STEPS: u64 = 4_096;
/// Maximum number of spans into which older steps are folded.
pub const MAX_FOLDED: usize = 1_024;

/// Anomalies of a span of steps; a recent span is one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepSpan {
    /// First step.
    pub first_step: u64,
    /// Number of steps.
    pub num_steps: u64,
    /// Number of anomalies.
    pub num_anomalies: u64,
    /// Largest score.
    pub max_score: f64,
    /// Earliest time of an anomaly (entry), in microseconds since the epoch.
    pub first_time_us: u64,
    /// Latest time of an anomaly (exit), in microseconds since the epoch.
    pub last_time_us: u64,
}

/// Anomalies of one rank, step by step: the last [`RECENT_STEPS`] exactly, older ones in spans of 2^k steps, k as small
/// as [`MAX_FOLDED`] allows. Steps without anomalies take no memory.
///
/// The content depends only on which steps were reported, not on their order, because spans are nested. A recent step
/// that is reported again replaces its old data (a restarted detector begins at a step that it may have sent already);
/// an old step adds to its span.
///
/// A job with more than a few hundred ranks keeps fewer recent steps and wider spans of each (`coarsen`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepHistory {
    reported: Option<(u64, u64)>,
    /// How many times the number of recent steps was halved.
    #[serde(skip_serializing_if = "is_zero")]
    narrowing: u32,
    fold_shift: u32,
    folded: Vec<StepSpan>,
    recent: VecDeque<StepSpan>,
}

impl StepSpan {
    /// Returns the last step.
    pub fn last_step(&self) -> u64 {
        self.first_step.saturating_add(self.num_steps.max(1) - 1)
    }

    fn of(step: &StepAnomalies) -> Self {
        Self {
            first_step: step.step,
            num_steps: 1,
            num_anomalies: step.n_anomalies,
            max_score: step.outlier_scores.maximum,
            first_time_us: step.min_timestamp_us,
            last_time_us: step.max_timestamp_us,
        }
    }

    fn add(&mut self, other: &Self) {
        self.num_anomalies = self.num_anomalies.saturating_add(other.num_anomalies);
        self.max_score = self.max_score.max(other.max_score);
        self.first_time_us = self.first_time_us.min(other.first_time_us);
        self.last_time_us = self.last_time_us.max(other.last_time_us);
    }

    /// Returns the span of 2^shift steps that contains it.
    fn widened(self, shift: u32) -> Self {
        Self {
            first_step: self.first_step >> shift << shift,
            num_steps: 1 << shift,
            ..self
        }
    }
}

impl StepHistory {
    /// Returns the first and last reported step, with or without anomalies.
    pub fn reported(&self) -> Option<(u64, u64)> {
        self.reported
    }

    /// Returns the spans and steps with anomalies, in order.
    pub fn spans(&self) -> impl DoubleEndedIterator<Item = &StepSpan> + Clone {
        self.folded.iter().chain(&self.recent)
    }

    /// Returns the number of anomalies in all steps.
    pub fn num_anomalies(&self) -> u64 {
        self.spans()
            .map(|span| span.num_anomalies)
            .fold(0, u64::saturating_add)
    }

    /// Records the anomalies of a step.
    pub fn report(&mut self, step: &StepAnomalies) {
        let (first, last) = self.reported.unwrap_or((step.step, step.step));
        let last = last.max(step.step);
        self.reported = Some((first.min(step.step), last));
        let oldest = self.fold_recent(last);
        let span = StepSpan::of(step);
        if step.step >= oldest {
            self.replace(span);
        } else if span.num_anomalies > 0 {
            self.fold(span);
        }
    }

    /// Returns the number of spans, each of which takes 48 bytes.
    pub(super) fn num_spans(&self) -> usize {
        self.folded.len() + self.recent.len()
    }

    /// Halves the number of recent steps `narrowing` times in all, and makes older spans at least 2^`fold_shift` steps
    /// wide.
    pub(super) fn coarsen(&mut self, narrowing: u32, fold_shift: u32) {
        self.narrowing = self.narrowing.max(narrowing);
        if let Some((_, last)) = self.reported {
            self.fold_recent(last);
        }
        if fold_shift > self.fold_shift {
            self.widen(fold_shift);
        }
        self.folded.shrink_to_fit();
        self.recent.shrink_to_fit();
    }

    /// Folds the steps that are no longer recent, and returns the oldest recent step.
    fn fold_recent(&mut self, last: u64) -> u64 {
        let num_recent = (RECENT_STEPS >> self.narrowing.min(RECENT_STEPS.ilog2())).max(1);
        let oldest = last.saturating_sub(num_recent - 1);
        while let Some(span) = self.recent.pop_front_if(|span| span.first_step < oldest) {
            self.fold(span);
        }
        oldest
    }

    fn replace(&mut self, span: StepSpan) {
        let place = self
            .recent
            .binary_search_by_key(&span.first_step, |known| known.first_step);
        match (place, span.num_anomalies) {
            (Ok(at), 0) => {
                self.recent.remove(at);
            }
            (Ok(at), _) => self.recent[at] = span,
            (Err(_), 0) => {}
            (Err(at), _) => self.recent.insert(at, span),
        }
    }

    fn fold(&mut self, span: StepSpan) {
        let span = span.widened(self.fold_shift);
        let place = self
            .folded
            .binary_search_by_key(&span.first_step, |known| known.first_step);
        match place {
            Ok(at) => self.folded[at].add(&span),
            Err(at) => self.folded.insert(at, span),
        }
        while self.folded.len() > MAX_FOLDED {
            self.widen(self.fold_shift + 1);
        }
    }

    /// Folds the older steps into spans of 2^shift steps.
    fn widen(&mut self, shift: u32) {
        self.fold_shift = shift;
        let mut wider: Vec<StepSpan> = Vec::with_capacity(self.folded.len());
        for span in self.folded.drain(..).map(|span| span.widened(shift)) {
            match wider.last_mut() {
                Some(last) if last.first_step == span.first_step => last.add(&span),
                _ => wider.push(span),
            }
        }
        self.folded = wider;
    }
}

/// Returns whether a number is the default and need not be stored.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}
