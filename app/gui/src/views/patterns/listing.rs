//! The patterns as they are listed: what is known of each, what q and s make of it, and their order.

use callgrove_model::DurationNs;
use callgrove_session::{PatternId, PatternReference, RunPatterns};

use crate::theme::Theme;
use crate::widgets::table::{Cell, Sort};
use crate::widgets::thousands;

/// Patterns that took longest together come first.
pub(super) const BY_TOTAL: Sort = Sort {
    column: 3,
    is_descending: true,
};

/// What stays the same of a pattern, whatever q and s are.
struct Fixed {
    id: PatternId,
    name: String,
    num_occurrences: usize,
    num_lanes: usize,
    total: DurationNs,
    longest: DurationNs,
}

/// What q and s make of it.
#[derive(Clone, Copy, Default)]
struct Judged {
    usual: DurationNs,
    num_anomalous: usize,
    excess: DurationNs,
}

/// All patterns that recur, and their order in the table.
pub(super) struct Listed {
    fixed: Vec<Fixed>,
    judged: Vec<Judged>,
    order: Vec<usize>,
    made_for: Option<(PatternReference, Sort)>,
}

impl Listed {
    /// Names and counts the patterns.
    pub(super) fn new(patterns: &RunPatterns) -> Self {
        let fixed: Vec<Fixed> = patterns
            .listed()
            .into_iter()
            .map(|pattern| Fixed {
                id: pattern.id,
                name: patterns.name(pattern.id),
                num_occurrences: pattern.occurrences.len(),
                num_lanes: (pattern.occurrences)
                    .chunk_by(|a, b| a.lane == b.lane)
                    .count(),
                total: pattern.total,
                longest: (patterns.curve(pattern.id))
                    .and_then(|curve| curve.sorted().last().copied())
                    .unwrap_or_default(),
            })
            .collect();
        Self {
            judged: vec![Judged::default(); fixed.len()],
            order: (0..fixed.len()).collect(),
            fixed,
            made_for: None,
        }
    }

    /// Judges by another reference and sorts again: O(log n) for each pattern.
    pub(super) fn refresh(
        &mut self,
        patterns: &RunPatterns,
        reference: PatternReference,
        sort: Sort,
    ) {
        if self.made_for == Some((reference, sort)) {
            return;
        }
        let is_same_reference = self.made_for.is_some_and(|(known, _)| known == reference);
        if !is_same_reference {
            for (judged, fixed) in self.judged.iter_mut().zip(&self.fixed) {
                if let Some(curve) = patterns.curve(fixed.id) {
                    *judged = Judged {
                        usual: curve.usual(reference),
                        num_anomalous: curve.counts(reference)[2],
                        excess: curve.excess(reference),
                    };
                }
            }
        }
        self.made_for = Some((reference, sort));
        let (fixed, judged) = (&self.fixed, &self.judged);
        self.order = (0..fixed.len()).collect();
        let order = &mut self.order;
        match sort.column {
            0 => sort.by_text(order, |at| fixed[at].name.as_str()),
            1 => sort.by_text(order, |at| fixed[at].num_occurrences),
            2 => sort.by_text(order, |at| fixed[at].num_lanes),
            3 => sort.by_text(order, |at| fixed[at].total),
            4 => sort.by_text(order, |at| judged[at].usual),
            5 => sort.by_text(order, |at| judged[at].num_anomalous),
            6 => sort.by_text(order, |at| judged[at].excess),
            _ => sort.by_text(order, |at| fixed[at].longest),
        }
    }

    /// Number of patterns.
    pub(super) fn len(&self) -> usize {
        self.fixed.len()
    }

    /// The row of a pattern.
    pub(super) fn place_of(&self, id: PatternId) -> Option<usize> {
        self.order.iter().position(|&at| self.fixed[at].id == id)
    }

    /// The pattern of a row.
    pub(super) fn at(&self, row: usize) -> Option<PatternId> {
        self.order.get(row).map(|&at| self.fixed[at].id)
    }

    /// What a pattern is called.
    pub(super) fn name_of(&self, id: PatternId) -> &str {
        let found = self.fixed.iter().find(|fixed| fixed.id == id);
        found.map_or("", |fixed| fixed.name.as_str())
    }

    /// The one of which the slow times cost most.
    pub(super) fn most_costly(&self) -> Option<PatternId> {
        let costs = self.judged.iter().zip(&self.fixed).rev();
        let (_, fixed) = costs.max_by_key(|(judged, _)| judged.excess)?;
        Some(fixed.id)
    }

    /// What a row shows, in the order of the columns.
    pub(super) fn cells(&self, theme: &Theme, row: usize) -> Vec<Cell> {
        let at = self.order[row];
        let (fixed, judged) = (&self.fixed[at], self.judged[at]);
        let most = self.fixed.iter().map(|it| it.total).max();
        let share = fixed.total.as_secs_f64() / most.unwrap_or_default().as_secs_f64().max(1e-9);
        let anomalous = thousands(judged.num_anomalous);
        vec![
            Cell::Text(fixed.name.clone()),
            Cell::Text(thousands(fixed.num_occurrences)),
            Cell::Text(thousands(fixed.num_lanes)),
            Cell::Bar(share as f32, fixed.total.to_string()),
            Cell::Text(judged.usual.to_string()),
            if judged.num_anomalous > 0 {
                Cell::Marked(theme.abnormal(), anomalous)
            } else {
                Cell::Text(anomalous)
            },
            Cell::Text(judged.excess.to_string()),
            Cell::Text(fixed.longest.to_string()),
        ]
    }
}
