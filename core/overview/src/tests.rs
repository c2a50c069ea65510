//! Laws of the overview: its content does not depend on how data are distributed over packets.

use callgrove_detect::RunStats;
use callgrove_model::RunIdentity;
use proptest::prelude::*;

use super::*;
use crate::packet::{StepAnomalies, VERSION};

/// Returns the statistics of values, straight from the definitions.
fn stats_of(values: &[f64]) -> RunStats {
    if values.is_empty() {
        return RunStats::default();
    }
    let count = values.len() as f64;
    let accumulate: f64 = values.iter().sum();
    let mean = accumulate / count;
    let power = |exponent: i32| -> f64 {
        values
            .iter()
            .map(|value| (value - mean).powi(exponent))
            .sum()
    };
    let (m2, m3, m4) = (power(2), power(3), power(4));
    let has_spread = m2 > 1e-9;
    RunStats {
        accumulate,
        count: values.len() as u64,
        kurtosis: if has_spread {
            count * m4 / (m2 * m2) - 3.0
        } else {
            0.0
        },
        maximum: values.iter().copied().fold(f64::MIN, f64::max),
        mean,
        minimum: values.iter().copied().fold(f64::MAX, f64::min),
        skewness: if has_spread {
            count.sqrt() * m3 / m2.powf(1.5)
        } else {
            0.0
        },
        stddev: if values.len() > 1 {
            (m2 / (count - 1.0)).sqrt()
        } else {
            0.0
        },
    }
}

fn step(app: u32, rank: u32, step: u64, n_anomalies: u64) -> StepAnomalies {
    StepAnomalies {
        app,
        rank,
        step,
        n_anomalies,
        min_timestamp_us: step,
        max_timestamp_us: step.saturating_add(1),
        outlier_scores: stats_of(&vec![step as f64; n_anomalies as usize]),
    }
}

fn packet(data: &[StepAnomalies], metrics: Vec<AnomalyMetrics>) -> Packet {
    let anomaly = data
        .iter()
        .map(|step| RankAnomalies {
            data: vec![step.clone()],
            key: format!("{}:{}", step.app, step.rank),
            stats: RunStats::default(),
        })
        .collect();
    Packet {
        version: VERSION,
        created_at: 5,
        run: RunIdentity::default(),
        anomaly_stats: Some(AnomalyStats {
            created_at: 5,
            anomaly,
            func: Vec::new(),
        }),
        anomaly_metrics: metrics,
        counter_stats: None,
    }
}

fn metrics(rank: u32, fid: u32, severities: &[f64]) -> AnomalyMetrics {
    let data = MetricsData {
        first_io_step: u64::from(rank),
        last_io_step: u64::from(rank) + 3,
        max_timestamp_us: 9,
        min_timestamp_us: 3,
        severity: stats_of(severities),
        score: stats_of(severities),
        count: stats_of(&[severities.len() as f64]),
    };
    AnomalyMetrics {
        app: 0,
        rank,
        fid,
        fname: format!("f{fid}"),
        _id: u64::from(rank * 100 + fid),
        new_data: data.clone(),
        all_data: data,
    }
}

fn overview(packets: impl IntoIterator<Item = Packet>) -> Overview {
    let mut overview = Overview::default();
    for packet in packets {
        overview.apply(&packet);
    }
    overview
}

fn nearly(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
}

fn assert_alike(a: &RunStats, b: &RunStats) {
    assert_eq!(a.count, b.count);
    for (x, y) in [
        (a.accumulate, b.accumulate),
        (a.mean, b.mean),
        (a.stddev, b.stddev),
        (a.skewness, b.skewness),
        (a.kurtosis, b.kurtosis),
        (a.minimum, b.minimum),
        (a.maximum, b.maximum),
    ] {
        assert!(nearly(x, y), "{a:?} {b:?}");
    }
}

/// Generates steps of three ranks, each at most once, in any order.
fn steps() -> impl Strategy<Value = Vec<StepAnomalies>> {
    let keys = proptest::collection::btree_set((0_u32..3, 0_u64..20_000), 0..300);
    keys.prop_shuffle_with_counts()
}

/// Shuffles the steps, and gives each a number of anomalies.
trait ShuffledSteps: Strategy<Value = BTreeSet<(u32, u64)>> + Sized + 'static {
    fn prop_shuffle_with_counts(self) -> BoxedStrategy<Vec<StepAnomalies>> {
        self.prop_map(|keys| keys.into_iter().collect::<Vec<_>>())
            .prop_shuffle()
            .prop_map(|keys| {
                keys.into_iter()
                    .map(|(rank, number)| step(0, rank, number, number % 4))
                    .collect()
            })
            .boxed()
    }
}

