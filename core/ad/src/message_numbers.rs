//! Numbers of messages: the how manieth of its channel each one is, which makes it the mate of one on another rank.

use std::collections::{BTreeMap, VecDeque};

use callgrove_model::{CommEvents, CommKind, Comms, RankId, StepId, ThreadId, TimeNs};

/// Most channels whose messages are counted; those of others have no number.
const MAX_CHANNELS: usize = 1 << 16;
/// Channels that are found at once.
const NUM_RECENT: usize = 64;
/// Newest messages of a thread that keep their numbers after a step.
const MAX_KEPT: usize = 4096;

/// Direction, other rank and tag.
type ChannelEnd = (CommKind, RankId, u64);

/// Counts the messages of one rank by channel.
///
/// MPI keeps the order of the messages with one sender, receiver and tag, so the n-th SEND of one side and the n-th
/// RECV of the other are mates. That holds if none was missed: once a step is missing, or the stream was joined late,
/// no message has a number any more, and a channel whose events come out of order has none from there on.
#[derive(Debug, Default)]
pub(crate) struct MessageNumbers {
    /// The step that comes next if none is missing.
    next_step: u32,
    /// A step is missing.
    is_lost: bool,
    channels: Channels,
    /// The newest messages of each thread in order of time.
    threads: BTreeMap<ThreadId, VecDeque<NumberedMessage>>,
}

#[derive(Debug)]
struct Channels {
    /// In the order in which they came first.
    counts: Vec<ChannelCount>,
    places: BTreeMap<ChannelEnd, usize>,
    /// Where those stand that came of late, by some bits of their ends.
    recent: [usize; NUM_RECENT],
}

#[derive(Debug)]
struct ChannelCount {
    end: ChannelEnd,
    /// The next number; `None` once the order is not known.
    next: Option<u64>,
    last: TimeNs,
}

#[derive(Debug)]
struct NumberedMessage {
    time: TimeNs,
    /// Its place among the channels, if its messages are counted.
    channel: Option<usize>,
    number: Option<u64>,
}

/// The numbers of the messages of a thread. Rows that ascend are found without a search.
#[derive(Clone, Debug)]
pub(crate) struct ThreadNumbers<'a> {
    channels: &'a Channels,
    messages: Option<&'a VecDeque<NumberedMessage>>,
    comms: &'a Comms,
    /// Time of the row asked for last, and the first message after it.
    end: Option<(TimeNs, usize)>,
}

impl MessageNumbers {
    /// Numbers the messages of the next step that came.
    pub(crate) fn take_in(&mut self, step: StepId, comms: &CommEvents) {
        self.is_lost |= step.0 != self.next_step;
        self.next_step = step.0.saturating_add(1);
        if self.is_lost {
            self.threads.clear();
            return;
        }
        let mut rows: Vec<usize> = (0..comms.len()).collect();
        // Two threads of a rank may share a channel: then time decides.
        if !comms.time.iter().zip(&comms.thread).is_sorted() {
            rows.sort_by_key(|&row| (comms.time[row], comms.thread[row]));
        }
        for rows in rows.chunk_by(|&a, &b| comms.thread[a] == comms.thread[b]) {
            let messages = self.threads.entry(comms.thread[rows[0]]).or_default();
            for &row in rows {
                let time = comms.time[row];
                let channel = (comms.kind[row], comms.partner[row], comms.tag[row]);
                let channel = self.channels.place(channel);
                let message = NumberedMessage {
                    time,
                    channel,
                    number: channel.and_then(|place| self.channels.counts[place].next(time)),
                };
                if messages.back().is_none_or(|last| last.time <= time) {
                    messages.push_back(message);
                } else {
                    let at = messages.partition_point(|known| known.time <= time);
                    messages.insert(at, message);
                }
            }
        }
    }

    /// Finds the numbers of the messages of a thread.
    pub(crate) fn of_thread<'a>(&'a self, thread: ThreadId, comms: &'a Comms) -> ThreadNumbers<'a> {
        ThreadNumbers {
            channels: &self.channels,
            messages: self.threads.get(&thread),
            comms,
            end: None,
        }
    }

    /// Forgets all but the newest messages of each thread.
    pub(crate) fn retire(&mut self) {
        for messages in self.threads.values_mut() {
            let num_over = messages.len().saturating_sub(MAX_KEPT);
            messages.drain(..num_over);
        }
    }
}

impl ThreadNumbers<'_> {
    /// The number of a message, by its row in the thread's messages; `None` if it is not known.
    pub(crate) fn number(&mut self, row: usize) -> Option<u64> {
        let (comms, messages) = (self.comms, self.messages?);
        let channel = |row: usize| (comms.kind[row], comms.partner[row], comms.tag[row]);
        let (time, own) = (comms.time[row], channel(row));
        let later = (row + 1..comms.len()).take_while(|&it| comms.time[it] == time);
        let num_later = later.filter(|&it| channel(it) == own).count();
        let place = self.channels.known(own);
        let end = match self.end {
            Some((before, end)) if before <= time => {
                let until = messages.range(end..).take_while(|it| it.time <= time);
                end + until.count()
            }
            _ => messages.partition_point(|it| it.time <= time),
        };
        self.end = Some((time, end));
        let same_time = messages.range(..end).rev().take_while(|it| it.time == time);
        // Of several at one time, the newest are the last to be forgotten.
        let mut same = same_time.filter(|it| it.channel == place);
        same.nth(num_later)?.number
    }
}

