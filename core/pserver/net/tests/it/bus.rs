//! The exchange over a real message bus.

use std::sync::Arc;
use std::time::Duration;

use callgrove_pserver::{
    Hello, Link, ModelExchange, PserverError, Retention, ServerState, StateOptions,
};
use callgrove_pserver_net::{BusExchange, BusMerger, BusServer, ExchangeOptions, connect_to_bus};

use crate::laws::{check_large_models, check_merging, wait_for};
use crate::nats_server::{NatsServer, free_port};
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
    let options = bus.options();
    let was_down = check_kills(&options, &[], |step| bus_fault(&mut bus, step));
    assert!(was_down, "the bus was away");
}

#[test]
fn nothing_is_lost_or_counted_twice_while_mergers_are_killed_too() {
    let mut bus = NatsServer::start();
    let options = bus.options();
    let was_down = check_kills(&options, &[0, 1], |step| bus_fault(&mut bus, step));
    assert!(was_down, "the bus was away");
}

#[test]
fn nothing_is_lost_while_one_of_three_servers_of_the_bus_is_away() {
    let mut servers = cluster();
    let addresses = servers.each_ref().map(NatsServer::address);
    let options = ExchangeOptions {
        startup_wait: Duration::from_secs(30),
        deadline: Duration::from_secs(5),
        ..ExchangeOptions::new(format!("nats://{}/lammps?replicas=3", addresses.join(",")))
    };
    check_kills(&options, &[0], |step| match step {
        8 => servers[0].kill(),
        22 => servers[0].start_again(),
        28 => servers[1].kill(),
        47 => servers[1].start_again(),
        _ => {}
    });
}

/// Starts three servers that form a cluster.
fn cluster() -> [NatsServer; 3] {
    let routes = [(); 3].map(|()| free_port());
    let urls = routes.map(|port| format!("nats://127.0.0.1:{port}"));
    let urls = urls.join(", ");
    routes.map(|route| {
        let settings = format!(
            "max_payload: 8MB\nserver_name: server-{route}\n\
             cluster {{ name: test, listen: \"127.0.0.1:{route}\", routes: [{urls}] }}"
        );
        NatsServer::with_settings(&settings)
    })
}

fn bus_fault(bus: &mut NatsServer, step: u32) {
    match step {
        30 => bus.kill(),
        35 => bus.start_again(),
        _ => {}
    }
}

