//! Contributions that come from a log.

use std::sync::Arc;

use callgrove_model::FuncId;
use callgrove_pserver::{
    Contribution, Hello, LoggedPart, ModelExchange, PartNumber, PserverError, Retention,
    ServerState, StateOptions,
};

use crate::support::{PROGRAM, Saved, global_model, hello, model, names, new_state, report, saved};

const F: FuncId = FuncId(7);

/// Returns part of a contribution of `instance` with executions of `f`, which has another index in the log than at a
/// server.
fn part(instance: &str, sequence: u64, index: u32, num_left: u32, values: &[u64]) -> LoggedPart {
    let reports = [report(0, sequence as u32, F, values)];
    LoggedPart {
        instance: instance.to_owned(),
        number: PartNumber {
            sequence,
            index,
            num_left,
        },
        functions: vec![(F, PROGRAM, "f".to_owned())],
        contribution: Contribution::new(vec![(F, model(values))], &reports),
        sum: None,
    }
}

fn count(state: &Arc<ServerState>) -> u64 {
    state.fold();
    let functions = state.documents().func_stats;
    let runtimes = functions.iter().map(|it| &it.runtime_profile);
    let reported: u64 = runtimes.map(|it| it.exclusive_runtime.count).sum();
    assert_eq!(global_model(state, "f").moments().count(), reported);
    reported
}

#[test]
fn entries_that_are_read_again_add_nothing() {
    let state = new_state(StateOptions::default());
    assert_eq!(state.begin_log("log"), 0);
    let entries = [
        part("a", 1, 0, 0, &[1, 2]),
        part("b", 1, 0, 1, &[3]),
        part("b", 1, 1, 0, &[4]),
        part("a", 2, 0, 0, &[5]),
    ];
    for entry in [0, 1, 0, 1, 2, 1, 2, 0, 3, 3] {
        state
            .add_logged(entries[entry].clone(), entry as u64 + 1, 0)
            .expect("it fits");
    }
    assert_eq!(count(&state), 5);
    assert_eq!(state.begin_log("log"), 4);
}

#[test]
fn an_incomplete_contribution_is_read_again_after_a_restart() {
    let options = StateOptions {
        retention: Retention::Saved,
        ..StateOptions::default()
    };
    let state = new_state(options.clone());
    state.begin_log("log");
    state.add_registration(&hello(0), 1);
    let (first, second) = (part("a", 1, 0, 1, &[3]), part("a", 1, 1, 0, &[4]));
    let whole = part("b", 1, 0, 0, &[1]);
    state.add_logged(whole.clone(), 2, 0).expect("it fits");
    state.add_logged(first.clone(), 3, 0).expect("it fits");
    assert_eq!(state.saved_position_of("log"), 0);
    let mut stored = Saved::default();
    let taken = stored.take(&state);
    state.confirm_saved(&taken);
    assert_eq!(state.saved_position_of("log"), 2);
    assert_eq!(state.saved_position_of("another"), 0);
    let next = Arc::new(stored.restore(options.clone()).expect("saved"));
    assert_eq!(next.begin_log("log"), 2);
    for (entry, position) in [(whole, 2), (first, 3), (second, 4)] {
        next.add_logged(entry, position, 0).expect("it fits");
    }
    assert_eq!(count(&next), 3);
    // Of a new log everything is read.
    let of_new_log = stored.restore(options).expect("saved");
    assert_eq!(of_new_log.begin_log("another"), 0);
}

#[test]
fn an_instance_whose_ranks_others_took_adds_nothing_more() {
    let state = new_state(StateOptions::default());
    state.begin_log("log");
    state.register(&hello(0), 0).expect("the rank is free");
    let second = Hello {
        instance: "second".to_owned(),
        ..hello(0)
    };
    let held = state.former_holders(&second, 1_000);
    assert!(matches!(held, Err(PserverError::RankTaken { .. })));
    state
        .add_logged(part("test:0", 1, 0, 0, &[1]), 1, 1_000)
        .expect("it fits");
    let former = state.former_holders(&second, 20_000).expect("it is silent");
    assert_eq!(former.into_iter().collect::<Vec<_>>(), ["test:0"]);
    state.fence("test:0".to_owned(), 2);
    state.register(&second, 20_000).expect("the rank is free");
    state
        .add_logged(part("test:0", 2, 0, 0, &[2]), 3, 20_000)
        .expect("it is left out");
    assert_eq!(count(&state), 1);
    let back = state.register(&hello(0), 21_000);
    assert!(matches!(back, Err(PserverError::Replaced { .. })));
    // Those of before a restart, too, whose leases are unknown.
    let restarted = saved(&state).restore(StateOptions::default());
    let restarted = Arc::new(restarted.expect("saved"));
    let third = Hello {
        instance: "third".to_owned(),
        ..hello(0)
    };
    let former = restarted.former_holders(&third, 0).expect("none is live");
    assert_eq!(former.into_iter().collect::<Vec<_>>(), ["second"]);
    let position = restarted.begin_log("log");
    restarted
        .add_logged(part("test:0", 3, 0, 0, &[9]), position + 1, 0)
        .expect("it is left out");
    assert_eq!(count(&restarted), 1);
}

#[test]
fn a_contribution_of_another_kind_is_left_out_and_the_log_goes_on() {
    let state = new_state(StateOptions::default());
    state.begin_log("log");
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let own = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    assert_ne!(own, F, "the entries have another index");
    state
        .add_logged(part("a", 1, 0, 0, &[1]), 1, 0)
        .expect("it fits");
    let unknown = LoggedPart {
        functions: Vec::new(),
        ..part("a", 2, 0, 0, &[2])
    };
    let refused = state.add_logged(unknown, 2, 0);
    assert_eq!(refused, Err(PserverError::UnknownFunction { fid: F }));
    state
        .add_logged(part("a", 3, 0, 0, &[3]), 3, 0)
        .expect("it fits");
    assert_eq!(count(&state), 2);
    assert_eq!(state.begin_log("log"), 3);
}
