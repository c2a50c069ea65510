//! Messages between the rows: selects which are drawn, and counts the others.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use callgrove_model::{
    CommKind, CommRef, DurationNs, ExecIdx, ExecRef, FunctionName, LaneIdx, NonMaxIdx, TimeNs,
    Trace,
};
use serde::{Deserialize, Serialize};

/// Number of messages that are skipped together if none of them touches the window.
const BLOCK_LEN: usize = 512;

/// An index of the messages of a trace in their order ([`Trace::messages`]), for searching any window
/// in one pass. 44 bytes per message.
#[derive(Clone, Debug, Default)]
pub struct MessageIndex {
    trace: Arc<Trace>,
    sent: Vec<TimeNs>,
    received: Vec<TimeNs>,
    /// Sender and receiver.
    lanes: Vec<[LaneIdx; 2]>,
    /// The calls that sent and received.
    execs: Vec<[Option<NonMaxIdx>; 2]>,
    /// Waiting time of the receiving call that the message ended; otherwise zero.
    waited: Vec<DurationNs>,
    /// First start and last end of the messages in each [`BLOCK_LEN`].
    blocks: Vec<(TimeNs, TimeNs)>,
}

/// A query for messages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MessageQuery {
    /// Start of the window.
    pub from: TimeNs,
    /// Its end.
    pub to: TimeNs,
    /// Number of columns in which messages that are not drawn are counted.
    pub num_columns: usize,
    /// Largest number of arrows.
    pub max_arrows: usize,
    /// The selected call, whose messages come first.
    pub call: Option<ExecRef>,
    /// The selected tree, whose messages come second.
    pub tree: Option<ExecRef>,
}

/// The visibility of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LaneView {
    /// It has no row.
    Absent,
    /// Its row is outside the visible area.
    Elsewhere,
    /// Its row is visible.
    InView,
}

/// The messages that touch a window and a visible row.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MessagesInView {
    /// Messages to draw, the most important kind first, then by time of sending.
    pub arrows: Vec<Arrow>,
    /// Number of all messages.
    pub num_messages: usize,
    /// Number of messages sent in each column of the window that are not drawn.
    pub density: Vec<u32>,
}

/// A message to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Arrow {
    /// Index in [`Trace::messages`].
    pub message: usize,
    /// Sender.
    pub from: LaneIdx,
    /// Receiver.
    pub to: LaneIdx,
    /// Time of sending.
    pub sent: TimeNs,
    /// Time of receiving.
    pub received: TimeNs,
    /// Waiting time of the receiving call.
    pub waited: DurationNs,
    /// Size as stated by the sender.
    pub size_bytes: u64,
    /// Tag.
    pub tag: u64,
    /// Owner of the message.
    pub of: ArrowOf,
}

/// The owner of a message, the most important first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ArrowOf {
    /// The selected call sent or received it.
    Call,
    /// The selected tree sent or received it.
    Tree,
    /// Neither of them.
    Others,
}

impl MessageIndex {
    /// Indexes all messages of a trace.
    pub fn new(trace: &Arc<Trace>) -> Self {
        let enders: Vec<Vec<bool>> = trace
            .lanes()
            .map(|(lane, _)| last_receives(trace, lane))
            .collect();
        let mpi: Vec<bool> = trace
            .names
            .iter()
            .map(|(_, name)| FunctionName::parse(name).is_mpi())
            .collect();
        let mut index = Self {
            trace: Arc::clone(trace),
            ..Self::default()
        };
        for message in &trace.messages {
            let end = |event: CommRef| {
                let comms = &trace.lane(event.lane).comms;
                (
                    comms.time[event.row as usize],
                    comms.exec[event.row as usize],
                )
            };
            let ((sent, sender), (received, receiver)) = (end(message.send), end(message.recv));
            let waiting = receiver.filter(|&exec| {
                let func =
                    trace.lane(message.recv.lane).executions.func[ExecIdx::from(exec).index()];
                mpi[func.index()] && enders[message.recv.lane.index()][message.recv.row as usize]
            });
            let entered = waiting.map(|exec| {
                trace.lane(message.recv.lane).executions.entry[ExecIdx::from(exec).index()]
            });
            index.sent.push(sent);
            index.received.push(received);
            index.lanes.push([message.send.lane, message.recv.lane]);
            index.execs.push([sender, receiver]);
            index
                .waited
                .push(entered.map_or(DurationNs::ZERO, |entered| received.since(entered)));
        }
        let block = |start: usize| {
            let all = start..(start + BLOCK_LEN).min(index.sent.len());
            let first = all
                .clone()
                .map(|at| index.sent[at].min(index.received[at]))
                .min();
            let last = all.map(|at| index.sent[at].max(index.received[at])).max();
            (first.unwrap_or_default(), last.unwrap_or_default())
        };
        index.blocks = (0..index.sent.len())
            .step_by(BLOCK_LEN)
            .map(block)
            .collect();
        index
    }

