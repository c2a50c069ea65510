//! The legend of the rows in view, for a picture.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, FuncId};
use callgrove_session::SpanIndex;
use callgrove_widgets::text::short_name;
use callgrove_widgets::theme::Theme;
use callgrove_widgets::{LegendItem, LegendMark};

use super::lanes::LaneCanvas;
use super::writes::hatch;

/// Maximum number of functions that are named.
const MAX_FUNCTIONS: usize = 12;

impl LaneCanvas {
    /// Returns the functions that fill most of the rows, and the meaning of the marks that occur.
    pub fn legend(&self, theme: &Theme, flagged: &SpanIndex, has_cascade: bool) -> Vec<LegendItem> {
        let mut items = self.functions(theme);
        let window = self.view.window();
        let has_flags = self.rows().iter().any(|row| {
            let mut flags = flagged.touching(row.lane.lane, window.from, window.to);
            flags.next().is_some()
        });
        if has_flags {
            let mark = LegendMark::Flag(theme.abnormal());
            items.push(LegendItem::new(mark, "abnormal execution"));
        }
        if self
            .messages()
            .is_some_and(|found| !found.arrows.is_empty())
        {
            let mark = LegendMark::Arrow(theme.message());
            items.push(LegendItem::new(mark, "message"));
        }
        if has_cascade {
            for (color, text) in [
                (theme.delay_root(), "where the delay began, and its path"),
                (theme.delay_victim(), "waited for a late rank"),
            ] {
                items.push(LegendItem::new(LegendMark::Interval(color), text));
            }
        }
        if !self.trace().writes.is_empty() {
            let theme = theme.clone();
            let paint = move |painter: &egui::Painter, rect| hatch(painter, rect, &theme);
            items.push(LegendItem::painted(paint, "trace write"));
        }
        items
    }

    fn functions(&self, theme: &Theme) -> Vec<LegendItem> {
        let window = self.view.window();
        let mut times: BTreeMap<FuncId, DurationNs> = BTreeMap::new();
        for row in self.rows() {
            for bar in self.bars(row.lane.lane) {
                let (from, to) = (bar.from.max(window.from), bar.to.min(window.to));
                if to > from {
                    *times.entry(bar.func).or_default() += to.since(from);
                }
            }
        }
        let mut longest: Vec<(FuncId, DurationNs)> = times.into_iter().collect();
        longest.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let num_others = longest.len().saturating_sub(MAX_FUNCTIONS);
        longest.truncate(MAX_FUNCTIONS);
        let mut items: Vec<LegendItem> = longest
            .into_iter()
            .map(|(func, _)| {
                let name = short_name(self.trace().names.name(func));
                LegendItem::new(LegendMark::Fill(theme.function(func)), name)
            })
            .collect();
        if num_others > 0 {
            let nothing = |_: &egui::Painter, _| {};
            items.push(LegendItem::painted(
                nothing,
                format!("and {num_others} other functions"),
            ));
        }
        items
    }
}
