//! The viewer's copy of a remote session.

use std::sync::Arc;

use callgrove_causes::Causes;
use callgrove_model::{TraceHead, fnv1a};
use callgrove_query::{Calls, RunCauses, RunTrends, TreeCauses};
use callgrove_session::{Analysis, Selection, Snapshot};
use callgrove_trends::Trends;
use callgrove_watch::{ConnectionId, WatchUpdate};

use crate::frame::{
    AnalysisParts, CallAnswer, FrameKind, RemoteTrace, ViewerFile, WireError, read,
};

/// The content of a frame.
#[derive(Debug)]
pub enum FrameContent {
    /// A part of the next snapshot.
    Part,
    /// A snapshot to be shown.
    Snapshot(Arc<Snapshot>),
    /// The answer to a question about calls.
    Answer,
    /// A file for the user.
    File(ViewerFile),
    /// The answer to a hello: the epoch of the session.
    Welcome(u64),
    /// An update of the watched run.
    Watch(ConnectionId, Box<WatchUpdate>),
}

/// Assembles snapshots from frames.
#[derive(Default)]
pub struct SnapshotMirror {
    /// The newest snapshot with its large parts.
    known: Snapshot,
    /// The head of its trace, from which forests are made.
    head: TraceHead,
    /// Number of traces received.
    num_traces: u64,
    /// The calls of the newest trace, with the hash of the frame that announced it.
    calls: Option<(u64, Arc<Calls>)>,
}

impl SnapshotMirror {
    /// Returns a mirror for the next connection to the same session. Answers stay cached if the trace is
    /// the same; unanswered questions are asked again.
    #[must_use]
    pub fn for_next_connection(self) -> Self {
        Self {
            calls: self.calls,
            ..Self::default()
        }
    }

    /// Discards the calls, because a restarted session may have others.
    pub fn forget_calls(&mut self) {
        self.calls = None;
    }

    /// Returns the number and the calls of the trace that is shown.
    pub fn calls(&self) -> Option<(u64, &Arc<Calls>)> {
        Some((self.num_traces, self.known.calls.as_ref()?))
    }

    /// Takes the next frame.
    ///
    /// # Errors
    /// [`WireError`]; the state before is kept.
    pub fn take(&mut self, frame: &[u8]) -> Result<FrameContent, WireError> {
        let (kind, content) = FrameKind::open(frame)?;
        match kind {
            FrameKind::Snapshot => return self.take_snapshot(content).map(FrameContent::Snapshot),
            FrameKind::Trace => self.take_trace(content)?,
            FrameKind::Analysis => self.take_analysis(content)?,
            FrameKind::Map => self.known.map = read(content)?,
            FrameKind::Detection => self.known.detection = read(content)?,
            FrameKind::Trends => self.take_trends(content)?,
            FrameKind::Causes => self.take_causes(content)?,
            FrameKind::Patterns => self.known.patterns = read(content)?,
            FrameKind::File => return Ok(FrameContent::File(read(content)?)),
            FrameKind::Welcome => return Ok(FrameContent::Welcome(read(content)?)),
            FrameKind::Watch => {
                let (connection, update) = read(content)?;
                return Ok(FrameContent::Watch(connection, update));
            }
            FrameKind::Answer => {
                self.take_answer(content)?;
                return Ok(FrameContent::Answer);
            }
        }
        Ok(FrameContent::Part)
    }

    fn take_snapshot(&mut self, content: &[u8]) -> Result<Arc<Snapshot>, WireError> {
        let small: Snapshot = read(content)?;
        let large = std::mem::take(&mut self.known);
        self.known = Snapshot {
            trace: large.trace,
            calls: large.calls,
            trends: large.trends,
            causes: large.causes,
            patterns: large.patterns,
            analysis: large.analysis,
            map: large.map,
            detection: large.detection,
            tree_causes: large.tree_causes,
            ..small
        };
        let known = &mut self.known;
        if let Some(analysis) = &known.analysis {
            known.labels_by_tree = known.labels.by_tree(&analysis.forest).into();
        }
        if let (None, Some(causes), Some(analysis)) =
            (&known.tree_causes, &known.causes, &known.analysis)
        {
            known.tree_causes = Some(Arc::new(TreeCauses::new(causes, &analysis.forest)));
        }
        Ok(Arc::new(self.known.clone()))
    }

    fn take_trace(&mut self, content: &[u8]) -> Result<(), WireError> {
        let remote: Option<RemoteTrace> = read(content)?;
        let sum = fnv1a(content);
        let known = self.calls.take().filter(|(of, _)| *of == sum);
        let (head, calls) = match (remote, known) {
            (None, _) => (TraceHead::default(), None),
            (Some(remote), Some((_, calls))) => {
                calls.requeue_sent();
                (remote.head, Some(calls))
            }
            (Some(remote), None) => {
                let trace = Arc::new(remote.head.clone().without_calls()?);
                (
                    remote.head,
                    Some(Arc::new(Calls::remote(trace, remote.facts))),
                )
            }
        };
        self.num_traces += 1;
        self.head = head;
        self.known.trace = calls.as_ref().map(|calls| Arc::clone(calls.trace()));
        self.calls = calls.clone().map(|calls| (sum, calls));
        self.known.calls = calls;
        self.known.trends = None;
        self.known.causes = None;
        self.known.patterns = None;
        self.forget_forest();
        Ok(())
    }

    fn take_answer(&self, content: &[u8]) -> Result<(), WireError> {
        let (number, answer): (u64, CallAnswer) = read(content)?;
        let Some(calls) = &self.known.calls else {
            return Ok(());
        };
        let bytes = match &answer {
            CallAnswer::Known(bytes) => Some(&bytes[..]),
            CallAnswer::Refused(_) => None,
        };
        Ok(calls.take_answer(number, bytes)?)
    }

    fn forget_forest(&mut self) {
        self.known.analysis = None;
        self.known.map = None;
        self.known.detection = None;
        self.known.tree_causes = None;
        self.known.explanation = None;
        self.known.selection = Selection::None;
        self.known.labels_by_tree = Arc::new([]);
    }

    fn take_analysis(&mut self, content: &[u8]) -> Result<(), WireError> {
        let parts: Option<AnalysisParts> = read(content)?;
        self.forget_forest();
        let Some(parts) = parts else {
            return Ok(());
        };
        let AnalysisParts {
            functions,
            trees,
            num_unclosed,
            roots,
            analysis,
        } = parts;
        if self.known.trace.is_none() {
            return Err(WireError::Order);
        }
        let forest = roots.unpack(self.head.clone(), functions, trees, num_unclosed)?;
        self.known.analysis = Some(Arc::new(Analysis { forest, ..analysis }));
        Ok(())
    }

    fn take_trends(&mut self, content: &[u8]) -> Result<(), WireError> {
        let found: Option<Trends> = read(content)?;
        let trace = self.known.trace.as_ref().ok_or(WireError::Order)?;
        self.known.trends =
            found.map(|trends| Arc::new(RunTrends::of_found(Arc::clone(trace), trends)));
        Ok(())
    }

    fn take_causes(&mut self, content: &[u8]) -> Result<(), WireError> {
        let found: Option<Causes> = read(content)?;
        let trace = self.known.trace.as_ref().ok_or(WireError::Order)?;
        self.known.tree_causes = None;
        self.known.causes =
            found.map(|causes| Arc::new(RunCauses::of_found(Arc::clone(trace), causes)));
        Ok(())
    }
}