    /// Returns the trace of the messages.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Finds the messages that touch the window and a visible row, and selects which to draw: those of the
    /// call, of the tree, then others. If one kind has too many, selects those that ended the longest waits, those
    /// longest under way, and an even sample over time. `views` is by lane.
    pub fn in_view(&self, query: &MessageQuery, views: &[LaneView]) -> MessagesInView {
        let owners = Owners::new(&self.trace, query);
        let mut density = vec![0; query.num_columns.max(1)];
        let mut by_owner: [Vec<u32>; 3] = Default::default();
        let mut num_messages = 0;
        for at in self.touching(query.from, query.to) {
            let [sender, receiver] = self.lanes[at].map(|lane| views[lane.index()]);
            if sender != LaneView::InView && receiver != LaneView::InView {
                continue;
            }
            num_messages += 1;
            density[self.column(query, at)] += 1;
            if sender != LaneView::Absent && receiver != LaneView::Absent {
                by_owner[owners.owner(self.lanes[at], self.execs[at]) as usize].push(at as u32);
            }
        }
        let mut arrows = Vec::new();
        for (of, messages) in [ArrowOf::Call, ArrowOf::Tree, ArrowOf::Others]
            .into_iter()
            .zip(by_owner)
        {
            let capacity = query.max_arrows.saturating_sub(arrows.len());
            for at in self.most_important(messages, capacity, query) {
                density[self.column(query, at as usize)] -= 1;
                arrows.push(self.arrow(at as usize, of));
            }
        }
        MessagesInView {
            arrows,
            num_messages,
            density,
        }
    }

    /// Returns the messages under way between `from` and `to`, in order of sending.
    fn touching(&self, from: TimeNs, to: TimeNs) -> impl Iterator<Item = usize> + '_ {
        let blocks = self.blocks.iter().enumerate();
        blocks
            .filter(move |(_, (first, last))| *first <= to && *last >= from)
            .flat_map(|(block, _)| {
                block * BLOCK_LEN..((block + 1) * BLOCK_LEN).min(self.sent.len())
            })
            .filter(move |&at| {
                let (sent, received) = (self.sent[at], self.received[at]);
                sent.min(received) <= to && sent.max(received) >= from
            })
    }

    fn column(&self, query: &MessageQuery, at: usize) -> usize {
        let num_columns = query.num_columns.max(1);
        let length_ns = query.to.since(query.from).0.max(1);
        let share = self.sent[at].since(query.from).0 as f64 / length_ns as f64;
        ((share * num_columns as f64).max(0.0) as usize).min(num_columns - 1)
    }

    /// Returns at most `capacity` of `messages` (in order of sending), in that order.
    fn most_important(
        &self,
        messages: Vec<u32>,
        capacity: usize,
        query: &MessageQuery,
    ) -> Vec<u32> {
        if messages.len() <= capacity {
            return messages;
        }
        let waited = |at: u32| self.waited[at as usize];
        let under_way = |at: u32| self.received[at as usize].since(self.sent[at as usize]);
        // Hashing spreads the choice among equally important messages over the whole window.
        let scattered = |at: u32| at.wrapping_mul(0x9E37_79B1);
        let mut rest = messages;
        let mut chosen = Vec::with_capacity(capacity);
        for key in [&waited as &dyn Fn(u32) -> DurationNs, &under_way] {
            let num_important = rest
                .iter()
                .filter(|&&at| key(at) > DurationNs::ZERO)
                .count();
            let num = (capacity / 3).min(num_important);
            if num > 0 {
                rest.select_nth_unstable_by_key(num - 1, |&at| (Reverse(key(at)), scattered(at)));
                chosen.extend(rest.drain(..num));
            }
        }
        rest.sort_unstable();
        let places = capacity - chosen.len();
        let mut taken = None;
        chosen.extend(rest.iter().copied().filter(|&at| {
            // Divide the window into as many equal parts as there are arrows left, and take the first message of each.
            let part = self.column(
                &MessageQuery {
                    num_columns: places,
                    ..query.clone()
                },
                at as usize,
            );
            places > 0 && taken.replace(part) != Some(part)
        }));
        chosen.sort_unstable();
        chosen
    }

    fn arrow(&self, at: usize, of: ArrowOf) -> Arrow {
        let [from, to] = self.lanes[at];
        let send = self.trace.messages[at].send;
        let (comms, row) = (&self.trace.lane(send.lane).comms, send.row as usize);
        Arrow {
            message: at,
            from,
            to,
            sent: self.sent[at],
            received: self.received[at],
            waited: self.waited[at],
            size_bytes: comms.size_bytes[row],
            tag: comms.tag[row],
            of,
        }
    }
}

