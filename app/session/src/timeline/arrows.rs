//! Messages between the rows.

use std::ops::Range;

use callgrove_model::{CommKind, CommRef, ExecIdx, Forest, LaneIdx, NonMaxIdx, TimeNs, TreeIdx};

use super::{Arrow, TimelineQuery};

/// Message events looked at for one picture: of the tree, and again of everything else.
const MAX_EVENTS: usize = 5_000;

/// Finds the messages that are in the window.
///
/// Every message is taken at exactly one of its ends: at the tree's if it is the tree's own, else
/// at its sending if that is in the window, else at its receiving. So a sample of the events is
/// a fair sample of the messages.
pub(super) struct ArrowSearch<'a> {
    forest: &'a Forest,
    query: &'a TimelineQuery,
    own_lane: LaneIdx,
    tree_rows: Range<usize>,
    lanes: &'a [LaneIdx],
    row_of_lane: Vec<Option<usize>>,
}

impl<'a> ArrowSearch<'a> {
    pub(super) fn new(forest: &'a Forest, query: &'a TimelineQuery, lanes: &'a [LaneIdx]) -> Self {
        let mut row_of_lane = vec![None; forest.trace().lanes.len()];
        for (row, lane) in lanes.iter().enumerate() {
            row_of_lane[lane.index()] = Some(row);
        }
        Self {
            forest,
            query,
            own_lane: forest.trees()[query.tree.index()].root.lane,
            tree_rows: forest.tree(query.tree).rows(),
            lanes,
            row_of_lane,
        }
    }

    /// The arrows, the tree's own first, and how many messages are not among them.
    pub(super) fn arrows(&self) -> (Vec<Arrow>, usize) {
        let (mut arrows, own_stride) = self.own_arrows();
        let num_own = arrows.len() * own_stride;
        let (others, stride) = self.other_arrows();
        let num_others = others.len() * stride;
        arrows.extend(others);
        arrows.sort_by_key(|arrow| (!arrow.in_tree, arrow.sent, arrow.from_row, arrow.to_row));
        arrows.truncate(self.query.max_arrows);
        let num_left_out = num_own + num_others - arrows.len();
        (arrows, num_left_out)
    }

    /// Messages that the tree sent or received and that touch the window, and the stride of the sample.
    fn own_arrows(&self) -> (Vec<Arrow>, usize) {
        let (events, stride) = sampled(events_of_tree_time(self.forest, self.query.tree));
        let arrows = events
            .map(|row| CommRef {
                lane: self.own_lane,
                row: row as u32,
            })
            .filter(|&event| self.is_in_tree(event))
            .filter_map(|event| self.arrow(event, true))
            .filter(|arrow| {
                let (first, last) = (
                    arrow.sent.min(arrow.received),
                    arrow.sent.max(arrow.received),
                );
                first <= self.query.to && last >= self.query.from
            });
        (arrows.collect(), stride)
    }

    /// Messages between other calls with an end in the window, and the stride of the sample.
    fn other_arrows(&self) -> (Vec<Arrow>, usize) {
        let windows: Vec<_> = self
            .lanes
            .iter()
            .map(|&lane| (lane, self.events_in_window(lane)))
            .collect();
        let num_events = windows.iter().map(|(_, events)| events.len()).sum();
        let stride = stride(num_events);
        let arrows = windows
            .into_iter()
            .flat_map(|(lane, events)| {
                events.step_by(stride).map(move |row| CommRef {
                    lane,
                    row: row as u32,
                })
            })
            .filter(|&event| !self.is_in_tree(event))
            .filter_map(|event| self.arrow(event, false));
        (arrows.collect(), stride)
    }

