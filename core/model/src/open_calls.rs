//! What is open on one lane: exits find their entries, and damage is mended.

use crate::{DurationNs, FirstSeen, FuncId, RankId, TimeNs, WarningKind, Warnings};

/// The calls that are open on one lane (program, rank, thread), kept across steps; each holds what `T` its owner
/// wants to find again when it ends.
///
/// Damage is mended as far as it can be and counted: see [`WarningKind`]. This is the only place that says what an
/// event without its counterpart means.
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
    /// Time in the calls that it made and that are over.
    in_callees: DurationNs,
    held: T,
}

/// An exit that found no entry on its lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StrayExit {
    pub(crate) func: FuncId,
    pub(crate) time: TimeNs,
}

/// A call that is over.
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
    /// Whether the exit was seen; a call without one was closed by the reader.
    pub closed: bool,
    /// What was held.
    pub held: T,
}

impl<T: Copy> OpenCalls<T> {
    /// Nothing open on `rank`.
    pub fn new(rank: RankId) -> Self {
        Self {
            rank,
            calls: Vec::new(),
            now: TimeNs(i64::MIN),
        }
    }

    /// The function is entered; it is called by the one that is innermost. The answer is the time of that, which never
    /// goes back.
    #[inline]
    pub fn enter(
        &mut self,
        func: FuncId,
        time: TimeNs,
        held: T,
        warnings: &mut Warnings,
    ) -> TimeNs {
        let entry = self.advance(time, warnings);
        self.calls.push(OpenCall {
            func,
            entry,
            in_callees: DurationNs::ZERO,
            held,
        });
        entry
    }

    /// The function is left; `ended` is handed each call that is over by that, the innermost first. Says whether it was
    /// open.
    ///
    /// If other functions are on top of it, their exits are missing: they are closed now. If it is not open at all, the
    /// event is left out.
    #[inline]
    pub fn exit(
        &mut self,
        func: FuncId,
        time: TimeNs,
        warnings: &mut Warnings,
        mut ended: impl FnMut(EndedCall<T>),
    ) -> bool {
        let time = self.advance(time, warnings);
        // Nearly always it is the innermost one that ends.
        let is_innermost = self.calls.last().is_some_and(|open| open.func == func);
        let num_over = if is_innermost {
            1
        } else {
            self.num_over_by(func, warnings)
        };
        for left in (0..num_over).rev() {
            self.close_innermost(time, left == 0).map(&mut ended);
        }
        num_over > 0
    }

    /// How many calls are over by the exit of a function that is not the innermost one.
    #[cold]
    fn num_over_by(&self, func: FuncId, warnings: &mut Warnings) -> usize {
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

    /// Closes all that is open at `time`, or at the newest event if that is later; `ended` is handed each, the innermost
    /// first.
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

    /// What the open calls hold, the outermost first.
    pub fn held(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        self.calls.iter().map(|call| call.held)
    }

    /// The same, to be changed.
    pub(crate) fn held_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.calls.iter_mut().map(|call| &mut call.held)
    }

    /// Time never goes back on a lane; a time that does is raised.
    #[inline]
    fn advance(&mut self, time: TimeNs, warnings: &mut Warnings) -> TimeNs {
        if time < self.now {
            self.count_back(time, warnings);
            return self.now;
        }
        self.now = time;
        time
    }

    #[cold]
    fn count_back(&self, time: TimeNs, warnings: &mut Warnings) {
        let now = self.now;
        warnings.count(WarningKind::TimeWentBack, Some(self.rank), || {
            FirstSeen::at(now, format!("by {}", now.since(time)))
        });
    }

    #[inline]
    fn close_innermost(&mut self, time: TimeNs, closed: bool) -> Option<EndedCall<T>> {
        let call = self.calls.pop()?;
        // Time does not go back here, so callees take no longer than their caller, and nothing runs over.
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
            held: call.held,
        })
    }
}
