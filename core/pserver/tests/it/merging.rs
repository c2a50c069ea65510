//! The server's state does not depend on how data are distributed over instances, workers and folds.

use crate::support::{PROGRAM, global_model, hello, model, names, new_state, report};
use callgrove_detect::Moments;
use callgrove_pserver::{ModelExchange, StateOptions};
use proptest::prelude::*;

/// One step of one instance, or a fold.
#[derive(Clone, Debug)]
enum Event {
    Step { instance: usize, values: Vec<u64> },
    Fold,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let values = prop::collection::vec(prop_oneof![0_u64..300, 0_u64..u64::from(u32::MAX)], 0..40);
    let step = (0_usize..5, values).prop_map(|(instance, values)| Event::Step { instance, values });
    prop::collection::vec(prop_oneof![4 => step, 1 => Just(Event::Fold)], 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_split_gives_the_same_models_and_statistics(
        events in events(),
        num_workers in 1_usize..9,
        fold_on_sync: bool,
    ) {
        let options = StateOptions { num_workers, fold_on_sync, ..StateOptions::default() };
        let state = new_state(options);
        let mut sessions: Vec<_> = (0..5).map(|_| state.session()).collect();
        let mut all = vec![1, 2, 3];
        let mut num_anomalies = 0;
        for (rank, session) in sessions.iter_mut().enumerate() {
            session.register(&hello(rank as u32)).expect("ranks differ");
        }
        let fid = sessions[0].functions(PROGRAM, &names(&["f"])).expect("short")[0];
        sessions[0].sync_and_report(vec![(fid, model(&all))], &[]).expect("it is in this process");
        let mut num_steps = 0;
        for (step, event) in events.iter().enumerate() {
            let Event::Step { instance, values } = event else {
                state.fold();
                continue;
            };
            let session = &mut sessions[*instance];
            prop_assert_eq!(session.functions(PROGRAM, &names(&["f"])).expect("short"), vec![fid]);
            let reports = [report(*instance as u32, step as u32, fid, values)];
            session.sync_and_report(vec![(fid, model(values))], &reports).expect("it is in this process");
            num_steps += 1;
            num_anomalies += values.iter().filter(|&&value| value > 1000).count();
            all.extend(values);
        }
        let merged = global_model(&state, "f");
        let whole = model(&all);
        prop_assert_eq!(merged.distribution(), whole.distribution());
        assert_close(merged.moments(), whole.moments());
        let packet = state.take_packet(0);
        let reported = packet.anomaly_stats.map_or(0.0, |stats| {
            let ranks = stats.anomaly.iter();
            assert_eq!(ranks.clone().map(|rank| rank.stats.count).sum::<u64>(), num_steps);
            ranks.map(|rank| rank.stats.accumulate).sum()
        });
        prop_assert!((reported - num_anomalies as f64).abs() < 1e-6);
        let profile = &state.documents().func_stats;
        prop_assert_eq!(profile.is_empty(), num_steps == 0);
    }
}

#[test]
fn every_step_is_judged_by_a_model_that_includes_it_and_all_before() {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let mut all = Vec::new();
    for step in 0..50_u64 {
        let values = [step, 10 * step];
        all.extend(values);
        let synced = session
            .sync_and_report(vec![(fid, model(&values))], &[])
            .expect("it is in this process");
        assert_eq!(
            synced.models[0].1.distribution(),
            model(&all).distribution()
        );
        if step % 7 == 0 {
            state.fold();
        }
    }
}

#[test]
fn a_model_reaches_the_other_instances_with_the_next_fold() {
    let state = new_state(StateOptions::default());
    let (mut one, mut other) = (state.session(), state.session());
    one.register(&hello(0)).expect("the rank is free");
    other.register(&hello(1)).expect("the rank is free");
    let fid = one.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    other.functions(PROGRAM, &names(&["f"])).expect("short");
    one.sync_and_report(vec![(fid, model(&[5, 6]))], &[])
        .expect("it is in this process");
    let mut count_at_other = || {
        let synced = other
            .sync_and_report(vec![(fid, model(&[]))], &[])
            .expect("it is in this process");
        synced.models[0].1.moments().count()
    };
    assert_eq!(count_at_other(), 0);
    state.fold();
    assert_eq!(count_at_other(), 2);
    state.fold();
    assert_eq!(count_at_other(), 2);
}

#[test]
fn a_frozen_server_keeps_its_models_and_counts_on() {
    let trained = new_state(StateOptions::default());
    let mut session = trained.session();
    session.register(&hello(0)).expect("the rank is free");
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    session
        .sync_and_report(vec![(fid, model(&[7; 100]))], &[])
        .expect("it is in this process");
    let saved = trained.save().expect("all numbers are finite");

    let options = StateOptions {
        frozen: true,
        ..StateOptions::default()
    };
    let state = callgrove_pserver::ServerState::with_models(options, &saved.json);
    let state = std::sync::Arc::new(state.expect("it was just saved"));
    let mut session = state.session();
    let welcome = session.register(&hello(0)).expect("the rank is free");
    assert!(welcome.frozen);
    let fids = session
        .functions(PROGRAM, &names(&["f", "unknown"]))
        .expect("short");
    for step in 0..3 {
        let deltas = vec![(fids[0], model(&[900])), (fids[1], model(&[900]))];
        let reports = [report(0, step, fids[0], &[2000])];
        let synced = session
            .sync_and_report(deltas, &reports)
            .expect("it is in this process");
        assert_eq!(synced.models.len(), 1, "the unknown function has no model");
        assert_eq!(*synced.models[0].1, model(&[7; 100]).for_next_run());
        state.fold();
    }
    let documents = state.documents();
    let runtimes = &documents.func_stats[0].runtime_profile.exclusive_runtime;
    assert_eq!(runtimes.count, 3);
    assert_eq!(documents.ad_model.len(), 1);
}

#[test]
fn models_of_different_algorithms_are_refused_together() {
    let state = new_state(StateOptions::default());
    let (mut one, mut other) = (state.session(), state.session());
    one.register(&hello(0)).expect("the rank is free");
    other.register(&hello(1)).expect("the rank is free");
    let fid = one.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    one.sync_and_report(vec![(fid, model(&[5]))], &[])
        .expect("it is in this process");
    other.functions(PROGRAM, &names(&["f"])).expect("short");
    let sstd = callgrove_detect::Params {
        algorithm: callgrove_detect::Algorithm::Sstd,
        ..callgrove_detect::Params::default()
    };
    let bare = callgrove_detect::FuncModel::new(&sstd.check().expect("valid"));
    let refused = other.sync_and_report(vec![(fid, bare)], &[]);
    let error = refused.expect_err("the kinds differ").to_string();
    assert!(error.contains("different algorithms"), "{error}");
}

pub(crate) fn assert_close(ours: &Moments, theirs: &Moments) {
    assert_eq!(ours.count(), theirs.count());
    for (ours, theirs) in ours.parts().into_iter().zip(theirs.parts()) {
        let scale = ours.abs().max(theirs.abs()).max(1.0);
        assert!((ours - theirs).abs() <= 1e-7 * scale, "{ours} {theirs}");
    }
}

#[test]
fn a_function_that_is_named_later_has_the_model_that_was_sent_before() {
    let state = new_state(StateOptions::default());
    let [mut first, mut second] = [0, 1].map(|rank| {
        let mut session = state.session();
        session.register(&hello(rank)).expect("ranks differ");
        session
    });
    let rare = first.functions(PROGRAM, &names(&["rare"])).expect("short")[0];
    let learnt = vec![(rare, model(&[10, 20, 30]))];
    first
        .sync_and_report(learnt, &[])
        .expect("it is in this process");
    state.fold();
    // The server sends all models, and never again those that do not change.
    second
        .sync_and_report(Vec::new(), &[])
        .expect("it is in this process");
    second.functions(PROGRAM, &names(&["rare"])).expect("short");
    let named = vec![(rare, model(&[40]))];
    let synced = second
        .sync_and_report(named, &[])
        .expect("it is in this process");
    assert_eq!(synced.models[0].1.moments().count(), 4);
}
