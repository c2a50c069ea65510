//! The patterns as listed: their properties, their judgement by q and s, and their order.

use std::sync::Arc;

use callgrove_actions::latest_answer::LatestAnswer;
use callgrove_model::thousands;
use callgrove_session::{Calls, JudgedBy, JudgedPattern, PatternId, PatternList, PatternReference};
use callgrove_widgets::table::{Cell, Sort};
use callgrove_widgets::theme::Theme;

use callgrove_tables::ListedPatternRow;

use super::selected_pattern::SelectedPattern;

/// The order by total time, largest first.
pub(super) const BY_TOTAL: Sort = Sort {
    column: 3,
    is_descending: true,
};

/// All recurring patterns, and their order in the table.
pub(super) struct PatternRows {
    list: Arc<PatternList>,
    /// The judgement of each pattern by q and s.
    judged: LatestAnswer<JudgedBy>,
    order: Vec<usize>,
    made_for: Option<(Option<PatternReference>, Sort)>,
}

impl PatternRows {
    pub(super) fn new(list: &Arc<PatternList>) -> Self {
        Self {
            list: Arc::clone(list),
            judged: LatestAnswer::default(),
            order: Vec::new(),
            made_for: None,
        }
    }

    /// Queries the judgement by another reference, and sorts again.
    pub(super) fn refresh(&mut self, calls: &Arc<Calls>, reference: PatternReference, sort: Sort) {
        let judged = self.judged.ask(calls, &JudgedBy(reference));
        let made_for = Some((judged.map(|(JudgedBy(by), _)| *by), sort));
        if self.made_for == made_for {
            return;
        }
        self.made_for = made_for;
        let mut order: Vec<usize> = (0..self.list.patterns.len()).collect();
        let listed = &self.list.patterns;
        let judged = |at: usize| self.judged(at).unwrap_or_default();
        match sort.column {
            0 => sort.by_text(&mut order, |at| listed[at].name.as_str()),
            1 => sort.by_text(&mut order, |at| listed[at].num_occurrences),
            2 => sort.by_text(&mut order, |at| listed[at].num_lanes),
            3 => sort.by_text(&mut order, |at| listed[at].total),
            4 => sort.by_text(&mut order, |at| judged(at).usual),
            5 => sort.by_text(&mut order, |at| judged(at).counts[2]),
            6 => sort.by_text(&mut order, |at| judged(at).excess),
            _ => sort.by_text(&mut order, |at| listed[at].longest),
        }
        self.order = order;
    }

    /// Returns the judgement of a pattern by q and s, once it is known.
    fn judged(&self, at: usize) -> Option<JudgedPattern> {
        let (_, judged) = self.judged.known()?;
        judged.get(at).copied()
    }

    /// Returns a pattern with its usual duration, once that is known.
    pub(super) fn chosen(&self, id: PatternId) -> Option<SelectedPattern<'_>> {
        let at = self.list.place_of(id)?;
        let (JudgedBy(reference), _) = self.judged.known()?;
        Some(SelectedPattern {
            pattern: &self.list.patterns[at],
            reference: *reference,
            judged: self.judged(at)?,
        })
    }

    /// Returns the number of patterns.
    pub(super) fn len(&self) -> usize {
        self.list.patterns.len()
    }

    /// Returns the row of a pattern.
    pub(super) fn place_of(&self, id: PatternId) -> Option<usize> {
        let listed = &self.list.patterns;
        self.order.iter().position(|&at| listed[at].id == id)
    }

    /// Returns the pattern of a row.
    pub(super) fn at(&self, row: usize) -> Option<PatternId> {
        self.order.get(row).map(|&at| self.list.patterns[at].id)
    }

    /// Returns the pattern whose slow occurrences cost most, once that is known.
    pub(super) fn costliest(&self) -> Option<PatternId> {
        let (_, judged) = self.judged.known()?;
        let costs = judged.iter().zip(&self.list.patterns).rev();
        let (_, pattern) = costs.max_by_key(|(judged, _)| judged.excess)?;
        Some(pattern.id)
    }

    /// Returns the rows in the order of the table, for a file.
    pub(super) fn rows(&self) -> Vec<ListedPatternRow> {
        let rows = self.order.iter().map(|&at| {
            let judged = self.judged(at);
            ListedPatternRow::of(&self.list.patterns[at], judged.as_ref())
        });
        rows.collect()
    }

    /// Returns the cells of a row, in the order of the columns.
    pub(super) fn cells(&self, theme: &Theme, row: usize) -> Vec<Cell> {
        let at = self.order[row];
        let pattern = &self.list.patterns[at];
        let most = self.list.patterns.iter().map(|it| it.total).max();
        let share = pattern.total.as_secs_f64() / most.unwrap_or_default().as_secs_f64().max(1e-9);
        let [usual, anomalous, excess] = match self.judged(at) {
            None => std::array::from_fn(|_| Cell::Text("…".to_owned())),
            Some(judged) => [
                Cell::Text(judged.usual.to_string()),
                match judged.counts[2] {
                    0 => Cell::Text(thousands(0)),
                    number => Cell::Marked(theme.abnormal(), thousands(number)),
                },
                Cell::Text(judged.excess.to_string()),
            ],
        };
        vec![
            Cell::Text(pattern.name.clone()),
            Cell::Text(thousands(pattern.num_occurrences)),
            Cell::Text(thousands(pattern.num_lanes)),
            Cell::Bar(share as f32, pattern.total.to_string()),
            usual,
            anomalous,
            excess,
            Cell::Text(pattern.longest.to_string()),
        ]
    }
}
