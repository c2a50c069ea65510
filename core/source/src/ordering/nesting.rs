//! The calls of a lane as entries and exits, properly nested.
//!
//! Calls of real files overlap: by rounding, because a GPU runs several kernels of a stream at once, or because an
//! annotation is not on the thread that it names. A call that reaches beyond another by at most [`TOLERANCE`] is cut
//! where durations are rounded; others move to a lane of their own. Work on a stream of a GPU calls nothing, so there a call that is in another one
//! overlaps it, too: both keep their times.

use callgrove_model::{
    DurationNs, FuncEvent, FuncEventKind, FuncId, RankId, TimeNs, WarningKind, Warnings,
};

use super::call_order::{Call, ListOrder};
use super::followers::Followers;
use super::listed_calls::{CallEnd, CallExtent, LaneCall, ListedCalls};
use super::named_ends::{OpenFunctions, count_ended, ends_name_functions, ends_of_innermost};

/// Maximum overlap that counts as rounding: files state times in whole microseconds, or round begin and end separately.
const TOLERANCE: DurationNs = DurationNs::from_us(1);
/// Maximum number of lanes for calls that overlap. Those beyond it are left out and counted.
const MAX_LANES: usize = 256;

/// The relation of calls of a lane whose times are in those of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nesting {
    /// They are its callees, as on a thread.
    Callees,
    /// None: they run at the same time, as on a stream of a GPU.
    Concurrent,
}

/// A lane that is being built.
struct Nested {
    /// Maximum overlap that counts as rounding.
    tolerance: DurationNs,
    events: Vec<FuncEvent>,
    /// The open calls, outermost first.
    open: Vec<OpenCall>,
}

struct OpenCall {
    until: TimeNs,
    has_exit: bool,
    func: FuncId,
    order: u32,
}

/// Returns the calls of a lane as events in order of time; the second and later vectors are the calls that overlap
/// others. The rows of the events are zero. Cost: O(n log n), times the number of calls that overlap at once.
pub(super) fn nest(
    calls: ListedCalls,
    nesting: Nesting,
    rank: RankId,
    warnings: &mut Warnings,
) -> Vec<Vec<FuncEvent>> {
    let ListedCalls {
        ends,
        mixed,
        are_ends_exact,
    } = calls;
    let tolerance = if are_ends_exact {
        DurationNs(0)
    } else {
        TOLERANCE
    };
    let calls = match mixed {
        Some(calls) => calls,
        None if nesting == Nesting::Callees || !has_depth(&ends) => {
            return vec![nest_ends(ends, rank, warnings)];
        }
        None => ends.into_iter().map(LaneCall::from).collect(),
    };
    let mut calls = complete(calls, rank, warnings);
    let order = ListOrder::of(&calls);
    order.sort(&mut calls);
    let followers = match order {
        ListOrder::CallerFirst => Followers::of(&calls),
        ListOrder::CalleeFirst => Followers::default(),
    };
    let mut lanes = vec![Nested::new(tolerance)];
    lanes[0].events.reserve(2 * calls.len());
    for call in calls {
        let place = |at: TimeNs| move || format!("at {} ns", at.0);
        let mut lane = 0;
        let fit = loop {
            let fit = lanes.get_mut(lane).map(|it| match nesting {
                Nesting::Callees => it.fit(call, order, &followers),
                Nesting::Concurrent => it.fit_after(call),
            });
            match fit {
                Some(Fit::Overlaps) => lane += 1,
                Some(fit) => break Some(fit),
                None if lane < MAX_LANES => lanes.push(Nested::new(tolerance)),
                None => break None,
            }
        };
        let kind = match fit {
            None => Some(WarningKind::OverlapsLeftOut),
            Some(Fit::Cut) => Some(WarningKind::CallCut),
            _ if lane > 0 => Some(WarningKind::CallsOverlap),
            _ => None,
        };
        if let Some(kind) = kind {
            warnings.count(kind, Some(rank), place(call.start));
        }
    }
    let ended = lanes.into_iter().map(|mut lane| {
        while !lane.open.is_empty() {
            lane.leave(Call::NO_END);
        }
        lane.events
    });
    ended.collect()
}

/// Returns beginnings and ends as entries and exits. They nest by their order, which also says whether a call of no
/// duration is in another that begins or ends at the same time.
fn nest_ends(mut events: Vec<CallEnd>, rank: RankId, warnings: &mut Warnings) -> Vec<FuncEvent> {
    if !events.is_sorted_by_key(|it| it.time) {
        events.sort_by_key(|it| it.time);
    }
    if ends_name_functions(events.iter().copied()) {
        events = ends_of_innermost(events, rank, warnings);
    }
    let mut open = Vec::new();
    // Both take 16 bytes, so the memory of the list is used.
    let nested = events.into_iter().filter_map(|it| {
        if it.is_begin {
            open.push(it.func);
            return Some(event(FuncEventKind::Entry, it.func, it.time));
        }
        let func = open.pop();
        if func.is_none() {
            warnings.count(WarningKind::ExitWithoutEntry, Some(rank), || {
                format!("at {} ns", it.time.0)
            });
        }
        Some(event(FuncEventKind::Exit, func?, it.time))
    });
    nested.collect()
}

/// Returns whether calls begin before the call before them ends.
fn has_depth(events: &[CallEnd]) -> bool {
    let mut begins = events.iter().map(|it| it.is_begin);
    let mut is_open = false;
    !events.is_sorted_by_key(|it| it.time)
        || begins.any(|is_begin| std::mem::replace(&mut is_open, is_begin) && is_begin)
}

