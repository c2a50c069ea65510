//! The open calls of one lane: exits are matched with their entries, and damage is repaired.

use crate::id::{ExecIdx, FuncId, RankId};
use crate::time::{DurationNs, TimeNs};
use crate::warning::{FirstSeen, WarningKind, Warnings};

/// The calls that are open on one lane (program, rank, thread), across steps. Each holds a value `T` that its owner
/// gets back when the call ends.
///
/// Damage is repaired as far as possible and counted: see [`WarningKind`]. Only this type decides how an event without
/// its counterpart is handled.
#[derive(Clone, Debug)]
pub struct OpenCalls<T> {
    rank: RankId,
    calls: Vec<OpenCall<T>>,
    now: TimeNs,
}

#[derive(Clone, Copy, Debug)]
struct OpenCall<T> {
    func: FuncId,
    entry: TimeNs,
    /// Total time in calls that it made and that have ended.
    in_callees: DurationNs,
    value: T,
}

/// An exit without an entry on its lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StrayExit {
    pub(crate) func: FuncId,
    pub(crate) time: TimeNs,
}

/// A call that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndedCall<T> {
    /// The function.
    pub func: FuncId,
    /// The function that called it.
    pub caller: Option<FuncId>,
    /// Exit − entry.
    pub inclusive: DurationNs,
    /// Inclusive time less the inclusive times of the children.
    pub exclusive: DurationNs,
    /// True if the exit was seen; otherwise the reader closed the call.
    pub closed: bool,
    /// The value that was passed to [`OpenCalls::enter`].
    pub value: T,
}

impl<T: Copy> OpenCalls<T> {
    /// Returns an empty stack of `rank`.
    pub fn new(rank: RankId) -> Self {
        Self {
            rank,
            calls: Vec::new(),
            now: TimeNs(i64::MIN),
        }
    }

    /// Enters a function, called by the innermost open one. Returns the time of the entry, which never goes back.
    #[inline]
    pub fn enter(
        &mut self,
        func: FuncId,
        time: TimeNs,
        value: T,
        warnings: &mut Warnings,
    ) -> TimeNs {
        let entry = self.advance(time, warnings);
        self.calls.push(OpenCall {
            func,
            entry,
            in_callees: DurationNs::ZERO,
            value,
        });
        entry
    }

    /// Leaves a function, and passes each call that ends to `ended`, the innermost first. Returns whether the function
    /// was open.
    ///
    /// If other functions are on top of it, their exits are missing, so they are closed now. If the function is not
    /// open at all, the event is ignored.
    #[inline]
    pub fn exit(
        &mut self,
        func: FuncId,
        time: TimeNs,
        warnings: &mut Warnings,
        mut ended: impl FnMut(EndedCall<T>),
    ) -> bool {
        let time = self.advance(time, warnings);
        // Almost always the innermost call ends.
        let is_innermost = self.calls.last().is_some_and(|open| open.func == func);
        let num_ended = if is_innermost {
            1
        } else {
            self.num_ended_by(func, warnings)
        };
        for left in (0..num_ended).rev() {
            self.close_innermost(time, left == 0).map(&mut ended);
        }
        num_ended > 0
    }

    /// Returns the number of calls that end by the exit of a function that is not the innermost one.
    #[cold]
    fn num_ended_by(&self, func: FuncId, warnings: &mut Warnings) -> usize {
        let first = || FirstSeen::at(self.now, "");
        let from_innermost = self.calls.iter().rev();
        let Some(num_missing) = from_innermost.clone().position(|open| open.func == func) else {
            warnings.count(WarningKind::ExitWithoutEntry, Some(self.rank), first);
            return 0;
        };
        let (kind, count) = (WarningKind::MissingExit, num_missing as u64);
        warnings.count_many(kind, Some(self.rank), count, first);
        num_missing + 1
    }

    /// Closes all open calls at `time`, or at the newest event if that is later, and passes each to `ended`, the
    /// innermost first.
    pub fn finish(
        mut self,
        time: TimeNs,
        warnings: &mut Warnings,
        mut ended: impl FnMut(EndedCall<T>),
    ) {
        let time = time.max(self.now);
        let num_open = self.calls.len() as u64;
        warnings.count_many(WarningKind::Unclosed, Some(self.rank), num_open, || {
            FirstSeen::at(time, "closed")
        });
        while let Some(call) = self.close_innermost(time, false) {
            ended(call);
        }
    }

    /// Returns the values of the open calls, the outermost first.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        self.calls.iter().map(|call| call.value)
    }

    /// Returns the functions and entries of the open calls, the outermost first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (FuncId, TimeNs)> {
        self.calls.iter().map(|call| (call.func, call.entry))
    }

    /// Returns the same calls, numbered from 0.
    pub(crate) fn numbered(&self) -> OpenCalls<ExecIdx> {
        let numbered = |(number, call): (usize, &OpenCall<T>)| OpenCall {
            func: call.func,
            entry: call.entry,
            in_callees: call.in_callees,
            value: ExecIdx::from_index(number),
        };
        OpenCalls {
            rank: self.rank,
            calls: self.calls.iter().enumerate().map(numbered).collect(),
            now: self.now,
        }
    }

    /// Returns the values of the open calls for modification.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.calls.iter_mut().map(|call| &mut call.value)
    }

    /// Returns the time, raised to the newest time of the lane if it would go back.
    #[inline]
    fn advance(&mut self, time: TimeNs, warnings: &mut Warnings) -> TimeNs {
        if time < self.now {
            self.count_time_going_back(time, warnings);
            return self.now;
        }
        self.now = time;
        time
    }

    #[cold]
    fn count_time_going_back(&self, time: TimeNs, warnings: &mut Warnings) {
        let now = self.now;
        warnings.count(WarningKind::TimeWentBack, Some(self.rank), || {
            FirstSeen::at(now, format!("by {}", now.since(time)))
        });
    }

    #[inline]
    fn close_innermost(&mut self, time: TimeNs, closed: bool) -> Option<EndedCall<T>> {
        let call = self.calls.pop()?;
        // Times never decrease here, so callees take no longer than their caller and the subtraction cannot wrap.
        let inclusive = DurationNs(time.0.wrapping_sub(call.entry.0));
        let caller = self.calls.last_mut();
        let caller = caller.map(|caller| {
            caller.in_callees = DurationNs(caller.in_callees.0.wrapping_add(inclusive.0));
            caller.func
        });
        Some(EndedCall {
            func: call.func,
            caller,
            inclusive,
            exclusive: DurationNs(inclusive.0.wrapping_sub(call.in_callees.0)),
            closed,
            value: call.value,
        })
    }
}
