//! Cache of questions and answers, and the queue of questions to send.

use std::collections::BTreeMap;

use super::answers::AnyAnswer;
use super::ask::AskState;
use super::question::CallQuestion;

/// Largest size of the cached answers, in bytes.
const MAX_KEPT_BYTES: usize = 48 << 20;
/// Largest number of questions that are sent and not answered.
const MAX_SENT: usize = 64;
/// Number of frames after which a question that was not repeated is dropped. One frame may pass without it.
const NUM_FRAMES: u64 = 2;

/// Caches the questions and answers of one run.
#[derive(Default)]
pub(super) struct CallsDesk {
    /// Questions by their bytes, with their states.
    asked: BTreeMap<Vec<u8>, Asked>,
    /// Questions without an answer, by number.
    open: BTreeMap<u64, Vec<u8>>,
    /// Questions with an answer, by the time when they were asked last.
    kept: BTreeMap<u64, Vec<u8>>,
    num_sent: usize,
    kept_bytes: usize,
    frame: u64,
    /// Logical time; increases with each question and answer.
    num_asked: u64,
}

struct Asked {
    question: CallQuestion,
    frame: u64,
    state: AskedState,
}

enum AskedState {
    /// It is being answered in this process, a little in each frame.
    Working(Work),
    /// It waits to be sent.
    Wanted,
    /// It has been sent.
    Sent,
    /// It is answered, or refused (`None`). The number is the time when it was asked last.
    Known(Option<AnyAnswer>, u64),
}

/// Processes some more of the trace; returns the answer at the end.
type Work = Box<dyn FnMut() -> Option<AnyAnswer> + Send>;

/// The first reply to a new question.
pub(super) enum TakenUp {
    /// It is answered, or refused (`None`).
    Known(Option<AnyAnswer>),
    /// It is being answered in this process, a little in each frame.
    Working(Work),
    /// Another process answers it.
    Far,
}

/// A request to the process that has the calls.
#[derive(Debug)]
pub(crate) enum CallWish {
    /// Asks a question, identified by its number.
    Ask(u64, CallQuestion),
    /// Cancels a question.
    Forget(u64),
}

impl CallsDesk {
    /// Starts a frame. Cancels work for questions that recent frames did not ask.
    pub(super) fn begin_frame(&mut self) {
        self.frame += 1;
        let is_left = |asked: &Asked| matches!(asked.state, AskedState::Working(_));
        while let Some((number, key)) = self.stale(is_left) {
            self.open.remove(&number);
            self.asked.remove(&key);
        }
    }

    /// Returns whether recent frames asked a question that is not answered yet.
    pub(super) fn is_waiting(&self) -> bool {
        let mut asked = self.open.values().filter_map(|key| self.asked.get(key));
        asked.any(|asked| asked.frame + NUM_FRAMES > self.frame)
    }

    /// Returns the answer to a question. `begin` starts a new question.
    pub(super) fn ask(
        &mut self,
        key: &[u8],
        question: CallQuestion,
        begin: impl FnOnce(&CallQuestion) -> TakenUp,
    ) -> AskState<AnyAnswer> {
        self.num_asked += 1;
        if !self.asked.contains_key(key) {
            self.add(key, question, begin);
        }
        let (frame, now) = (self.frame, self.num_asked);
        let Some(asked) = self.asked.get_mut(key) else {
            return AskState::Coming;
        };
        asked.frame = frame;
        if let AskedState::Working(work) = &mut asked.state
            && let Some(answer) = work()
        {
            self.open.retain(|_, of| of != key);
            self.keep(key, Some(answer));
        }
        if let Some(asked) = self.asked.get_mut(key)
            && let AskedState::Known(answer, time) = &mut asked.state
        {
            if let Some(key) = self.kept.remove(time) {
                let now = now.max(*time);
                *time = now;
                self.kept.insert(now, key);
            }
            return (answer.clone()).map_or(AskState::Refused, AskState::Known);
        }
        AskState::Coming
    }

    fn add(
        &mut self,
        key: &[u8],
        question: CallQuestion,
        begin: impl FnOnce(&CallQuestion) -> TakenUp,
    ) {
        let begun = begin(&question);
        let (state, known) = match begun {
            TakenUp::Known(answer) => (AskedState::Wanted, Some(answer)),
            TakenUp::Working(work) => (AskedState::Working(work), None),
            TakenUp::Far => (AskedState::Wanted, None),
        };
        let asked = Asked {
            question,
            frame: self.frame,
            state,
        };
        self.asked.insert(key.to_vec(), asked);
        match known {
            Some(answer) => self.keep(key, answer),
            None => {
                self.open.insert(self.num_asked, key.to_vec());
            }
        }
    }

    /// Returns an unanswered question that recent frames did not ask.
    fn stale(&self, is_meant: impl Fn(&Asked) -> bool) -> Option<(u64, Vec<u8>)> {
        let is_stale = |key: &Vec<u8>| {
            let asked = self.asked.get(key);
            asked.is_none_or(|asked| asked.frame + NUM_FRAMES <= self.frame && is_meant(asked))
        };
        let mut open = self.open.iter();
        let (number, key) = open.find(|(_, key)| is_stale(key))?;
        Some((*number, key.clone()))
    }

    /// Caches an answer, and evicts the least recently used ones beyond the size limit.
    fn keep(&mut self, key: &[u8], answer: Option<AnyAnswer>) {
        self.num_asked += 1;
        let Some(asked) = self.asked.get_mut(key) else {
            return;
        };
        let num_bytes = cost(key, answer.as_ref());
        asked.state = AskedState::Known(answer, self.num_asked);
        self.kept.insert(self.num_asked, key.to_vec());
        self.kept_bytes += num_bytes;
        while self.kept_bytes > MAX_KEPT_BYTES && self.kept.len() > 1 {
            let Some((_, oldest)) = self.kept.pop_first() else {
                break;
            };
            if let Some(Asked {
                state: AskedState::Known(answer, _),
                ..
            }) = self.asked.remove(&oldest)
            {
                self.kept_bytes -= cost(&oldest, answer.as_ref());
            }
        }
    }

