//! A job with more ranks than the window can list.

use callgrove_watch::{Overview, RankRange};

use super::*;

/// Returns an overview of 5,000 ranks, of which rank 4,321 has the most anomalies.
fn whole() -> Overview {
    let mut overview = Overview::default();
    let rank = |rank: u32| {
        let n_anomalies = if rank == 4_321 {
            9
        } else {
            u64::from(rank % 2)
        };
        RankAnomalies {
            data: vec![StepAnomalies {
                app: 0,
                rank,
                step: 0,
                n_anomalies,
                min_timestamp_us: 1,
                max_timestamp_us: 2,
                outlier_scores: RunStats::default(),
            }],
            key: format!("0:{rank}"),
            stats: stats(n_anomalies as f64, 1),
        }
    };
    let mut packet = packet(0);
    packet.anomaly_stats.as_mut().unwrap().anomaly = (0..5_000).map(rank).collect();
    overview.apply(&packet);
    overview
}

#[test]
fn many_ranks_are_shown_in_blocks_and_a_click_on_one_shows_its_ranks() {
    let mut window = Window::new(Some("localhost:5559"));
    let condensed = whole().condensed(&std::collections::BTreeMap::new());
    window.say(WatchUpdate::Connected(Box::new(condensed)));
    while window.transport.requests.try_recv().is_ok() {}
    assert!(window.has("5,000 ranks in 625 blocks of up to 8, by number"));
    assert!(window.has("Heat map of 2,508 anomalies on 625 block"));
    assert!(window.has("The 200 ranks with the most anomalies; 4,800 more in blocks"));
    let snapshot = window.harness.state().session.snapshot();
    let listed = &snapshot.watch.overview().ranks;
    assert!(listed.iter().any(|rank| rank.rank == 4_321));

    let map = window.harness.get_by_label_contains("Heat map of");
    map.focus();
    window.harness.run();
    window.press(Key::ArrowDown);
    window.press(Key::Enter);
    let requests = window.transport.requests.try_iter();
    let asked = requests.filter_map(|request| match request {
        WatchRequest::Ranks { id, ranks } => Some((id, ranks)),
        _ => None,
    });
    let (id, ranks) = asked.last().expect("the ranks of a block");
    let expected = RankRange {
        app: 0,
        first_rank: 8,
        last_rank: 15,
    };
    assert_eq!(ranks, expected);
    assert!(window.has("Waiting for the ranks of this block"));
    let overview = Box::new(whole().of_ranks(ranks));
    window.say(WatchUpdate::Ranks { id, overview });
    assert!(window.has("Ranks 8 to 15, of 5,000 ranks"));
    assert!(window.has("Heat map of 4 anomalies on 8 ranks"));
    assert!(window.has("rank 9, "));

    window.click("All blocks");
    assert!(window.has("Heat map of 2,508 anomalies on 625 block"));
}

#[test]
fn a_rank_that_is_not_listed_is_found_by_its_number() {
    let mut window = Window::new(Some("localhost:5559"));
    let condensed = whole().condensed(&std::collections::BTreeMap::new());
    window.say(WatchUpdate::Connected(Box::new(condensed)));
    while window.transport.requests.try_recv().is_ok() {}
    window.field("Find a rank").focus();
    window.harness.run();
    window.field("Find a rank").type_text("2500");
    window.harness.run();
    window.click("Show the block of rank 2500");
    let requests = window.transport.requests.try_iter();
    let asked = requests.filter_map(|request| match request {
        WatchRequest::Ranks { ranks, .. } => Some(ranks.first_rank),
        _ => None,
    });
    assert_eq!(asked.last(), Some(2_496));
}
