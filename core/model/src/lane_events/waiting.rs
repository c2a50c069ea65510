//! The messages and counter samples of a lane that come after its newest function event: only the next one tells what
//! they happened in.

use std::ops::Range;

use crate::{
    CommEvents, Comms, CounterEvents, Counters, FuncEvent, FuncEventKind, NonMaxIdx, TimeNs,
};

/// Both lie in columns in order of time, later arrivals last at equal time.
#[derive(Debug)]
pub(crate) struct WaitingEvents {
    comms: Comms,
    counters: Counters,
    /// So many of each, the first ones, know what they happened in.
    num_comms: usize,
    num_counters: usize,
    /// The time of the first one that does not; the end of time if there is none.
    from: TimeNs,
}

impl Default for WaitingEvents {
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

impl WaitingEvents {
    /// Adds messages; the answer is the times of those that are earlier than some before them.
    pub(crate) fn add_comms(&mut self, events: &CommEvents, rows: Range<usize>) -> Vec<TimeNs> {
        let num_before = self.comms.len();
        self.comms.add_events(events, rows);
        let late = late_times(&self.comms.time, num_before);
        if !late.is_empty() {
            self.comms.reorder(&order_of(&self.comms.time));
        }
        self.note_first();
        late
    }

    /// The same of counter samples.
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
        self.note_first();
        late
    }

    /// Those before a function event happened in the execution that is innermost until then.
    #[inline]
    pub(crate) fn place_before(
        &mut self,
        event: FuncEvent,
        innermost: impl FnOnce() -> Option<NonMaxIdx>,
    ) {
        let (kind, next) = (event.kind(), event.time);
        // Nothing waits before most events.
        if comes_before(self.from, kind, next) {
            self.place(innermost(), |time| comes_before(time, kind, next));
        }
    }

    /// Whatever is left happened in this execution.
    pub(crate) fn place_rest(&mut self, innermost: Option<NonMaxIdx>) {
        self.place(innermost, |_| true);
    }

    /// Moves those that know what they happened in to the others of their lane.
    pub(crate) fn move_placed(&mut self, comms: &mut Comms, counters: &mut Counters) {
        self.comms.move_first(self.num_comms, comms);
        self.counters.move_first(self.num_counters, counters);
        (self.num_comms, self.num_counters) = (0, 0);
    }

    #[inline(never)]
    fn place(&mut self, exec: Option<NonMaxIdx>, is_wanted: impl Fn(TimeNs) -> bool) {
        let place = |times: &[TimeNs], execs: &mut [Option<NonMaxIdx>], next: &mut usize| {
            while let Some(of_event) = execs.get_mut(*next)
                && is_wanted(times[*next])
            {
                *of_event = exec;
                *next += 1;
            }
        };
        let (comms, counters) = (&mut self.comms, &mut self.counters);
        place(&comms.time, &mut comms.exec, &mut self.num_comms);
        place(&counters.time, &mut counters.exec, &mut self.num_counters);
        self.note_first();
    }

    fn note_first(&mut self) {
        let comm = self.comms.time.get(self.num_comms);
        let counter = self.counters.time.get(self.num_counters);
        let time = |first: Option<&TimeNs>| first.copied().unwrap_or(TimeNs(i64::MAX));
        self.from = time(comm).min(time(counter));
    }
}

/// Whether a message or counter of this time belongs before a function event of that one.
#[inline]
fn comes_before(time: TimeNs, kind: FuncEventKind, next: TimeNs) -> bool {
    match kind {
        FuncEventKind::Entry => time < next,
        FuncEventKind::Exit => time <= next,
    }
}

/// Of times of which the first are in order, those of the rest that are earlier than some before them.
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

/// The rows in order of time; at equal time they stay in their order.
fn order_of(times: &[TimeNs]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| times[row]);
    order
}
