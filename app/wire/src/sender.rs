//! The state that a viewer has received, and the frames that it still needs.

use std::sync::Arc;

use callgrove_model::TraceHead;
use callgrove_query::{Calls, PatternList, RunCauses, RunTrends};
use callgrove_session::{Analysis, Detection, Snapshot, TreeMap, ViewerId};

use crate::frame::{AnalysisParts, FrameKind, RemoteTrace, WireError};

/// Turns snapshots into frames for one viewer.
pub struct SnapshotSender {
    viewer: ViewerId,
    calls: Option<Arc<Calls>>,
    /// Number of traces sent.
    num_traces: u64,
    analysis: Option<Arc<Analysis>>,
    map: Option<Arc<TreeMap>>,
    detection: Option<Arc<Detection>>,
    trends: Option<Arc<RunTrends>>,
    causes: Option<Arc<RunCauses>>,
    patterns: Option<Arc<PatternList>>,
    /// Revision of the snapshot that was sent; `None` if a large part was sent after it.
    revision: Option<u64>,
}

impl SnapshotSender {
    /// Returns a sender to a viewer that has received nothing.
    pub fn new(viewer: ViewerId) -> Self {
        Self {
            viewer,
            calls: None,
            num_traces: 0,
            analysis: None,
            map: None,
            detection: None,
            trends: None,
            causes: None,
            patterns: None,
            revision: None,
        }
    }

    /// Returns the calls of a trace by its number among those sent; `None` if it is no longer shown.
    pub fn calls(&self, trace: u64) -> Option<&Arc<Calls>> {
        self.calls.as_ref().filter(|_| trace == self.num_traces)
    }

    /// Returns the next frame that `newest` needs; `None` once all of it has been sent.
    ///
    /// # Errors
    /// Something cannot be encoded.
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
        self.next_of_run(newest)
    }

    /// Returns whether a frame is a snapshot, which should be drawn, and not one of its parts.
    pub fn is_snapshot(frame: &[u8]) -> bool {
        FrameKind::Snapshot.is_of(frame)
    }

    fn head_of_trace(&mut self, newest: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        if !take_over(&mut self.calls, newest.calls()) {
            return Ok(None);
        }
        self.num_traces += 1;
        (self.analysis, self.map, self.detection) = (None, None, None);
        (self.trends, self.causes, self.patterns) = (None, None, None);
        self.revision = None;
        let remote = self.calls.as_ref().map(|calls| RemoteTrace {
            head: TraceHead::of(calls.trace()),
            facts: calls.facts().clone(),
            suggestions: newest.suggestions().to_vec(),
        });
        FrameKind::Trace.named(&remote).map(Some)
    }

    fn next_of_forest(&mut self, newest: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        if take_over(&mut self.analysis, newest.analysis()) {
            (self.map, self.detection) = (None, None);
            self.revision = None;
            let parts = self.analysis.as_ref().map(|analysis| AnalysisParts {
                functions: analysis.forest.functions().to_vec(),
                trees: analysis.forest.trees().to_vec(),
                num_unclosed: analysis.forest.num_unclosed(),
                roots: analysis.forest.pack_roots(),
                analysis: Analysis::clone(analysis),
            });
            return FrameKind::Analysis.compact(&parts).map(Some);
        }
        if take_over(&mut self.map, newest.map()) {
            self.revision = None;
            return FrameKind::Map.compact(&self.map).map(Some);
        }
        if take_over(&mut self.detection, newest.detection()) {
            self.revision = None;
            return FrameKind::Detection.compact(&self.detection).map(Some);
        }
        Ok(None)
    }

    /// Returns the parts that are computed late and that the snapshot does not wait for.
    fn next_of_run(&mut self, newest: &Snapshot) -> Result<Option<Vec<u8>>, WireError> {
        if take_over(&mut self.trends, newest.trends()) {
            self.revision = None;
            let found = self.trends.as_ref().map(|trends| trends.found());
            return FrameKind::Trends.compact(&found).map(Some);
        }
        if take_over(&mut self.causes, newest.causes()) {
            self.revision = None;
            let found = self.causes.as_ref().map(|causes| causes.found());
            return FrameKind::Causes.compact(&found).map(Some);
        }
        if take_over(&mut self.patterns, newest.patterns()) {
            self.revision = None;
            return FrameKind::Patterns.compact(&self.patterns).map(Some);
        }
        Ok(None)
    }
}

/// Replaces the value if the newest one differs. Returns whether it does.
fn take_over<T>(sent: &mut Option<Arc<T>>, newest: Option<&Arc<T>>) -> bool {
    let is_same = match (&*sent, newest) {
        (Some(sent), Some(newest)) => Arc::ptr_eq(sent, newest),
        (None, None) => true,
        _ => false,
    };
    if !is_same {
        *sent = newest.map(Arc::clone);
    }
    !is_same
}
