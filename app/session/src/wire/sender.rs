//! What a viewer has been told, and what is to be told next.

use std::sync::Arc;

use callgrove_model::{LaneIdx, Trace, TraceHead};

use super::frame::{AnalysisParts, FrameKind};
use super::{LaneFrames, WireError};
use crate::{Analysis, Detection, RunCauses, RunPatterns, Snapshot, TreeMap, ViewerId};

/// Turns snapshots into frames for one viewer.
pub struct SnapshotSender {
    viewer: ViewerId,
    /// Where lanes are packed for all viewers; a single one has them packed as they are sent.
    lanes: Option<LaneFrames>,
    trace: Option<Arc<Trace>>,
    /// The next lane of it.
    next_lane: usize,
    analysis: Option<Arc<Analysis>>,
    map: Option<Arc<TreeMap>>,
    detection: Option<Arc<Detection>>,
    causes: Option<Arc<RunCauses>>,
    patterns: Option<Arc<RunPatterns>>,
    /// Of the snapshot that was told; `None` if something large came after it.
    revision: Option<u64>,
}

impl SnapshotSender {
    /// A sender to a viewer who knows nothing yet.
    pub fn new(viewer: ViewerId) -> Self {
        Self {
            viewer,
            lanes: None,
            trace: None,
            next_lane: 0,
            analysis: None,
            map: None,
            detection: None,
            causes: None,
            patterns: None,
            revision: None,
        }
    }

    /// Takes lanes from where they are packed for all viewers.
    #[must_use]
    pub fn with_lanes(self, lanes: LaneFrames) -> Self {
        let lanes = Some(lanes);
        Self { lanes, ..self }
    }

    /// The next frame on the way to `newest`; `None` once all of it has been told.
    ///
    /// # Errors
    /// Something cannot be written.
    pub fn next_frame(&mut self, newest: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        if let Some(head) = self.head_of_trace(newest)? {
            return Ok(Some(head));
        }
        if let Some(frame) = self.next_of_forest(newest)? {
            return Ok(Some(frame));
        }
        if self.revision != Some(newest.revision) {
            self.revision = Some(newest.revision);
            let seen = newest.seen_by(self.viewer);
            return FrameKind::Snapshot.named(&seen).map(Some);
        }
        if let Some(lane) = self.next_lane() {
            return Ok(Some(lane));
        }
        self.next_of_run(newest)
    }

    /// Whether a frame is a snapshot, which is to be drawn, and not one of the parts.
    pub fn is_snapshot(frame: &[u8]) -> bool {
        FrameKind::Snapshot.is_of(frame)
    }

    fn head_of_trace(&mut self, newest: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        if take_over(&mut self.trace, newest.trace.as_ref()) {
            self.next_lane = 0;
            (self.analysis, self.map, self.detection) = (None, None, None);
            (self.causes, self.patterns) = (None, None);
            self.revision = None;
            let head = self.trace.as_ref().map(|trace| TraceHead::of(trace));
            return FrameKind::Trace.named(&head).map(Some);
        }
        Ok(None)
    }

    /// By far most of what is told; so it comes after what a person looks at first.
    fn next_lane(&mut self) -> Option<Vec<u8>> {
        let trace = self.trace.as_ref()?;
        let lane = self.next_lane;
        if lane == trace.lanes.len() {
            return None;
        }
        self.next_lane += 1;
        Some(match &self.lanes {
            Some(lanes) => lanes.frame(trace, lane),
            None => FrameKind::Lane.raw(&trace.pack_lane(LaneIdx::from_index(lane))),
        })
    }

    /// Whether the viewer lacks lanes.
    fn lacks_lanes(&self) -> bool {
        let trace = self.trace.as_ref();
        trace.is_some_and(|trace| self.next_lane < trace.lanes.len())
    }

    fn next_of_forest(&mut self, newest: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        if take_over(&mut self.analysis, newest.analysis.as_ref()) {
            (self.map, self.detection) = (None, None);
            self.revision = None;
            let parts = self.analysis.as_ref().map(|analysis| AnalysisParts {
                functions: analysis.forest.functions().to_vec(),
                trees: analysis.forest.trees().to_vec(),
                num_unclosed: analysis.forest.num_unclosed(),
                roots: self.lacks_lanes().then(|| analysis.forest.pack_roots()),
                analysis: Analysis::clone(analysis),
            });
            return FrameKind::Analysis.compact(&parts).map(Some);
        }
        if take_over(&mut self.map, newest.map.as_ref()) {
            self.revision = None;
            return FrameKind::Map.compact(&self.map).map(Some);
        }
        if take_over(&mut self.detection, newest.detection.as_ref()) {
            self.revision = None;
            return FrameKind::Detection.compact(&self.detection).map(Some);
        }
        Ok(None)
    }

    /// What comes late anyway, and is not waited for.
    fn next_of_run(&mut self, newest: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        if take_over(&mut self.causes, newest.causes.as_ref()) {
            self.revision = None;
            let found = self.causes.as_ref().map(|causes| causes.found());
            return FrameKind::Causes.compact(&found).map(Some);
        }
        if take_over(&mut self.patterns, newest.patterns.as_ref()) {
            self.revision = None;
            let found = self.patterns.as_ref().map(|patterns| patterns.found());
            return FrameKind::Patterns.compact(&found).map(Some);
        }
        Ok(None)
    }
}

/// Whether it is another.
fn take_over<T>(told: &mut Option<Arc<T>>, newest: Option<&Arc<T>>) -> bool {
    let is_same = match (&*told, newest) {
        (Some(told), Some(newest)) => Arc::ptr_eq(told, newest),
        (None, None) => true,
        _ => false,
    };
    if !is_same {
        *told = newest.map(Arc::clone);
    }
    !is_same
}
