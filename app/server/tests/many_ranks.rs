//! A job with more ranks than viewers can list: its answers are small, and nothing is hidden.

#[path = "support/big_job.rs"]
mod big_job;
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_overview::{MAX_LISTED_RANKS, RankHosts};
use callgrove_server::RunningServer;
use callgrove_server::api::Live;
use callgrove_server::client::{Client, ClientError, ClientOptions};
use callgrove_server::hub::Hub;
use support::{config, raw, start};

/// Largest number of bytes in a second that a follower gets, and of the first answer.
const MAX_BYTES: usize = 2_000_000;

fn published(num_ranks: u32, num_steps: u64) -> (Arc<Hub>, RunningServer) {
    let hub = Arc::new(Hub::new(1_000));
    for step in 0..num_steps {
        hub.publish(&big_job::packet(num_ranks, step));
    }
    let server = start(config(), Live::Published(Arc::clone(&hub)));
    (hub, server)
}

fn num_bytes(server: &RunningServer, path: &str) -> usize {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let answer = raw(server.local_addr(), &request);
    assert!(answer.starts_with("HTTP/1.1 200"), "{}", &answer[..200]);
    answer.len()
}

#[test]
fn answers_of_a_hundred_thousand_ranks_are_below_2_mb_a_second() {
    let (hub, server) = published(100_000, 4);
    let first = num_bytes(&server, "/api/overview");
    assert!(first < MAX_BYTES, "{first} bytes");
    let newest = hub.snapshot().progress.version;
    // As fast as a follower can ask, after every packet, with an open block.
    let begun = Instant::now();
    let packets = num_bytes(&server, &format!("/api/packets?after={}", newest - 1));
    let after_packets = begun.elapsed();
    let begun = Instant::now();
    let block = num_bytes(
        &server,
        "/api/overview?program=0&first_rank=256&last_rank=383",
    );
    let after_block = begun.elapsed();
    let rate = |num_bytes: usize, time: Duration| num_bytes as f64 / time.as_secs_f64();
    let both = rate(packets, after_packets) + rate(block, after_block);
    assert!(
        both < MAX_BYTES as f64,
        "{packets} bytes in {after_packets:?}, {block} bytes in {after_block:?}"
    );
}

#[test]
fn a_follower_gets_digests_with_the_ranks_in_blocks_and_each_rank_on_request() {
    let num_ranks = MAX_LISTED_RANKS as u32 + 904;
    let (hub, server) = published(num_ranks, 3);
    let client = Client::new(server.url(), &ClientOptions::default()).unwrap();
    let begun = client.overview().unwrap();
    let blocks = begun.overview.blocks.as_ref().unwrap();
    assert_eq!((blocks.num_ranks, blocks.blocks.len()), (5_000, 625));
    let whole = hub.snapshot().overview;
    assert_eq!(begun.overview.num_anomalies(), whole.num_anomalies());
    assert_eq!(begun.overview.funcs, whole.funcs);
    for block in [&blocks.blocks[0], &blocks.blocks[624]] {
        let part = client.overview_of(block.ranks).unwrap().overview;
        assert_eq!(part.ranks.len() as u64, block.num_ranks);
        for rank in &part.ranks {
            assert_eq!(Some(rank), whole.rank(rank.app, rank.rank));
        }
    }
    hub.publish(&big_job::packet(num_ranks, 3));
    let news = client.packets(begun.version, Duration::ZERO).unwrap();
    assert!(news.packets.is_empty());
    assert_eq!((news.version, news.digests.len()), (begun.version + 1, 1));
    let new: u64 = (0..num_ranks)
        .map(|rank| big_job::num_anomalies(rank, 3))
        .sum();
    assert_eq!(news.digests[0].num_anomalies, new);
    let after = news.overview.unwrap();
    assert_eq!(after.num_anomalies(), begun.overview.num_anomalies() + new);
    let nothing = client.packets(news.version, Duration::ZERO).unwrap();
    assert!(nothing.overview.is_none() && nothing.digests.is_empty());
}

#[test]
fn a_job_that_grows_beyond_the_limit_starts_followers_again_that_are_behind() {
    let few = MAX_LISTED_RANKS as u32;
    let (hub, server) = published(few, 1);
    let client = Client::new(server.url(), &ClientOptions::default()).unwrap();
    let begun = client.overview().unwrap();
    assert_eq!(begun.overview.ranks.len(), MAX_LISTED_RANKS);
    assert_eq!(begun.overview.blocks, None);
    hub.publish(&big_job::packet(few, 1));
    hub.publish(&big_job::packet(few + 1, 2));
    let gone = client.packets(begun.version, Duration::ZERO);
    assert!(matches!(gone, Err(ClientError::FellBehind { .. })));
    // Nothing is lost for a follower that has all packets before the first digest.
    let news = client.packets(begun.version + 1, Duration::ZERO).unwrap();
    assert!(news.digests.len() == 1 && news.overview.is_some());
    let again = client.overview().unwrap().overview;
    assert_eq!(again.blocks.as_ref().unwrap().num_ranks, u64::from(few) + 1);
}

#[test]
fn blocks_are_hosts_once_these_are_known() {
    let num_ranks = MAX_LISTED_RANKS as u32 + 1;
    let (hub, server) = published(num_ranks, 1);
    let hosts: RankHosts = (0..num_ranks)
        .map(|rank| ((0, rank), Arc::from(format!("node{}", rank / 100))))
        .collect();
    hub.set_hosts(hosts);
    hub.publish(&big_job::packet(num_ranks, 1));
    let client = Client::new(server.url(), &ClientOptions::default()).unwrap();
    let overview = client.overview().unwrap().overview;
    let blocks = &overview.blocks.as_ref().unwrap().blocks;
    assert_eq!((blocks.len(), blocks[1].num_ranks), (41, 100));
    assert_eq!(blocks[1].first_host.as_deref(), Some("node1"));
}

#[test]
fn an_incomplete_range_of_ranks_is_refused_with_the_valid_parameters() {
    let (_hub, server) = published(1, 1);
    for path in ["/api/overview?program=0", "/api/overview?rank=3"] {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = raw(server.local_addr(), &request);
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("last_rank"),
            "{answer}"
        );
    }
}
