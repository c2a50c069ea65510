//! The latest answer to a view's query: one query is in flight at a time, and then the newest one is sent.
//!
//! A query that is not repeated in each frame is withdrawn ([`Calls`]). Without this type, a view that changed its
//! query in each frame, for example while something is dragged, would never get an answer from remote calls.

use std::sync::Arc;

use callgrove_session::{AskCalls, AskState, CallQuestion, Calls};

/// The newest answer to queries of one kind, and the query in flight.
pub struct LatestAnswer<Q: AskCalls> {
    calls: Option<Arc<Calls>>,
    open: Option<Q>,
    known: Option<(Q, Arc<Q::Answer>)>,
}

impl<Q: AskCalls> Default for LatestAnswer<Q> {
    fn default() -> Self {
        Self {
            calls: None,
            open: None,
            known: None,
        }
    }
}

impl<Q: AskCalls + Clone + PartialEq + Into<CallQuestion>> LatestAnswer<Q> {
    /// Returns the newest answer and its query: that to `wanted`, or an earlier one while `wanted` is in flight.
    pub fn ask(&mut self, calls: &Arc<Calls>, wanted: &Q) -> Option<&(Q, Arc<Q::Answer>)> {
        if !self.calls.as_ref().is_some_and(|of| Arc::ptr_eq(of, calls)) {
            *self = Self::default();
            self.calls = Some(Arc::clone(calls));
        }
        while self.known.as_ref().is_none_or(|(of, _)| of != wanted) {
            let open = self.open.take().unwrap_or_else(|| wanted.clone());
            match calls.reply(&open) {
                AskState::Pending => {
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

    /// Returns the newest received answer and its query.
    pub fn known(&self) -> Option<&(Q, Arc<Q::Answer>)> {
        self.known.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::{snapshot, with_patterns};
    use callgrove_session::{IterationAt, TotalsOf};

    use super::*;

    #[test]
    fn a_slow_answer_arrives_though_every_frame_wants_another_query() {
        let demo = with_patterns(&snapshot(1, 9));
        let calls = demo.calls().unwrap();
        let (from, to) = calls.time_span().unwrap();
        let wanted = |at: i64| TotalsOf {
            range: callgrove_session::TimeRange {
                from,
                to: callgrove_model::TimeNs(to.0 + at),
            },
            lanes: vec![callgrove_model::LaneIdx(0)],
        };
        let mut asked = LatestAnswer::default();
        let first = (0..9).find_map(|at| {
            calls.begin_frame();
            asked.ask(calls, &wanted(at)).map(|(of, _)| of.clone())
        });
        assert!(first.is_some(), "it is answered meanwhile");
    }

    #[test]
    fn a_refused_query_is_replaced_by_the_next_wanted_one() {
        let demo = with_patterns(&snapshot(1, 9));
        let calls = demo.calls().unwrap();
        let (time, _) = calls.time_span().unwrap();
        let on_lane = |lane: u32| IterationAt {
            lane: callgrove_model::LaneIdx(lane),
            time,
        };
        let mut asked = LatestAnswer::default();
        assert!(asked.ask(calls, &on_lane(0)).is_some());
        assert!(
            asked.ask(calls, &on_lane(77)).is_none(),
            "the lane does not exist"
        );
        assert!(asked.ask(calls, &on_lane(0)).is_some());
        let other = snapshot(1, 9);
        let others = other.calls().unwrap();
        assert!(asked.ask(others, &on_lane(0)).is_none(), "of another run");
    }
}
