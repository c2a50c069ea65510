//! The detector by caller: what merging keeps, and which executions are outliers.

use callgrove_detect::{
    Algorithm, CallerKey, CallsInRow, ContextPart, Contexts, DetectError, Distribution, FuncModel,
    Histogram, Judge, Params, ValidParams,
};
use callgrove_model::StepId;
use proptest::prelude::*;

fn params(severe_us: f64) -> ValidParams {
    let params = Params {
        algorithm: Algorithm::Excess,
        severe_us,
        ..Params::default()
    };
    params.check().expect("valid parameters")
}

fn severe() -> ValidParams {
    params(Params::default().severe_us)
}

/// Returns a model of some executions under each caller, all in step 0.
fn model(by_caller: &[(&str, &[u64])]) -> FuncModel {
    let mut model = FuncModel::new(&severe());
    for (caller, times_us) in by_caller {
        model.extend_in(StepId(0), CallerKey::of(caller), times_us);
    }
    model
}

/// Returns times close to `typical_us`, each slightly different.
fn about(typical_us: u64, count: u64) -> Vec<u64> {
    (0..count)
        .map(|i| typical_us + typical_us * (i * 7_919 % 101) / 500)
        .collect()
}

fn contexts(model: &FuncModel) -> &Contexts {
    match model.distribution() {
        Distribution::Contexts(contexts) => contexts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn outliers_depend_on_the_caller() {
    let (short, long) = (about(100, 1_000), about(10_000, 1_000));
    let model = model(&[("a", &short), ("b", &long)]);
    let judge = Judge::new(&model, &severe(), None);
    let is_outlier = |caller, time| judge.judge_in(CallerKey::of(caller), time).is_outlier;
    assert!(is_outlier("a", 10_000) && !is_outlier("b", 10_000));
    // A caller that the model does not know is judged by all executions.
    assert!(!is_outlier("c", 10_000) && is_outlier("c", 1_000_000));
}

#[test]
fn few_executions_are_judged_by_the_function_if_they_are_similar() {
    let many = about(100, 1_000);
    let model = model(&[
        ("a", &many),
        ("rarely", &[100, 101, 102, 30_000]),
        ("otherwise", &[30_000, 31_000]),
    ]);
    let judge = Judge::new(&model, &severe(), None);
    let is_outlier = |caller| judge.judge_in(CallerKey::of(caller), 30_000).is_outlier;
    assert!(is_outlier("rarely") && !is_outlier("otherwise"));
}

#[test]
fn microseconds_count_less_than_milliseconds() {
    // The executions are equally improbable and differ only in cost.
    let of = |typical_us: u64| {
        let times = [about(typical_us, 2_000), vec![8 * typical_us]].concat();
        let judge = Judge::new(&model(&[("a", &times)]), &severe(), None);
        let caller = CallerKey::of("a");
        judge.judge_in(caller, 8 * typical_us).is_outlier
    };
    assert!(!of(20) && of(2_000));
}

#[test]
fn calls_in_a_row_count_by_their_common_cost() {
    // Ten calls take five times their usual time, where one in a thousand is longer by 120 µs on average: each costs
    // little, but together they cost 6 ms.
    let longer = (1..=60_u32).map(|i| 270 + (120.0 * -(f64::from(i) / 61.0).ln()) as u64);
    let times = [about(150, 60_000), longer.collect(), vec![750; 10]].concat();
    let judge = Judge::new(&model(&[("a", &times)]), &severe(), None);
    let caller = CallerKey::of("a");
    let excess_us = judge.excess_us(caller, 750).expect("an unusual time");
    assert!((550..650).contains(&excess_us), "{excess_us}");
    assert!(!judge.judge_in(caller, 750).is_outlier);
    let row = |num_calls: u32| CallsInRow {
        num_calls,
        excess_us: u64::from(num_calls) * excess_us,
    };
    assert!(!judge.judge_in_row(caller, 750, row(1)).is_outlier);
    assert!(judge.judge_in_row(caller, 750, row(10)).is_outlier);
    let (alone, among) = (
        judge.judge_in(caller, 750),
        judge.judge_in_row(caller, 750, row(10)),
    );
    assert!((alone.score - among.score).abs() < 1e-12, "{among:?}");
    // Usual executions remain usual next to any others.
    assert_eq!(judge.excess_us(caller, 160), None);
    assert!(!judge.judge_in_row(caller, 160, row(1_000)).is_outlier);
}

#[test]
fn a_rare_mode_is_usual_and_spread_times_are_not() {
    let usual = about(100, 960);
    let (mode, spread): (Vec<u64>, Vec<u64>) = (0..40)
        .map(|i| (40_000 + 100 * i, 20_000 << (i % 6)))
        .unzip();
    for (others, is_outlier) in [(mode, false), (spread, true)] {
        let model = model(&[("a", &[&usual[..], &others].concat())]);
        let judge = Judge::new(&model, &severe(), None);
        let verdict = judge.judge_in(CallerKey::of("a"), 40_000);
        assert_eq!(verdict.is_outlier, is_outlier, "{verdict:?}");
    }
}

#[test]
fn old_times_are_usual_in_the_run_but_not_recently() {
    let mut model = FuncModel::new(&severe());
    let outliers = |judge: &Judge| {
        let times_us = [1_000, 50_000, 1_000_000];
        times_us.map(|time_us| judge.judge(time_us).is_outlier)
    };
    let judge_after = |model: &mut FuncModel, steps: std::ops::Range<u32>, typical_us| {
        for step in steps {
            model.extend_in(StepId(step), CallerKey::NONE, &about(typical_us, 40));
        }
        let judge = Judge::of_recent(model, &severe(), None);
        outliers(&judge)
    };
    assert_eq!(
        judge_after(&mut model, 0..100, 50_000),
        [false, false, true]
    );
    assert_eq!(
        judge_after(&mut model, 100..101, 1_000),
        [false, false, true]
    );
    assert_eq!(
        judge_after(&mut model, 101..200, 1_000),
        [false, true, true]
    );
    let of_run = Judge::new(&model, &severe(), None);
    assert_eq!(outliers(&of_run), [false, false, true]);
    // The initial model counts as the oldest part of the run, but it counts.
    let loaded = model.clone().for_next_run();
    assert_eq!(loaded.moments(), model.moments());
    let judge = Judge::of_recent(&loaded, &severe(), None);
    assert_eq!(outliers(&judge), [false, false, true]);
}

#[test]
fn records_hold_the_context_and_its_threshold() {
    let (short, long) = (about(100, 1_000), about(10_000, 500));
    let model = model(&[("a", &short), ("b", &long)]);
    let judge = Judge::new(&model, &severe(), None);
    assert_eq!(judge.num_contexts(), 3);
    let algo_params = |caller| judge.algo_params(&model, judge.context(CallerKey::of(caller)));
    for (caller, count) in [("a", 1_000), ("b", 500), ("c", 1_500)] {
        let params = algo_params(caller);
        let counts = params["histogram"]["Histogram Bin Counts"]
            .as_array()
            .unwrap();
        let sum: u64 = counts.iter().filter_map(serde_json::Value::as_u64).sum();
        assert_eq!(sum, count, "{caller}");
        let border_us = params["border_us"].as_u64().unwrap();
        let at = |time| judge.judge_in(CallerKey::of(caller), time);
        assert!(at(border_us).is_outlier && !at(border_us - 1).is_outlier);
        let threshold = params["internal_global_threshold"].as_f64().unwrap();
        assert!((at(border_us).score - threshold).abs() < 1e-12);
    }
}

#[test]
fn invalid_parts_are_refused() {
    let mut histogram = Histogram::new(128);
    histogram.extend(&[5]);
    let part = |caller, epoch| ContextPart {
        caller: Some(CallerKey(caller)),
        epoch,
        histogram: histogram.clone(),
    };
    let empty = ContextPart {
        histogram: Histogram::new(128),
        ..part(1, 1)
    };
    let good = Contexts::try_from(vec![part(1, 1), part(1, 2), part(2, 1)]);
    assert_eq!(good.map(|it| it.parts().count()), Ok(3));
    let too_many_callers = (0..17).map(|caller| part(caller, 1)).collect();
    let too_many_epochs = (0..10).map(|epoch| part(1, epoch)).collect();
    for bad in [
        vec![part(1, 1), part(1, 1)],
        vec![empty],
        too_many_callers,
        too_many_epochs,
    ] {
        let made = Contexts::try_from(bad);
        assert!(matches!(made, Err(DetectError::Damaged { .. })), "{made:?}");
    }
}

/// Executions by step: step, caller, and time.
fn any_batches() -> impl Strategy<Value = Vec<(u32, Vec<(u64, u64)>)>> {
    let time = (any::<u64>(), 20..64_u32).prop_map(|(time, shift)| time >> shift);
    let batch = prop::collection::vec((0..30_u64, time), 0..40);
    prop::collection::vec((0..300_u32, batch), 0..20)
}

fn counted(batches: &[(u32, Vec<(u64, u64)>)]) -> FuncModel {
    let mut model = FuncModel::new(&severe());
    for (step, batch) in batches {
        for &(key, time) in batch {
            model.extend_in(StepId(*step), CallerKey(key), &[time]);
        }
    }
    model
}

proptest! {
    #[test]
    fn contexts_do_not_depend_on_the_order_and_grouping_of_merges(
        batches in any_batches(),
        order in any::<prop::sample::Index>(),
        groups in prop::collection::vec(any::<prop::sample::Index>(), 20),
    ) {
        let whole = counted(&batches);
        let mut turned = batches.clone();
        turned.rotate_left(order.index(batches.len().max(1)).min(batches.len()));
        let mut parts = vec![FuncModel::new(&severe()); 4];
        for (batch, group) in turned.chunks(1).zip(&groups) {
            let part = &mut parts[group.index(4)];
            part.merge(&counted(batch)).unwrap();
        }
        let mut merged = parts.swap_remove(order.index(4));
        for part in parts.iter().rev() {
            merged.merge(part).unwrap();
        }
        prop_assert_eq!(contexts(&merged), contexts(&whole));
        for judge in [Judge::new, Judge::of_recent] {
            let [merged, whole] = [&merged, &whole].map(|model| judge(model, &severe(), None));
            for &(caller, time) in batches.iter().flat_map(|(_, batch)| batch) {
                let caller = CallerKey(caller);
                prop_assert_eq!(merged.judge_in(caller, time), whole.judge_in(caller, time));
            }
        }
    }

    #[test]
    fn contexts_are_bounded_and_survive_storage(batches in any_batches()) {
        let model = counted(&batches);
        let parts: Vec<_> = contexts(&model).parts().collect();
        prop_assert!(parts.len() <= 17 * 9);
        prop_assert!(parts.iter().all(|(_, _, histogram)| histogram.bins().len() <= 128));
        let text = serde_json::to_string(&model).unwrap();
        prop_assert_eq!(serde_json::from_str::<FuncModel>(&text).unwrap(), model);
    }

    #[test]
    fn longer_executions_are_never_less_abnormal(
        times in prop::collection::vec((any::<u64>(), 40..64_u32).prop_map(|(x, shift)| x >> shift), 32..300),
        mut judged in prop::collection::vec(any::<u32>(), 2..50),
    ) {
        let mut model = FuncModel::new(&severe());
        model.extend(&times);
        let judge = Judge::new(&model, &severe(), None);
        judged.sort_unstable();
        let verdicts: Vec<_> = judged.iter().map(|&time| judge.judge(time.into())).collect();
        for pair in verdicts.windows(2) {
            prop_assert!(pair[0].score <= pair[1].score && pair[0].is_outlier <= pair[1].is_outlier);
        }
    }

    #[test]
    fn a_run_at_half_the_speed_has_the_same_outliers(
        spread in 2..40_u64,
        slow in prop::collection::vec(1..200_u64, 0..5),
        halvings in 1..4_u32,
    ) {
        // Well above a microsecond, where the whole scale is logarithmic.
        let usual: Vec<u64> = (0..500).map(|i| 100_000 + 1_000 * (i * 7_919 % spread)).collect();
        let times: Vec<u64> = usual.iter().copied().chain(slow.iter().map(|it| 200_000 * it)).collect();
        let outliers = |halvings: u32| {
            let times: Vec<u64> = times.iter().map(|it| it << halvings).collect();
            let params = params(20_000.0 * f64::from(1 << halvings));
            let mut model = FuncModel::new(&params);
            model.extend(&times);
            let judge = Judge::new(&model, &params, None);
            times.iter().map(|&it| judge.judge(it).is_outlier).collect::<Vec<bool>>()
        };
        prop_assert_eq!(outliers(0), outliers(halvings));
    }
}
