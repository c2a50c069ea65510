//! The state of the timeline between frames.

use std::sync::Arc;

use callgrove_actions::focus::Focus;
use callgrove_canvas::time::{LaneCanvas, RankChoice, RowRequest, Window};
use callgrove_model::{ExecRef, FuncId, ProgramId, RankId, TimeNs, TreeIdx};
use callgrove_session::{
    Analysis, CallOf, Detection, RankFilter, Selection, Snapshot, SpanIndex, TimeRange,
};
use callgrove_widgets::text::short_name;

use super::cascade::CascadeState;
use super::earlier_run::BeforeRun;
use super::marks::NewMark;
use super::occurrences::PatternMarks;
use super::search::SearchState;
use super::statistics::StatisticsState;
use super::trend::ShownTrend;

/// Margin on both sides of a tree that fills the window, as a fraction of its length.
const MARGIN: f64 = 0.1;

/// The run that is shown, and the ranks that the user wants to see.
#[derive(Default)]
pub struct TimelineState {
    shown: Option<ShownRun>,
    /// The window to show once the run is drawn.
    wanted: Option<Window>,
}

/// A run on the canvas.
pub(crate) struct ShownRun {
    pub(crate) canvas: LaneCanvas,
    pub(crate) ranks: RankChoice,
    /// The user's text that chooses ranks.
    pub(crate) ranks_text: String,
    /// The error of that text.
    pub(crate) ranks_error: Option<String>,
    focus: Option<Focus>,
    call: Option<ExecRef>,
    /// The selected incident, and its time range.
    incident: Option<(usize, Window)>,
    trend: ShownTrend,
    /// Anomalous occurrences of the selected pattern.
    pub(crate) occurrences: PatternMarks,
    /// True if the incident as a whole is selected, and not one of its trees.
    is_of_incident: bool,
    /// The path of a delay.
    pub(crate) cascade: CascadeState,
    /// The call that was fitted last.
    fitted: Option<ExecRef>,
    /// Abnormal trees.
    pub(crate) flagged: Arc<SpanIndex>,
    flagged_of: Option<(Arc<Analysis>, Arc<Detection>)>,
    /// The earlier run that this one is compared with.
    pub(crate) before: Option<BeforeRun>,
    /// The search for calls.
    pub(crate) search: SearchState,
    /// Statistics of functions in the selected time range.
    pub(crate) statistics: Option<StatisticsState>,
    /// A mark while its text is entered.
    pub(crate) new_mark: Option<NewMark>,
    /// Start of the brushed range of the strip, as a fraction of the run.
    pub(crate) brush_from: Option<f64>,
}

impl TimelineState {
    /// Fits the selected call, incident and tree, one after the other, then the whole run.
    pub fn fit(&mut self) {
        if let Some(shown) = self.shown() {
            shown.fit();
        }
    }

    /// Shows or hides the path of the selected delay.
    pub fn toggle_cascade(&mut self) {
        if let Some(shown) = self.shown() {
            shown.cascade.toggle();
        }
    }

    /// Pins a rank above all others.
    pub fn pin(&mut self, rank: (ProgramId, RankId)) {
        if let Some(shown) = self.shown() {
            shown.ranks.pinned.insert(rank);
        }
    }

    /// Searches the calls of a function.
    pub fn find_calls(&mut self, func: FuncId) {
        if let Some(shown) = self.shown() {
            let name = short_name(shown.canvas.trace().names.name(func)).to_owned();
            shown.search.choose(func, name);
        }
    }

    /// Moves to a time range.
    pub fn show_time(&mut self, range: TimeRange) {
        if let Some(shown) = self.shown() {
            let window = Window::around(range.from, range.to, MARGIN);
            shown.canvas.view.jump(window);
        }
    }

    /// Restores a time range; all of the run without one.
    pub fn restore(&mut self, range: Option<TimeRange>) {
        let all = self.shown.as_ref().map(|shown| shown.canvas.view.bounds());
        let wanted = range.map(|range| Window::around(range.from, range.to, 0.0));
        self.wanted = wanted.or(all);
    }

