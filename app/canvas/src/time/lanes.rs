//! The state of the canvas between frames: the rows and their layout.
//!
//! It queries what it draws ([`Calls`]), and shows the previous content while an answer is in flight.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use callgrove_model::{ExecRef, LaneIdx, TimeNs, Trace};
use callgrove_session::{
    Bar, CallDetails, CallOf, Calls, LaneLevels, LaneNames, LaneRow, LaneView, LevelsOf,
    MessageQuery, MessagesInView, MessagesOf, PartnersOf, RowKind, RowQuery, Span, SpanIndex,
    StepFrom, Tile, order_rows,
};
use callgrove_widgets::theme::Theme;
use egui::Color32;

use super::layout::{PlacedRow, place_rows};
use super::occurrences::{KnownOccurrences, MarkedOccurrences};
use super::row_bars::RowBars;
use super::view::TimeView;
use super::window::Window;

/// Maximum number of messages drawn; more would cover the rows.
const MAX_ARROWS: usize = 1_000;
/// Number of rows laid out in one frame when this process computes the layout; the others show their previous layout
/// until their turn.
const ROWS_PER_FRAME: usize = 12;
/// Number of rows queried at once when a remote session computes the layout.
const ROWS_ASKED: usize = 48;
/// Number of rows laid out in advance in one frame, once all rows show the current window.
const ROWS_AHEAD: usize = 1;
/// Maximum number of rows out of view whose layout is kept.
const MAX_KEPT: usize = 512;
/// The levels of a row of innermost functions.
const STRIP: LaneLevels = LaneLevels {
    num: 1,
    top_depth: 0,
};
/// Width of a column that counts messages that are not drawn, in bars of the smallest width.
const BARS_PER_COLUMN: i64 = 4;

/// Margin on both sides of a run, as a fraction of its length.
const MARGIN: f64 = 0.01;

/// Lanes of a trace over time, with the messages between them.
pub struct LaneCanvas {
    calls: Arc<Calls>,
    names: LaneNames,
    /// The visible window.
    pub view: TimeView,
    /// Time 0 of the axis: the start of the run.
    origin: TimeNs,
    /// Rows that the user made a stack or a strip.
    folds: BTreeMap<LaneIdx, bool>,
    ordered: Option<(RowQuery, Arc<SpanIndex>, Vec<LaneRow>)>,
    is_placed: bool,
    rows: Vec<PlacedRow>,
    height: f32,
    row_of_lane: Vec<Option<usize>>,
    levels: BTreeMap<LaneIdx, (RowKind, LaneLevels)>,
    bars: BTreeMap<LaneIdx, RowBars>,
    found: Option<(MessagesOf, Arc<MessagesInView>)>,
    occurrences: KnownOccurrences,
    /// The selected call.
    call: Option<Arc<CallDetails>>,
    /// The step to another call that a key requested.
    pub(super) step: Option<StepFrom>,
    colors: Option<(bool, Vec<Color32>)>,
    /// The call that was clicked here; it need not be revealed.
    pub(super) clicked: Option<ExecRef>,
    /// The call that was revealed last.
    revealed: Option<ExecRef>,
    /// True if to scroll to the first row.
    pub(super) wants_top: bool,
    /// A row to scroll to.
    pub(super) scroll_to: Option<LaneIdx>,
    /// Start of the time range that is being dragged.
    pub(super) range_from: Option<TimeNs>,
}

impl LaneCanvas {
    /// Shows all of a run.
    pub fn new(calls: Arc<Calls>) -> Self {
        let (from, to) = calls.time_span().unwrap_or_default();
        Self {
            names: LaneNames::new(calls.trace()),
            view: TimeView::new(Window::around(from, to, MARGIN)),
            origin: from,
            folds: BTreeMap::new(),
            ordered: None,
            is_placed: false,
            rows: Vec::new(),
            height: 0.0,
            row_of_lane: Vec::new(),
            levels: BTreeMap::new(),
            bars: BTreeMap::new(),
            found: None,
            occurrences: KnownOccurrences::default(),
            call: None,
            step: None,
            colors: None,
            clicked: None,
            revealed: None,
            scroll_to: None,
            wants_top: false,
            range_from: None,
            calls,
        }
    }

    /// Returns the window of the whole run.
    pub fn run_window(&self) -> Window {
        let (from, to) = self.calls.time_span().unwrap_or_default();
        Window::around(from, to, MARGIN)
    }

