//! Whatever the network and the server do, every contribution counts once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::faulty::{Faults, Faulty, absence};
use crate::merging::assert_close;
use crate::support::{PROGRAM, Saved, global_model, hello, model, names, new_state, report};
use callgrove_model::{FuncId, RunIdentity};
use callgrove_pserver::{
    ExchangeSession, Hello, Link, ModelExchange, PserverError, Retention, ServerState,
    StateOptions, SyncRequest,
};
use proptest::prelude::*;

/// The outcome of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrives,
    RequestIsLost,
    ReplyIsLost,
    ServerIsAway,
}

/// A server that can be replaced, and a network that fails by plan.
#[derive(Debug, Default)]
struct World {
    server: Mutex<Option<Arc<ServerState>>>,
    plan: Mutex<VecDeque<Fate>>,
}

impl World {
    fn server(&self) -> Arc<ServerState> {
        let server = self
            .server
            .lock()
            .expect("no test panics while it holds it");
        Arc::clone(server.as_ref().expect("there is always a server"))
    }

    fn next_fate(&self) -> Fate {
        let mut plan = self.plan.lock().expect("no test panics while it holds it");
        plan.pop_front().unwrap_or(Fate::Arrives)
    }

    fn peek(&self) -> Fate {
        let plan = self.plan.lock().expect("no test panics while it holds it");
        plan.front().copied().unwrap_or(Fate::Arrives)
    }
}

#[derive(Clone, Debug)]
struct Unreliable(Arc<World>);

impl Faults for Unreliable {
    const MAX_REQUEST_BYTES: usize = 800;

    fn is_up(&self) -> bool {
        let is_up = self.0.peek() != Fate::ServerIsAway;
        if !is_up {
            self.0.next_fate();
        }
        is_up
    }

