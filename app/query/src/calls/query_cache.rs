//! Cache of questions and answers, and the queue of questions to send.

use std::collections::BTreeMap;

use super::answers::AnyAnswer;
use super::query::AskState;
use super::question::CallQuestion;

/// Largest size of the cached answers, in bytes.
const MAX_KEPT_BYTES: usize = 48 << 20;
/// Largest number of questions that are sent and not answered.
const MAX_SENT: usize = 64;
/// Number of frames after which a question that was not repeated is dropped. One frame may pass without it.
const NUM_FRAMES: u64 = 2;

/// Caches the questions and answers of one run.
#[derive(Default)]
pub(super) struct QueryCache {
    /// Questions by their bytes, with their states.
    asked: BTreeMap<Vec<u8>, CachedQuery>,
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

struct CachedQuery {
    question: CallQuestion,
    frame: u64,
    state: CachedState,
}

enum CachedState {
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
pub(super) enum NewQuery {
    /// It is answered, or refused (`None`).
    Known(Option<AnyAnswer>),
    /// It is being answered in this process, a little in each frame.
    Working(Work),
    /// Another process answers it.
    Remote,
}

/// A request to the process that has the calls.
#[derive(Debug)]
pub enum CallRequest {
    /// Asks a question, identified by its number.
    Ask(u64, CallQuestion),
    /// Cancels a question.
    Forget(u64),
}

impl QueryCache {
    /// Starts a frame. Cancels work for questions that recent frames did not ask.
    pub(super) fn begin_frame(&mut self) {
        self.frame += 1;
        let is_left = |asked: &CachedQuery| matches!(asked.state, CachedState::Working(_));
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
        begin: impl FnOnce(&CallQuestion) -> NewQuery,
    ) -> AskState<AnyAnswer> {
        self.num_asked += 1;
        if !self.asked.contains_key(key) {
            self.add(key, question, begin);
        }
        let (frame, now) = (self.frame, self.num_asked);
        let Some(asked) = self.asked.get_mut(key) else {
            return AskState::Pending;
        };
        asked.frame = frame;
        if let CachedState::Working(work) = &mut asked.state
            && let Some(answer) = work()
        {
            self.open.retain(|_, of| of != key);
            self.keep(key, Some(answer));
        }
        if let Some(asked) = self.asked.get_mut(key)
            && let CachedState::Known(answer, time) = &mut asked.state
        {
            if let Some(key) = self.kept.remove(time) {
                let now = now.max(*time);
                *time = now;
                self.kept.insert(now, key);
            }
            return (answer.clone()).map_or(AskState::Refused, AskState::Known);
        }
        AskState::Pending
    }