    /// Returns the visible range, unless it is the whole run.
    pub fn visible_range(&self) -> Option<TimeRange> {
        let view = &self.shown.as_ref()?.canvas.view;
        let Window { from, to } = self.wanted.unwrap_or(view.window());
        (view.bounds() != Window { from, to }).then_some(TimeRange { from, to })
    }

    /// Returns the run that was shown last.
    pub(crate) fn shown(&mut self) -> Option<&mut ShownRun> {
        self.shown.as_mut()
    }

    /// Shows the run of a snapshot; a newly selected tree fills the window.
    pub(crate) fn show(&mut self, snapshot: &Snapshot) -> Option<&mut ShownRun> {
        let Some(calls) = snapshot.calls() else {
            self.shown = None;
            return None;
        };
        let known = self.shown.take();
        let known = known.filter(|shown| Arc::ptr_eq(shown.canvas.calls(), calls));
        let shown = self.shown.insert(known.unwrap_or_else(|| ShownRun {
            canvas: LaneCanvas::new(Arc::clone(calls)),
            ranks: RankChoice::default(),
            ranks_text: String::new(),
            ranks_error: None,
            focus: None,
            call: None,
            incident: None,
            trend: ShownTrend::default(),
            occurrences: PatternMarks::default(),
            is_of_incident: false,
            cascade: CascadeState::default(),
            fitted: None,
            flagged: Arc::default(),
            flagged_of: None,
            before: None,
            search: SearchState::default(),
            statistics: None,
            new_mark: None,
            brush_from: None,
        }));
        shown.follow(snapshot);
        if let Some(window) = self.wanted.take() {
            shown.canvas.view.jump(window);
        }
        let (known, comparison) = (shown.before.take(), snapshot.comparison());
        shown.before = BeforeRun::follow(known, comparison, &mut shown.canvas);
        Some(shown)
    }
}

impl ShownRun {
    fn follow(&mut self, snapshot: &Snapshot) {
        self.call = snapshot.inspected.call;
        let focus = Focus::of(snapshot);
        let is_same = match (&self.focus, &focus) {
            (Some(known), Some(new)) => known.is_same_tree(new),
            (known, new) => known.is_none() && new.is_none(),
        };
        if !is_same {
            self.focus = focus;
            if let Some(window) = self.tree_window() {
                self.show_tree(window, snapshot.inspected.incident.is_some());
            }
        }
        self.follow_incident(snapshot);
        self.follow_trend(snapshot);
        self.cascade.follow(snapshot);
        self.occurrences.follow(snapshot);
        let judged = snapshot.analysis().zip(snapshot.detection());
        let is_known = match (&self.flagged_of, judged) {
            (Some((of, by)), Some((analysis, detection))) => {
                Arc::ptr_eq(of, analysis) && Arc::ptr_eq(by, detection)
            }
            (known, judged) => known.is_none() && judged.is_none(),
        };
        if !is_known {
            self.flagged = Arc::new(judged.map_or_else(
                SpanIndex::default,
                |(analysis, detection)| {
                    SpanIndex::of_trees(&analysis.forest, |tree| detection.is_abnormal(tree))
                },
            ));
            self.flagged_of =
                judged.map(|(analysis, detection)| (Arc::clone(analysis), Arc::clone(detection)));
        }
    }

    /// Shows a tree. A tree of the selected incident moves the window only if no part of it is visible.
    fn show_tree(&mut self, tree: Window, is_of_incident: bool) {
        let seen = self.canvas.view.window();
        let overlaps = tree.from < seen.to && tree.to > seen.from;
        if !(is_of_incident && overlaps) {
            self.canvas.view.jump(tree);
        }
    }

    /// A newly selected incident fills the window.
    fn follow_incident(&mut self, snapshot: &Snapshot) {
        let causes = snapshot.causes();
        let new = snapshot.inspected.incident.and_then(|number| {
            let incident = causes?.incident(number)?;
            let window = Window::around(incident.start, incident.end, MARGIN);
            Some((number, window))
        });
        let is_one = matches!(snapshot.selection, Selection::One(_));
        self.is_of_incident = new.is_some() && !is_one;
        if self.incident != new {
            self.incident = new;
            if let Some((_, window)) = new {
                self.canvas.view.jump(window);
            }
        }
    }

