//! The counter samples of a lane, in columns.

use std::ops::Range;

use crate::columns::{events_kept, keep_rows, move_first, reorder};
use crate::event::CounterEvents;
use crate::id::{CounterId, ExecIdx, NonMaxIdx};
use crate::time::TimeNs;

/// Counter samples of one lane in order of time. All columns have the same length.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Time.
    pub time: Vec<TimeNs>,
    /// Counter.
    pub counter: Vec<CounterId>,
    /// Value.
    pub value: Vec<u64>,
    /// The execution in which it was sampled; `None` outside every function.
    pub exec: Vec<Option<NonMaxIdx>>,
}

impl Counters {
    /// Returns the memory of rows that were reserved and are not used.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.time.shrink_to_fit();
        self.counter.shrink_to_fit();
        self.value.shrink_to_fit();
        self.exec.shrink_to_fit();
    }

    /// Adds samples whose execution is not known yet.
    pub(crate) fn add_events(&mut self, events: &CounterEvents, rows: Range<usize>) {
        self.time.extend_from_slice(&events.time[rows.clone()]);
        let counters = &events.counter[rows.clone()];
        self.counter.extend_from_slice(counters);
        self.value.extend_from_slice(&events.value[rows]);
        self.exec.resize(self.time.len(), None);
    }

    /// Reorders the samples, whose executions are not known yet.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        reorder(&mut self.time, order);
        reorder(&mut self.counter, order);
        reorder(&mut self.value, order);
    }

    /// Moves the first samples to the end of others.
    pub(crate) fn move_first(&mut self, num_rows: usize, to: &mut Self) {
        if num_rows == 0 {
            return;
        }
        move_first(num_rows, &mut self.time, &mut to.time);
        move_first(num_rows, &mut self.counter, &mut to.counter);
        move_first(num_rows, &mut self.value, &mut to.value);
        move_first(num_rows, &mut self.exec, &mut to.exec);
    }

    /// Keeps the newest `max_events` samples of the executions for which `new_row` returns a row.
    pub(crate) fn keep(&mut self, new_row: impl Fn(ExecIdx) -> Option<ExecIdx>, max_events: usize) {
        let kept = events_kept(&mut self.exec, new_row, max_events);
        keep_rows(&mut self.time, &kept);
        keep_rows(&mut self.counter, &kept);
        keep_rows(&mut self.value, &kept);
        keep_rows(&mut self.exec, &kept);
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
}
