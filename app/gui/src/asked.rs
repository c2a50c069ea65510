//! What a view asks while it changes: one question at a time, and then the newest.
//!
//! A question that is not asked in every frame is taken back ([`Calls`]). So whoever would ask another one in each
//! frame, while something is dragged, would never be answered where the calls are far.

use std::sync::Arc;

use callgrove_session::{AskCalls, AskState, CallQuestion, Calls};

/// The newest answer to questions of one kind, and the question that is on its way.
pub(crate) struct Asked<Q: AskCalls> {
    of: Option<Arc<Calls>>,
    open: Option<Q>,
    known: Option<(Q, Arc<Q::Answer>)>,
}

impl<Q: AskCalls> Default for Asked<Q> {
    fn default() -> Self {
        Self {
            of: None,
            open: None,
            known: None,
        }
    }
}

impl<Q: AskCalls + Clone + PartialEq + Into<CallQuestion>> Asked<Q> {
    /// The newest answer, with its question: `wanted`, or one from before while that is on its way.
    pub(crate) fn ask(&mut self, calls: &Arc<Calls>, wanted: &Q) -> Option<&(Q, Arc<Q::Answer>)> {
        if !self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, calls)) {
            *self = Self::default();
            self.of = Some(Arc::clone(calls));
        }
        while self.known.as_ref().is_none_or(|(of, _)| of != wanted) {
            let open = self.open.take().unwrap_or_else(|| wanted.clone());
            match calls.reply(&open) {
                AskState::Coming => {
                    self.open = Some(open);
                    break;
                }
                AskState::Known(answer) => self.known = Some((open, answer)),
                AskState::Refused if open == *wanted => {
                    self.known = None;
                    break;
                }
                AskState::Refused => {}
            }
        }
        self.known()
    }

    /// The newest answer that has come, with its question.
    pub(crate) fn known(&self) -> Option<&(Q, Arc<Q::Answer>)> {
        self.known.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use callgrove_session::{IterationAt, TotalsOf};

    use super::*;
    use crate::test_support::{snapshot, with_patterns};

    #[test]
    fn a_long_answer_comes_though_another_question_is_wanted_in_every_frame() {
        let demo = with_patterns(&snapshot(1, 9));
        let calls = demo.calls.unwrap();
        let (from, to) = calls.time_span().unwrap();
        let wanted = |at: i64| TotalsOf {
            range: callgrove_session::TimeRange {
                from,
                to: callgrove_model::TimeNs(to.0 + at),
            },
            lanes: vec![callgrove_model::LaneIdx(0)],
        };
        let mut asked = Asked::default();
        let first = (0..9).find_map(|at| {
            calls.begin_frame();
            asked.ask(&calls, &wanted(at)).map(|(of, _)| of.clone())
        });
        assert!(first.is_some(), "it is answered meanwhile");
    }

    #[test]
    fn what_is_refused_is_given_up_for_what_is_wanted_next() {
        let demo = with_patterns(&snapshot(1, 9));
        let calls = demo.calls.unwrap();
        let (time, _) = calls.time_span().unwrap();
        let on_lane = |lane: u32| IterationAt {
            lane: callgrove_model::LaneIdx(lane),
            time,
        };
        let mut asked = Asked::default();
        assert!(asked.ask(&calls, &on_lane(0)).is_some());
        assert!(asked.ask(&calls, &on_lane(77)).is_none(), "there is none");
        assert!(asked.ask(&calls, &on_lane(0)).is_some());
        let others = snapshot(1, 9).calls.unwrap();
        assert!(asked.ask(&others, &on_lane(0)).is_none(), "of another run");
    }
}
