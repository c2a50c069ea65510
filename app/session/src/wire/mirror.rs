//! What a viewer knows of a session that lies elsewhere.

use std::sync::Arc;

use callgrove_model::{Forest, PackedLanes, TraceHead, TreeRef};
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
    /// A lane of a trace that is not the last, and a snapshot that says how many have come.
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
    arriving: Option<Arriving>,
}

/// A trace that is on its way.
struct Arriving {
    head: TraceHead,
    lanes: PackedLanes,
    /// Where the trees of the forest that is shown will be in it; until then it has nothing but their roots.
    trees: Vec<TreeRef>,
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
            FrameKind::Lane => return self.take_lane(content),
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
        Ok(Arc::new(self.seen()))
    }

    /// What is known; while a trace is on its way, this is what is being done.
    fn seen(&self) -> Snapshot {
        let mut seen = self.known.clone();
        if let Some(Arriving { lanes, .. }) = &self.arriving {
            let (num_missing, num_lanes) = (lanes.num_missing(), lanes.num_lanes());
            seen.work = Some(Work {
                stage: format!("Receiving lane {} of {num_lanes}", num_lanes - num_missing),
                fraction: 1.0 - num_missing as f32 / num_lanes.max(1) as f32,
            });
        }
        seen
    }

    fn begin_trace(&mut self, content: &[u8]) -> Result<(), WireError> {
        let head: Option<TraceHead> = read(content)?;
        let begin = |head: TraceHead| -> Result<Arriving, WireError> {
            Ok(Arriving {
                lanes: PackedLanes::new(head.clone())?,
                head,
                trees: Vec::new(),
            })
        };
        let arriving = head.map(begin).transpose()?;
        self.known.trace = None;
        self.known.messages = None;
        self.known.causes = None;
        self.known.patterns = None;
        self.forget_forest();
        self.arriving = arriving;
        self.finish_trace()
    }

    fn take_lane(&mut self, content: &[u8]) -> Result<Arrived, WireError> {
        let arriving = self.arriving.as_mut().ok_or(WireError::Order)?;
        arriving.lanes.push(content)?;
        self.finish_trace()?;
        let seen = Arc::new(self.seen());
        Ok(if self.arriving.is_some() {
            Arrived::Coming(seen)
        } else {
            Arrived::Snapshot(seen)
        })
    }

    fn finish_trace(&mut self) -> Result<(), WireError> {
        let is_whole = |it: &mut Arriving| it.lanes.num_missing() == 0;
        let Some(Arriving { lanes, trees, .. }) = self.arriving.take_if(is_whole) else {
            return Ok(());
        };
        let trace = Arc::new(lanes.finish()?);
        if let Some(shown) = &self.known.analysis {
            let (functions, num_unclosed) = (shown.forest.functions(), shown.forest.num_unclosed());
            let forest =
                Forest::of_trees(Arc::clone(&trace), functions.to_vec(), trees, num_unclosed);
            self.known.analysis = Some(Arc::new(Analysis {
                forest: forest.ok_or(WireError::Order)?,
                ..Analysis::clone(shown)
            }));
        }
        self.known.messages = Some(Arc::new(MessageIndex::new(&trace)));
        self.known.trace = Some(trace);
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
        let AnalysisParts {
            functions,
            trees,
            num_unclosed,
            roots,
            analysis,
        } = parts;
        let forest = match (&mut self.arriving, &self.known.trace, roots) {
            (Some(arriving), _, Some(roots)) => {
                arriving.trees = trees;
                roots.unpack(arriving.head.clone(), functions, num_unclosed)?
            }
            (None, Some(trace), _) => {
                let forest = Forest::of_trees(Arc::clone(trace), functions, trees, num_unclosed);
                forest.ok_or(WireError::Order)?
            }
            _ => return Err(WireError::Order),
        };
        self.known.analysis = Some(Arc::new(Analysis { forest, ..analysis }));
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
