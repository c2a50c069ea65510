//! A queue of one viewer's questions about the calls of the run, which are answered one at a time in the background.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use callgrove_query::{CallQuestion, Calls};
use callgrove_wire::{WireError, answer_frame};
use tokio::task::{JoinHandle, spawn_blocking};

/// Maximum number of waiting questions of a viewer; a page asks fewer at once.
const MAX_WAITING: usize = 256;
/// Maximum total size of the waiting questions of a viewer.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// The questions of one viewer.
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
    is_cancelled: Arc<AtomicBool>,
    answer: JoinHandle<Result<Option<Vec<u8>>, WireError>>,
}

impl Questions {
    /// Adds a question. Returns false if the queue is full.
    pub(crate) fn add(
        &mut self,
        calls: &Arc<Calls>,
        number: u64,
        (question, num_bytes): (CallQuestion, usize),
    ) -> bool {
        let waiting_bytes: usize = self.waiting.iter().map(|it| it.num_bytes).sum();
        let fits = self.waiting.len() < MAX_WAITING
            && waiting_bytes.saturating_add(num_bytes) <= MAX_WAITING_BYTES;
        if fits {
            self.waiting.push_back(Waiting {
                calls: Arc::clone(calls),
                number,
                question,
                num_bytes,
            });
        }
        fits
    }

    /// Cancels a question whose answer is no longer needed.
    pub(crate) fn cancel(&mut self, number: u64) {
        self.waiting.retain(|waiting| waiting.number != number);
        let running = self.running.as_ref().filter(|it| it.number == number);
        if let Some(running) = running {
            running.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether any question waits for its answer.
    pub(crate) fn has_any(&self) -> bool {
        self.running.is_some() || !self.waiting.is_empty()
    }

    /// Returns the next answer; `None` if it was cancelled. Cancel-safe: a dropped call can be repeated.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        if self.running.is_none() {
            self.running = self.waiting.pop_front().map(Waiting::begin);
        }
        let Some(running) = &mut self.running else {
            return Ok(None);
        };
        let answer = (&mut running.answer).await;
        let is_cancelled = running.is_cancelled.load(Ordering::Relaxed);
        self.running = None;
        match answer {
            Ok(answer) => answer.map(|frame| frame.filter(|_| !is_cancelled)),
            // The task panicked, or the server is stopping: the page asks again on its next connection.
            Err(_) => Err(WireError::Order),
        }
    }
}

impl Drop for Questions {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.is_cancelled.store(true, Ordering::Relaxed);
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
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let cancelled = Arc::clone(&is_cancelled);
        let answer = move || {
            answer_frame(&calls, (number, &question), || {
                cancelled.load(Ordering::Relaxed)
            })
        };
        Running {
            number,
            is_cancelled,
            answer: spawn_blocking(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::Trace;
    use callgrove_query::CallsNamed;

    use super::*;

    fn question() -> CallQuestion {
        CallsNamed("mpi".to_owned()).into()
    }

    #[test]
    fn questions_are_limited_and_can_be_cancelled() {
        let calls = Arc::new(Calls::local(&Arc::new(Trace::default())));
        let mut questions = Questions::default();
        let fits = |questions: &mut Questions, number, num_bytes| {
            questions.add(&calls, number, (question(), num_bytes))
        };
        for number in 0..256 {
            assert!(fits(&mut questions, number, 9));
        }
        assert!(!fits(&mut questions, 256, 9), "too many questions");
        for number in 0..256 {
            questions.cancel(number);
        }
        assert!(!questions.has_any());
        assert!(fits(&mut questions, 1, MAX_WAITING_BYTES));
        assert!(!fits(&mut questions, 2, 1), "questions too large");
    }
}