    /// The arrow of the message that `event` belongs to, unless it is taken at its other end.
    fn arrow(&self, event: CommRef, in_tree: bool) -> Option<Arrow> {
        let trace = self.forest.trace();
        let (own, row) = (&trace.lane(event.lane).comms, event.row as usize);
        let mate = own.mate[row]?;
        let (other, mate_row) = (&trace.lane(mate.lane).comms, mate.row as usize);
        let (own_line, mate_line) = (
            self.row_of_lane[event.lane.index()]?,
            self.row_of_lane[mate.lane.index()]?,
        );
        let is_send = own.kind[row] == CommKind::Send;
        let mate_is_in_tree = self.is_in_tree(mate);
        let is_taken_there = match (in_tree, is_send) {
            (true, true) => false,
            (true, false) | (false, true) => mate_is_in_tree,
            (false, false) => mate_is_in_tree || self.is_in_window(other.time[mate_row]),
        };
        if is_taken_there {
            return None;
        }
        let (own_end, mate_end) = ((own_line, own.time[row]), (mate_line, other.time[mate_row]));
        let (sender, receiver) = if is_send {
            (own_end, mate_end)
        } else {
            (mate_end, own_end)
        };
        Some(Arrow {
            from_row: sender.0,
            to_row: receiver.0,
            sent: sender.1,
            received: receiver.1,
            size_bytes: if is_send {
                own.size_bytes[row]
            } else {
                other.size_bytes[mate_row]
            },
            tag: own.tag[row],
            in_tree,
        })
    }

    fn is_in_tree(&self, event: CommRef) -> bool {
        event.lane == self.own_lane
            && is_in_rows(
                self.forest.trace().lane(event.lane).comms.exec[event.row as usize],
                &self.tree_rows,
            )
    }

    fn is_in_window(&self, time: TimeNs) -> bool {
        (self.query.from..=self.query.to).contains(&time)
    }

    fn events_in_window(&self, lane: LaneIdx) -> Range<usize> {
        events_between(self.forest, lane, self.query.from, self.query.to)
    }
}

/// The other ends of the messages that the tree sent or received; an even sample if they are many.
pub(super) fn mates_of_tree(forest: &Forest, tree: TreeIdx) -> impl Iterator<Item = CommRef> + '_ {
    let comms = &forest.lane_of(tree).comms;
    let rows = forest.tree(tree).rows();
    let (events, _) = sampled(events_of_tree_time(forest, tree));
    events
        .filter(move |&row| is_in_rows(comms.exec[row], &rows))
        .filter_map(|row| comms.mate[row])
}

/// Message events on the tree's lane while the tree ran.
fn events_of_tree_time(forest: &Forest, tree: TreeIdx) -> Range<usize> {
    let view = forest.tree(tree);
    events_between(
        forest,
        forest.trees()[tree.index()].root.lane,
        view.entry()[0],
        view.exit(),
    )
}

fn events_between(forest: &Forest, lane: LaneIdx, from: TimeNs, to: TimeNs) -> Range<usize> {
    let times = &forest.trace().lane(lane).comms.time;
    let start = times.partition_point(|&time| time < from);
    start..start + times[start..].partition_point(|&time| time <= to)
}

fn is_in_rows(exec: Option<NonMaxIdx>, rows: &Range<usize>) -> bool {
    exec.is_some_and(|exec| rows.contains(&ExecIdx::from(exec).index()))
}

fn sampled(events: Range<usize>) -> (std::iter::StepBy<Range<usize>>, usize) {
    let stride = stride(events.len());
    (events.step_by(stride), stride)
}

fn stride(num_events: usize) -> usize {
    num_events.div_ceil(MAX_EVENTS).max(1)
}

#[cfg(test)]
mod tests {
    use callgrove_model::CommKind::{Recv, Send};

    use super::super::fixture::{forest, query, rank};
    use super::super::{TimelineQuery, layout_timeline};
    use super::*;

    /// Rank 0 runs `a` (the tree) and then `b`; both exchange messages with ranks 1 and 2.
    fn exchange() -> Forest {
        let zero = rank(
            0,
            "+main@0 +a@10 -a@50 +b@60 -b@90 -main@100",
            &[(Send, 1, 20), (Recv, 1, 40), (Send, 2, 70), (Recv, 2, 85)],
        );
        let one = rank(1, "+main@0 -main@100", &[(Recv, 0, 30), (Send, 0, 35)]);
        let two = rank(2, "+main@0 -main@100", &[(Recv, 0, 75), (Send, 0, 80)]);
        forest(vec![zero, one, two], "a")
    }

    /// Arrows as `row>row sent-received`, `*` for the tree's own; and the number left out.
    fn drawn(forest: &Forest, query: &TimelineQuery) -> (Vec<String>, usize) {
        let timeline = layout_timeline(forest, query);
        let arrows = timeline.arrows.iter().map(|arrow| {
            let mark = if arrow.in_tree { "*" } else { "" };
            format!(
                "{}>{}{mark} {}-{}",
                arrow.from_row, arrow.to_row, arrow.sent.0, arrow.received.0
            )
        });
        (arrows.collect(), timeline.num_arrows_left_out)
    }

