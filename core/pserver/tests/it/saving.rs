//! The saved state is exact, and invalid files are refused.

use std::sync::Arc;

use callgrove_overview::packet::Packet;
use callgrove_pserver::{
    ExchangeSession, Hello, InProcess, ModelExchange, PserverError, Retention, ServerState,
    StateOptions,
};

use crate::support::{PROGRAM, Saved, hello, model, names, new_state, report, run, saved};

fn busy_state() -> (Arc<ServerState>, ExchangeSession<InProcess>) {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let fids = session
        .functions(
            PROGRAM,
            &names(&["main", "std::vector<double>::push_back \"…\""]),
        )
        .expect("short");
    for step in 0..20 {
        let values: Vec<u64> = (0..50)
            .map(|i| 7 + (i * i * 31 + u64::from(step)) % 1500)
            .collect();
        let deltas = fids.iter().map(|&fid| (fid, model(&values))).collect();
        let reports = [
            report(0, step, fids[0], &values),
            report(0, step, fids[1], &[3]),
        ];
        session
            .sync_and_report(deltas, &reports[..1])
            .expect("it is in this process");
    }
    (state, session)
}

#[test]
fn a_saved_and_loaded_state_is_equal_bit_for_bit() {
    let (state, _) = busy_state();
    let saved = saved(&state);
    let options = StateOptions {
        epoch: 2,
        ..StateOptions::default()
    };
    let restored = saved.restore(options).expect("it was just saved");
    assert_eq!(restored.documents(), state.documents());
    let again = restored.save().expect("all numbers are finite");
    let (first, second) = (&saved.json, &again.json);
    // Only the number of folds differs.
    let body = |json: &str| {
        json.split_once("\"functions\"")
            .map(|(_, body)| body.to_owned())
    };
    assert_eq!(body(first), body(second));
}

#[test]
fn a_restored_server_continues_its_ids() {
    let (state, mut session) = busy_state();
    let before = session
        .functions(PROGRAM, &names(&["main"]))
        .expect("short");
    let saved = saved(&state);
    let options = StateOptions {
        epoch: 2,
        retention: Retention::Saved,
        ..StateOptions::default()
    };
    let restored = saved.restore(options).expect("it was just saved");
    let restored = Arc::new(restored);
    let mut session = restored.session();
    let welcome = session
        .register(&hello(0))
        .expect("no instance is registered");
    assert_eq!(welcome.last_steps.len(), 1);
    let after = session
        .functions(PROGRAM, &names(&["new", "main"]))
        .expect("short");
    assert_eq!(after[1], before[0]);
    session
        .sync_and_report(Vec::new(), &[report(0, 20, after[1], &[5000])])
        .expect("it is in this process");
    let packet = restored.take_packet(0);
    assert_eq!(packet.anomaly_metrics[0]._id, 0, "as before");
    assert!(packet.anomaly_metrics[0].all_data.count.count > 1);
    assert_eq!(packet.anomaly_metrics[0].new_data.count.count, 1);
}

#[test]
fn the_first_packet_after_a_restart_has_everything_published_before() {
    let (state, _session) = busy_state();
    let before = state.take_packet(0);
    let restored = saved(&state)
        .restore(StateOptions::default())
        .expect("it was just saved");
    let after = restored.take_packet(1);
    let totals = |packet: &Packet| {
        let stats = packet.anomaly_stats.as_ref().expect("there is news");
        let ranks: Vec<_> = stats
            .anomaly
            .iter()
            .map(|it| (it.key.clone(), it.stats))
            .collect();
        let metrics = packet.anomaly_metrics.iter();
        let metrics: Vec<_> = metrics.map(|it| (it._id, it.all_data.clone())).collect();
        (ranks, stats.func.clone(), metrics)
    };
    assert_eq!(totals(&after), totals(&before));
    let new = after
        .anomaly_metrics
        .iter()
        .map(|it| it.new_data.count.count);
    assert_eq!(new.sum::<u64>(), 0, "nothing is new");
    assert!(
        restored.take_packet(2).anomaly_stats.is_none(),
        "it comes once"
    );
}

#[test]
fn a_file_that_is_no_saved_state_is_refused() {
    let (state, _) = busy_state();
    let good = saved(&state).json;
    let damages = [
        String::new(),
        String::from("{}"),
        good.replace("\"version\":5", "\"version\":2"),
        good.replace("callgrove parameter server", "another program"),
        good.replace("\"functions\":[[", "\"functions\":[], \"others\":[["),
        good.replace("\"functions\":[[", "\"functions\":[[7,0,\"unknown\"],[")
            .replacen(",0,\"main\"],", ",0,\"unknown\"],", 1),
        good.replace("\"precision\":", "\"precision\":7"),
        good[..good.len() / 2].to_owned(),
    ];
    for damaged in damages {
        let damaged = Saved {
            json: damaged,
            ..Saved::default()
        };
        let result = damaged.restore(StateOptions::default());
        let error = result.expect_err("it is damaged");
        assert!(matches!(error, PserverError::Damaged { .. }), "{error}");
    }
}

#[test]
fn a_saved_state_continues_only_its_own_run() {
    let (state, _) = busy_state();
    let saved = saved(&state);
    let restored = saved.restore(StateOptions::default()).expect("its own");
    assert_eq!(restored.run(), state.run());
    restored.register(&hello(0), 0).expect("the same run");
    restored.register(&hello(1), 0).expect("another rank of it");
    let second = Hello {
        instance: String::from("second"),
        run: run(2, 5200),
        ranks: Vec::new(),
        ..hello(2)
    };
    restored.register(&hello(2), 0).expect("a rank of it");
    let Err(PserverError::OtherRun(mismatch)) = restored.register(&second, 0) else {
        panic!("two runs in one server");
    };
    assert!(mismatch.reason.contains("5202"), "{mismatch}");
    assert_eq!(restored.take_packet(0).run, restored.run());
    let another = ServerState::with_models(StateOptions::default(), &saved.json).expect("models");
    another.register(&second, 0).expect("models serve any run");
}

#[test]
fn a_saved_state_of_an_unknown_run_is_refused() {
    let (state, _) = busy_state();
    let mut saved = saved(&state);
    let mut file: serde_json::Value = serde_json::from_str(&saved.json).expect("JSON");
    file.as_object_mut().expect("an object").remove("run");
    saved.json = file.to_string();
    let refused = saved.restore(StateOptions::default());
    assert!(matches!(refused, Err(PserverError::Damaged { .. })));
}
