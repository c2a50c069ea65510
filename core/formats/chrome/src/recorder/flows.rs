//! Flows: arrows between calls.

use std::collections::BTreeMap;

use super::rows::RowPlace;

/// The position of a point in its flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum FlowPointKind {
    Start,
    Step,
    End,
}

/// A point of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FlowPoint {
    /// Identifies the flow.
    pub(crate) id: u64,
    /// Nanoseconds since the time that the file states.
    pub(crate) time_ns: i64,
    pub(crate) place: RowPlace,
    pub(crate) kind: FlowPointKind,
}

impl FlowPoint {
    pub(crate) fn is_start(&self) -> bool {
        self.kind == FlowPointKind::Start
    }
}

/// A step of a flow from one point to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FlowHop {
    pub(crate) from: FlowPoint,
    pub(crate) to: FlowPoint,
    /// The number of the hop among all.
    pub(crate) number: u64,
}

/// Returns the hops of all flows, by time within each. A flow begins again with each start; a point without a start is
/// left out, as one may lie outside the recorded time.
pub(crate) fn hops(points: &[FlowPoint]) -> Vec<FlowHop> {
    let mut by_id: BTreeMap<u64, Vec<FlowPoint>> = BTreeMap::new();
    for point in points {
        by_id.entry(point.id).or_default().push(*point);
    }
    let mut hops = Vec::new();
    for points in by_id.values_mut() {
        points.sort_by_key(|it| (it.time_ns, it.kind));
        let mut last = None;
        for &to in points.iter() {
            if let Some(from) = last
                && !to.is_start()
            {
                hops.push(FlowHop {
                    from,
                    to,
                    number: 0,
                });
            }
            let goes_on = to.is_start() || (last.is_some() && to.kind == FlowPointKind::Step);
            last = goes_on.then_some(to);
        }
    }
    hops.sort_by_key(|hop| (hop.from.time_ns, hop.to.time_ns, hop.from.id));
    for (hop, number) in hops.iter_mut().zip(0..) {
        hop.number = number;
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_go_from_point_to_point() {
        let point = |id, time_ns, kind| FlowPoint {
            id,
            time_ns,
            place: RowPlace(0),
            kind,
        };
        let points = [
            point(7, 30, FlowPointKind::End),
            point(7, 10, FlowPointKind::Start),
            point(7, 20, FlowPointKind::Step),
            point(7, 40, FlowPointKind::Start),
            point(7, 50, FlowPointKind::End),
            point(8, 5, FlowPointKind::End),
            point(9, 6, FlowPointKind::Start),
        ];
        let found = hops(&points);
        let times: Vec<_> = found
            .iter()
            .map(|it| (it.from.time_ns, it.to.time_ns, it.number))
            .collect();
        assert_eq!(times, [(10, 20, 0), (20, 30, 1), (40, 50, 2)]);
    }
}