    /// The ranks of a newly selected trend come first, and its calls are searched.
    fn follow_trend(&mut self, snapshot: &Snapshot) {
        if !self.trend.follow(snapshot) {
            return;
        }
        let place = self.trend.place(self.canvas.view.bounds());
        self.ranks.lifted = place
            .as_ref()
            .map_or_else(Default::default, |it| it.ranks.clone());
        if let Some(place) = place {
            self.canvas.view.jump(place.window);
            let name = short_name(self.canvas.trace().names.name(place.func)).to_owned();
            self.search.choose(place.func, name);
        }
    }

    /// Returns the root of the selected tree; `None` while a trend or an incident as a whole is selected, since all
    /// rows of the incident are equal.
    pub(crate) fn tree(&self) -> Option<ExecRef> {
        let is_of_tree = !self.is_of_incident && self.trend.number().is_none();
        let focus = self.focus.as_ref().filter(|_| is_of_tree)?;
        Some(focus.analysis.forest.trees()[focus.tree.index()].root)
    }

    /// Returns entry and exit of the tree of [`ShownRun::tree`].
    pub(crate) fn tree_times(&self) -> Option<(TimeNs, TimeNs)> {
        self.tree()?;
        let tree = self.focus.as_ref()?.root();
        Some((tree.entry()[0], tree.exit()))
    }

    /// Returns the title of the timeline.
    pub(crate) fn name(&self) -> String {
        if let Some((number, _)) = self.incident.filter(|_| self.is_of_incident) {
            return format!("Timeline of incident {}", number + 1);
        }
        if let Some(number) = self.trend.number() {
            return format!("Timeline of trend {}", number + 1);
        }
        let subject = self
            .focus
            .as_ref()
            .map_or("the run".to_owned(), Focus::name);
        format!("Timeline of {subject}")
    }

    /// Returns the code of a tree of the forest of the abnormal executions.
    pub(crate) fn code(&self, tree: TreeIdx) -> String {
        let subject = self.flagged_of.as_ref();
        subject.map_or_else(String::new, |(analysis, _)| {
            analysis.forest.code(tree).to_string()
        })
    }

    /// Fits a newly selected call; otherwise the next of call, incident, tree and run after the visible one.
    pub(crate) fn fit(&mut self) {
        let is_new = self.call.is_some() && self.call != self.fitted;
        self.fitted = self.call;
        let call = self.call.and_then(|call| {
            let known = self.canvas.calls().ask(&CallOf(call))?;
            Some(Window::around(known.entry, known.exit, MARGIN))
        });
        let all = self.canvas.view.bounds();
        let incident = self.incident.map(|(_, window)| window);
        let parts: Vec<Window> = (call.into_iter().chain(incident).chain(self.tree_window()))
            .map(|window| window.within(all))
            .collect();
        let view = &mut self.canvas.view;
        let shown = parts.iter().position(|window| *window == view.window());
        let shown = shown.filter(|_| !is_new);
        let next = parts.get(shown.map_or(0, |at| at + 1));
        view.jump(next.copied().unwrap_or(all));
    }

    fn tree_window(&self) -> Option<Window> {
        self.focus.as_ref().map(window_of)
    }

    /// Carries out an action at the name of a rank's row.
    pub(crate) fn choose(&mut self, rank: (ProgramId, RankId), request: RowRequest) {
        match request {
            RowRequest::Pin => {
                if !self.ranks.pinned.remove(&rank) {
                    self.ranks.pinned.insert(rank);
                }
            }
            RowRequest::Only => {
                self.ranks_text = rank.1.to_string();
                self.ranks.filter = RankFilter::Ranks(vec![(rank.1.0, rank.1.0)]);
            }
            RowRequest::All => {
                self.ranks_text.clear();
                self.ranks.filter = RankFilter::All;
            }
        }
    }
}

fn window_of(focus: &Focus) -> Window {
    let tree = focus.root();
    Window::around(tree.entry()[0], tree.exit(), MARGIN)
}