impl<S: Strategy<Value = BTreeSet<(u32, u64)>> + 'static> ShuffledSteps for S {}

proptest! {
    #[test]
    fn one_packet_or_many_in_any_order_give_the_same_overview(
        (data, shuffled, cut) in steps().prop_flat_map(|data| {
            let len = data.len();
            (Just(data.clone()), Just(data).prop_shuffle(), 0..=len)
        })
    ) {
        let whole = overview([packet(&data, Vec::new())]);
        let halves = overview([packet(&data[..cut], Vec::new()), packet(&data[cut..], Vec::new())]);
        let single = overview(shuffled.iter().map(|step| packet(std::slice::from_ref(step), Vec::new())));
        if !data.is_empty() {
            prop_assert_eq!(&whole.ranks, &halves.ranks);
            prop_assert_eq!(&whole.ranks, &single.ranks);
        }
        let total: u64 = data.iter().map(|step| step.n_anomalies).sum();
        let known: u64 = whole.ranks.iter().map(|rank| rank.history.num_anomalies()).sum();
        prop_assert_eq!(known, total, "nothing is lost");
    }

    #[test]
    fn statistics_of_parts_add_up_to_those_of_the_whole(
        values in proptest::collection::vec(0_u32..100_000, 1..60),
        cut in 0_usize..60,
    ) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let (a, b) = values.split_at(cut.min(values.len()));
        assert_alike(&merged_stats(&stats_of(a), &stats_of(b)), &stats_of(&values));
    }

    #[test]
    fn ranks_and_functions_sum_up_their_own_metrics(
        cells in proptest::collection::btree_map(
            (0_u32..4, 0_u32..5),
            proptest::collection::vec(1_u32..1_000, 1..6),
            1..15,
        )
    ) {
        let cells: Vec<((u32, u32), Vec<f64>)> = cells
            .into_iter()
            .map(|(key, values)| (key, values.into_iter().map(f64::from).collect()))
            .collect();
        let known = overview(cells.iter().map(|((rank, fid), values)| {
            packet(&[], vec![metrics(*rank, *fid, values)])
        }));
        for func in &known.funcs {
            let values: Vec<f64> = cells
                .iter()
                .filter(|((_, fid), _)| *fid == func.fid)
                .flat_map(|(_, values)| values.clone())
                .collect();
            assert_alike(&func.metrics.severity, &stats_of(&values));
        }
        for rank in &known.ranks {
            let values: Vec<f64> = cells
                .iter()
                .filter(|((number, _), _)| *number == rank.rank)
                .flat_map(|(_, values)| values.clone())
                .collect();
            assert_alike(&rank.metrics.score, &stats_of(&values));
        }
    }
}

#[test]
fn a_packet_that_arrives_twice_changes_nothing() {
    let data: Vec<StepAnomalies> = (0..50)
        .map(|number| step(0, 1, number, number % 3))
        .collect();
    let packet = packet(&data, vec![metrics(1, 2, &[3.0, 8.0])]);
    assert_eq!(
        overview([packet.clone()]),
        overview([packet.clone(), packet])
    );
}

#[test]
fn the_last_steps_are_exact_and_memory_is_bounded_however_long_the_run() {
    let mut history = StepHistory::default();
    let num_steps = 300_000;
    for number in 0..num_steps {
        history.report(&step(0, 0, number, 1 + number % 2));
    }
    assert_eq!(history.num_anomalies(), num_steps * 3 / 2);
    assert_eq!(history.reported(), Some((0, num_steps - 1)));
    let recent: Vec<&StepSpan> = history
        .spans()
        .filter(|span| span.first_step >= num_steps - RECENT_STEPS)
        .collect();
    assert_eq!(recent.len(), RECENT_STEPS as usize);
    assert!(recent.iter().all(|span| span.num_steps == 1));
    assert!(history.spans().count() <= RECENT_STEPS as usize + MAX_FOLDED);
    let mut next = 0;
    for span in history.spans() {
        assert!(span.first_step >= next, "in order, without overlap");
        next = span.first_step + 1;
    }
}