/// Returns for each message event of a lane whether it is the last receive of its call.
fn last_receives(trace: &Trace, lane: LaneIdx) -> Vec<bool> {
    let lane = trace.lane(lane);
    let mut last = vec![None; lane.executions.len()];
    for (row, exec) in lane.comms.exec.iter().enumerate() {
        if let (Some(exec), CommKind::Recv) = (exec, lane.comms.kind[row]) {
            last[ExecIdx::from(*exec).index()] = Some(row as u32);
        }
    }
    let mut is_last = vec![false; lane.comms.len()];
    for row in last.into_iter().flatten() {
        is_last[row as usize] = true;
    }
    is_last
}

/// The calls whose messages take precedence.
struct Owners {
    call: Option<(LaneIdx, Range<usize>)>,
    tree: Option<(LaneIdx, Range<usize>)>,
}

impl Owners {
    fn new(trace: &Trace, query: &MessageQuery) -> Self {
        let rows = |exec: ExecRef| {
            (
                exec.lane,
                trace.lane(exec.lane).executions.subtree(exec.exec),
            )
        };
        Self {
            call: query.call.map(rows),
            tree: query.tree.map(rows),
        }
    }

    fn owner(&self, lanes: [LaneIdx; 2], execs: [Option<NonMaxIdx>; 2]) -> ArrowOf {
        let is_of = |owner: &Option<(LaneIdx, Range<usize>)>| {
            owner.as_ref().is_some_and(|(lane, rows)| {
                lanes
                    .iter()
                    .zip(execs)
                    .any(|(other, exec)| other == lane && is_in(exec, rows))
            })
        };
        if is_of(&self.call) {
            ArrowOf::Call
        } else if is_of(&self.tree) {
            ArrowOf::Tree
        } else {
            ArrowOf::Others
        }
    }
}

fn is_in(exec: Option<NonMaxIdx>, rows: &Range<usize>) -> bool {
    exec.is_some_and(|exec| rows.contains(&ExecIdx::from(exec).index()))
}

#[cfg(test)]
mod tests {
    use callgrove_model::CommKind::{Recv, Send};
    use proptest::prelude::*;

    use super::super::fixture::{forest, rank};
    use super::*;

    /// Rank 0 runs `a` and then `b`; both exchange messages with ranks 1 and 2.
    fn exchange() -> Trace {
        let zero = rank(
            0,
            "+main@0 +a@10 -a@50 +b@60 -b@90 -main@100",
            &[(Send, 1, 20), (Recv, 1, 40), (Send, 2, 70), (Recv, 2, 85)],
        );
        let one = rank(1, "+main@0 -main@100", &[(Recv, 0, 30), (Send, 0, 35)]);
        let two = rank(2, "+main@0 -main@100", &[(Recv, 0, 75), (Send, 0, 80)]);
        Trace::clone(forest(vec![zero, one, two], "a").trace())
    }

    fn query(from: i64, to: i64, max_arrows: usize) -> MessageQuery {
        MessageQuery {
            from: TimeNs(from),
            to: TimeNs(to),
            num_columns: 10,
            max_arrows,
            call: None,
            tree: None,
        }
    }

    /// Returns the arrows as `lane>lane sent-received`, and the number of messages that are not drawn.
    fn drawn(trace: &Trace, query: &MessageQuery) -> (Vec<String>, u32) {
        let views = vec![LaneView::InView; trace.lanes.len()];
        let found = MessageIndex::new(&Arc::new(trace.clone())).in_view(query, &views);
        let text = |arrow: &Arrow| {
            format!(
                "{}>{} {}-{}",
                arrow.from, arrow.to, arrow.sent.0, arrow.received.0
            )
        };
        let num_left_out: u32 = found.density.iter().sum();
        assert_eq!(
            found.arrows.len() + num_left_out as usize,
            found.num_messages
        );
        (found.arrows.iter().map(text).collect(), num_left_out)
    }

    #[test]
    fn a_message_is_one_arrow_even_if_partly_outside_the_window() {
        let arrows = |from, to| drawn(&exchange(), &query(from, to, 9)).0;
        assert_eq!(arrows(0, 60), ["0>1 20-30", "1>0 35-40"]);
        assert_eq!(arrows(0, 25), ["0>1 20-30"]);
        assert_eq!(
            arrows(22, 28),
            ["0>1 20-30"],
            "sent before and received after the window"
        );
        assert_eq!(arrows(31, 34), [""; 0]);
    }

