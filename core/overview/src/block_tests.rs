//! Laws of the blocks of ranks: they partition the ranks, and their sums are those of the job.

use std::sync::Arc;

use callgrove_detect::RunStats;
use proptest::prelude::*;

use super::*;
use crate::packet::{PacketDigest, StepAnomalies};

/// Returns a rank with some anomalies in each of its steps.
fn rank((app, rank, steps): (u32, u32, Vec<(u64, u64)>)) -> RankOverview {
    let mut history = StepHistory::default();
    for &(step, n_anomalies) in &steps {
        history.report(&StepAnomalies {
            app,
            rank,
            step,
            n_anomalies,
            min_timestamp_us: step,
            max_timestamp_us: step,
            outlier_scores: RunStats::default(),
        });
    }
    let anomalies = RunStats {
        accumulate: history.num_anomalies() as f64,
        count: steps.len() as u64,
        ..RunStats::default()
    };
    RankOverview {
        app,
        rank,
        anomalies,
        history,
        ..RankOverview::default()
    }
}

fn job(ranks: impl IntoIterator<Item = (u32, u32, Vec<(u64, u64)>)>) -> Overview {
    let mut ranks: Vec<RankOverview> = ranks.into_iter().map(rank).collect();
    ranks.sort_by_key(|rank| (rank.app, rank.rank));
    ranks.dedup_by_key(|rank| (rank.app, rank.rank));
    Overview {
        ranks,
        ..Overview::default()
    }
}

/// Returns the hosts of a job with `per_host` ranks on each.
fn hosts(overview: &Overview, per_host: u32) -> RankHosts {
    let host = |rank: &RankOverview| {
        let host = format!("node{:05}", rank.rank / per_host);
        ((rank.app, rank.rank), Arc::from(host))
    };
    overview.ranks.iter().map(host).collect()
}