#[test]
fn a_step_reported_again_replaces_its_old_data() {
    let mut history = StepHistory::default();
    for count in [5, 2] {
        history.report(&step(0, 0, 7, count));
    }
    assert_eq!(history.num_anomalies(), 2);
    history.report(&step(0, 0, 7, 0));
    assert_eq!(history.spans().count(), 0);
    assert_eq!(history.reported(), Some((7, 7)));
}

#[test]
fn a_huge_step_number_does_no_harm() {
    let mut history = StepHistory::default();
    for number in [0, u64::MAX, 3, u64::MAX - 1] {
        history.report(&step(0, 0, number, 1));
    }
    assert_eq!(history.num_anomalies(), 4);
    assert!(
        history
            .spans()
            .all(|span| span.last_step() >= span.first_step)
    );
}

#[test]
fn an_entry_without_a_rank_is_counted_and_skipped() {
    let mut packet = packet(&[step(2, 3, 1, 4)], Vec::new());
    let stats = packet.anomaly_stats.as_mut().unwrap();
    stats.anomaly[0].key = "two:three".to_owned();
    stats.anomaly.push(RankAnomalies {
        data: Vec::new(),
        key: String::new(),
        stats: RunStats::default(),
    });
    let known = overview([packet]);
    assert_eq!(known.num_unreadable, 1);
    assert_eq!(known.rank(2, 3).unwrap().history.num_anomalies(), 4);
}

#[test]
fn the_overview_survives_json() {
    let data: Vec<StepAnomalies> = (0..9_000).map(|number| step(0, 1, number, 1)).collect();
    let known = overview([packet(&data, vec![metrics(1, 2, &[3.0, 8.5])])]);
    let json = serde_json::to_string(&known).unwrap();
    assert_eq!(serde_json::from_str::<Overview>(&json).unwrap(), known);
}

#[test]
fn functions_are_found_and_share_the_anomalies() {
    let mut packet = packet(&[], Vec::new());
    packet.anomaly_stats.as_mut().unwrap().func = [(1, 30.0), (2, 10.0)]
        .map(|(fid, accumulate)| FuncAnomalies {
            app: 0,
            fid,
            name: format!("f{fid}"),
            exclusive: stats_of(&[1.0, 2.0]),
            inclusive: stats_of(&[2.0, 3.0]),
            stats: RunStats {
                accumulate,
                count: 10,
                ..RunStats::default()
            },
        })
        .into();
    let known = overview([packet]);
    let func = known.func(0, 1).unwrap();
    assert_eq!(func.name, "f1");
    assert!(nearly(known.share_of_anomalies(func), 0.75));
    assert!(known.func(0, 3).is_none());
}

/// Returns the packet of a step in which every rank has an anomaly.
fn step_of_all(num_ranks: u32, number: u64) -> Packet {
    let data: Vec<StepAnomalies> = (0..num_ranks)
        .map(|rank| step(0, rank, number, 1))
        .collect();
    packet(&data, Vec::new())
}

#[test]
fn histories_of_many_ranks_are_bounded_together_and_lose_no_anomaly() {
    let num_ranks = 40_000;
    let num_steps = 120;
    let known = overview((0..num_steps).map(|number| step_of_all(num_ranks, number)));
    assert_eq!(
        MAX_SPANS / RANKS_IN_FULL,
        RECENT_STEPS as usize + MAX_FOLDED
    );
    let num_spans: usize = known.ranks.iter().map(|it| it.history.num_spans()).sum();
    assert!(num_spans <= MAX_SPANS, "{num_spans}");
    for rank in &known.ranks {
        assert_eq!(rank.history.num_anomalies(), num_steps);
        let widths = rank.history.spans().map(|span| span.num_steps);
        assert!(
            widths.max() <= Some(1 << known.fold_shift),
            "all ranks have columns of equal width"
        );
    }
    let newest = known.ranks[0].history.spans().next_back();
    assert_eq!(
        newest.map(|span| (span.first_step, span.num_steps)),
        Some((num_steps - 1, 1))
    );
}

#[test]
fn late_ranks_are_inserted_in_order() {
    let known = overview([
        step_of_all(3, 0),
        packet(&[step(0, 7, 0, 1), step(0, 5, 0, 2)], Vec::new()),
    ]);
    let ranks: Vec<u32> = known.ranks.iter().map(|it| it.rank).collect();
    assert_eq!(ranks, [0, 1, 2, 5, 7]);
    assert_eq!(
        known.rank(0, 5).map(|it| it.history.num_anomalies()),
        Some(2)
    );
}