    /// Returns the next request to the process that has the calls.
    pub(super) fn next_wish(&mut self) -> Option<CallWish> {
        while let Some((number, key)) = self.stale(|_| true) {
            self.open.remove(&number);
            let state = self.asked.remove(&key).map(|asked| asked.state);
            if let Some(AskedState::Sent) = state {
                self.num_sent = self.num_sent.saturating_sub(1);
                return Some(CallWish::Forget(number));
            }
        }
        if self.num_sent >= MAX_SENT {
            return None;
        }
        for (&number, key) in &self.open {
            if let Some(asked) = self.asked.get_mut(key)
                && let AskedState::Wanted = asked.state
            {
                asked.state = AskedState::Sent;
                self.num_sent += 1;
                return Some(CallWish::Ask(number, asked.question.clone()));
            }
        }
        None
    }

    /// Returns the question with a number, if its answer is still wanted.
    pub(super) fn question(&self, number: u64) -> Option<&CallQuestion> {
        Some(&self.asked.get(self.open.get(&number)?)?.question)
    }

    /// Takes an answer, or a refusal (`None`).
    pub(super) fn take(&mut self, number: u64, answer: Option<AnyAnswer>) {
        if let Some(key) = self.open.remove(&number) {
            self.num_sent = self.num_sent.saturating_sub(1);
            self.keep(&key, answer);
        }
    }

    /// Marks all sent questions to be sent again, because the connection was lost.
    pub(super) fn lose(&mut self) {
        for key in self.open.values() {
            if let Some(asked) = self.asked.get_mut(key) {
                asked.state = AskedState::Wanted;
            }
        }
        self.num_sent = 0;
    }
}

/// Returns the memory of a cached answer in bytes. The key is stored twice, and the question itself is about as large.
fn cost(key: &[u8], answer: Option<&AnyAnswer>) -> usize {
    // Size of the map entries and the fixed part of a question.
    const ENTRY: usize = 256;
    ENTRY + 3 * key.len() + answer.map_or(0, |answer| answer.num_bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::CallsNamed;

    fn question(number: usize) -> CallQuestion {
        CallsNamed(number.to_string()).into()
    }

    fn answer(num_bytes: usize) -> AnyAnswer {
        AnyAnswer {
            answer: Arc::new(num_bytes),
            num_bytes,
        }
    }

    /// Asks, and returns whether the answer was known.
    fn ask(desk: &mut CallsDesk, number: usize, begun: TakenUp) -> bool {
        let key = number.to_le_bytes();
        desk.ask(&key, question(number), |_| begun)
            .known()
            .is_some()
    }

    #[test]
    fn the_least_recently_used_answers_are_evicted() {
        let mut desk = CallsDesk::default();
        for number in 0..200 {
            let known = TakenUp::Known(Some(answer(MAX_KEPT_BYTES / 50)));
            assert!(ask(&mut desk, number, known));
            // The first is asked for again and again.
            assert!(ask(&mut desk, 0, TakenUp::Far));
            assert!(desk.kept_bytes <= MAX_KEPT_BYTES);
        }
        assert_eq!(desk.kept.len(), desk.asked.len());
        assert!((40..50).contains(&desk.kept.len()), "{}", desk.kept.len());
        let all: usize = (desk.asked.iter())
            .map(|(key, asked)| match &asked.state {
                AskedState::Known(answer, _) => cost(key, answer.as_ref()),
                _ => 0,
            })
            .sum();
        assert_eq!(desk.kept_bytes, all);
        assert!(!ask(&mut desk, 1, TakenUp::Far), "it was evicted");
    }

    #[test]
    fn one_answer_beyond_the_limit_is_kept_alone() {
        let mut desk = CallsDesk::default();
        for number in 0..3 {
            let known = TakenUp::Known(Some(answer(2 * MAX_KEPT_BYTES)));
            assert!(ask(&mut desk, number, known));
            assert_eq!(desk.kept.len(), 1);
        }
    }

    #[test]
    fn unanswered_questions_are_limited() {
        let mut desk = CallsDesk::default();
        for number in 0..MAX_SENT + 9 {
            assert!(!ask(&mut desk, number, TakenUp::Far));
        }
        let sent: Vec<CallWish> = std::iter::from_fn(|| desk.next_wish()).collect();
        assert_eq!(sent.len(), MAX_SENT);
        let Some(CallWish::Ask(number, _)) = sent.first() else {
            panic!("it asks {sent:?}");
        };
        desk.take(*number, None);
        desk.take(u64::MAX, None);
        assert_eq!(std::iter::from_fn(|| desk.next_wish()).count(), 1);
    }

    #[test]
    fn long_work_continues_while_asked_for_and_ends_otherwise() {
        let mut desk = CallsDesk::default();
        let work = || {
            let mut left = 3;
            TakenUp::Working(Box::new(move || {
                left -= 1;
                (left == 0).then(|| answer(9))
            }))
        };
        let known: Vec<bool> = (0..4)
            .map(|_| {
                desk.begin_frame();
                ask(&mut desk, 1, work())
            })
            .collect();
        assert_eq!(known, [false, false, true, true]);
        assert!(!ask(&mut desk, 2, work()));
        for _ in 0..NUM_FRAMES {
            desk.begin_frame();
        }
        assert!(!ask(&mut desk, 2, work()), "it starts again");
        assert_eq!(desk.open.len(), 1);
    }
}