    #[test]
    fn messages_of_the_tree_take_precedence() {
        let trace = exchange();
        let b = ExecRef {
            lane: LaneIdx(0),
            exec: ExecIdx(2),
        };
        let of_tree = MessageQuery {
            tree: Some(b),
            ..query(0, 100, 2)
        };
        assert_eq!(
            drawn(&trace, &of_tree),
            (vec!["0>2 70-75".to_owned(), "2>0 80-85".to_owned()], 2)
        );
    }

    #[test]
    fn messages_to_visible_rows_are_counted_even_if_not_drawn() {
        use LaneView::{Absent, Elsewhere, InView};
        let index = MessageIndex::new(&Arc::new(exchange()));
        let views = |views: [LaneView; 3]| {
            let found = index.in_view(&query(0, 100, 9), &views);
            (found.arrows.len(), found.num_messages)
        };
        assert_eq!(views([InView, Elsewhere, Absent]), (2, 4));
        assert_eq!(views([Elsewhere, InView, Elsewhere]), (2, 2));
        assert_eq!(views([Elsewhere, Elsewhere, Elsewhere]), (0, 0));
    }

    /// Returns a trace with many short messages early, and a late one that rank 1 waits long for.
    fn flood(num_messages: usize) -> Trace {
        let times = |offset: i64| (0..num_messages as i64).map(move |k| 10 * k + offset);
        let end = 40 * num_messages as i64;
        let (late, waits) = (end - 20, 11 * num_messages as i64);
        let sends: Vec<_> = times(1).chain([late]).map(|t| (Send, 1, t)).collect();
        let recvs: Vec<_> = times(5).chain([late + 3]).map(|t| (Recv, 0, t)).collect();
        let zero = rank(0, &format!("+main@0 -main@{end}"), &sends);
        let one = rank(
            1,
            &format!(
                "+main@0 +MPI_Recv@{waits} -MPI_Recv@{} -main@{end}",
                late + 5
            ),
            &recvs,
        );
        Trace::clone(forest(vec![zero, one], "main").trace())
    }

    /// Regression: only the earliest of too many messages were drawn, so that ranks seemed to be silent later.
    #[test]
    fn too_many_messages_are_sampled_over_the_whole_window_and_all_are_counted() {
        let trace = flood(5_000);
        let end = 50_000;
        let (arrows, left_out) = drawn(&trace, &query(0, end, 300));
        assert!((150..=300).contains(&arrows.len()), "{}", arrows.len());
        assert_eq!(arrows.len() + left_out as usize, 5_000);
        let sent = |arrow: &String| -> i64 {
            let times = arrow.split_once(' ').expect("lanes, then times").1;
            times
                .split_once('-')
                .expect("two times")
                .0
                .parse()
                .expect("a time")
        };
        let late = arrows.iter().filter(|arrow| sent(arrow) > end / 2).count();
        assert!(
            3 * late > arrows.len(),
            "{late} of {} in the later half",
            arrows.len()
        );
    }

    #[test]
    fn the_message_that_ends_the_longest_wait_is_drawn_among_thousands() {
        let trace = flood(5_000);
        let (arrows, _) = drawn(&trace, &query(0, 200_000, 30));
        assert!(
            arrows.contains(&"0>1 199980-199983".to_owned()),
            "{arrows:?}"
        );
    }

    proptest! {
        #[test]
        fn the_index_finds_the_same_messages_as_a_full_search(
            times in prop::collection::vec((0_i64..9_000, -20_i64..600), 1..1_200),
            from in -10_i64..9_000, length in 0_i64..4_000, max_arrows in 0_usize..60,
        ) {
            let mut trace = flood(times.len());
            let messages = trace.messages.clone();
            let mut times = times;
            times.sort_unstable();
            for (message, (sent, flight)) in messages.iter().zip(&times) {
                trace.lanes[message.send.lane.index()].comms.time[message.send.row as usize] = TimeNs(*sent);
                trace.lanes[message.recv.lane.index()].comms.time[message.recv.row as usize] = TimeNs(sent + flight);
            }
            trace.messages.truncate(times.len());
            let to = from + length;
            let touches = |(sent, flight): &&(i64, i64)| {
                *sent.min(&(sent + flight)) <= to && *sent.max(&(sent + flight)) >= from
            };
            let num_touching = times.iter().filter(touches).count();
            let (arrows, left_out) = drawn(&trace, &query(from, to, max_arrows));
            prop_assert_eq!(arrows.len() + left_out as usize, num_touching);
            prop_assert!(arrows.len() <= max_arrows);
        }
    }
}
