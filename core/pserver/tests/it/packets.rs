//! Packets and documents, checked field by field against the schemas.

use callgrove_model::{ProgramId, RankId, RunIdentity, StepId};
use callgrove_overview::packet::Packet;
use callgrove_pserver::{FinalAnomalies, Hello, Metrics, ModelExchange, ServerState, StateOptions};
use serde_json::{Value, json};

use crate::support::{PROGRAM, hello, model, moments, names, new_state, report, saved};

#[test]
fn a_packet_holds_new_data_and_totals() {
    // Ids are assigned in the order of workers, then of appearance.
    let state = new_state(StateOptions {
        num_workers: 1,
        ..StateOptions::default()
    });
    let (mut zero, mut one) = (state.session(), state.session());
    zero.register(&hello(0)).expect("the rank is free");
    one.register(&hello(1)).expect("the rank is free");
    let fids = zero
        .functions(PROGRAM, &names(&["calm", "f"]))
        .expect("short");
    one.functions(PROGRAM, &names(&["f"])).expect("short");
    let reports = [
        report(0, 0, fids[1], &[5, 1500]),
        report(0, 1, fids[1], &[5]),
    ];
    zero.sync_and_report(Vec::new(), &reports)
        .expect("it is in this process");
    zero.sync_and_report(Vec::new(), &[report(0, 2, fids[0], &[5])])
        .expect("it is in this process");
    one.sync_and_report(Vec::new(), &[report(1, 0, fids[1], &[2000, 3000])])
        .expect("it is in this process");

    let packet = json!(state.take_packet(1_700_000_000_000));
    assert_eq!(packet["version"], 2);
    assert_eq!(packet["created_at"], 1_700_000_000_000_u64);
    let stats = &packet["anomaly_stats"];
    let keys: Vec<&Value> = each(&stats["anomaly"], "key");
    assert_eq!(keys, ["0:0", "0:1"]);
    let of_zero = &stats["anomaly"][0];
    assert_eq!(each(&of_zero["data"], "step"), [0, 1, 2]);
    assert_eq!(each(&of_zero["data"], "n_anomalies"), [1, 0, 0]);
    let first = &of_zero["data"][0];
    assert_eq!((&first["app"], &first["rank"]), (&json!(0), &json!(0)));
    assert_eq!(first["outlier_scores"]["mean"], 15.0);
    assert_eq!(first["max_timestamp"], 1500);
    let quiet = &of_zero["data"][1];
    assert_eq!(
        (&quiet["min_timestamp"], &quiet["max_timestamp"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(of_zero["stats"]["count"], 3);
    assert_eq!(of_zero["stats"]["accumulate"], 1.0);

    let functions = stats["func"].as_array().expect("a list");
    let of_f = functions.iter().find(|it| it["name"] == "f");
    let of_f = of_f.expect("it is there");
    assert_eq!(of_f["fid"], fids[1].0);
    assert_eq!(of_f["exclusive"]["count"], 5);
    assert_eq!(
        of_f["stats"]["count"], 3,
        "steps with the function, of all ranks"
    );
    assert_eq!(of_f["stats"]["accumulate"], 3.0);

    let metrics = &packet["anomaly_metrics"];
    assert_eq!(each(metrics, "rank"), [0, 1]);
    assert_eq!(each(metrics, "_id"), [0, 1]);
    assert_eq!(metrics[0]["fname"], "f");
    assert_eq!(metrics[1]["new_data"], metrics[1]["all_data"]);
    assert_eq!(metrics[1]["all_data"]["count"]["accumulate"], 2.0);
    assert_eq!(metrics[1]["all_data"]["severity"]["maximum"], 3000.0);
    assert_eq!(packet["counter_stats"][0]["stats"]["count"], 6);
    assert_eq!(
        packet["counter_stats"][0]["counter"],
        "Memory Footprint (VmRSS) (KB)"
    );

    one.sync_and_report(Vec::new(), &[report(1, 7, fids[1], &[9000])])
        .expect("it is in this process");
    let packet = json!(state.take_packet(1_700_000_001_000));
    assert_eq!(each(&packet["anomaly_stats"]["anomaly"], "key"), ["0:1"]);
    assert_eq!(packet["anomaly_stats"]["anomaly"][0]["stats"]["count"], 2);
    assert_eq!(packet["anomaly_stats"]["func"], json!(state_funcs(&packet)));
    let metrics = &packet["anomaly_metrics"][0];
    assert_eq!((&metrics["_id"], &metrics["rank"]), (&json!(1), &json!(1)));
    assert_eq!(metrics["new_data"]["first_io_step"], 7);
    assert_eq!(metrics["all_data"]["first_io_step"], 0);
    assert_eq!(metrics["all_data"]["last_io_step"], 7);
    assert_eq!(metrics["all_data"]["score"]["count"], 3);
}

fn state_funcs(packet: &Value) -> Vec<Value> {
    let func = packet["anomaly_stats"]["func"].as_array();
    let func = func.expect("all functions are in every packet").clone();
    assert_eq!(func.len(), 2);
    func
}

fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a Value> {
    let list = list.as_array().expect("it is a list");
    list.iter().map(|item| &item[field]).collect()
}

#[test]
fn without_news_a_packet_has_no_anomaly_stats_and_without_counters_no_counter_stats() {
    let state = new_state(StateOptions::default());
    let empty = json!(state.take_packet(1));
    let expected = json!({"version": 2, "created_at": 1, "anomaly_metrics": []});
    assert_eq!(empty, expected);
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    session
        .sync_and_report(vec![(fid, model(&[1]))], &[report(0, 0, fid, &[1])])
        .expect("it is in this process");
    assert!(state.take_packet(2).anomaly_stats.is_some());
    let later = state.take_packet(3);
    assert!(later.anomaly_stats.is_none());
    assert!(later.counter_stats.is_some(), "they were collected once");
}

#[test]
fn the_documents_have_the_fields_of_the_schemas() {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    let second_program = Hello {
        program: ProgramId(1),
        ranks: vec![RankId(0)],
        instance: String::from("second program"),
        run: RunIdentity::default(),
        recorded_ranks: None,
    };
    session.register(&hello(0)).expect("the rank is free");
    let fids = session
        .functions(PROGRAM, &names(&["calm", "f"]))
        .expect("short");
    session
        .sync_and_report(
            vec![(fids[1], model(&[5, 5, 1500]))],
            &[
                report(0, 3, fids[0], &[5]),
                report(0, 4, fids[1], &[5, 1500]),
            ],
        )
        .expect("it is in this process");
    let mut other = state.session();
    other
        .register(&second_program)
        .expect("the program differs");
    let fid = other
        .functions(ProgramId(1), &names(&["f"]))
        .expect("short")[0];
    assert_ne!(fid, fids[1], "programs have their own functions");

    let documents = state.documents();
    let of = |name: &str| {
        let found = documents.func_stats.iter().find(|it| it.fname == name);
        json!(found.expect("it is there"))
    };
    let calm = of("calm");
    assert_eq!(calm["anomaly_metrics"], Value::Null);
    assert_eq!(calm["runtime_profile"]["inclusive_runtime"]["mean"], 5.0);
    let f = of("f");
    let fields: Vec<&String> = f.as_object().expect("it is an object").keys().collect();
    assert_eq!(
        fields,
        ["anomaly_metrics", "app", "fid", "fname", "runtime_profile"]
    );
    let metrics = &f["anomaly_metrics"];
    assert_eq!(
        (&metrics["first_io_step"], &metrics["last_io_step"]),
        (&json!(4), &json!(4))
    );
    assert_eq!(metrics["min_timestamp"], 4_000_000);
    assert_eq!(metrics["max_timestamp"], 4_001_500);
    assert_eq!(metrics["anomaly_count"]["accumulate"], 1.0);
    assert_eq!(metrics["score"]["mean"], 15.0);
    assert_eq!(metrics["severity"]["mean"], 1500.0);

    let counter = json!(documents.counter_stats[0]);
    assert_eq!(counter["app"], 0);
    assert_eq!(counter["stats"]["count"], 3);
    assert_eq!(documents.ad_model.len(), 1);
    let entry = json!(documents.ad_model[0]);
    assert_eq!(
        (&entry["pid"], &entry["fid"]),
        (&json!(0), &json!(fids[1].0))
    );
    assert_eq!(entry["func_name"], "f");
    assert_eq!(entry["model"], model(&[5, 5, 1500]).to_json());
}

#[test]
fn steps_wait_for_a_packet_in_bounded_number() {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let num_steps = 70_000;
    for first in (0..num_steps).step_by(1000) {
        let steps = first..first + 1000;
        let reports: Vec<_> = steps.map(|step| report(0, step, fid, &[2000])).collect();
        session
            .sync_and_report(Vec::new(), &reports)
            .expect("it is in this process");
        state.fold();
    }
    let stats = state.take_packet(0).anomaly_stats.expect("there is news");
    assert_eq!(stats.anomaly[0].data.len(), 1 << 16);
    assert_eq!(
        stats.anomaly[0].data[0].step,
        u64::from(num_steps) - (1 << 16)
    );
    assert_eq!(stats.anomaly[0].stats.count, u64::from(num_steps));
}

#[test]
fn a_merged_packet_equals_the_packet_of_both() {
    let runs: Vec<_> = (0..2)
        .map(|takes_early| {
            let state = new_state(StateOptions::default());
            let mut session = state.session();
            session.register(&hello(0)).expect("the rank is free");
            let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
            let mut early = None;
            for step in 0..6 {
                let values = [1500 + u64::from(step), 2000];
                session
                    .sync_and_report(Vec::new(), &[report(0, step, fid, &values)])
                    .expect("it is in this process");
                if step == 2 && takes_early == 1 {
                    early = Some(state.take_packet(5));
                }
            }
            let last = state.take_packet(9);
            early.map_or(last.clone(), |early| early.followed_by(last))
        })
        .collect();
    let (whole, joined) = (&runs[0], &runs[1]);
    let stats = |packet: &Packet| packet.anomaly_stats.clone().expect("there is news");
    assert_eq!(stats(joined).anomaly, stats(whole).anomaly);
    assert_eq!(stats(joined).created_at, 9);
    assert_eq!(stats(joined).func[0].exclusive.count, 12);
    let counter = |packet: &Packet| packet.counter_stats.clone().expect("there is one");
    assert_eq!(
        counter(joined)[0].stats.count,
        counter(whole)[0].stats.count
    );
    let (ours, wanted) = (&joined.anomaly_metrics[0], &whole.anomaly_metrics[0]);
    assert_eq!(ours.all_data.last_io_step, 5);
    assert_eq!(ours.all_data.score.count, wanted.all_data.score.count);
    assert_eq!(ours.new_data.first_io_step, 0);
    assert_eq!(ours.new_data.score.count, wanted.new_data.score.count);
    assert!((ours.new_data.score.stddev - wanted.new_data.score.stddev).abs() < 1e-9);
}

#[test]
fn final_anomalies_replace_those_reported_before() {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let reported = [
        report(0, 0, fid, &[5, 1500]),
        report(0, 1, fid, &[5]),
        report(0, 2, fid, &[2000, 3000]),
    ];
    session.learn_steps(&[(RankId(0), StepId(2))]);
    session
        .sync_and_report(Vec::new(), &reported)
        .expect("taken");
    state.take_packet(1);
    let learnt_in = session.progress(0).expect("up").expect("up").learnt_in;
    let kept = Metrics::of_step(
        StepId(2),
        &report(0, 2, fid, &[3000]).functions[0].anomalies,
    );
    let of_rank = FinalAnomalies {
        metrics: [(fid, kept)].into(),
        count: moments(&[1]),
        learnt_in,
    };
    session.end_ranks(&[RankId(0)]);
    session.conclude(vec![(RankId(0), of_rank.clone())]);
    session.sync_and_report(Vec::new(), &[]).expect("taken");

    let packet = json!(state.take_packet(2));
    let rank = &packet["anomaly_stats"]["anomaly"][0]["stats"];
    assert_eq!(
        (&rank["count"], &rank["accumulate"]),
        (&json!(3), &json!(1.0))
    );
    let of_f = &packet["anomaly_stats"]["func"][0]["stats"];
    assert_eq!(
        (&of_f["count"], &of_f["accumulate"]),
        (&json!(3), &json!(1.0))
    );
    let metrics = &packet["anomaly_metrics"][0];
    assert_eq!(metrics["all_data"]["severity"]["accumulate"], 3000.0);
    assert_eq!(metrics["new_data"]["count"]["count"], 0);
    let restored = saved(&state).restore(StateOptions::default());
    let restored = restored.expect("its own");
    assert_eq!(restored.documents(), state.documents());
    let welcome = |state: &ServerState| state.register(&hello(0), 0).expect("free").welcome;
    assert_eq!(welcome(&restored).final_ranks, [RankId(0)]);

    session.conclude(vec![(RankId(0), of_rank)]);
    session.learn_steps(&[(RankId(0), StepId(3))]);
    session.sync_and_report(Vec::new(), &[]).expect("taken");
    assert!(
        welcome(&state).final_ranks.is_empty(),
        "the models have learnt since"
    );
}
