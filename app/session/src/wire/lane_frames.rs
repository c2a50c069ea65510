//! The lanes of a trace, packed once for all who look at it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use callgrove_model::{LaneIdx, Trace};

use super::frame::FrameKind;

/// Frames of the lanes of the newest trace. Clones are the same.
#[derive(Clone, Default)]
pub struct LaneFrames(Arc<Mutex<OfTrace>>);

#[derive(Default)]
struct OfTrace {
    trace: Option<Arc<Trace>>,
    frames: Arc<[OnceLock<Vec<u8>>]>,
}

impl LaneFrames {
    /// Packs what is not packed yet.
    pub fn prepare(&self, trace: &Arc<Trace>) {
        let frames = self.of(trace);
        for lane in 0..frames.len() {
            packed(&frames, trace, lane);
        }
    }

    /// The frame of a lane.
    pub(super) fn frame(&self, trace: &Arc<Trace>, lane: usize) -> Vec<u8> {
        packed(&self.of(trace), trace, lane).clone()
    }

    fn of(&self, trace: &Arc<Trace>) -> Arc<[OnceLock<Vec<u8>>]> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = known
            .trace
            .as_ref()
            .is_some_and(|it| Arc::ptr_eq(it, trace));
        if !is_known {
            *known = OfTrace {
                trace: Some(Arc::clone(trace)),
                frames: trace.lanes.iter().map(|_| OnceLock::new()).collect(),
            };
        }
        Arc::clone(&known.frames)
    }
}

fn packed<'f>(frames: &'f [OnceLock<Vec<u8>>], trace: &Trace, lane: usize) -> &'f Vec<u8> {
    frames[lane].get_or_init(|| FrameKind::Lane.raw(&trace.pack_lane(LaneIdx::from_index(lane))))
}