    /// Returns the calls of the run.
    pub fn calls(&self) -> &Arc<Calls> {
        &self.calls
    }

    /// Returns the trace, with its names and lanes.
    pub fn trace(&self) -> &Arc<Trace> {
        self.calls.trace()
    }

    /// Returns the names of the lanes.
    pub(crate) fn names(&self) -> &LaneNames {
        &self.names
    }

    /// Returns the start of the run.
    pub fn origin(&self) -> TimeNs {
        self.origin
    }

    /// Returns the rows from the top.
    pub fn rows(&self) -> &[PlacedRow] {
        &self.rows
    }

    /// Returns the height of all rows together.
    pub(super) fn height(&self) -> f32 {
        self.height
    }

    /// Returns the row of a lane.
    pub(super) fn row_of(&self, lane: LaneIdx) -> Option<usize> {
        self.row_of_lane.get(lane.index()).copied().flatten()
    }

    /// Returns the bars of a lane as laid out last.
    pub(super) fn bars(&self, lane: LaneIdx) -> &[Bar] {
        self.bars.get(&lane).map_or(&[], RowBars::bars)
    }

    /// Returns the underlined occurrences of a pattern on a lane.
    pub(super) fn occurrences(&self, lane: LaneIdx) -> &[Span] {
        self.occurrences.on_lane(lane)
    }

    /// Returns the messages of the last answer.
    pub fn messages(&self) -> Option<&MessagesInView> {
        self.found.as_ref().map(|(_, found)| &**found)
    }

    /// Returns the selected call, once it is known.
    pub(super) fn call(&self) -> Option<&CallDetails> {
        self.call.as_deref()
    }

    /// Returns the message that ended the waiting of the selected call.
    pub(super) fn wait(&self) -> Option<usize> {
        let call = self.call()?;
        call.messages[call.wait?].message
    }

    /// Returns the call depth of the topmost level of a row.
    pub(super) fn top_depth(&self, lane: LaneIdx) -> usize {
        self.levels
            .get(&lane)
            .map_or(0, |(_, known)| known.top_depth)
    }

    /// Returns the time range of the message counts.
    pub(super) fn density_window(&self) -> Option<Window> {
        let (MessagesOf { query, .. }, _) = self.found.as_ref()?;
        Some(Window {
            from: query.from,
            to: query.to,
        })
    }

    /// Returns the colours of functions by id.
    pub(super) fn colors(&self) -> &[Color32] {
        self.colors.as_ref().map_or(&[], |(_, colors)| colors)
    }

    /// Makes a row a stack or a strip.
    pub fn set_stack(&mut self, lane: LaneIdx, is_stack: bool) {
        self.folds.insert(lane, is_stack);
        self.is_placed = false;
    }

    /// Orders and places the rows, and queries a newly selected call.
    pub(super) fn arrange(
        &mut self,
        theme: &Theme,
        query: &RowQuery,
        call: Option<ExecRef>,
        flagged: &Arc<SpanIndex>,
    ) {
        if self
            .colors
            .as_ref()
            .is_none_or(|(is_dark, _)| *is_dark != theme.is_dark())
        {
            let colors = self
                .trace()
                .names
                .iter()
                .map(|(_, name)| theme.function_named(name));
            self.colors = Some((theme.is_dark(), colors.collect()));
        }
        let is_known = |(known, spans, _): &(RowQuery, Arc<SpanIndex>, Vec<LaneRow>)| {
            known == query && Arc::ptr_eq(spans, flagged)
        };
        let known = self.ordered.as_ref();
        if known.is_none_or(|(known, ..)| known.selection != query.selection) {
            self.scroll_to = call.or(query.selection).map(|exec| exec.lane);
        }
        let has_new_first = |(known, ..): &(RowQuery, Arc<SpanIndex>, Vec<LaneRow>)| {
            (known.root != query.root && query.root.is_some())
                || (known.lifted != query.lifted && !query.lifted.is_empty())
        };
        if known.is_some_and(has_new_first) {
            // The path of a delay starts at its root, and a trend at its ranks: they are the first rows.
            self.scroll_to = None;
            self.wants_top = true;
        }
        if !self.ordered.as_ref().is_some_and(is_known) {
            let partners = match query.selection {
                Some(selection) => self.calls.ask(&PartnersOf(selection)),
                None => Some(Arc::default()),
            };
            // Until the partners of the selection are known, the rows stay as they are, if there are any.
            if self.ordered.is_none() || partners.is_some() {
                let rows = order_rows(
                    (self.trace(), |lane| self.calls.is_silent(lane)),
                    &self.names,
                    (query, &partners.as_deref().cloned().unwrap_or_default()),
                    flagged,
                );
                let query = RowQuery {
                    selection: query.selection.filter(|_| partners.is_some()),
                    ..query.clone()
                };
                self.ordered = Some((query, Arc::clone(flagged), rows));
                self.is_placed = false;
            }
        }
        if self.call.as_ref().map(|known| known.call) != call {
            self.call = call.and_then(|call| self.calls.ask(&CallOf(call)));
        }
        self.reveal(call);
        if !self.is_placed {
            self.place(query.selection);
        }
    }

