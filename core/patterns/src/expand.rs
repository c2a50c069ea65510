//! Expansion of the grammar back to the events of a lane.

use super::event::CallEvent;
use super::pattern::{Pattern, PatternItem, PatternSymbol};

/// Returns the events that items expand to. `counts` holds the repeat counts of items with varying counts, in the
/// order of the events.
pub(super) fn expand<'a>(
    all: &'a [Pattern],
    items: &'a [PatternItem],
    counts: &'a [u32],
) -> impl Iterator<Item = CallEvent> + 'a {
    let mut counts = counts.iter().copied();
    // Items still to be expanded, and how often each is repeated after this time.
    let mut levels: Vec<(&[PatternItem], usize, u32)> = vec![(items, 0, 0)];
    // A call in which nothing was recorded is entered and left.
    let (mut leaves, mut leave) = (0_u32, None);
    let mut of_leaves = None;
    std::iter::from_fn(move || {
        loop {
            if let Some(event) = leave.take() {
                return Some(event);
            }
            if let (Some(func), true) = (of_leaves, leaves > 0) {
                leaves -= 1;
                leave = Some(CallEvent::Leave(func));
                return Some(CallEvent::Enter(func));
            }
            let (items, next, times) = levels.last_mut()?;
            let Some(item) = items.get(*next) else {
                if *times > 0 {
                    (*next, *times) = (0, *times - 1);
                } else {
                    levels.pop();
                }
                continue;
            };
            *next += 1;
            let times = if item.times.min == item.times.max {
                item.times.min
            } else {
                counts.next()?
            };
            match item.symbol {
                PatternSymbol::Enter(func) => return Some(CallEvent::Enter(func)),
                PatternSymbol::Leave(func) => return Some(CallEvent::Leave(func)),
                PatternSymbol::Call(func) => (of_leaves, leaves) = (Some(func), times),
                PatternSymbol::Pattern(id) => {
                    let pattern = all.get(id.index())?;
                    levels.push((&pattern.items, 0, times.checked_sub(1)?));
                }
            }
        }
    })
}
