//! Where views ask for calls.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use callgrove_model::{LaneIdx, TimeNs, Trace};
use serde::{Deserialize, Serialize};

use super::ask::{AskCalls, AskState, CallsRefusal, CallsReply, WholeCalls};
use super::desk::{CallWish, CallsDesk, TakenUp};
use super::question::CallQuestion;
use crate::{MessageIndex, PatternList, RunCauses, RunPatterns};

/// An answer of more bytes is not sent.
const MAX_ANSWER_BYTES: usize = 32 << 20;

/// The calls of a run, wherever they are.
pub struct Calls {
    /// All of it, or only its head.
    trace: Arc<Trace>,
    facts: CallsFacts,
    /// `None` where others have them.
    whole: Option<WholeCalls>,
    desk: Mutex<CallsDesk>,
}

/// What is always known of the calls.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CallsFacts {
    /// First entry and last exit.
    span: Option<(TimeNs, TimeNs)>,
    num_calls: usize,
    num_messages: usize,
    /// Lanes on which nothing happened, ascending.
    silent: Vec<LaneIdx>,
}

impl Calls {
    /// The calls of a trace.
    pub fn here(trace: &Arc<Trace>) -> Self {
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
            whole: Some(WholeCalls {
                trace: Arc::clone(trace),
                messages: MessageIndex::new(trace),
                causes: OnceLock::new(),
                patterns: OnceLock::new(),
            }),
            trace: Arc::clone(trace),
            desk: Mutex::default(),
        }
    }

    /// Calls that others have; `trace` has empty lanes.
    pub(crate) fn far(trace: Arc<Trace>, facts: CallsFacts) -> Self {
        Self {
            trace,
            facts,
            whole: None,
            desk: Mutex::default(),
        }
    }

    /// Names, lanes and all that a trace has beside what happened on its lanes. That is there only where the calls are.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// What is always known of the calls.
    pub(crate) fn facts(&self) -> &CallsFacts {
        &self.facts
    }

    /// Whether others have them, so that an answer takes its time.
    pub fn is_far(&self) -> bool {
        self.whole.is_none()
    }

    /// First entry and last exit; `None` if nothing was called.
    pub fn time_span(&self) -> Option<(TimeNs, TimeNs)> {
        self.facts.span
    }

    /// Number of calls.
    pub fn num_calls(&self) -> usize {
        self.facts.num_calls
    }

    /// Number of messages.
    pub fn num_messages(&self) -> usize {
        self.facts.num_messages
    }

    /// Whether nothing happened on a lane.
    pub fn is_silent(&self, lane: LaneIdx) -> bool {
        self.facts.silent.binary_search(&lane).is_ok()
    }

    /// A frame begins: what is not asked for in it or the next is not wanted any more.
    pub fn begin_frame(&self) {
        self.desk().begin_frame();
    }

    /// Whether anything that was asked for in the last frame is still on its way.
    pub fn is_waiting(&self) -> bool {
        self.desk().is_waiting()
    }

    /// Whether an answer is worked on here, a little in each frame: so the next one shall be drawn soon.
    pub fn is_working(&self) -> bool {
        self.whole.is_some() && self.is_waiting()
    }

    /// The answer to a question; `None` while it is on its way, and if it was refused. Ask again in the next frame: who
    /// does not is taken not to want it any more.
    pub fn ask<Q>(&self, question: &Q) -> Option<Arc<Q::Answer>>
    where
        Q: AskCalls + Clone + Into<CallQuestion>,
    {
        self.reply(question).known()
    }

    /// The same, with a refusal told apart.
    pub fn reply<Q>(&self, question: &Q) -> AskState<Arc<Q::Answer>>
    where
        Q: AskCalls + Clone + Into<CallQuestion>,
    {
        let asked: CallQuestion = question.clone().into();
        let Ok(key) = rmp_serde::to_vec(&asked) else {
            return AskState::Refused;
        };
        let begin = |question: &CallQuestion| match &self.whole {
            Some(whole) => begin(whole, question),
            None => TakenUp::Far,
        };
        match self.desk().ask(&key, asked, begin) {
            AskState::Coming => AskState::Coming,
            AskState::Refused => AskState::Refused,
            AskState::Known(answer) => {
                let answer = answer.answer.downcast::<Q::Answer>();
                answer.map_or(AskState::Refused, AskState::Known)
            }
        }
    }

    /// What recurs was found in the calls: from now on it can be asked for. The answer is what is listed of it. What was
    /// found before stays, for it is the same.
    pub fn know_patterns(&self, found: RunPatterns) -> Option<Arc<PatternList>> {
        let whole = self.whole.as_ref()?;
        let known = whole.patterns.get_or_init(|| Arc::new(found));
        Some(Arc::clone(known.list()))
    }

    /// Who made whom late was found in the calls: from now on it can be asked for.
    pub fn know_causes(&self, found: RunCauses) -> Option<Arc<RunCauses>> {
        let whole = self.whole.as_ref()?;
        let known = whole.causes.get_or_init(|| Arc::new(found));
        Some(Arc::clone(known))
    }

    /// All that recurs, where the calls are here and it was found.
    pub fn patterns(&self) -> Option<&Arc<RunPatterns>> {
        self.whole.as_ref()?.patterns.get()
    }

    /// What to say next to whoever has the calls.
    pub(crate) fn next_wish(&self) -> Option<CallWish> {
        self.desk().next_wish()
    }

    /// An answer has come; `None` is a refusal. One that is not wanted any more is not read.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn take_answer(
        &self,
        number: u64,
        bytes: Option<&[u8]>,
    ) -> Result<(), rmp_serde::decode::Error> {
        let mut desk = self.desk();
        let Some(question) = desk.question(number) else {
            return Ok(());
        };
        let answer = bytes.map(|bytes| question.read(bytes)).transpose()?;
        desk.take(number, answer);
        Ok(())
    }

    /// Nothing that was sent will be answered.
    pub(crate) fn lose(&self) {
        self.desk().lose();
    }

    /// Answers a question of somebody else, as bytes; `Ok(None)` once it `is_forgotten`.
    ///
    /// # Errors
    /// Why not, in words.
    pub(crate) fn answer(
        &self,
        question: &CallQuestion,
        is_forgotten: impl Fn() -> bool,
    ) -> Result<Option<Vec<u8>>, String> {
        let whole = self.whole.as_ref();
        let whole = whole.ok_or("the calls are not here; ask whoever has them")?;
        let in_words = |refusal: CallsRefusal| refusal.to_string();
        let answer = match question.begin(whole).map_err(in_words)? {
            CallsReply::Done(answer) => answer,
            CallsReply::More(mut go_on) => loop {
                if is_forgotten() {
                    return Ok(None);
                }
                if let Some(answer) = go_on() {
                    break answer;
                }
            },
        };
        let bytes = question.write(&answer).map_err(|error| error.to_string())?;
        if bytes.len() > MAX_ANSWER_BYTES {
            return Err(in_words(CallsRefusal::TooMuch("bytes")));
        }
        Ok(Some(bytes))
    }

    fn desk(&self) -> MutexGuard<'_, CallsDesk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(whole: &WholeCalls, question: &CallQuestion) -> TakenUp {
    match question.begin(whole) {
        Ok(CallsReply::Done(answer)) => TakenUp::Known(Some(answer)),
        Ok(CallsReply::More(work)) => TakenUp::Working(work),
        Err(_) => TakenUp::Known(None),
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls")
            .field("facts", &self.facts)
            .field("is_far", &self.is_far())
            .finish_non_exhaustive()
    }
}
