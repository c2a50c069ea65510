//! The earlier run of a comparison below the open one: one zoom for both.

use std::sync::Arc;

use callgrove_canvas::time::{LaneCanvas, Window};
use callgrove_model::{DurationNs, TimeNs};
use callgrove_session::{ComparedWith, SpanIndex};

/// Height from which the strip of the whole run is shown above the rows of two runs, in points.
const MIN_HEIGHT_FOR_STRIP: f32 = 400.0;

/// The earlier run on a canvas of its own.
pub(crate) struct BeforeRun {
    pub(crate) comparison: Arc<ComparedWith>,
    pub(crate) canvas: LaneCanvas,
    pub(crate) alignment: Alignment,
    pub(crate) is_hidden: bool,
    pub(crate) flagged: Arc<SpanIndex>,
}

/// The times of the two runs that are below each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alignment {
    /// The starts of the runs.
    Start,
    /// The starts of an iteration, counted from 0.
    Iteration(usize),
}

impl BeforeRun {
    /// Returns the run of a comparison, with the choices for it that are known; shows the same times of it as of the open
    /// run, whose canvas is `after`.
    pub(crate) fn follow(
        known: Option<Self>,
        comparison: Option<&Arc<ComparedWith>>,
        after: &mut LaneCanvas,
    ) -> Option<Self> {
        let is_same = |known: &Self| {
            comparison.is_some_and(|comparison| comparison.is_same(&known.comparison))
        };
        let known = known.filter(is_same);
        let mut run = known.or_else(|| comparison.map(Self::new));
        let own = after.run_window();
        let Some(before) = run.as_mut().filter(|before| !before.is_hidden) else {
            after.view.set_bounds(own);
            return run;
        };
        let shift = before.shift(after.origin());
        let other = before.canvas.run_window().shifted(DurationNs(-shift.0));
        let bounds = Window {
            from: own.from.min(other.from),
            to: own.to.max(other.to),
        };
        after.view.set_bounds(bounds);
        let window = after.view.window();
        let view = &mut before.canvas.view;
        view.couple(bounds.shifted(shift), window.shifted(shift));
        run
    }

    /// Returns whether the strip of the whole run fits above the rows of both runs.
    pub(crate) fn has_strip(run: Option<&Self>, height: f32) -> bool {
        run.is_none_or(|before| before.is_hidden) || height >= MIN_HEIGHT_FOR_STRIP
    }

    fn new(comparison: &Arc<ComparedWith>) -> Self {
        Self {
            canvas: LaneCanvas::new(Arc::clone(comparison.before())),
            comparison: Arc::clone(comparison),
            alignment: Alignment::Start,
            is_hidden: false,
            flagged: Arc::default(),
        }
    }

    /// Returns the time of this run that is below a time of AFTER, minus that time.
    pub(crate) fn shift(&self, after_origin: TimeNs) -> DurationNs {
        let [before, after] = self.comparison.iteration_starts();
        if let Alignment::Iteration(at) = self.alignment
            && let (Some(before), Some(after)) = (before.get(at), after.get(at))
        {
            return before.since(*after);
        }
        self.canvas.origin().since(after_origin)
    }

    /// Returns the number of iterations that both runs have.
    pub(crate) fn num_iterations(&self) -> usize {
        let [before, after] = self.comparison.iteration_starts();
        before.len().min(after.len())
    }

    /// Returns the iteration of AFTER at a time, limited to those that both runs have.
    pub(crate) fn iteration_at(&self, time: TimeNs) -> usize {
        let after = &self.comparison.iteration_starts()[1];
        let last = after.partition_point(|start| *start <= time);
        last.saturating_sub(1)
            .min(self.num_iterations().saturating_sub(1))
    }
}
