//! Answers of any type, in memory and as bytes.

use std::any::Any;
use std::sync::Arc;

use super::query::{AskCalls, CallsRefusal, CallsReply, LocalCalls};

/// An answer and its size in bytes of memory.
#[derive(Clone)]
pub(crate) struct AnyAnswer {
    pub(super) answer: Arc<dyn Any + Send + Sync>,
    pub(super) num_bytes: usize,
}

/// The reply to a question of any type.
pub(super) type AnyReply = CallsReply<AnyAnswer>;

impl AnyAnswer {
    fn new<Q: AskCalls>(answer: Q::Answer) -> Self {
        Self {
            num_bytes: Q::answer_bytes(&answer),
            answer: Arc::new(answer),
        }
    }
}

pub(super) fn begin_any<Q: AskCalls>(
    question: &Q,
    calls: &LocalCalls,
) -> Result<AnyReply, CallsRefusal> {
    Ok(match question.begin(calls)? {
        CallsReply::Done(answer) => CallsReply::Done(AnyAnswer::new::<Q>(answer)),
        CallsReply::More(mut advance) => {
            CallsReply::More(Box::new(move || advance().map(AnyAnswer::new::<Q>)))
        }
    })
}

/// Returns the bytes of an answer to a question of type `Q`; empty for an answer of another type.
pub(super) fn write_any<Q: AskCalls>(
    answer: &AnyAnswer,
) -> Result<Vec<u8>, rmp_serde::encode::Error> {
    let answer = answer.answer.downcast_ref::<Q::Answer>();
    answer.map_or_else(|| Ok(Vec::new()), rmp_serde::to_vec)
}

pub(super) fn read_any<Q: AskCalls>(bytes: &[u8]) -> Result<AnyAnswer, rmp_serde::decode::Error> {
    rmp_serde::from_slice(bytes).map(AnyAnswer::new::<Q>)
}
