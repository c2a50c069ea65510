//! Times at which the tracer may have written its own data, inferred from the stream of a rank.
//!
//! TAU writes a step inside the exit of a function, after it has taken the time of that exit. So the thread with the
//! newest event of a step stalls until its first event of the next step, and the open calls there seem longer. How much
//! of this time the program itself takes is unknown during the run, so the whole gap counts as a write. This hides one
//! gap of a rank in each step; a stall that is many times longer than the usual gap remains visible.

use callgrove_model::{FuncEvents, ThreadId, TimeNs};

/// Number of gaps that are remembered.
const NUM_REMEMBERED: usize = 64;
/// Number of gaps from which a usual length is known.
const MIN_GAPS: usize = 8;
/// Longest write, in multiples of the median gap.
const MAX_WRITE_GAPS: u64 = 8;

/// The gaps between the steps of a rank.
#[derive(Debug, Default)]
pub(super) struct StepGaps {
    /// The thread with the newest event, and the time of the event.
    newest: Option<(ThreadId, TimeNs)>,
    /// The newest gaps in µs, in no order; the oldest is overwritten.
    lengths_us: Vec<u64>,
    num_gaps: usize,
}

impl StepGaps {
    /// Processes the events of the next step. Returns the thread that may have written before it, and the time in µs
    /// that a write explains.
    pub(super) fn take_in(&mut self, funcs: &FuncEvents) -> Option<(ThreadId, u64)> {
        let before = self.newest.take();
        let lasts = funcs.segments().filter_map(|(thread, events)| {
            let last = events.last()?;
            Some((thread, last.time))
        });
        // At equal times the first thread counts.
        for (thread, time) in lasts {
            if self.newest.is_none_or(|newest| newest.1 < time) {
                self.newest = Some((thread, time));
            }
        }
        let (thread, since) = before?;
        let mut of_thread = funcs.segments().filter(|it| it.0 == thread);
        let first = of_thread.find_map(|(_, events)| events.first())?;
        let gap_us = u64::try_from(first.time.since(since).as_us()).unwrap_or(0);
        let explained_us = self.usual_us().map_or(gap_us, |usual_us| {
            gap_us.min(usual_us.saturating_mul(MAX_WRITE_GAPS))
        });
        self.remember(gap_us);
        Some((thread, explained_us))
    }

    fn usual_us(&self) -> Option<u64> {
        let mut lengths_us = self.lengths_us.clone();
        let middle = lengths_us.len() / 2;
        (lengths_us.len() >= MIN_GAPS).then(|| *lengths_us.select_nth_unstable(middle).1)
    }

    fn remember(&mut self, gap_us: u64) {
        match self.lengths_us.get_mut(self.num_gaps % NUM_REMEMBERED) {
            Some(oldest) => *oldest = gap_us,
            None => self.lengths_us.push(gap_us),
        }
        self.num_gaps += 1;
    }
}
