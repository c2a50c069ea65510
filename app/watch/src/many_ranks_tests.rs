//! A job with more ranks than viewers can list.

use callgrove_detect::RunStats;
use callgrove_overview::RankHosts;
use callgrove_overview::packet::StepAnomalies;

use super::*;

/// Number of ranks of the job.
const NUM_RANKS: u32 = 5_000;

/// Returns the whole overview: rank r has r % 4 anomalies in each of 100 steps.
fn whole() -> Overview {
    let rank = |rank: u32| {
        let mut known = RankOverview {
            rank,
            anomalies: RunStats {
                accumulate: f64::from(rank % 4) * 100.0,
                count: 100,
                ..RunStats::default()
            },
            ..RankOverview::default()
        };
        for step in 0..100 {
            known.history.report(&StepAnomalies {
                app: 0,
                rank,
                step,
                n_anomalies: u64::from(rank % 4),
                min_timestamp_us: 1,
                max_timestamp_us: 2,
                outlier_scores: RunStats::default(),
            });
        }
        known
    };
    let mut whole = Overview::default();
    whole.ranks = (0..NUM_RANKS).map(rank).collect();
    whole
}

/// Returns a watcher of the job.
fn watching() -> (Watcher, WatchTransport) {
    let (handle, transport) = WatchHandle::pair();
    let mut watcher = Watcher::new(handle);
    watcher.carry_out(WatchCommand::Connect {
        address: "localhost:5559".to_owned(),
        token: None,
    });
    let overview = Box::new(whole().condensed(&RankHosts::default()));
    deliver(&mut watcher, &transport, WatchUpdate::Connected(overview));
    (watcher, transport)
}

fn deliver(watcher: &mut Watcher, transport: &WatchTransport, update: WatchUpdate) {
    transport.updates.send((ConnectionId(1), update)).unwrap();
    while watcher.update() {}
}

fn news() -> WatchUpdate {
    WatchUpdate::Condensed {
        digests: vec![PacketDigest {
            created_at: 5_000,
            num_anomalies: 7,
            ..PacketDigest::default()
        }],
        overview: Box::new(whole().condensed(&RankHosts::default())),
    }
}

/// Returns the requests for ranks since the last call.
fn asked(transport: &WatchTransport) -> Vec<(u64, RankRange)> {
    let requests = transport.requests.try_iter();
    let ranks = requests.filter_map(|request| match request {
        WatchRequest::Ranks { id, ranks } => Some((id, ranks)),
        _ => None,
    });
    ranks.collect()
}

#[test]
fn the_ranks_of_an_open_block_are_requested_again_after_each_answer() {
    let (mut watcher, transport) = watching();
    let blocks = watcher.watch().overview().blocks.clone().unwrap();
    let block = blocks.blocks[3].ranks;
    assert!(asked(&transport).is_empty());
    assert!(watcher.watch().shown_ranks().unwrap().blocks.is_some());
    watcher.carry_out(WatchCommand::ShowRanks(Some(block)));
    let [(id, ranks)] = asked(&transport)[..] else {
        panic!("one request");
    };
    assert_eq!(ranks, block);
    assert!(watcher.watch().shown_ranks().is_none(), "not there yet");
    deliver(&mut watcher, &transport, news());
    assert!(
        asked(&transport).is_empty(),
        "the first is not answered yet"
    );
    let before = watcher.watch().revision();
    let overview = whole().of_ranks(block);
    let answer = WatchUpdate::Ranks {
        id,
        overview: Box::new(overview.clone()),
    };
    deliver(&mut watcher, &transport, answer.clone());
    assert_eq!(watcher.watch().shown_ranks(), Some(&overview));
    assert_ne!(watcher.watch().revision(), before);
    deliver(&mut watcher, &transport, news());
    let [(second, _)] = asked(&transport)[..] else {
        panic!("one request after the news");
    };
    assert_ne!(second, id);
    // A failure is not shown, and the next packet requests them again.
    let cause = "busy".to_owned();
    deliver(
        &mut watcher,
        &transport,
        WatchUpdate::QueryFailed { id: second, cause },
    );
    assert_eq!(watcher.watch().query(), &QueryState::Idle);
    deliver(&mut watcher, &transport, news());
    assert_eq!(asked(&transport).len(), 1);
    watcher.carry_out(WatchCommand::Back);
    assert_eq!(watcher.watch().open_block(), None);
    deliver(&mut watcher, &transport, news());
    assert!(asked(&transport).is_empty());
    deliver(&mut watcher, &transport, answer);
    assert!(watcher.watch().shown_ranks().unwrap().blocks.is_some());
}

#[test]
fn news_of_many_ranks_replace_the_overview_and_extend_the_history() {
    let (mut watcher, transport) = watching();
    deliver(&mut watcher, &transport, news());
    let entries = &watcher.watch().updates().entries;
    assert_eq!(entries.back().map(|entry| entry.num_anomalies), Some(7));
    assert_eq!(watcher.watch().overview().num_anomalies(), 750_000);
    watcher.carry_out(WatchCommand::Pause(true));
    deliver(&mut watcher, &transport, news());
    assert_eq!(watcher.watch().num_waiting(), 1);
}

#[test]
fn the_heat_map_of_blocks_has_every_anomaly_and_that_of_a_block_its_ranks() {
    let whole = whole();
    let condensed = whole.condensed(&RankHosts::default());
    let map = HeatMap::new(&condensed, None, 50);
    assert!(map.is_of_blocks && map.columns.len() <= 50);
    assert_eq!(map.rows.len(), 625);
    assert_eq!(map.rows.iter().map(|row| row.total).sum::<u64>(), 750_000);
    let columns = map.columns.iter().map(|column| column.total);
    assert_eq!(columns.sum::<u64>(), 750_000);
    let part = HeatMap::new(&condensed, Some((10, 19)), 50);
    assert_eq!(part.columns.len(), 10);
    assert_eq!(part.rows[0].total, 12 * 10);
    let block = map.rows[5].ranks;
    let detail = HeatMap::new(&whole.of_ranks(block), None, 50);
    assert_eq!(
        detail.rows.iter().map(|row| row.total).sum::<u64>(),
        map.rows[5].total
    );
    assert_eq!(detail.rows.len(), 8);
}
