//! Packets of a synthetic job of any size: each rank reports one step in each, and one rank of fifty has anomalies.

use callgrove_detect::RunStats;
use callgrove_model::RunIdentity;
use callgrove_overview::packet::{
    AnomalyMetrics, AnomalyStats, CounterStats, FuncAnomalies, MetricsData, Packet, RankAnomalies,
    StepAnomalies, VERSION,
};

/// Number of functions.
const NUM_FUNCS: u32 = 100;
/// Of this many ranks one has anomalies in a step.
const RANKS_PER_ANOMALY: u32 = 50;

fn stats(mean: f64, count: u64) -> RunStats {
    RunStats {
        accumulate: mean * count as f64,
        count,
        kurtosis: 1.0 / 3.0 + mean,
        maximum: mean * 1.7,
        mean,
        minimum: mean / 1.3,
        skewness: mean.sqrt() / 7.0,
        stddev: mean / 11.0,
    }
}

/// Returns the number of anomalies of a rank in a step.
pub(crate) fn num_anomalies(rank: u32, step: u64) -> u64 {
    let phase = (u64::from(rank) * 7 + step) % u64::from(RANKS_PER_ANOMALY);
    if phase == 0 {
        1 + u64::from(rank % 3)
    } else {
        0
    }
}

/// Returns the packet of a step, from 0.
pub(crate) fn packet(num_ranks: u32, step: u64) -> Packet {
    let rank = |rank: u32| {
        let n_anomalies = num_anomalies(rank, step);
        let total: u64 = (0..=step).map(|step| num_anomalies(rank, step)).sum();
        RankAnomalies {
            data: vec![StepAnomalies {
                app: 0,
                max_timestamp_us: 1_795_231_715_000_000 + step,
                min_timestamp_us: 1_795_231_715_000_000 + step,
                n_anomalies,
                rank,
                step,
                outlier_scores: stats(17.3, n_anomalies),
            }],
            key: format!("0:{rank}"),
            stats: RunStats {
                accumulate: total as f64,
                ..stats(total as f64 / (step + 1) as f64, step + 1)
            },
        }
    };
    let func = |fid: u32| FuncAnomalies {
        app: 0,
        fid,
        name: format!(
            "solver::Kernel{fid}::apply(double const*, double*, int) [{{kernel.cpp}} {{{fid},0}}]"
        ),
        exclusive: stats(f64::from(fid) * 1.1 + 1.0, 1_000 * (step + 1)),
        inclusive: stats(f64::from(fid) * 2.3 + 1.0, 1_000 * (step + 1)),
        stats: stats(0.7, step + 1),
    };
    let metrics = |rank: u32| {
        let data = |num_steps: u64| MetricsData {
            first_io_step: 0,
            last_io_step: step,
            max_timestamp_us: 1_795_231_715_000_000 + step,
            min_timestamp_us: 1_795_231_715_000_000,
            severity: stats(1_234.5, num_steps),
            score: stats(17.3, num_steps),
            count: stats(num_anomalies(rank, step) as f64, num_steps),
        };
        let fid = rank % NUM_FUNCS;
        AnomalyMetrics {
            app: 0,
            rank,
            fid,
            fname: func(fid).name,
            _id: u64::from(rank),
            new_data: data(1),
            all_data: data(step / u64::from(RANKS_PER_ANOMALY) + 1),
        }
    };
    let with_anomalies = (0..num_ranks).filter(|rank| num_anomalies(*rank, step) > 0);
    Packet {
        version: VERSION,
        created_at: 1_795_231_715_000 + step * 1_000,
        run: RunIdentity::default(),
        anomaly_stats: Some(AnomalyStats {
            created_at: 1_795_231_715_000 + step * 1_000,
            anomaly: (0..num_ranks).map(rank).collect(),
            func: (0..NUM_FUNCS).map(func).collect(),
        }),
        anomaly_metrics: with_anomalies.map(metrics).collect(),
        counter_stats: Some(vec![CounterStats {
            app: 0,
            counter: "Message size received".to_owned(),
            stats: stats(4_096.0, step + 1),
        }]),
    }
}
