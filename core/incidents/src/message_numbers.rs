//! Message numbers: the position of each message in its channel, which pairs it with the message of the same number on
//! another rank.

use std::collections::{BTreeMap, VecDeque};

use callgrove_model::{CommEvents, CommKind, Comms, RankId, StepId, ThreadId, TimeNs};

/// Largest number of channels whose messages are counted. Messages of other channels have no number.
const MAX_CHANNELS: usize = 1 << 16;
/// Number of channels that are found without a search.
const NUM_RECENT: usize = 64;
/// Number of the newest messages of a thread that keep their numbers after a step.
const MAX_KEPT: usize = 4096;

/// One end of a channel: direction, other rank, tag.
type ChannelEnd = (CommKind, RankId, u64);

/// Counts the messages of one rank by channel.
///
/// MPI keeps the order of messages with the same sender, receiver and tag, so the n-th SEND on one side matches the
/// n-th RECV on the other. This only holds if no message was missed. After a missing step, or if the stream was joined
/// late, no message has a number any more. A channel whose events arrive out of order has no numbers from there on.
#[derive(Debug, Default)]
pub struct MessageNumbers {
    /// The step that comes next if no step is missing.
    next_step: u32,
    /// True once a step is missing.
    is_lost: bool,
    channels: Channels,
    /// The newest messages of each thread, in order of time.
    threads: BTreeMap<ThreadId, VecDeque<NumberedMessage>>,
}

#[derive(Debug)]
struct Channels {
    /// In order of first use.
    counts: Vec<ChannelCount>,
    indices: BTreeMap<ChannelEnd, usize>,
    /// Indices of recently used channels, by some bits of their ends.
    recent: [usize; NUM_RECENT],
}

#[derive(Debug)]
struct ChannelCount {
    end: ChannelEnd,
    /// The next number; `None` once the order is unknown.
    next: Option<u64>,
    last: TimeNs,
}

#[derive(Debug)]
struct NumberedMessage {
    time: TimeNs,
    /// Index of the channel, if its messages are counted.
    channel: Option<usize>,
    number: Option<u64>,
}

/// The message numbers of a thread. Ascending rows are found without a search.
#[derive(Clone, Debug)]
pub struct ThreadNumbers<'a> {
    channels: &'a Channels,
    messages: Option<&'a VecDeque<NumberedMessage>>,
    comms: &'a Comms,
    /// Time of the last requested row, and the index of the first message after it.
    end: Option<(TimeNs, usize)>,
}

