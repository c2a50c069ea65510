//! Questions of one viewer about the calls of the run, answered one after the other beside all else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use callgrove_session::wire::{WireError, answer_frame};
use callgrove_session::{CallQuestion, Calls};
use tokio::task::{JoinHandle, spawn_blocking};

/// Questions of a viewer that may wait, and bytes that they may have together; a page asks less at once.
const MAX_WAITING: usize = 256;
const MAX_WAITING_BYTES: usize = 16 << 20;

/// What a viewer wants to know.
#[derive(Default)]
pub(crate) struct Questions {
    waiting: VecDeque<Waiting>,
    running: Option<Running>,
}

struct Waiting {
    calls: Arc<Calls>,
    number: u64,
    question: CallQuestion,
    num_bytes: usize,
}

struct Running {
    number: u64,
    is_forgotten: Arc<AtomicBool>,
    answer: JoinHandle<Result<Option<Vec<u8>>, WireError>>,
}

impl Questions {
    /// Takes a question; whether there was room for it.
    pub(crate) fn take(
        &mut self,
        calls: &Arc<Calls>,
        number: u64,
        (question, num_bytes): (CallQuestion, usize),
    ) -> bool {
        let waiting_bytes: usize = self.waiting.iter().map(|it| it.num_bytes).sum();
        let has_room = self.waiting.len() < MAX_WAITING
            && waiting_bytes.saturating_add(num_bytes) <= MAX_WAITING_BYTES;
        if has_room {
            self.waiting.push_back(Waiting {
                calls: Arc::clone(calls),
                number,
                question,
                num_bytes,
            });
        }
        has_room
    }

    /// The answer to a question is not wanted any more.
    pub(crate) fn forget(&mut self, number: u64) {
        self.waiting.retain(|waiting| waiting.number != number);
        let running = self.running.as_ref().filter(|it| it.number == number);
        if let Some(running) = running {
            running.is_forgotten.store(true, Ordering::Relaxed);
        }
    }

    /// Whether anything is to be answered.
    pub(crate) fn has_any(&self) -> bool {
        self.running.is_some() || !self.waiting.is_empty()
    }

    /// The next answer; none where it is not wanted any more. Whoever stops waiting for it may ask again.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        if self.running.is_none() {
            self.running = self.waiting.pop_front().map(Waiting::begin);
        }
        let Some(running) = &mut self.running else {
            return Ok(None);
        };
        let answer = (&mut running.answer).await;
        let is_forgotten = running.is_forgotten.load(Ordering::Relaxed);
        self.running = None;
        match answer {
            Ok(answer) => answer.map(|frame| frame.filter(|_| !is_forgotten)),
            // It panicked, or the server ends: the page asks anew on its next connection.
            Err(_) => Err(WireError::Order),
        }
    }
}

impl Drop for Questions {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.is_forgotten.store(true, Ordering::Relaxed);
        }
    }
}

impl Waiting {
    fn begin(self) -> Running {
        let Self {
            calls,
            number,
            question,
            ..
        } = self;
        let is_forgotten = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_forgotten);
        let answer =
            move || answer_frame(&calls, (number, &question), || told.load(Ordering::Relaxed));
        Running {
            number,
            is_forgotten,
            answer: spawn_blocking(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::Trace;
    use callgrove_session::CallsNamed;

    use super::*;

    fn question() -> CallQuestion {
        CallsNamed("mpi".to_owned()).into()
    }

    #[test]
    fn a_viewer_has_room_for_some_questions_and_takes_them_back() {
        let calls = Arc::new(Calls::here(&Arc::new(Trace::default())));
        let mut questions = Questions::default();
        let has_room = |questions: &mut Questions, number, num_bytes| {
            questions.take(&calls, number, (question(), num_bytes))
        };
        for number in 0..256 {
            assert!(has_room(&mut questions, number, 9));
        }
        assert!(!has_room(&mut questions, 256, 9), "they are too many");
        for number in 0..256 {
            questions.forget(number);
        }
        assert!(!questions.has_any());
        assert!(has_room(&mut questions, 1, MAX_WAITING_BYTES));
        assert!(!has_room(&mut questions, 2, 1), "they are too large");
    }
}