/// Returns complete calls, with the ends of those that had events of their own.
fn complete(events: Vec<LaneCall>, rank: RankId, warnings: &mut Warnings) -> Vec<Call> {
    let has_ends = |it: &LaneCall| !matches!(it.extent(), CallExtent::Until(_));
    let needs_pairs = events.iter().any(has_ends);
    let are_named = ends_name_functions(events.iter().filter_map(LaneCall::as_end));
    let mut ends = Vec::new();
    // Both take 24 bytes, so the memory of the list is used.
    let calls = events.into_iter().zip(0..).filter_map(|(event, order)| {
        let end = match event.extent() {
            CallExtent::Until(end) => end,
            CallExtent::Begin => Call::NO_END,
            CallExtent::End => {
                let func = if are_named {
                    event.func
                } else {
                    CallEnd::UNNAMED
                };
                ends.push((event.time, order, func));
                return None;
            }
        };
        Some(Call {
            start: event.time,
            end,
            func: event.func,
            order,
        })
    });
    let mut calls: Vec<Call> = calls.collect();
    if needs_pairs {
        pair(&mut calls, ends, rank, warnings);
    }
    calls
}

/// Sets the ends of calls without an end to those of the events that end them.
fn pair(
    calls: &mut [Call],
    mut ends: Vec<(TimeNs, u32, FuncId)>,
    rank: RankId,
    warnings: &mut Warnings,
) {
    ends.sort_unstable_by_key(|it| (it.0, it.1));
    let begun = (0..calls.len()).filter(|&it| calls[it].end == Call::NO_END);
    let mut begun: Vec<usize> = begun.collect();
    begun.sort_unstable_by_key(|&it| (calls[it].start, calls[it].order));
    let mut begun = begun.into_iter().peekable();
    let mut open: Vec<usize> = Vec::new();
    let mut functions = OpenFunctions::default();
    for (time, order, func) in ends {
        while let Some(it) = begun.next_if(|&it| (calls[it].start, calls[it].order) < (time, order))
        {
            open.push(it);
            functions.begin(calls[it].func);
        }
        let num_ended = functions.end(func);
        count_ended(num_ended, (rank, time), warnings);
        for it in open.drain(open.len() - num_ended..) {
            calls[it].end = time;
        }
    }
}

/// The relation of a call to the open calls of its lane.
enum Fit {
    Nests,
    /// It, or a call before it, was cut.
    Cut,
    /// Another lane must take it.
    Overlaps,
}

impl Nested {
    fn new(tolerance: DurationNs) -> Self {
        Self {
            tolerance,
            events: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Adds a call if it fits.
    fn fit(&mut self, mut call: Call, list: ListOrder, followers: &Followers) -> Fit {
        let num_callers = self.num_callers(&call, list, followers);
        while self.open.len() > num_callers {
            self.leave(call.start);
        }
        let mut fit = Fit::Nests;
        let mut is_open = call.end == Call::NO_END;
        while let Some(&OpenCall { until, .. }) = self.open.last() {
            if call.end <= until {
                break;
            }
            if is_open {
                // The caller ends it.
                call.end = until;
                break;
            }
            let (overlap, overrun) = (until.since(call.start), call.end.since(until));
            if overlap.min(overrun) > self.tolerance {
                return Fit::Overlaps;
            }
            fit = Fit::Cut;
            if overrun <= overlap {
                call.end = until;
            } else {
                self.leave(call.start);
            }
        }
        is_open |= call.end == Call::NO_END;
        self.enter(&call, !is_open);
        fit
    }

    /// Adds a call if no other call is open.
    fn fit_after(&mut self, call: Call) -> Fit {
        let mut fit = Fit::Nests;
        if let Some(&OpenCall { until, .. }) = self.open.last() {
            if until > call.start {
                let is_rounded = until.since(call.start) <= self.tolerance && call.end > until;
                if !is_rounded {
                    return Fit::Overlaps;
                }
                fit = Fit::Cut;
            }
            self.leave(call.start);
        }
        self.enter(&call, call.end != Call::NO_END);
        fit
    }

    /// Begins a call.
    fn enter(&mut self, call: &Call, has_exit: bool) {
        self.events
            .push(event(FuncEventKind::Entry, call.func, call.start));
        self.open.push(OpenCall {
            until: call.end,
            has_exit,
            func: call.func,
            order: call.order,
        });
    }

    /// Returns the number of open calls that a call is in, if it does not reach beyond them.
    fn num_callers(&self, call: &Call, list: ListOrder, followers: &Followers) -> usize {
        let num_longer = self.open.partition_point(|it| it.until > call.start);
        let ending = self.open.iter().skip(num_longer);
        let ending = ending.take_while(|it| it.until == call.start);
        // Only a call of no duration can be in a call that ends when it begins.
        if !call.has_no_duration() {
            return num_longer;
        }
        let num_ending = match list {
            // It is listed before the calls that it is in.
            ListOrder::CalleeFirst => {
                let is_callee = |(_, open): &(usize, &OpenCall)| call.order < open.order;
                let innermost = ending.enumerate().filter(is_callee).last();
                innermost.map_or(0, |(index, _)| index + 1)
            }
            ListOrder::CallerFirst => {
                let num = ending.clone().count();
                let innermost = followers.num_callers(call.func, ending.map(|it| it.func));
                innermost.min(num)
            }
        };
        num_longer + num_ending
    }

    /// Ends the innermost call, at the latest at a time.
    fn leave(&mut self, time: TimeNs) {
        if let Some(open) = self.open.pop()
            && open.has_exit
        {
            let exit = event(FuncEventKind::Exit, open.func, open.until.min(time));
            self.events.push(exit);
        }
    }
}

fn event(kind: FuncEventKind, func: FuncId, time: TimeNs) -> FuncEvent {
    FuncEvent::new(kind, func, time, 0)
}
