//! The interface through which views query calls.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use callgrove_model::{LaneIdx, TimeNs, Trace};
use serde::{Deserialize, Serialize};

use super::query::{AskCalls, AskState, CallsRefusal, CallsReply, LocalCalls};
use super::query_cache::{CallRequest, NewQuery, QueryCache};
use super::question::CallQuestion;
use crate::causes::RunCauses;
use crate::patterns::{PatternList, RunPatterns};
use crate::timeline::MessageIndex;

/// Largest answer that is sent, in bytes.
const MAX_ANSWER_BYTES: usize = 32 << 20;

/// The calls of a run, local or remote.
pub struct Calls {
    /// The whole trace, or only its head if the calls are remote.
    trace: Arc<Trace>,
    facts: CallsFacts,
    /// All calls; `None` if they are remote.
    local: Option<Arc<LocalCalls>>,
    cache: Mutex<QueryCache>,
}

/// Facts about the calls that are always available.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CallsFacts {
    /// First entry and last exit.
    span: Option<(TimeNs, TimeNs)>,
    num_calls: usize,
    num_messages: usize,
    /// Lanes without calls and messages, ascending.
    silent: Vec<LaneIdx>,
}

impl Calls {
    /// Returns the calls of a trace in this process.
    pub fn local(trace: &Arc<Trace>) -> Self {
        let is_silent =
            |lane: &callgrove_model::Lane| lane.executions.is_empty() && lane.comms.is_empty();
        let silent = trace.lanes().filter(|(_, lane)| is_silent(lane));
        Self {
            facts: CallsFacts {
                span: trace.time_span(),
                num_calls: trace.num_executions(),
                num_messages: trace.messages.len(),
                silent: silent.map(|(lane, _)| lane).collect(),
            },
            local: Some(Arc::new(LocalCalls {
                trace: Arc::clone(trace),
                messages: MessageIndex::new(trace),
                causes: OnceLock::new(),
                patterns: OnceLock::new(),
            })),
            trace: Arc::clone(trace),
            cache: Mutex::default(),
        }
    }

    /// Returns the calls of a trace in another process; the lanes of `trace` are empty.
    pub fn remote(trace: Arc<Trace>, facts: CallsFacts) -> Self {
        Self {
            trace,
            facts,
            local: None,
            cache: Mutex::default(),
        }
    }

    /// Returns the same calls for another user, who asks other questions at the same time.
    #[must_use]
    pub fn with_own_cache(&self) -> Self {
        Self {
            trace: Arc::clone(&self.trace),
            facts: self.facts.clone(),
            local: self.local.clone(),
            cache: Mutex::default(),
        }
    }

    /// Returns the trace: names, lanes and everything else, but the content of the lanes only if the calls are local.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the facts that are always available.
    pub fn facts(&self) -> &CallsFacts {
        &self.facts
    }

    /// Returns whether the calls are in another process, so that answers take time.
    pub fn is_remote(&self) -> bool {
        self.local.is_none()
    }

    /// Returns the first entry and the last exit; `None` if there are no calls.
    pub fn time_span(&self) -> Option<(TimeNs, TimeNs)> {
        self.facts.span
    }

    /// Returns the number of calls.
    pub fn num_calls(&self) -> usize {
        self.facts.num_calls
    }

    /// Returns the number of messages.
    pub fn num_messages(&self) -> usize {
        self.facts.num_messages
    }

    /// Returns whether a lane has neither calls nor messages.
    pub fn is_silent(&self, lane: LaneIdx) -> bool {
        self.facts.silent.binary_search(&lane).is_ok()
    }

    /// Starts a frame. Questions that are asked neither in it nor in the next one are dropped.
    pub fn begin_frame(&self) {
        self.cache().begin_frame();
    }

    /// Returns whether a question of the last frame is not answered yet.
    pub fn is_waiting(&self) -> bool {
        self.cache().is_waiting()
    }

    /// Returns whether an answer is being computed in this process, so that the next frame should be drawn soon.
    pub fn is_working(&self) -> bool {
        self.local.is_some() && self.is_waiting()
    }

    /// Returns the answer to a question; `None` until there is one, and if the question was refused. Repeat the
    /// question in every frame, otherwise it is dropped.
    pub fn ask<Q>(&self, question: &Q) -> Option<Arc<Q::Answer>>
    where
        Q: AskCalls + Clone + Into<CallQuestion>,
    {
        self.reply(question).known()
    }

