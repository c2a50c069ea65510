//! The calls of a lane, as a file states them.

use callgrove_model::{FuncId, TimeNs};

/// The calls of a lane in the order in which they were added. A beginning or an end takes 16 bytes, and 24 if complete
/// calls are among them, which take as many.
#[derive(Debug, Default)]
pub struct ListedCalls {
    /// Beginnings and ends, if there are no complete calls.
    pub(super) ends: Vec<CallEnd>,
    /// All, if there are complete calls.
    pub(super) mixed: Option<Vec<LaneCall>>,
    /// True if the ends of complete calls were stated as times, and not as durations that are rounded apart.
    pub(super) are_ends_exact: bool,
}

/// The beginning or the end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CallEnd {
    pub(super) time: TimeNs,
    /// The function that begins, or that the end names, or [`CallEnd::UNNAMED`].
    pub(super) func: FuncId,
    pub(super) is_begin: bool,
}

impl CallEnd {
    /// In place of the function of an end that names none: it ends the innermost call.
    pub(super) const UNNAMED: FuncId = FuncId(u32::MAX);
}

/// A call, or one end of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LaneCall {
    pub(super) time: TimeNs,
    /// The end of the call, or [`LaneCall::BEGINS`] or [`LaneCall::ENDS`].
    end: TimeNs,
    pub(super) func: FuncId,
}

/// The extent of an event from its time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallExtent {
    /// To the end of the call.
    Until(TimeNs),
    /// The call begins; its end is another event.
    Begin,
    /// A call that began ends: the innermost one of the function that the end names, or of all.
    End,
}

impl LaneCall {
    /// The value of `end` for an event that only begins a call.
    const BEGINS: TimeNs = TimeNs(i64::MIN);
    /// The value of `end` for an event that ends another call.
    const ENDS: TimeNs = TimeNs(i64::MIN + 1);

    fn complete(func: FuncId, start: TimeNs, end: TimeNs) -> Self {
        let first = TimeNs(Self::ENDS.0 + 1);
        Self {
            time: start,
            end: end.max(start).max(first),
            func,
        }
    }

    /// Returns its extent from its time on.
    pub(super) fn extent(&self) -> CallExtent {
        match self.end {
            Self::BEGINS => CallExtent::Begin,
            Self::ENDS => CallExtent::End,
            end => CallExtent::Until(end),
        }
    }

    /// Returns the event if it is only the beginning or the end of a call.
    pub(super) fn as_end(&self) -> Option<CallEnd> {
        let is_begin = match self.extent() {
            CallExtent::Until(_) => return None,
            CallExtent::Begin => true,
            CallExtent::End => false,
        };
        Some(CallEnd {
            time: self.time,
            func: self.func,
            is_begin,
        })
    }
}

impl From<CallEnd> for LaneCall {
    fn from(it: CallEnd) -> Self {
        let end = if it.is_begin {
            Self::BEGINS
        } else {
            Self::ENDS
        };
        Self {
            time: it.time,
            end,
            func: it.func,
        }
    }
}

impl ListedCalls {
    /// Returns beginnings and ends in order: the time of each, and the function of a beginning. Where the elements of
    /// the source take 16 bytes, its memory is used.
    pub fn of_ends<T>(
        events: Vec<T>,
        mut end: impl FnMut(T) -> Option<(TimeNs, Option<FuncId>)>,
    ) -> Self {
        let ends = events.into_iter().filter_map(|event| {
            let (time, func) = end(event)?;
            Some(CallEnd {
                time,
                func: func.unwrap_or(CallEnd::UNNAMED),
                is_begin: func.is_some(),
            })
        });
        Self {
            ends: ends.collect(),
            mixed: None,
            are_ends_exact: false,
        }
    }

    /// States that the ends of complete calls are not rounded apart from their beginnings: a short overlap is no error
    /// of rounding.
    pub fn set_ends_exact(&mut self) {
        self.are_ends_exact = true;
    }

    /// Returns the number of calls, or of their ends where these are events of their own.
    pub fn len(&self) -> usize {
        self.mixed.as_ref().map_or(self.ends.len(), Vec::len)
    }

    /// Returns whether there are no calls.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a call. One that ends before it begins has no duration.
    pub fn call(&mut self, func: FuncId, start: TimeNs, end: TimeNs) {
        self.mixed().push(LaneCall::complete(func, start, end));
    }

    /// Adds the beginning of a call.
    pub fn begin(&mut self, func: FuncId, time: TimeNs) {
        self.push(CallEnd {
            time,
            func,
            is_begin: true,
        });
    }

    /// Adds the end of the innermost call that has begun.
    pub fn end(&mut self, time: TimeNs) {
        self.end_of(CallEnd::UNNAMED, time);
    }

    /// Adds the end of the innermost call of a function. Calls in it that are still open end with it. An end of a
    /// function without an open call is left out and counted; but if no end of the lane names a function that began,
    /// the names mean something else, and each ends the innermost call.
    pub fn end_of(&mut self, func: FuncId, time: TimeNs) {
        self.push(CallEnd {
            time,
            func,
            is_begin: false,
        });
    }

    fn push(&mut self, end: CallEnd) {
        match &mut self.mixed {
            None => self.ends.push(end),
            Some(calls) => calls.push(end.into()),
        }
    }

    /// Adds the calls of another list after those of this one.
    pub fn append(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        self.are_ends_exact &= other.are_ends_exact;
        match (&mut self.mixed, other.mixed) {
            (None, None) => self.ends.extend(other.ends),
            (Some(own), None) => own.extend(other.ends.into_iter().map(LaneCall::from)),
            (_, Some(calls)) => self.mixed().extend(calls),
        }
    }

    /// Replaces all times, whose order must stay.
    pub fn map_times(&mut self, map: impl Fn(TimeNs) -> TimeNs) {
        for it in &mut self.ends {
            it.time = map(it.time);
        }
        for it in self.mixed.iter_mut().flatten() {
            let time = map(it.time);
            *it = match it.extent() {
                CallExtent::Until(end) => LaneCall::complete(it.func, time, map(end)),
                CallExtent::Begin | CallExtent::End => LaneCall { time, ..*it },
            };
        }
    }

    /// Returns the list as one that may have complete calls.
    fn mixed(&mut self) -> &mut Vec<LaneCall> {
        let Self { ends, mixed, .. } = self;
        mixed.get_or_insert_with(|| {
            let ends = std::mem::take(ends).into_iter();
            ends.map(LaneCall::from).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(calls: &ListedCalls) -> Vec<(i64, CallExtent)> {
        let list = calls.mixed.iter().flatten();
        list.map(|it| (it.time.0, it.extent())).collect()
    }

    #[test]
    fn ends_and_complete_calls_keep_their_order_and_are_small() {
        assert_eq!(size_of::<CallEnd>(), 16);
        assert_eq!(size_of::<LaneCall>(), 24);
        let (mut calls, mut others) = (ListedCalls::default(), ListedCalls::default());
        calls.begin(FuncId(1), TimeNs(5));
        calls.end(TimeNs(9));
        others.begin(FuncId(2), TimeNs(10));
        others.call(FuncId(3), TimeNs(12), TimeNs(11));
        calls.append(others);
        calls.end(TimeNs(20));
        calls.map_times(|time| TimeNs(time.0 + 100));
        let expected = [
            (105, CallExtent::Begin),
            (109, CallExtent::End),
            (110, CallExtent::Begin),
            (112, CallExtent::Until(TimeNs(112))),
            (120, CallExtent::End),
        ];
        assert_eq!(extents(&calls), expected);
        assert_eq!(calls.len(), 5);
    }
}