impl MessageNumbers {
    /// Numbers the messages of the next step.
    pub fn take_in(&mut self, step: StepId, comms: &CommEvents) {
        self.is_lost |= step.0 != self.next_step;
        self.next_step = step.0.saturating_add(1);
        if self.is_lost {
            self.threads.clear();
            return;
        }
        let mut rows: Vec<usize> = (0..comms.len()).collect();
        // If two threads of a rank share a channel, time decides.
        if !comms.time.iter().zip(&comms.thread).is_sorted() {
            rows.sort_by_key(|&row| (comms.time[row], comms.thread[row]));
        }
        for rows in rows.chunk_by(|&a, &b| comms.thread[a] == comms.thread[b]) {
            let messages = self.threads.entry(comms.thread[rows[0]]).or_default();
            for &row in rows {
                let time = comms.time[row];
                let channel = (comms.kind[row], comms.partner[row], comms.tag[row]);
                let channel = self.channels.index(channel);
                let message = NumberedMessage {
                    time,
                    channel,
                    number: channel.and_then(|index| self.channels.counts[index].next(time)),
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

    /// Returns the numbers of the messages of a thread.
    pub fn of_thread<'a>(&'a self, thread: ThreadId, comms: &'a Comms) -> ThreadNumbers<'a> {
        ThreadNumbers {
            channels: &self.channels,
            messages: self.threads.get(&thread),
            comms,
            end: None,
        }
    }

    /// Drops all but the newest messages of each thread.
    pub fn retire(&mut self) {
        for messages in self.threads.values_mut() {
            let num_excess = messages.len().saturating_sub(MAX_KEPT);
            messages.drain(..num_excess);
        }
    }
}

impl ThreadNumbers<'_> {
    /// Returns the number of a message by its row in the thread's messages, or `None` if it is unknown.
    pub fn number(&mut self, row: usize) -> Option<u64> {
        let (comms, messages) = (self.comms, self.messages?);
        let channel = |row: usize| (comms.kind[row], comms.partner[row], comms.tag[row]);
        let (time, own) = (comms.time[row], channel(row));
        let later = (row + 1..comms.len()).take_while(|&it| comms.time[it] == time);
        let num_later = later.filter(|&it| channel(it) == own).count();
        let index = self.channels.known(own);
        let end = match self.end {
            Some((before, end)) if before <= time => {
                let until = messages.range(end..).take_while(|it| it.time <= time);
                end + until.count()
            }
            _ => messages.partition_point(|it| it.time <= time),
        };
        self.end = Some((time, end));
        let same_time = messages.range(..end).rev().take_while(|it| it.time == time);
        // Messages at the same time are dropped oldest first, so count from the newest.
        let mut same = same_time.filter(|it| it.channel == index);
        same.nth(num_later)?.number
    }
}

impl Channels {
    /// Returns the index of a channel, or `None` if there are too many channels.
    fn index(&mut self, end: ChannelEnd) -> Option<usize> {
        let recent = recent(end);
        let index = self.recent[recent];
        if self.counts.get(index).is_some_and(|it| it.end == end) {
            return Some(index);
        }
        let index = self.known_or_new(end)?;
        self.recent[recent] = index;
        Some(index)
    }

    /// Returns the index of a channel that has been used before.
    fn known(&self, end: ChannelEnd) -> Option<usize> {
        let index = self.recent[recent(end)];
        let is_recent = self.counts.get(index).is_some_and(|it| it.end == end);
        is_recent
            .then_some(index)
            .or_else(|| self.indices.get(&end).copied())
    }

    fn known_or_new(&mut self, end: ChannelEnd) -> Option<usize> {
        if let Some(&index) = self.indices.get(&end) {
            return Some(index);
        }
        let index = self.counts.len();
        if index == MAX_CHANNELS {
            return None;
        }
        self.indices.insert(end, index);
        self.counts.push(ChannelCount {
            end,
            next: Some(0),
            last: TimeNs(i64::MIN),
        });
        Some(index)
    }
}

/// Returns the entry of `Channels::recent` for a channel.
fn recent((kind, partner, tag): ChannelEnd) -> usize {
    let bits =
        tag.wrapping_mul(5) ^ (u64::from(partner.0) << 1) ^ u64::from(kind == CommKind::Send);
    usize::from(bits.to_le_bytes()[0]) % NUM_RECENT
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            indices: BTreeMap::new(),
            recent: [0; NUM_RECENT],
        }
    }
}

impl ChannelCount {
    /// Returns the number of the next message, which has this time.
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

    /// Returns messages received from rank 1 at these times with these tags.
    fn step(messages: &[(i64, u64)]) -> CommEvents {
        let mut comms = CommEvents::default();
        for &(time, tag) in messages {
            comms.push(T, CommKind::Recv, tag, RankId(1), 8, TimeNs(time));
        }
        comms
    }

    /// Returns the numbers of the same messages once they are on their lane.
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
    fn equal_messages_at_the_same_time_keep_their_order() {
        let mut of = MessageNumbers::default();
        of.take_in(StepId(0), &step(&[(10, 0), (10, 0), (10, 5), (10, 0)]));
        let all = [(10, 0), (10, 0), (10, 5), (10, 0)];
        assert_eq!(numbers(&of, &all), [Some(0), Some(1), Some(0), Some(2)]);
        assert_eq!(numbers(&of, &all[1..]), [Some(1), Some(0), Some(2)]);
    }

    #[test]
    fn numbers_are_unknown_after_a_missing_step_or_a_late_start() {
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
    fn only_a_channel_out_of_order_loses_its_numbers() {
        let mut of = MessageNumbers::default();
        of.take_in(StepId(0), &step(&[(10, 0), (30, 0)]));
        of.take_in(StepId(1), &step(&[(20, 0), (40, 0), (50, 7)]));
        let all = [(10, 0), (20, 0), (30, 0), (40, 0), (50, 7)];
        assert_eq!(numbers(&of, &all), [Some(0), None, Some(1), None, Some(0)]);
    }
}