    /// Scrolls and pans to a call that was selected elsewhere.
    fn reveal(&mut self, call: Option<ExecRef>) {
        if self.revealed == call {
            return;
        }
        let Some(call) = call.filter(|call| self.clicked != Some(*call)) else {
            self.revealed = call;
            return;
        };
        // The call must be queried first, so this may happen some frames later.
        let Some((entry, exit)) = self.call().map(|known| (known.entry, known.exit)) else {
            return;
        };
        self.revealed = Some(call);
        self.view.reveal(entry, exit);
        self.scroll_to = Some(call.lane);
        self.set_stack(call.lane, true);
    }

    fn place(&mut self, tree: Option<ExecRef>) {
        let Some((_, _, ordered)) = &self.ordered else {
            return;
        };
        let mut is_known = true;
        let mut levels = std::mem::take(&mut self.levels);
        let rows = ordered.iter().map(|row| {
            let is_stack = self.folds.get(&row.lane).copied();
            let kind = match tree.filter(|tree| tree.lane == row.lane) {
                Some(tree) if is_stack != Some(false) => RowKind::Tree(tree.exec),
                None if is_stack == Some(true) => RowKind::Stack,
                _ => RowKind::Strip,
            };
            let known = levels.get(&row.lane).copied();
            let asked = match (kind, known) {
                (RowKind::Strip, _) => Some(STRIP),
                (_, Some((of, levels))) if of == kind => Some(levels),
                _ => {
                    let lane = row.lane;
                    self.calls.ask(&LevelsOf { lane, kind }).as_deref().copied()
                }
            };
            // Keeps its previous number of levels while the new one is unknown.
            is_known &= asked.is_some();
            let of_row = asked.or(known.map(|(_, levels)| levels)).unwrap_or(STRIP);
            if asked.is_some() {
                levels.insert(row.lane, (kind, of_row));
            }
            (*row, kind, of_row.num)
        });
        let (rows, height) = place_rows(rows);
        (self.rows, self.height) = (rows, height);
        self.levels = levels;
        self.is_placed = is_known;
        self.row_of_lane = vec![None; self.trace().lanes.len()];
        for (at, row) in self.rows.iter().enumerate() {
            self.row_of_lane[row.lane.lane.index()] = Some(at);
        }
    }

    /// Lays out the rows in view for a canvas of `width_px` pixels. Returns whether there is more to do in the next
    /// frame.
    pub(super) fn lay_out(
        &mut self,
        in_view: Range<usize>,
        width_px: f32,
        tree: Option<ExecRef>,
        call: Option<ExecRef>,
    ) -> bool {
        let window = self.view.window();
        let grid = window.grid(width_px);
        let (seen, around) = (grid.touching(window), grid.around(window));
        let has = |lane: &LaneIdx, kind: &RowKind, tiles: &RangeInclusive<i64>| {
            let known = self.bars.get(lane);
            known.is_some_and(|row| row.has(*kind, grid, tiles))
        };
        let (ahead, missing): (Vec<_>, Vec<_>) = self.rows[in_view.clone()]
            .iter()
            .map(|row| (row.lane.lane, row.kind))
            .filter(|(lane, kind)| !has(lane, kind, &around))
            .partition(|(lane, kind)| has(lane, kind, &seen));
        let at_once = if self.calls.is_remote() {
            ROWS_ASKED
        } else {
            ROWS_PER_FRAME
        };
        let (now, tiles) = if missing.is_empty() {
            (ahead.iter().take(ROWS_AHEAD), around)
        } else {
            (missing.iter().take(at_once), seen)
        };
        for &(lane, kind) in now {
            let before = self.bars.remove(&lane);
            let row = RowBars::lay_out(before, &self.calls, (lane, kind, grid), &tiles);
            self.bars.extend(row.map(|row| (lane, row)));
        }
        if self.bars.len() > MAX_KEPT {
            let seen: Vec<LaneIdx> = self.rows[in_view.clone()]
                .iter()
                .map(|row| row.lane.lane)
                .collect();
            self.bars.retain(|lane, _| seen.contains(lane));
        }
        if missing.len() > at_once {
            return !self.calls.is_remote();
        }
        self.find_messages(in_view, window.tile(width_px), tree, call);
        false
    }

