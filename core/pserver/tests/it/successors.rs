//! A server and an instance that die together after any request: their successors count each step once.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{RankId, StepId};
use callgrove_pserver::{
    ExchangeSession, Hello, InProcess, ModelExchange, PserverError, Retention, ServerState,
    StateOptions, Transport,
};

use crate::faulty::{Faults, Faulty, absence};
use crate::support::{PROGRAM, Saved, hello, model, names, new_state, report};

/// Number of steps of each rank.
const NUM_STEPS: u32 = 3;
/// Number of ranks of the instance.
const NUM_RANKS: u32 = 3;

/// A connection to a server that saves after each request, and dies after some.
struct Mortal {
    state: Arc<ServerState>,
    num_left: usize,
    saved: Saved,
}

impl Faults for Mortal {
    const MAX_REQUEST_BYTES: usize = 1_500;

    fn is_up(&self) -> bool {
        self.num_left > 0
    }

    fn call<T>(
        &self,
        call: impl FnOnce(&ServerState) -> Result<T, PserverError>,
    ) -> Result<T, PserverError> {
        if self.is_up() {
            call(&self.state)
        } else {
            Err(absence())
        }
    }

    fn answered(&mut self) -> Result<(), PserverError> {
        self.num_left -= 1;
        self.saved.take(&self.state);
        Ok(())
    }
}

/// Sends the steps of all ranks that the server lacks, a step of all ranks at once.
fn send_steps(instance: &str, session: &mut ExchangeSession<impl Transport>) {
    let hello = Hello {
        instance: instance.to_owned(),
        ranks: (0..NUM_RANKS).map(RankId).collect(),
        ..hello(0)
    };
    let welcome = session.register(&hello).expect("the ranks are free");
    let last_steps: BTreeMap<RankId, StepId> = welcome.last_steps.into_iter().collect();
    let learnt_steps: BTreeMap<RankId, StepId> = welcome.learnt_steps.into_iter().collect();
    let functions = session
        .functions(PROGRAM, &names(&["f", "g", "h", "MPI_Wait()"]))
        .expect("short");
    for step in 0..NUM_STEPS {
        let (mut learnt, mut models, mut reports) = (Vec::new(), BTreeMap::new(), Vec::new());
        for rank in 0..NUM_RANKS {
            let (of_rank, step_id) = (RankId(rank), StepId(step));
            let values = |at: usize| [100 + at as u64, 900 + u64::from(rank + step)];
            if learnt_steps.get(&of_rank) < Some(&step_id) {
                learnt.push((of_rank, step_id));
                for (at, &fid) in functions.iter().enumerate() {
                    let all: &mut Vec<u64> = models.entry(fid).or_default();
                    all.extend(values(at));
                }
            }
            if last_steps.get(&of_rank) < Some(&step_id) {
                let mut of_step = report(rank, step, functions[0], &values(0));
                for (at, &fid) in functions.iter().enumerate().skip(1) {
                    of_step
                        .functions
                        .extend(report(rank, step, fid, &values(at)).functions);
                }
                reports.push(of_step);
            }
        }
        let models = models
            .into_iter()
            .map(|(fid, values)| (fid, model(&values)));
        session.learn_steps(&learnt);
        session
            .sync_and_report(models.collect(), &reports)
            .expect("absence is not an error");
    }
}

fn served(state: &Arc<ServerState>, num_left: usize) -> ExchangeSession<Faulty<Mortal>> {
    ExchangeSession::new(Faulty(Mortal {
        state: Arc::clone(state),
        num_left,
        saved: Saved::default(),
    }))
}

#[test]
fn each_step_counts_once_after_a_death_at_any_request() {
    let options = StateOptions {
        retention: Retention::Saved,
        ..StateOptions::default()
    };
    let undisturbed = new_state(options.clone());
    let mut session: ExchangeSession<InProcess> = undisturbed.session();
    send_steps("undisturbed", &mut session);
    let expected = undisturbed.documents();
    let mut num_requests = 1;
    loop {
        let state = new_state(options.clone());
        let mut first = served(&state, num_requests);
        send_steps("first", &mut first);
        let is_survivor = first.transport().0.is_up();
        let next_options = StateOptions {
            epoch: 2,
            ..options.clone()
        };
        let saved = &first.transport().0.saved;
        let restored = Arc::new(saved.restore(next_options).expect("just saved"));
        send_steps("second", &mut served(&restored, usize::MAX));
        assert_eq!(restored.documents(), expected, "{num_requests} requests");
        if is_survivor {
            break;
        }
        num_requests += 1;
    }
    assert!(num_requests > 4 * NUM_STEPS as usize, "{num_requests}");
}