    fn add(
        &mut self,
        key: &[u8],
        question: CallQuestion,
        begin: impl FnOnce(&CallQuestion) -> NewQuery,
    ) {
        let begun = begin(&question);
        let (state, known) = match begun {
            NewQuery::Known(answer) => (CachedState::Wanted, Some(answer)),
            NewQuery::Working(work) => (CachedState::Working(work), None),
            NewQuery::Remote => (CachedState::Wanted, None),
        };
        let asked = CachedQuery {
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
    fn stale(&self, is_meant: impl Fn(&CachedQuery) -> bool) -> Option<(u64, Vec<u8>)> {
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
        asked.state = CachedState::Known(answer, self.num_asked);
        self.kept.insert(self.num_asked, key.to_vec());
        self.kept_bytes += num_bytes;
        while self.kept_bytes > MAX_KEPT_BYTES && self.kept.len() > 1 {
            let Some((_, oldest)) = self.kept.pop_first() else {
                break;
            };
            if let Some(CachedQuery {
                state: CachedState::Known(answer, _),
                ..
            }) = self.asked.remove(&oldest)
            {
                self.kept_bytes -= cost(&oldest, answer.as_ref());
            }
        }
    }

    /// Returns the next request to the process that has the calls.
    pub(super) fn next_request(&mut self) -> Option<CallRequest> {
        while let Some((number, key)) = self.stale(|_| true) {
            self.open.remove(&number);
            let state = self.asked.remove(&key).map(|asked| asked.state);
            if let Some(CachedState::Sent) = state {
                self.num_sent = self.num_sent.saturating_sub(1);
                return Some(CallRequest::Forget(number));
            }
        }
        if self.num_sent >= MAX_SENT {
            return None;
        }
        for (&number, key) in &self.open {
            if let Some(asked) = self.asked.get_mut(key)
                && let CachedState::Wanted = asked.state
            {
                asked.state = CachedState::Sent;
                self.num_sent += 1;
                return Some(CallRequest::Ask(number, asked.question.clone()));
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
    pub(super) fn requeue_sent(&mut self) {
        for key in self.open.values() {
            if let Some(asked) = self.asked.get_mut(key) {
                asked.state = CachedState::Wanted;
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
    fn ask(cache: &mut QueryCache, number: usize, begun: NewQuery) -> bool {
        let key = number.to_le_bytes();
        cache
            .ask(&key, question(number), |_| begun)
            .known()
            .is_some()
    }

    #[test]
    fn the_least_recently_used_answers_are_evicted() {
        let mut cache = QueryCache::default();
        for number in 0..200 {
            let known = NewQuery::Known(Some(answer(MAX_KEPT_BYTES / 50)));
            assert!(ask(&mut cache, number, known));
            // The first is asked for repeatedly.
            assert!(ask(&mut cache, 0, NewQuery::Remote));
            assert!(cache.kept_bytes <= MAX_KEPT_BYTES);
        }
        assert_eq!(cache.kept.len(), cache.asked.len());
        assert!((40..50).contains(&cache.kept.len()), "{}", cache.kept.len());
        let all: usize = (cache.asked.iter())
            .map(|(key, asked)| match &asked.state {
                CachedState::Known(answer, _) => cost(key, answer.as_ref()),
                _ => 0,
            })
            .sum();
        assert_eq!(cache.kept_bytes, all);
        assert!(!ask(&mut cache, 1, NewQuery::Remote), "it was evicted");
    }

    #[test]
    fn one_answer_beyond_the_limit_is_kept_alone() {
        let mut cache = QueryCache::default();
        for number in 0..3 {
            let known = NewQuery::Known(Some(answer(2 * MAX_KEPT_BYTES)));
            assert!(ask(&mut cache, number, known));
            assert_eq!(cache.kept.len(), 1);
        }
    }

    #[test]
    fn unanswered_questions_are_limited() {
        let mut cache = QueryCache::default();
        for number in 0..MAX_SENT + 9 {
            assert!(!ask(&mut cache, number, NewQuery::Remote));
        }
        let sent: Vec<CallRequest> = std::iter::from_fn(|| cache.next_request()).collect();
        assert_eq!(sent.len(), MAX_SENT);
        let Some(CallRequest::Ask(number, _)) = sent.first() else {
            panic!("it asks {sent:?}");
        };
        cache.take(*number, None);
        cache.take(u64::MAX, None);
        assert_eq!(std::iter::from_fn(|| cache.next_request()).count(), 1);
    }

    #[test]
    fn long_work_continues_while_asked_for_and_ends_otherwise() {
        let mut cache = QueryCache::default();
        let work = || {
            let mut left = 3;
            NewQuery::Working(Box::new(move || {
                left -= 1;
                (left == 0).then(|| answer(9))
            }))
        };
        let known: Vec<bool> = (0..4)
            .map(|_| {
                cache.begin_frame();
                ask(&mut cache, 1, work())
            })
            .collect();
        assert_eq!(known, [false, false, true, true]);
        assert!(!ask(&mut cache, 2, work()));
        for _ in 0..NUM_FRAMES {
            cache.begin_frame();
        }
        assert!(!ask(&mut cache, 2, work()), "it starts again");
        assert_eq!(cache.open.len(), 1);
    }
}