impl Channels {
    /// Where a channel stands; nowhere if there are too many.
    fn place(&mut self, end: ChannelEnd) -> Option<usize> {
        let recent = recent(end);
        let place = self.recent[recent];
        if self.counts.get(place).is_some_and(|it| it.end == end) {
            return Some(place);
        }
        let place = self.known_or_new(end)?;
        self.recent[recent] = place;
        Some(place)
    }

    /// The same if it came before.
    fn known(&self, end: ChannelEnd) -> Option<usize> {
        let place = self.recent[recent(end)];
        let is_recent = self.counts.get(place).is_some_and(|it| it.end == end);
        is_recent
            .then_some(place)
            .or_else(|| self.places.get(&end).copied())
    }

    fn known_or_new(&mut self, end: ChannelEnd) -> Option<usize> {
        if let Some(&place) = self.places.get(&end) {
            return Some(place);
        }
        let place = self.counts.len();
        if place == MAX_CHANNELS {
            return None;
        }
        self.places.insert(end, place);
        self.counts.push(ChannelCount {
            end,
            next: Some(0),
            last: TimeNs(i64::MIN),
        });
        Some(place)
    }
}

/// Which of those that came of late a channel may be.
fn recent((kind, partner, tag): ChannelEnd) -> usize {
    let bits =
        tag.wrapping_mul(5) ^ (u64::from(partner.0) << 1) ^ u64::from(kind == CommKind::Send);
    usize::from(bits.to_le_bytes()[0]) % NUM_RECENT
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            places: BTreeMap::new(),
            recent: [0; NUM_RECENT],
        }
    }
}

impl ChannelCount {
    /// The number of the next message, which is of this time.
    fn next(&mut self, time: TimeNs) -> Option<u64> {
        if time < self.last {
            self.next = None;
        }
        self.last = time;
        let number = self.next?;
        self.next = number.checked_add(1);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(0);

    /// Messages received from rank 1 at times, with a tag.
    fn step(messages: &[(i64, u64)]) -> CommEvents {
        let mut comms = CommEvents::default();
        for &(time, tag) in messages {
            comms.push(T, CommKind::Recv, tag, RankId(1), 8, TimeNs(time));
        }
        comms
    }

    /// The numbers of the same messages once they are on their lane.
    fn numbers(of: &MessageNumbers, messages: &[(i64, u64)]) -> Vec<Option<u64>> {
        let comms = Comms {
            time: messages.iter().map(|it| TimeNs(it.0)).collect(),
            kind: vec![CommKind::Recv; messages.len()],
            partner: vec![RankId(1); messages.len()],
            tag: messages.iter().map(|it| it.1).collect(),
            ..Comms::default()
        };
        let mut ascending = of.of_thread(T, &comms);
        let numbers: Vec<_> = (0..messages.len())
            .map(|row| ascending.number(row))
            .collect();
        let mut descending = of.of_thread(T, &comms);
        for row in (0..messages.len()).rev() {
            assert_eq!(descending.number(row), numbers[row], "row {row}");
        }
        numbers
    }

    #[test]
    fn messages_are_counted_by_channel_over_steps() {
        let mut of = MessageNumbers::default();
        of.take_in(StepId(0), &step(&[(10, 0), (20, 7), (30, 0)]));
        of.take_in(StepId(1), &step(&[(40, 7), (50, 0)]));
        let all = [(10, 0), (20, 7), (30, 0), (40, 7), (50, 0)];
        assert_eq!(
            numbers(&of, &all),
            [Some(0), Some(0), Some(1), Some(1), Some(2)]
        );
        assert_eq!(numbers(&of, &all[3..]), [Some(1), Some(2)]);
    }

    #[test]
    fn equal_messages_of_one_moment_keep_their_order() {
        let mut of = MessageNumbers::default();
        of.take_in(StepId(0), &step(&[(10, 0), (10, 0), (10, 5), (10, 0)]));
        let all = [(10, 0), (10, 0), (10, 5), (10, 0)];
        assert_eq!(numbers(&of, &all), [Some(0), Some(1), Some(0), Some(2)]);
        assert_eq!(numbers(&of, &all[1..]), [Some(1), Some(0), Some(2)]);
    }

    #[test]
    fn after_a_missing_step_or_a_late_start_no_number_is_known() {
        let mut of = MessageNumbers::default();
        of.take_in(StepId(0), &step(&[(10, 0)]));
        of.take_in(StepId(2), &step(&[(30, 0), (40, 9)]));
        assert_eq!(numbers(&of, &[(30, 0), (40, 9)]), [None, None]);
        let mut late = MessageNumbers::default();
        late.take_in(StepId(3), &step(&[(10, 0)]));
        late.take_in(StepId(4), &step(&[(20, 0)]));
        assert_eq!(numbers(&late, &[(10, 0), (20, 0)]), [None, None]);
    }

    #[test]
    fn a_channel_out_of_order_has_no_numbers_from_there_on_and_others_do() {
        let mut of = MessageNumbers::default();
        of.take_in(StepId(0), &step(&[(10, 0), (30, 0)]));
        of.take_in(StepId(1), &step(&[(20, 0), (40, 0), (50, 7)]));
        let all = [(10, 0), (20, 0), (30, 0), (40, 0), (50, 7)];
        assert_eq!(numbers(&of, &all), [Some(0), None, Some(1), None, Some(0)]);
    }
}