    #[test]
    fn only_lanes_that_the_tree_exchanges_messages_with_are_rows() {
        let timeline = layout_timeline(&exchange(), &query(0, 100, 1));
        let lanes: Vec<_> = timeline.rows.iter().map(|row| row.lane.0).collect();
        assert_eq!((lanes, timeline.num_lanes_left_out), (vec![0, 1], 0));
        let capped = TimelineQuery {
            max_lanes: 0,
            ..query(0, 100, 1)
        };
        let timeline = layout_timeline(&exchange(), &capped);
        assert_eq!((timeline.rows.len(), timeline.num_lanes_left_out), (1, 1));
    }

    #[test]
    fn a_message_is_one_arrow_however_much_of_it_is_in_the_window() {
        let arrows = |from, to| drawn(&exchange(), &query(from, to, 1)).0;
        assert_eq!(arrows(0, 100), ["0>1* 20-30", "1>0* 35-40"]);
        assert_eq!(arrows(0, 25), ["0>1* 20-30"]);
        assert_eq!(
            arrows(22, 28),
            ["0>1* 20-30"],
            "sent before and received after the window"
        );
        assert_eq!(arrows(31, 34), [""; 0]);
    }

    #[test]
    fn messages_of_other_calls_come_after_the_trees_own_and_are_left_out_first() {
        let zero = rank(
            0,
            "+main@0 +a@10 -a@50 +b@60 -b@90 -main@100",
            &[(Send, 1, 5), (Send, 1, 20), (Recv, 1, 70)],
        );
        let one = rank(
            1,
            "+main@0 -main@100",
            &[(Recv, 0, 8), (Recv, 0, 30), (Send, 0, 65)],
        );
        let forest = forest(vec![zero, one], "a");
        let (arrows, left_out) = drawn(&forest, &query(0, 100, 1));
        assert_eq!(
            (arrows, left_out),
            (
                vec![
                    "0>1* 20-30".to_owned(),
                    "0>1 5-8".to_owned(),
                    "1>0 65-70".to_owned(),
                ],
                0
            )
        );
        let (arrows, left_out) = drawn(
            &forest,
            &TimelineQuery {
                max_arrows: 1,
                ..query(0, 100, 1)
            },
        );
        assert_eq!((arrows, left_out), (vec!["0>1* 20-30".to_owned()], 2));
        assert_eq!(
            drawn(&forest, &query(66, 72, 1)).0,
            ["1>0 65-70"],
            "met at its receiving"
        );
    }

    #[test]
    fn the_arrow_carries_size_and_tag_of_the_message() {
        let timeline = layout_timeline(&exchange(), &query(0, 100, 1));
        assert_eq!(
            (timeline.arrows[0].size_bytes, timeline.arrows[0].tag),
            (64, 7)
        );
    }

    #[test]
    fn a_flood_of_messages_is_sampled_and_estimated() {
        let num_messages = 3 * MAX_EVENTS;
        let times = |offset: i64| (0..num_messages as i64).map(move |k| 100 + 10 * k + offset);
        let sends: Vec<_> = std::iter::once((Send, 1, 20))
            .chain(times(0).map(|t| (Send, 1, t)))
            .collect();
        let recvs: Vec<_> = std::iter::once((Recv, 0, 30))
            .chain(times(5).map(|t| (Recv, 0, t)))
            .collect();
        let end = 200 + 10 * num_messages as i64;
        let zero = rank(0, &format!("+main@0 +a@10 -a@50 -main@{end}"), &sends);
        let one = rank(1, &format!("+main@0 -main@{end}"), &recvs);
        let forest = forest(vec![zero, one], "a");
        let (arrows, left_out) = drawn(&forest, &query(0, end, 100));
        assert_eq!((arrows.len(), arrows[0].as_str()), (100, "0>1* 20-30"));
        let estimate = left_out as f64 / num_messages as f64;
        assert!(
            (0.9..1.1).contains(&estimate),
            "{left_out} of {num_messages}"
        );
    }
}
