//! The messages and counter samples of a lane after its newest function event. Their execution is only known when the
//! next function event arrives.

use std::ops::Range;

use crate::event::{CommEvents, CounterEvents, FuncEvent, FuncEventKind};
use crate::id::NonMaxIdx;
use crate::lane_events::{Comms, Counters};
use crate::time::TimeNs;

/// Pending messages and counter samples, in order of time; at equal times later arrivals come last.
#[derive(Debug)]
pub(crate) struct PendingEvents {
    comms: Comms,
    counters: Counters,
    /// Number of events at the beginning whose execution is known.
    num_comms: usize,
    num_counters: usize,
    /// The time of the first event whose execution is unknown, or the maximum time.
    from: TimeNs,
}

impl Default for PendingEvents {
    fn default() -> Self {
        Self {
            comms: Comms::default(),
            counters: Counters::default(),
            num_comms: 0,
            num_counters: 0,
            from: TimeNs(i64::MAX),
        }
    }
}

impl PendingEvents {
    /// Returns the memory of rows that were reserved and are not used.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.comms.shrink_to_fit();
        self.counters.shrink_to_fit();
    }

    /// Adds messages. Returns the times of those that are earlier than some before them.
    pub(crate) fn add_comms(&mut self, events: &CommEvents, rows: Range<usize>) -> Vec<TimeNs> {
        let num_before = self.comms.len();
        self.comms.add_events(events, rows);
        let late = late_times(&self.comms.time, num_before);
        if !late.is_empty() {
            self.comms.reorder(&order_of(&self.comms.time));
        }
        self.update_first();
        late
    }

    /// Adds counter samples. Returns the times of those that are earlier than some before them.
    pub(crate) fn add_counters(
        &mut self,
        events: &CounterEvents,
        rows: Range<usize>,
    ) -> Vec<TimeNs> {
        let num_before = self.counters.len();
        self.counters.add_events(events, rows);
        let late = late_times(&self.counters.time, num_before);
        if !late.is_empty() {
            self.counters.reorder(&order_of(&self.counters.time));
        }
        self.update_first();
        late
    }

    /// Assigns the events before a function event to the execution that is innermost until then.
    #[inline]
    pub(crate) fn assign_before(
        &mut self,
        event: FuncEvent,
        innermost: impl FnOnce() -> Option<NonMaxIdx>,
    ) {
        let (kind, next) = (event.kind(), event.time);
        // No event waits before most function events.
        if comes_before(self.from, kind, next) {
            self.assign(innermost(), |time| comes_before(time, kind, next));
        }
    }

    /// Assigns all remaining events to an execution.
    pub(crate) fn assign_rest(&mut self, innermost: Option<NonMaxIdx>) {
        self.assign(innermost, |_| true);
    }

    /// Moves the events whose execution is known to the others of their lane.
    pub(crate) fn move_assigned(&mut self, comms: &mut Comms, counters: &mut Counters) {
        self.comms.move_first(self.num_comms, comms);
        self.counters.move_first(self.num_counters, counters);
        (self.num_comms, self.num_counters) = (0, 0);
    }

    #[inline(never)]
    fn assign(&mut self, exec: Option<NonMaxIdx>, is_wanted: impl Fn(TimeNs) -> bool) {
        let assign = |times: &[TimeNs], execs: &mut [Option<NonMaxIdx>], next: &mut usize| {
            while let Some(of_event) = execs.get_mut(*next)
                && is_wanted(times[*next])
            {
                *of_event = exec;
                *next += 1;
            }
        };
        let (comms, counters) = (&mut self.comms, &mut self.counters);
        assign(&comms.time, &mut comms.exec, &mut self.num_comms);
        assign(&counters.time, &mut counters.exec, &mut self.num_counters);
        self.update_first();
    }

    fn update_first(&mut self) {
        let comm = self.comms.time.get(self.num_comms);
        let counter = self.counters.time.get(self.num_counters);
        let time = |first: Option<&TimeNs>| first.copied().unwrap_or(TimeNs(i64::MAX));
        self.from = time(comm).min(time(counter));
    }
}

/// Returns whether a message or counter sample belongs before a function event.
#[inline]
fn comes_before(time: TimeNs, kind: FuncEventKind, next: TimeNs) -> bool {
    match kind {
        FuncEventKind::Entry => time < next,
        FuncEventKind::Exit => time <= next,
    }
}

/// Returns those of the times after the first `num_first`, which are in order, that are earlier than some before them.
fn late_times(times: &[TimeNs], num_first: usize) -> Vec<TimeNs> {
    let (first, rest) = times.split_at(num_first);
    let mut latest = first.last().copied();
    let is_late = |&time: &TimeNs| {
        let is_late = Some(time) < latest;
        latest = latest.max(Some(time));
        is_late
    };
    rest.iter().copied().filter(is_late).collect()
}

/// Returns the rows in order of time; rows with equal times keep their order.
fn order_of(times: &[TimeNs]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| times[row]);
    order
}