/// Asserts the laws of blocks.
fn check(overview: &Overview, hosts: &RankHosts) -> Result<(), TestCaseError> {
    let condensed = overview.condensed(hosts);
    let blocks = condensed.blocks.as_ref().expect("condensed");
    let keys = |overview: &Overview| -> Vec<(u32, u32)> {
        let ranks = overview.ranks.iter();
        ranks.map(|rank| (rank.app, rank.rank)).collect()
    };
    let mut in_blocks = Vec::new();
    for block in &blocks.blocks {
        let part = overview.of_ranks(block.ranks);
        prop_assert_eq!(part.ranks.len() as u64, block.num_ranks);
        for rank in &part.ranks {
            prop_assert_eq!(Some(rank), overview.rank(rank.app, rank.rank));
        }
        let totals = part.ranks.iter().map(|rank| rank.history.num_anomalies());
        prop_assert_eq!(totals.clone().sum::<u64>(), block.num_anomalies);
        prop_assert_eq!(block.cells.iter().sum::<u64>(), block.num_anomalies);
        prop_assert_eq!(totals.max(), Some(block.worst_num_anomalies));
        let worst = part
            .rank(block.ranks.app, block.worst_rank)
            .expect("its own");
        prop_assert_eq!(worst.history.num_anomalies(), block.worst_num_anomalies);
        prop_assert_eq!(part.steps(), block.reported);
        in_blocks.extend(keys(&part));
    }
    prop_assert_eq!(in_blocks, keys(overview), "blocks partition the ranks");
    prop_assert_eq!(blocks.num_ranks, overview.ranks.len() as u64);
    prop_assert_eq!(condensed.num_anomalies(), overview.num_anomalies());
    prop_assert_eq!(condensed.steps(), overview.steps());
    prop_assert!(blocks.blocks.len() <= MAX_BLOCKS, "{}", blocks.blocks.len());
    prop_assert!(condensed.ranks.len() <= NUM_TOP);
    let listed = condensed.ranks.iter().map(|it| it.anomalies.accumulate);
    let least = listed.fold(f64::INFINITY, f64::min);
    let omitted = overview.ranks.iter();
    let omitted = omitted.filter(|it| condensed.rank(it.app, it.rank).is_none());
    prop_assert!(
        omitted
            .map(|it| it.anomalies.accumulate)
            .all(|it| it <= least)
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn blocks_partition_the_ranks_and_add_up_to_the_job(
        ranks in prop::collection::vec(
            (0_u32..2, 0_u32..100_000, prop::collection::vec((0_u64..5_000, 0_u64..9), 0..4)),
            1..3_000,
        ),
        per_host in 1_u32..300,
    ) {
        let overview = job(ranks);
        check(&overview, &RankHosts::default())?;
        check(&overview, &hosts(&overview, per_host))?;
    }
}

#[test]
fn blocks_are_hosts_where_these_have_consecutive_ranks() {
    let overview = job((0..5_000).map(|rank| (0, rank, vec![(7, u64::from(rank % 3))])));
    let blocks = |hosts: &RankHosts| overview.rank_blocks(hosts).blocks;
    let by_host = blocks(&hosts(&overview, 48));
    assert_eq!(by_host.len(), 105);
    assert_eq!(
        (by_host[1].ranks.first_rank, by_host[1].ranks.last_rank),
        (48, 95)
    );
    assert_eq!(by_host[1].first_host.as_deref(), Some("node00001"));
    // 1,250 hosts are too many, so each block has two.
    let pairs = blocks(&hosts(&overview, 4));
    assert_eq!((pairs.len(), pairs[0].num_ranks), (625, 8));
    assert_eq!(pairs[0].last_host.as_deref(), Some("node00001"));
    let mut scattered = hosts(&overview, 48);
    for ((_, rank), host) in &mut scattered {
        *host = Arc::from(format!("node{}", rank % 100));
    }
    for unusable in [scattered, RankHosts::default()] {
        let by_number = blocks(&unusable);
        assert_eq!((by_number.len(), by_number[0].num_ranks), (625, 8));
        assert_eq!(by_number[0].first_host, None);
    }
}

#[test]
fn a_digest_counts_what_it_does_not_list() {
    let metrics = |rank: u32, fid: u32| {
        let stats = RunStats {
            accumulate: f64::from(rank % 5),
            count: 1,
            ..RunStats::default()
        };
        let data = MetricsData {
            severity: stats,
            count: stats,
            ..MetricsData::default()
        };
        AnomalyMetrics {
            app: 0,
            rank,
            fid,
            fname: String::new(),
            _id: 0,
            new_data: data.clone(),
            all_data: data,
        }
    };
    let rank = |rank: u32| RankAnomalies {
        data: vec![StepAnomalies {
            app: 0,
            rank,
            step: 3,
            n_anomalies: u64::from(rank % 5),
            min_timestamp_us: 1,
            max_timestamp_us: 2,
            outlier_scores: RunStats::default(),
        }],
        key: format!("0:{rank}"),
        stats: RunStats::default(),
    };
    let packet = Packet {
        version: crate::packet::VERSION,
        created_at: 9,
        run: RunIdentity::default(),
        anomaly_stats: Some(AnomalyStats {
            created_at: 9,
            anomaly: (0..5_000).map(rank).collect(),
            func: Vec::new(),
        }),
        anomaly_metrics: (0..5_000).map(|rank| metrics(rank, rank % 2)).collect(),
        counter_stats: None,
    };
    let (whole, digest) = (PacketDigest::complete(&packet), PacketDigest::of(&packet));
    assert_eq!((digest.num_anomalies, digest.num_ranks), (10_000, 4_000));
    assert_eq!((digest.by_rank.len(), digest.metrics.len()), (200, 50));
    assert_eq!((whole.by_rank.len(), whole.metrics.len()), (4_000, 5_000));
    assert!(digest.by_rank.iter().all(|(_, new)| *new == 4));
    assert_eq!(digest.by_func, [((0, 0), 5_000), ((0, 1), 5_000)]);
    let listed = PacketDigest {
        by_rank: whole.by_rank.clone(),
        metrics: whole.metrics.clone(),
        ..digest
    };
    assert_eq!(listed, whole);
}
