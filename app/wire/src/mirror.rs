//! The viewer's copy of a remote session.

use std::sync::Arc;

use callgrove_causes::Causes;
use callgrove_model::{TraceHead, fnv1a};
use callgrove_query::{Calls, RunCauses, RunTrends, TreeCauses};
use callgrove_session::{Analysis, ForestSnapshot, RunSnapshot, Selection, Snapshot};
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
        Some((self.num_traces, self.known.calls()?))
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
            FrameKind::Map => self.forest()?.map = read(content)?,
            FrameKind::Detection => self.forest()?.detection = read(content)?,
            FrameKind::Trends => self.take_trends(content)?,
            FrameKind::Causes => self.take_causes(content)?,
            FrameKind::Patterns => self.run()?.patterns = read(content)?,
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
            run: large.run,
            forest: large.forest,
            ..small
        };
        let known = &mut self.known;
        if let Some(forest) = &mut known.forest {
            let trees = &forest.analysis.forest;
            known.edits.labels_by_tree = known.edits.labels.by_tree(trees).into();
            let causes = known.run.as_ref().and_then(|run| run.causes.as_ref());
            if let (None, Some(causes)) = (&forest.tree_causes, causes) {
                forest.tree_causes = Some(Arc::new(TreeCauses::new(causes, trees)));
            }
        }
        Ok(Arc::new(self.known.clone()))
    }

    fn take_trace(&mut self, content: &[u8]) -> Result<(), WireError> {
        let remote: Option<RemoteTrace> = read(content)?;
        let sum = fnv1a(content);
        let known = self.calls.take().filter(|(of, _)| *of == sum);
        let (head, run) = match remote {
            None => (TraceHead::default(), None),
            Some(remote) => {
                let calls = if let Some((_, calls)) = known {
                    calls.requeue_sent();
                    calls
                } else {
                    let trace = Arc::new(remote.head.clone().without_calls()?);
                    Arc::new(Calls::remote(trace, remote.facts))
                };
                self.calls = Some((sum, Arc::clone(&calls)));
                let run = RunSnapshot::new(calls, remote.suggestions.into());
                (remote.head, Some(run))
            }
        };
        self.num_traces += 1;
        self.head = head;
        self.known.run = run;
        self.forget_forest();
        Ok(())
    }

    fn take_answer(&self, content: &[u8]) -> Result<(), WireError> {
        let (number, answer): (u64, CallAnswer) = read(content)?;
        let Some(calls) = self.known.calls() else {
            return Ok(());
        };
        let bytes = match &answer {
            CallAnswer::Known(bytes) => Some(&bytes[..]),
            CallAnswer::Refused(_) => None,
        };
        Ok(calls.take_answer(number, bytes)?)
    }

    fn forget_forest(&mut self) {
        self.known.forest = None;
        self.known.explanation = None;
        self.known.selection = Selection::None;
        self.known.edits.labels_by_tree = Arc::new([]);
    }

    /// Returns the run to complete.
    fn run(&mut self) -> Result<&mut RunSnapshot, WireError> {
        self.known.run.as_mut().ok_or(WireError::Order)
    }

    /// Returns the forest to complete.
    fn forest(&mut self) -> Result<&mut ForestSnapshot, WireError> {
        self.known.forest.as_mut().ok_or(WireError::Order)
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
        self.run()?;
        let forest = roots.unpack(self.head.clone(), functions, trees, num_unclosed)?;
        let analysis = Arc::new(Analysis { forest, ..analysis });
        self.known.forest = Some(ForestSnapshot::new(analysis));
        Ok(())
    }

    fn take_trends(&mut self, content: &[u8]) -> Result<(), WireError> {
        let found: Option<Trends> = read(content)?;
        let run = self.run()?;
        let trace = run.calls.trace();
        run.trends = found.map(|trends| Arc::new(RunTrends::of_found(Arc::clone(trace), trends)));
        Ok(())
    }

    fn take_causes(&mut self, content: &[u8]) -> Result<(), WireError> {
        let found: Option<Causes> = read(content)?;
        let run = self.run()?;
        let trace = run.calls.trace();
        run.causes = found.map(|causes| Arc::new(RunCauses::of_found(Arc::clone(trace), causes)));
        if let Some(forest) = &mut self.known.forest {
            forest.tree_causes = None;
        }
        Ok(())
    }
}