    /// Like [`Calls::ask`], but distinguishes a refusal.
    pub fn reply<Q>(&self, question: &Q) -> AskState<Arc<Q::Answer>>
    where
        Q: AskCalls + Clone + Into<CallQuestion>,
    {
        let asked: CallQuestion = question.clone().into();
        let Ok(key) = rmp_serde::to_vec(&asked) else {
            return AskState::Refused;
        };
        let begin = |question: &CallQuestion| match &self.local {
            Some(local) => begin(local, question),
            None => NewQuery::Remote,
        };
        match self.cache().ask(&key, asked, begin) {
            AskState::Pending => AskState::Pending,
            AskState::Refused => AskState::Refused,
            AskState::Known(answer) => {
                let answer = answer.answer.downcast::<Q::Answer>();
                answer.map_or(AskState::Refused, AskState::Known)
            }
        }
    }

    /// Sets the repeated patterns, which can be queried from now on, and returns their list. Patterns that were set
    /// before are kept, because they are the same.
    pub fn set_patterns(&self, found: RunPatterns) -> Option<Arc<PatternList>> {
        let local = self.local.as_ref()?;
        let known = local.patterns.get_or_init(|| Arc::new(found));
        Some(Arc::clone(known.list()))
    }

    /// Sets the causes of delays, which can be queried from now on.
    pub fn set_causes(&self, found: RunCauses) -> Option<Arc<RunCauses>> {
        let local = self.local.as_ref()?;
        let known = local.causes.get_or_init(|| Arc::new(found));
        Some(Arc::clone(known))
    }

    /// Returns all patterns, if the calls are local and the patterns have been computed.
    pub fn patterns(&self) -> Option<&Arc<RunPatterns>> {
        self.local.as_ref()?.patterns.get()
    }

    /// Returns the next request to the process that has the calls.
    pub fn next_request(&self) -> Option<CallRequest> {
        self.cache().next_request()
    }

    /// Takes an answer; `None` is a refusal. Answers that are no longer wanted are not decoded.
    ///
    /// # Errors
    /// The bytes are not a valid answer.
    pub fn take_answer(
        &self,
        number: u64,
        bytes: Option<&[u8]>,
    ) -> Result<(), rmp_serde::decode::Error> {
        let mut cache = self.cache();
        let Some(question) = cache.question(number) else {
            return Ok(());
        };
        let answer = bytes.map(|bytes| question.read(bytes)).transpose()?;
        cache.take(number, answer);
        Ok(())
    }

    /// Marks all sent questions to be sent again.
    pub fn requeue_sent(&self) {
        self.cache().requeue_sent();
    }

    /// Answers a question of another process, as bytes; `Ok(None)` once it `is_forgotten`.
    ///
    /// # Errors
    /// The reason of the refusal, as text.
    pub fn answer(
        &self,
        question: &CallQuestion,
        is_forgotten: impl Fn() -> bool,
    ) -> Result<Option<Vec<u8>>, String> {
        let local = self.local.as_ref();
        let local = local.ok_or("the calls are not in this process; ask the one that has them")?;
        let as_text = |refusal: CallsRefusal| refusal.to_string();
        let answer = match question.begin(local).map_err(as_text)? {
            CallsReply::Done(answer) => answer,
            CallsReply::More(mut advance) => loop {
                if is_forgotten() {
                    return Ok(None);
                }
                if let Some(answer) = advance() {
                    break answer;
                }
            },
        };
        let bytes = question.write(&answer).map_err(|error| error.to_string())?;
        if bytes.len() > MAX_ANSWER_BYTES {
            return Err(as_text(CallsRefusal::TooMuch("bytes")));
        }
        Ok(Some(bytes))
    }

    fn cache(&self) -> MutexGuard<'_, QueryCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(local: &LocalCalls, question: &CallQuestion) -> NewQuery {
    match question.begin(local) {
        Ok(CallsReply::Done(answer)) => NewQuery::Known(Some(answer)),
        Ok(CallsReply::More(work)) => NewQuery::Working(work),
        Err(_) => NewQuery::Known(None),
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls")
            .field("facts", &self.facts)
            .field("is_remote", &self.is_remote())
            .finish_non_exhaustive()
    }
}
