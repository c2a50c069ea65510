//! The calls of a lane as entries and exits, properly nested.
//!
//! Calls of real files overlap: by rounding, because a GPU runs several kernels of a stream at once, or because an
//! annotation is not on the thread that it names. A call that reaches beyond another by at most [`TOLERANCE`] is cut;
//! others move to a lane of their own.

use callgrove_model::{
    DurationNs, FuncEvent, FuncEventKind, FuncId, RankId, TimeNs, WarningKind, Warnings,
};

use super::call_order::{Call, ListOrder};
use super::followers::Followers;
use super::listed_calls::{CallEnd, CallExtent, LaneCall, ListedCalls};

/// Maximum overlap that counts as rounding: files state times in whole microseconds, or round begin and end separately.
const TOLERANCE: DurationNs = DurationNs::from_us(1);
/// Maximum number of lanes for calls that overlap. Those beyond it are left out and counted.
const MAX_LANES: usize = 256;

/// A lane that is being built.
#[derive(Default)]
struct Nested {
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
    rank: RankId,
    warnings: &mut Warnings,
) -> Vec<Vec<FuncEvent>> {
    let ListedCalls { ends, mixed } = calls;
    let Some(calls) = mixed else {
        return vec![nest_ends(ends, rank, warnings)];
    };
    let mut calls = complete(calls, rank, warnings);
    let order = ListOrder::of(&calls);
    order.sort(&mut calls);
    let followers = match order {
        ListOrder::CallerFirst => Followers::of(&calls),
        ListOrder::CalleeFirst => Followers::default(),
    };
    let mut lanes = vec![Nested::default()];
    lanes[0].events.reserve(2 * calls.len());
    for call in calls {
        let place = |at: TimeNs| move || format!("at {} ns", at.0);
        let mut lane = 0;
        let fit = loop {
            match lanes
                .get_mut(lane)
                .map(|it| it.fit(call, order, &followers))
            {
                Some(Fit::Overlaps) => lane += 1,
                Some(fit) => break Some(fit),
                None if lane < MAX_LANES => lanes.push(Nested::default()),
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

/// Returns complete calls, with the ends of those that had events of their own.
fn complete(events: Vec<LaneCall>, rank: RankId, warnings: &mut Warnings) -> Vec<Call> {
    let has_ends = |it: &LaneCall| !matches!(it.extent(), CallExtent::Until(_));
    let needs_pairs = events.iter().any(has_ends);
    let mut ends = Vec::new();
    // Both take 24 bytes, so the memory of the list is used.
    let calls = events.into_iter().zip(0..).filter_map(|(event, order)| {
        let end = match event.extent() {
            CallExtent::Until(end) => end,
            CallExtent::Begin => Call::NO_END,
            CallExtent::End => {
                ends.push((event.time, order));
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
fn pair(calls: &mut [Call], mut ends: Vec<(TimeNs, u32)>, rank: RankId, warnings: &mut Warnings) {
    ends.sort_unstable();
    let begun = (0..calls.len()).filter(|&it| calls[it].end == Call::NO_END);
    let mut begun: Vec<usize> = begun.collect();
    begun.sort_unstable_by_key(|&it| (calls[it].start, calls[it].order));
    let mut begun = begun.into_iter().peekable();
    let mut open: Vec<usize> = Vec::new();
    for (time, order) in ends {
        while let Some(it) = begun.next_if(|&it| (calls[it].start, calls[it].order) < (time, order))
        {
            open.push(it);
        }
        match open.pop() {
            Some(it) => calls[it].end = time,
            None => warnings.count(WarningKind::ExitWithoutEntry, Some(rank), || {
                format!("at {} ns", time.0)
            }),
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
            if overlap.min(overrun) > TOLERANCE {
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
        self.events
            .push(event(FuncEventKind::Entry, call.func, call.start));
        self.open.push(OpenCall {
            until: call.end,
            has_exit: !is_open,
            func: call.func,
            order: call.order,
        });
        fit
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