    fn call<T>(
        &self,
        call: impl FnOnce(&ServerState) -> Result<T, PserverError>,
    ) -> Result<T, PserverError> {
        match self.0.next_fate() {
            Fate::Arrives => call(&self.0.server()),
            Fate::RequestIsLost | Fate::ServerIsAway => Err(absence()),
            Fate::ReplyIsLost => {
                call(&self.0.server())?;
                Err(absence())
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Step {
        instance: usize,
        function: usize,
        values: Vec<u64>,
        fates: Vec<Fate>,
    },
    Fold,
    Save,
    SaveUnconfirmed,
    Crash,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Arrives),
        1 => Just(Fate::RequestIsLost),
        1 => Just(Fate::ReplyIsLost),
        1 => Just(Fate::ServerIsAway),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let values = prop::collection::vec(0_u64..5000, 0..12);
    let fates = prop::collection::vec(fate(), 0..5);
    let step =
        (0_usize..3, 0_usize..4, values, fates).prop_map(|(instance, function, values, fates)| {
            Event::Step {
                instance,
                function,
                values,
                fates,
            }
        });
    prop_oneof![
        8 => step,
        2 => Just(Event::Fold),
        1 => Just(Event::Save),
        1 => Just(Event::SaveUnconfirmed),
        1 => Just(Event::Crash),
    ]
}

const NAMES: [&str; 4] = ["main", "solve", "MPI_Allreduce()", "write"];

/// The true content of the run so far.
#[derive(Default)]
struct Truth {
    all: [Vec<u64>; 4],
    own: [[Vec<u64>; 4]; 3],
    num_steps: u64,
}

struct Run {
    world: Arc<World>,
    sessions: Vec<ExchangeSession<Faulty<Unreliable>>>,
    options: StateOptions,
    saved: Option<Saved>,
    truth: Truth,
}

impl Run {
    fn new(retention: Retention) -> Self {
        let options = StateOptions {
            num_workers: 2,
            retention,
            ..StateOptions::default()
        };
        let world = Arc::<World>::default();
        *world.server.lock().expect("no other thread holds it") = Some(new_state(options.clone()));
        let mut sessions = Vec::new();
        for rank in 0..3 {
            let mut session = ExchangeSession::new(Faulty(Unreliable(Arc::clone(&world))));
            session.register(&hello(rank)).expect("the network is good");
            sessions.push(session);
        }
        Self {
            world,
            sessions,
            options,
            saved: None,
            truth: Truth::default(),
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Step {
                instance,
                function,
                values,
                fates,
            } => self.step(*instance, *function, values, fates),
            Event::Fold => self.world.server().fold(),
            Event::Save => {
                let server = self.world.server();
                let saved = self.saved.get_or_insert_default().take(&server);
                server.confirm_saved(&saved);
            }
            Event::SaveUnconfirmed => {
                let server = self.world.server();
                self.saved.get_or_insert_default().take(&server);
            }
            Event::Crash => self.crash(),
        }
    }

    fn step(&mut self, instance: usize, function: usize, values: &[u64], fates: &[Fate]) {
        *self.world.plan.lock().expect("no other thread holds it") =
            fates.iter().copied().collect();
        let session = &mut self.sessions[instance];
        let fid = session
            .functions(PROGRAM, &names(&[NAMES[function]]))
            .expect("the name is short")[0];
        let step = self.truth.num_steps as u32;
        let reports = [report(instance as u32, step, fid, values)];
        let synced = session
            .sync_and_report(vec![(fid, model(values))], &reports)
            .expect("absence is not an error");
        self.truth.num_steps += 1;
        self.truth.all[function].extend(values);
        self.truth.own[instance][function].extend(values);
        let count = synced.models[0].1.moments().count();
        assert!(count >= self.truth.own[instance][function].len() as u64);
        assert!(count <= self.truth.all[function].len() as u64);
    }

    fn crash(&mut self) {
        self.options.epoch += 1;
        let options = self.options.clone();
        let server = match (&self.saved, options.retention) {
            (Some(saved), Retention::Saved) => saved.restore(options).expect("it was just saved"),
            _ => ServerState::new(options),
        };
        *self.world.server.lock().expect("no other thread holds it") = Some(Arc::new(server));
    }

    fn finish(mut self) {
        self.world
            .plan
            .lock()
            .expect("no other thread holds it")
            .clear();
        for session in &mut self.sessions {
            let synced = session
                .sync_and_report(Vec::new(), &[])
                .expect("the network is good");
            assert_eq!(synced.link, Link::Up);
            session.goodbye().expect("the network is good");
        }
        let server = self.world.server();
        for (name, values) in NAMES.iter().zip(&self.truth.all) {
            let merged = global_model(&server, name);
            let whole = model(values);
            if !values.is_empty() {
                assert_eq!(merged.distribution(), whole.distribution());
            }
            assert_close(merged.moments(), whole.moments());
        }
        let ranks = server.take_packet(0).anomaly_stats;
        let num_steps = self.truth.num_steps;
        let stats = ranks.map_or_else(Vec::new, |stats| stats.func);
        let num_executions: u64 = stats.iter().map(|func| func.exclusive.count).sum();
        let true_executions: usize = self.truth.all.iter().map(Vec::len).sum();
        if num_steps > 0 && !stats.is_empty() {
            assert_eq!(num_executions, true_executions as u64);
            let steps_of_functions: u64 = stats.iter().map(|func| func.stats.count).sum();
            assert_eq!(steps_of_functions, num_steps);
        }
        assert!(server.is_abandoned(0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn everything_counts_once_when_the_server_forgets(events in prop::collection::vec(event(), 0..40)) {
        let mut run = Run::new(Retention::Nothing);
        for event in &events {
            run.apply(event);
        }
        run.finish();
    }

    #[test]
    fn everything_counts_once_when_the_server_saves(events in prop::collection::vec(event(), 0..40)) {
        let mut run = Run::new(Retention::Saved);
        for event in &events {
            run.apply(event);
        }
        run.finish();
    }
}

#[test]
fn reports_are_settled_once_saved() {
    let mut run = Run::new(Retention::Saved);
    let unsettled = |run: &mut Run| {
        run.sessions[0]
            .unsettled()
            .expect("absence is not an error")
    };
    assert_eq!(unsettled(&mut run), None, "nothing was sent yet");
    run.step(0, 0, &[1], &[]);
    assert!(unsettled(&mut run).is_some(), "sent");
    run.crash();
    assert!(
        unsettled(&mut run).is_some(),
        "sent again to a server that had lost it"
    );
    run.apply(&Event::Save);
    run.world
        .plan
        .lock()
        .expect("no other thread holds it")
        .push_back(Fate::ServerIsAway);
    assert!(unsettled(&mut run).expect("away").contains("by plan"));
    assert_eq!(unsettled(&mut run), None, "saved");
    run.crash();
    assert_eq!(unsettled(&mut run), None, "what was saved is not lost");
    run.finish();
}

#[test]
fn function_indices_stay_the_same_when_a_server_loses_its_state() {
    let mut run = Run::new(Retention::Nothing);
    run.step(0, 0, &[1], &[]);
    run.step(0, 1, &[1], &[]);
    run.crash();
    run.step(1, 3, &[2], &[]);
    run.step(0, 0, &[3], &[]);
    run.step(0, 3, &[4], &[]);
    let ask = |session: &mut dyn ModelExchange, name| session.functions(PROGRAM, &names(&[name]));
    let mut of_another_run = new_state(StateOptions::default()).session();
    of_another_run.register(&hello(7)).expect("the first");
    for name in ["solve", "main"] {
        let (here, there) = (
            ask(&mut run.sessions[0], name),
            ask(&mut of_another_run, name),
        );
        assert_eq!(here, there, "the same in every run, in any order");
    }
    run.finish();
}

#[test]
fn a_name_first_seen_while_the_server_is_away_has_one_index_everywhere() {
    let mut run = Run::new(Retention::Nothing);
    run.step(0, 2, &[1], &[Fate::ServerIsAway, Fate::ServerIsAway]);
    run.step(1, 2, &[1], &[Fate::ServerIsAway, Fate::ServerIsAway]);
    let name = names(&[NAMES[2]]);
    let at_one = run.sessions[0].functions(PROGRAM, &name).expect("short");
    let at_other = run.sessions[1].functions(PROGRAM, &name).expect("short");
    assert_eq!(at_one, at_other);
    run.step(0, 2, &[2], &[]);
    let at_server = run.sessions[2].functions(PROGRAM, &name).expect("short");
    assert_eq!(at_server, at_one, "the server takes the index over");
    run.finish();
}

#[test]
fn a_rank_is_refused_while_its_instance_lives_and_free_afterwards() {
    let state = new_state(StateOptions::default());
    let first = hello(3);
    let second = Hello {
        instance: String::from("another"),
        ..hello(3)
    };
    state.register(&first, 1_000).expect("the rank is free");
    let error = state
        .register(&second, 11_000)
        .expect_err("the first lives")
        .to_string();
    assert!(
        error.contains("test:3") && error.contains("10000 ms"),
        "{error}"
    );
    state.heartbeat("test:3", 11_500).expect("it is registered");
    assert!(state.register(&second, 21_400).is_err());
    state.register(&second, 21_501).expect("the first is dead");
    let late = SyncRequest {
        instance: first.instance.clone(),
        epoch: 1,
        part: callgrove_pserver::PartNumber {
            sequence: 1,
            ..callgrove_pserver::PartNumber::default()
        },
        cursor: callgrove_pserver::Cursor::default(),
        contribution: Arc::default(),
        tree_generation: 0,
    };
    let error = state.sync(late, 21_600).expect_err("it lost its rank");
    assert!(matches!(error, PserverError::NotRegistered { .. }));
    state.goodbye("another");
    state.register(&first, 21_700).expect("the second has gone");
}

#[test]
fn an_instance_that_returns_learns_which_steps_are_known() {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    let welcome = session.register(&hello(4)).expect("the rank is free");
    assert!(welcome.last_steps.is_empty());
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    for step in 0..=17 {
        session
            .sync_and_report(Vec::new(), &[report(4, step, fid, &[1])])
            .expect("it is in this process");
    }
    let second = Hello {
        instance: String::from("the same rank again"),
        ..hello(4)
    };
    let welcome = state
        .register(&second, u64::MAX)
        .expect("the first is long dead")
        .welcome;
    assert_eq!(
        welcome.last_steps,
        vec![(callgrove_model::RankId(4), callgrove_model::StepId(17))]
    );
}

#[test]
fn reports_on_ranks_of_others_and_unknown_functions_are_refused() {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let foreign = session.sync_and_report(Vec::new(), &[report(1, 0, fid, &[1])]);
    assert!(matches!(foreign, Err(PserverError::ForeignRank { .. })));
    let unknown = session.sync_and_report(vec![(FuncId(99), model(&[1]))], &[]);
    assert!(matches!(
        unknown,
        Err(PserverError::UnknownFunction { fid: FuncId(99) })
    ));
    let good = session.sync_and_report(vec![(fid, model(&[1]))], &[]);
    assert_eq!(good.expect("the bad ones are gone").link, Link::Up);
    assert_eq!(global_model(&state, "f").moments().count(), 1);
}

#[test]
fn a_server_is_abandoned_when_the_last_instance_has_gone_or_is_dead() {
    let state = new_state(StateOptions::default());
    assert!(!state.is_abandoned(0), "no instance has registered yet");
    state.register(&hello(0), 0).expect("the rank is free");
    state.register(&hello(1), 0).expect("the rank is free");
    state.goodbye("test:0");
    assert!(!state.is_abandoned(10_000));
    assert!(state.is_abandoned(10_001));
}

#[test]
fn the_outbox_is_bounded_while_the_server_is_away() {
    let mut run = Run::new(Retention::Nothing);
    for _ in 0..5_000 {
        run.step(0, 0, &[1, 2000], &[Fate::ServerIsAway, Fate::ServerIsAway]);
    }
    assert_eq!(run.sessions[0].num_dropped_steps(), 5_000 - 4_096);
    run.finish();
}

#[test]
fn names_and_ranks_beyond_the_limits_are_refused() {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let long = "f".repeat(callgrove_model::MAX_NAME_BYTES + 1);
    let refused = session.functions(PROGRAM, &[String::from("f"), long]);
    let error = refused.expect_err("it is too long").to_string();
    assert!(
        error.contains("65537 bytes") && error.contains("shorten"),
        "{error}"
    );
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let mut of_counter = report(0, 0, fid, &[1]);
    of_counter.counters[0].name = "c".repeat(5000);
    let refused = session.sync_and_report(Vec::new(), &[of_counter]);
    assert!(matches!(refused, Err(PserverError::Limit { .. })));
    let everything = Hello {
        instance: String::from("greedy"),
        program: PROGRAM,
        ranks: (1..100_000).map(callgrove_model::RankId).collect(),
        run: RunIdentity::default(),
        recorded_ranks: None,
    };
    let refused = state.register(&everything, 0);
    assert!(matches!(refused, Err(PserverError::Limit { .. })));
}

#[test]
fn a_server_that_has_everything_need_not_hear_the_goodbye() {
    let world = Arc::new(World::default());
    let state = new_state(StateOptions {
        retention: Retention::Nothing,
        ..StateOptions::default()
    });
    *world.server.lock().expect("no test panics") = Some(Arc::clone(&state));
    let mut session = ExchangeSession::new(Faulty(Unreliable(Arc::clone(&world))));
    session.register(&hello(0)).expect("the rank is free");
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let plan = |fates: &[Fate]| {
        *world.plan.lock().expect("no test panics") = fates.iter().copied().collect();
    };
    plan(&[Fate::RequestIsLost]);
    let lost = session.sync_and_report(vec![(fid, model(&[1]))], &[]);
    assert!(matches!(
        lost.expect("absence is not an error").link,
        Link::Down { .. }
    ));
    plan(&[Fate::ServerIsAway]);
    let refused = session.goodbye();
    assert!(matches!(refused, Err(PserverError::NotConnected { .. })));
    plan(&[]);
    session
        .sync_and_report(Vec::new(), &[])
        .expect("it is back");
    plan(&[Fate::ServerIsAway]);
    session.goodbye().expect("it has everything");
    assert_eq!(global_model(&state, "f").moments().count(), 1);
}