    /// Queries the underlined occurrences on the rows in view.
    pub(super) fn find_occurrences(
        &mut self,
        in_view: Range<usize>,
        tile: Tile,
        wanted: Option<MarkedOccurrences>,
    ) {
        let lanes = self.rows[in_view].iter().map(|row| row.lane.lane);
        self.occurrences.follow(&self.calls, wanted, (lanes, tile));
    }

    fn find_messages(
        &mut self,
        in_view: Range<usize>,
        tile: Tile,
        tree: Option<ExecRef>,
        call: Option<ExecRef>,
    ) {
        let column_ns = tile.min_bar_ns.saturating_mul(BARS_PER_COLUMN);
        let query = MessageQuery {
            from: tile.from,
            to: tile.to,
            num_columns: (tile.to.since(tile.from).0 / column_ns.max(1)).max(1) as usize,
            max_arrows: MAX_ARROWS,
            call,
            tree,
        };
        let mut views = vec![LaneView::Absent; self.trace().lanes.len()];
        for (at, row) in self.rows.iter().enumerate() {
            views[row.lane.lane.index()] = if in_view.contains(&at) {
                LaneView::InView
            } else {
                LaneView::Elsewhere
            };
        }
        let wanted = MessagesOf { query, views };
        let known = self.found.as_ref();
        if known.is_none_or(|(known, _)| *known != wanted)
            && let Some(found) = self.calls.ask(&wanted)
        {
            self.found = Some((wanted, found));
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::snapshot;
    use callgrove_model::ExecIdx;
    use callgrove_session::RankSort;

    use super::*;

    #[test]
    fn the_view_scrolls_to_the_call_again_when_a_tree_reorders_the_rows() {
        let demo = snapshot(16, 40);
        let mut canvas = LaneCanvas::new(Arc::clone(demo.calls().expect("a trace has some")));
        let theme = Theme::new(true, None);
        let call = ExecRef {
            lane: LaneIdx(9),
            exec: ExecIdx(3),
        };
        let mut query = RowQuery::default();
        for tree in [None, Some(call)] {
            query.selection = tree;
            canvas.arrange(&theme, &query, Some(call), &Arc::default());
            assert_eq!(canvas.scroll_to.take(), Some(call.lane), "{tree:?}");
        }
        query.sort = RankSort::Messages;
        canvas.arrange(&theme, &query, Some(call), &Arc::default());
        assert_eq!(canvas.scroll_to, None, "a new order alone does not scroll");
    }

    #[test]
    fn during_a_pan_all_rows_are_current_and_one_a_frame_is_laid_out_ahead() {
        let demo = snapshot(16, 40);
        let mut canvas = LaneCanvas::new(Arc::clone(demo.calls().expect("a trace has some")));
        let (theme, query) = (Theme::new(true, None), RowQuery::default());
        canvas.arrange(&theme, &query, None, &Arc::default());
        let all = canvas.view.bounds();
        canvas.view.jump(all.zoomed(16.0, 0.1, all));
        while canvas.lay_out(0..16, 800.0, None, None) {}
        let grid = canvas.view.window().grid(800.0);
        let num_with = |canvas: &LaneCanvas, tiles: &RangeInclusive<i64>| {
            let rows = canvas.bars.values();
            rows.filter(|row| row.has(RowKind::Strip, grid, tiles))
                .count()
        };
        let first = grid.around(canvas.view.window());
        for _ in 0..400 {
            let window = canvas.view.window().panned(0.01, all);
            let around = grid.around(window);
            let before = num_with(&canvas, &around);
            canvas.view.glide(window, 0.0);
            assert!(!canvas.lay_out(0..16, 800.0, None, None));
            assert_eq!(num_with(&canvas, &grid.touching(window)), 16);
            assert!(num_with(&canvas, &around) <= before + ROWS_AHEAD);
        }
        let last = grid.touching(canvas.view.window());
        assert!(last.start() > first.end(), "the window has moved on");
        assert_eq!(
            num_with(&canvas, &first),
            0,
            "tiles out of view are dropped"
        );
    }
}
