//! Beginnings and ends of the slices of a track, in order of time and paired.

use crate::tracks::{END, EventList, NO_EVENT, SliceEvent};

/// Orders events by time, and those of the same time as they were read. Returns the new index of each event if that
/// changed.
pub(crate) fn order(list: &mut EventList) -> Option<Vec<u32>> {
    let is_sorted = list.is_sorted || list.events.is_sorted_by_key(|it| it.time_ns);
    list.is_sorted = true;
    if is_sorted {
        return None;
    }
    for (event, index) in list.events.iter_mut().zip(0..) {
        event.partner = index;
    }
    list.events.sort_by_key(|it| it.time_ns);
    let mut positions = vec![NO_EVENT; list.events.len()];
    for (event, index) in list.events.iter_mut().zip(0..) {
        let old = usize::try_from(event.partner).unwrap_or(usize::MAX);
        if let Some(position) = positions.get_mut(old) {
            *position = index;
        }
        event.partner = NO_EVENT;
    }
    Some(positions)
}

/// Pairs events in order of time: a beginning gets the index of its end as partner, an end without a beginning its own.
/// Returns the number of these.
pub(crate) fn pair(events: &mut [SliceEvent]) -> u64 {
    let mut open: Vec<usize> = Vec::new();
    let mut num_unmatched = 0;
    for (index, number) in (0..events.len()).zip(0_u32..) {
        let Some(event) = events.get_mut(index) else {
            break;
        };
        if event.func != END {
            open.push(index);
        } else if let Some(begun) = open.pop() {
            if let Some(begun) = events.get_mut(begun) {
                begun.partner = number;
            }
        } else {
            event.partner = number;
            num_unmatched += 1;
        }
    }
    num_unmatched
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(events: &[(i64, u32)]) -> EventList {
        let events = events.iter().map(|&(time_ns, func)| SliceEvent {
            time_ns,
            func,
            partner: NO_EVENT,
        });
        EventList {
            clock: 6,
            events: events.collect(),
            is_sorted: false,
        }
    }

    #[test]
    fn events_are_ordered_and_paired() {
        let mut list = list(&[(20, END), (10, 1), (12, 2), (15, END), (30, END), (40, 3)]);
        assert_eq!(order(&mut list), Some(vec![3, 0, 1, 2, 4, 5]));
        assert_eq!(pair(&mut list.events), 1);
        let partners: Vec<u32> = list.events.iter().map(|it| it.partner).collect();
        assert_eq!(partners, [3, 2, NO_EVENT, NO_EVENT, 4, NO_EVENT]);
    }
}