/// Kills the parameter server, mergers of the groups of the instances, if they have groups, and parts of the bus. Returns
/// whether an instance lost its connection.
fn check_kills(exchange: &ExchangeOptions, groups: &[u32], mut bus_fault: impl FnMut(u32)) -> bool {
    let options = StateOptions {
        retention: Retention::Saved,
        ..StateOptions::default()
    };
    let start = |state: &Arc<ServerState>| {
        let server = BusServer::start(exchange, Arc::clone(state));
        server.expect("the bus runs")
    };
    let mut state = new_state(options.clone());
    let mut server = Some(start(&state));
    let start_merger = |&group: &u32, generation: u32| {
        let name = format!("merger {group}.{generation}");
        BusMerger::start(exchange, group, name).expect("the bus runs")
    };
    let start_mergers = |generation: u32| -> Vec<BusMerger> {
        let mergers = groups.iter();
        mergers.map(|it| start_merger(it, generation)).collect()
    };
    let mut mergers = start_mergers(0);
    let mut saved = Saved::default();
    let client = |group: Option<&u32>| {
        let group = group.copied();
        let options = ExchangeOptions {
            group,
            ..exchange.clone()
        };
        connect_to_bus(options).expect("threads can be started")
    };
    let mut sessions: Vec<BusExchange> = (0..3).map(|it| client(groups.get(it))).collect();
    for (rank, session) in sessions.iter_mut().enumerate() {
        session.register(&hello(rank as u32)).expect("ranks differ");
    }
    let mut all = Vec::new();
    let mut was_down = false;
    for step in 0..60_u32 {
        bus_fault(step);
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
                server = Some(start(&state));
            }
            12 | 25 | 48 => {
                drop(std::mem::take(&mut mergers));
                mergers = start_mergers(step);
            }
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
    was_down
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

impl NatsServer {
    fn client_of(&self, group: u32) -> BusExchange {
        let options = ExchangeOptions {
            group: Some(group),
            ..self.options()
        };
        connect_to_bus(options).expect("threads can be started")
    }

    fn merger(&self, group: u32, name: &str) -> BusMerger {
        let started = BusMerger::start(&self.options(), group, name.to_owned());
        started.expect("the bus runs")
    }
}

#[test]
fn what_groups_write_comes_back_merged_by_their_mergers() {
    let bus = NatsServer::start();
    let state = new_state(StateOptions::default());
    let server = bus.server(&state);
    let mergers = [0, 1].map(|group| bus.merger(group, &format!("merger {group}")));
    check_merging(&state, &mut [bus.client_of(0), bus.client_of(1)]);
    assert_eq!(server.finish(), None);
    for merger in mergers {
        wait_for(&state, "the server says that the job is over", || {
            merger.is_over()
        });
        assert_eq!(merger.finish(), None);
    }
}

#[test]
fn large_contributions_and_models_of_groups_come_in_parts() {
    let bus = NatsServer::start();
    let state = new_state(StateOptions::default());
    let server = bus.server(&state);
    let _merger = bus.merger(5, "merger");
    check_large_models(&state, &mut [bus.client_of(5), bus.client_of(5)]);
    assert_eq!(server.finish(), None);
}

#[test]
fn a_successor_gets_what_the_group_of_its_predecessor_had() {
    let bus = NatsServer::start();
    let state = new_state(StateOptions::default());
    let server = bus.server(&state);
    let merger = bus.merger(0, "merger");
    let mut first = bus.client_of(0);
    first.register(&hello(0)).expect("the rank is free");
    let fid = first.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    merger.finish();
    // The log of the group keeps it until a merger runs.
    first
        .sync_and_report(vec![(fid, model(&[4]))], &[report(0, 6, fid, &[4])])
        .expect("the bus is there");
    drop(first);
    let options = ExchangeOptions {
        startup_wait: Duration::from_secs(25),
        ..bus.options()
    };
    let mut second = connect_to_bus(options.clone()).expect("threads can be started");
    let hello_of_second = Hello {
        instance: "second".to_owned(),
        ..hello(0)
    };
    let waiting = std::thread::Builder::new()
        .spawn(move || (second.register(&hello_of_second), second))
        .expect("threads can be started");
    std::thread::sleep(Duration::from_secs(1));
    // Two of them, of which one waits.
    let mergers = ["merger 1", "merger 2"].map(|name| bus.merger(0, name));
    let (welcome, mut second) = waiting.join().expect("it does not panic");
    let welcome = welcome.expect("the lease is over, and the group is merged");
    let last_steps: Vec<_> = welcome.last_steps.iter().map(|it| it.1.0).collect();
    assert_eq!(last_steps, [6]);
    let problems: Vec<_> = mergers.iter().filter_map(BusMerger::problem).collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("group 0 has a merger: merger"),
        "{problems:?}"
    );
    second.goodbye().expect("the server is there");
    assert_eq!(server.finish(), None);
}

#[test]
fn a_server_ends_after_the_sums_of_a_late_merger() {
    let bus = NatsServer::start();
    let state = new_state(StateOptions::default());
    let server = bus.server(&state);
    let options = ExchangeOptions {
        group: Some(9),
        deadline: Duration::from_secs(10),
        startup_wait: Duration::from_secs(1),
        ..bus.options()
    };
    let mut session = connect_to_bus(options).expect("threads can be started");
    let lacking = session
        .register(&hello(0))
        .expect_err("its data would wait");
    assert!(lacking.to_string().contains("--group 9"), "{lacking}");
    let early = bus.merger(9, "early");
    session.register(&hello(0)).expect("the rank is free");
    assert_eq!(early.finish(), None);
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let synced = session.sync_and_report(vec![(fid, model(&[4]))], &[report(0, 6, fid, &[4])]);
    assert_eq!(synced.expect("the bus is there").link, Link::Up);
    session.goodbye().expect("the log has everything");
    let late = bus.merger(9, "late");
    assert_eq!(server.finish(), None);
    assert_eq!(late.finish(), None);
    state.fold();
    assert_eq!(global_model(&state, "f").moments().count(), 1);
}
