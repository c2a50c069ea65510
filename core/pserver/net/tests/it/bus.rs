//! The exchange over a real message bus.

use std::sync::Arc;
use std::time::Duration;

use callgrove_pserver::{
    Hello, Link, ModelExchange, PserverError, Retention, ServerState, StateOptions,
};
use callgrove_pserver_net::{BusExchange, BusServer, ExchangeOptions, connect_to_bus};

use crate::laws::{check_large_models, check_merging, wait_for};
use crate::nats_server::NatsServer;
use crate::support::{PROGRAM, Saved, global_model, hello, model, names, new_state, report};

impl NatsServer {
    fn options(&self) -> ExchangeOptions {
        ExchangeOptions {
            deadline: Duration::from_secs(2),
            startup_wait: Duration::from_secs(10),
            ..ExchangeOptions::new(self.url("lammps"))
        }
    }

    fn client(&self) -> BusExchange {
        connect_to_bus(self.options()).expect("threads can be started")
    }

    fn server(&self, state: &Arc<ServerState>) -> BusServer {
        BusServer::start(&self.options(), Arc::clone(state)).expect("the bus runs")
    }
}

#[test]
fn what_instances_write_into_the_log_comes_back_merged() {
    let bus = NatsServer::start();
    let state = new_state(StateOptions::default());
    let server = bus.server(&state);
    check_merging(&state, &mut [bus.client(), bus.client()]);
    assert_eq!(server.finish(), None);
}

#[test]
fn large_contributions_are_one_batch_and_large_models_come_in_blocks() {
    let bus = NatsServer::start();
    let state = new_state(StateOptions::default());
    let server = bus.server(&state);
    check_large_models(&state, &mut [bus.client(), bus.client()]);
    assert_eq!(server.finish(), None);
}

#[test]
fn nothing_is_lost_or_counted_twice_while_bus_and_server_are_killed() {
    let mut bus = NatsServer::start();
    let options = StateOptions {
        retention: Retention::Saved,
        ..StateOptions::default()
    };
    let mut state = new_state(options.clone());
    let mut server = Some(bus.server(&state));
    let mut saved = Saved::default();
    let mut sessions: Vec<BusExchange> = (0..3).map(|_| bus.client()).collect();
    for (rank, session) in sessions.iter_mut().enumerate() {
        session.register(&hello(rank as u32)).expect("ranks differ");
    }
    let mut all = Vec::new();
    let mut was_down = false;
    for step in 0..60_u32 {
        match step {
            10 | 40 => {
                let taken = saved.take(&state);
                state.confirm_saved(&taken);
            }
            // As if it had been killed: what came after the save is lost, but for the log.
            15 | 45 => drop(server.take()),
            20 | 50 => {
                let next = StateOptions {
                    epoch: u64::from(step),
                    ..options.clone()
                };
                state = Arc::new(saved.restore(next).expect("saved"));
                server = Some(bus.server(&state));
            }
            30 => bus.kill(),
            35 => bus.start_again(),
            _ => {}
        }
        state.fold();
        for (rank, session) in sessions.iter_mut().enumerate() {
            let fid = session
                .functions(PROGRAM, &names(&[["f", "g"][usize::from(step > 25)]]))
                .expect("short")[0];
            let values = [u64::from(step) * 10 + rank as u64, 3];
            all.extend(values);
            let synced = session.sync_and_report(
                vec![(fid, model(&values))],
                &[report(rank as u32, step, fid, &values)],
            );
            let synced = synced.expect("absence is not an error");
            assert!(synced.models[0].1.moments().count() >= 2);
            was_down |= synced.link != Link::Up;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(was_down, "the bus was away");
    for session in &mut sessions {
        wait_for(&state, "the bus is found again", || {
            let synced = session.sync_and_report(Vec::new(), &[]);
            synced.expect("absence is not an error").link == Link::Up
        });
        assert_eq!(session.unsettled(), Ok(None));
        session.goodbye().expect("the server is there");
    }
    let server = server.expect("it was started again");
    assert_eq!(server.finish(), None);
    state.fold();
    let num_counted =
        global_model(&state, "f").moments().count() + global_model(&state, "g").moments().count();
    assert_eq!(num_counted, all.len() as u64);
    let functions = state.documents().func_stats;
    let runtimes = functions.iter().map(|it| &it.runtime_profile);
    let num_reported: u64 = runtimes.map(|it| it.exclusive_runtime.count).sum();
    assert_eq!(num_reported, all.len() as u64);
}

#[test]
fn a_server_reads_on_after_its_bus_was_killed() {
    let mut bus = NatsServer::start();
    let state = new_state(StateOptions::default());
    let server = bus.server(&state);
    bus.client().register(&hello(0)).expect("the rank is free");
    bus.kill();
    bus.start_again();
    // Its registration is answered when the log was read so far.
    bus.client().register(&hello(1)).expect("the rank is free");
    assert_eq!(server.finish(), None);
}

#[test]
fn a_rank_in_use_is_refused_with_the_holders_name() {
    let bus = NatsServer::start();
    let state = new_state(StateOptions::default());
    let _server = bus.server(&state);
    bus.client().register(&hello(0)).expect("the rank is free");
    let options = ExchangeOptions {
        startup_wait: Duration::ZERO,
        ..bus.options()
    };
    let mut second = connect_to_bus(options).expect("threads can be started");
    let refused = second.register(&Hello {
        instance: String::from("second"),
        ..hello(0)
    });
    let cause = refused.expect_err("the rank is in use").to_string();
    assert!(cause.contains("test:0"), "{cause}");
}

#[test]
fn what_a_bus_lacks_is_named_with_the_remedy() {
    let bus = NatsServer::with_settings("max_payload: 1MB");
    let refusal = |address: String| {
        let options = ExchangeOptions {
            startup_wait: Duration::from_secs(2),
            ..ExchangeOptions::new(address)
        };
        let state = new_state(StateOptions::default());
        let refused = BusServer::start(&options, state);
        refused.expect_err("it lacks something").to_string()
    };
    let address = bus.options().address;
    let small = refusal(address.clone());
    assert!(small.contains("max_payload: 8MB"), "{small}");
    let absent = refusal("nats://127.0.0.1:1/job".to_owned());
    assert!(absent.contains("refused"), "{absent}");
    let unfit = refusal(address.replace("lammps", "a.b"));
    assert!(unfit.contains("nats://host:port/JOB"), "{unfit}");
    let mut client = connect_to_bus(ExchangeOptions {
        startup_wait: Duration::ZERO,
        ..NatsServer::start().options()
    })
    .expect("threads can be started");
    let alone = client.register(&hello(0)).expect_err("no server is there");
    let is_absence = matches!(alone, PserverError::NotConnected { .. });
    assert!(is_absence, "{alone}");
}
