//! What a viewer knows of a session that lies elsewhere.

use std::sync::Arc;

use callgrove_model::{Forest, PackedLanes, TraceHead};
use callgrove_patterns::cause::Causes;

use super::frame::{AnalysisParts, FrameKind, PatternParts, read};
use super::{ViewerFile, WireError};
use crate::watch::{ConnectionId, WatchUpdate};
use crate::{Analysis, MessageIndex, RunCauses, RunPatterns, Snapshot, TreeCauses, Work};

/// What a frame brought.
#[derive(Debug)]
pub enum Arrived {
    /// Something that belongs to the next snapshot.
    Part,
    /// A snapshot to be shown.
    Snapshot(Arc<Snapshot>),
    /// A lane of a trace, and a snapshot that says how many have come.
    Coming(Arc<Snapshot>),
    /// A file for the person.
    File(ViewerFile),
    /// The answer to a hello: which life of the session this is.
    Welcome(u64),
    /// News of the watched run.
    Watch(ConnectionId, Box<WatchUpdate>),
}

/// Makes snapshots of frames.
#[derive(Default)]
pub struct SnapshotMirror {
    /// The newest snapshot, with what belongs to it.
    known: Snapshot,
    arriving: Option<PackedLanes>,
}

impl SnapshotMirror {
    /// Takes the next frame.
    ///
    /// # Errors
    /// [`WireError`]; what was known before stays.
    pub fn take(&mut self, frame: &[u8]) -> Result<Arrived, WireError> {
        let (kind, content) = FrameKind::open(frame)?;
        match kind {
            FrameKind::Snapshot => return self.take_snapshot(content).map(Arrived::Snapshot),
            FrameKind::Trace => self.begin_trace(content)?,
            FrameKind::Lane => return self.take_lane(content).map(Arrived::Coming),
            FrameKind::Analysis => self.take_analysis(content)?,
            FrameKind::Map => self.known.map = read(content)?,
            FrameKind::Detection => self.known.detection = read(content)?,
            FrameKind::Causes => self.take_causes(content)?,
            FrameKind::Patterns => self.take_patterns(content)?,
            FrameKind::File => return Ok(Arrived::File(read(content)?)),
            FrameKind::Welcome => return Ok(Arrived::Welcome(read(content)?)),
            FrameKind::Watch => {
                let (connection, update) = read(content)?;
                return Ok(Arrived::Watch(connection, update));
            }
        }
        Ok(Arrived::Part)
    }

    fn take_snapshot(&mut self, content: &[u8]) -> Result<Arc<Snapshot>, WireError> {
        let small: Snapshot = read(content)?;
        let large = std::mem::take(&mut self.known);
        self.known = Snapshot {
            trace: large.trace,
            messages: large.messages,
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
        Ok(Arc::new(known.clone()))
    }

    fn begin_trace(&mut self, content: &[u8]) -> Result<(), WireError> {
        let head: Option<TraceHead> = read(content)?;
        let arriving = head.map(PackedLanes::new).transpose()?;
        self.known.trace = None;
        self.known.messages = None;
        self.known.causes = None;
        self.known.patterns = None;
        self.forget_forest();
        self.arriving = arriving;
        self.finish_trace()
    }

    /// A trace that is on its way can be watched.
    fn take_lane(&mut self, content: &[u8]) -> Result<Arc<Snapshot>, WireError> {
        let arriving = self.arriving.as_mut().ok_or(WireError::Order)?;
        arriving.push(content)?;
        let (num_missing, num_lanes) = (arriving.num_missing(), arriving.num_lanes());
        self.finish_trace()?;
        let work = Work {
            stage: format!("Receiving lane {} of {num_lanes}", num_lanes - num_missing),
            fraction: 1.0 - num_missing as f32 / num_lanes.max(1) as f32,
        };
        Ok(Arc::new(Snapshot {
            work: Some(work),
            ..self.known.clone()
        }))
    }

    fn finish_trace(&mut self) -> Result<(), WireError> {
        if let Some(arrived) = self.arriving.take_if(|it| it.num_missing() == 0) {
            let trace = Arc::new(arrived.finish()?);
            self.known.messages = Some(Arc::new(MessageIndex::new(&trace)));
            self.known.trace = Some(trace);
        }
        Ok(())
    }

    fn forget_forest(&mut self) {
        self.known.analysis = None;
        self.known.map = None;
        self.known.detection = None;
        self.known.tree_causes = None;
        self.known.explanation = None;
        self.known.selection = crate::Selection::None;
        self.known.labels_by_tree = Arc::new([]);
    }

    fn take_analysis(&mut self, content: &[u8]) -> Result<(), WireError> {
        let parts: Option<AnalysisParts> = read(content)?;
        self.forget_forest();
        let Some(parts) = parts else {
            return Ok(());
        };
        let trace = self.known.trace.as_ref().ok_or(WireError::Order)?;
        let forest = Forest::of_trees(
            Arc::clone(trace),
            parts.functions,
            parts.trees,
            parts.num_unclosed,
        );
        self.known.analysis = Some(Arc::new(Analysis {
            forest: forest.ok_or(WireError::Order)?,
            ..parts.analysis
        }));
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

    fn take_patterns(&mut self, content: &[u8]) -> Result<(), WireError> {
        let found: Option<PatternParts> = read(content)?;
        let trace = self.known.trace.as_ref().ok_or(WireError::Order)?;
        self.known.patterns = found.map(|PatternParts(patterns, iterations)| {
            Arc::new(RunPatterns::of_found(
                Arc::clone(trace),
                patterns,
                iterations,
            ))
        });
        Ok(())
    }
}
