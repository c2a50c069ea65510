//! The live state of the running job on a server: the overview so far, and the newest packets for followers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use callgrove_overview::packet::{Packet, PacketDigest};
use callgrove_overview::{MAX_LISTED_RANKS, Overview, RankHosts};
use tokio::sync::watch;

/// Number of packets kept for followers. At one packet a second a follower can be away for a quarter of an hour.
const MAX_PACKETS: usize = 1024;
/// Bytes of JSON kept for followers, not counting the newest packet; packets of jobs with many functions are large.
const MAX_BYTES: usize = 64 << 20;
/// Bytes of packets in one answer, not counting the first packet.
const MAX_PAGE_BYTES: usize = 8 << 20;

/// The live state of a run, shared by the publisher of packets and its readers.
///
/// Versions count packets: the overview of version `n` includes all packets up to number `n`. Numbering begins at a
/// number that the caller gives. If that is the time in milliseconds, a restarted server does not go on with the
/// numbers of its predecessor, so followers notice the restart.
///
/// The lock is held while pointers are copied, and while the publisher applies a packet. A reader that serializes an
/// overview holds no lock: if a packet arrives meanwhile, the publisher goes on with a copy.
///
/// Once a job has more ranks than viewers can list, only digests of packets are kept, and the overview that goes with
/// them has the ranks in blocks. It is serialized once for all readers of a version.
pub struct Hub {
    state: Mutex<State>,
    progress: watch::Sender<PacketProgress>,
    condensed: Mutex<Option<CondensedOverview>>,
}

/// The newest overview with blocks, as JSON.
struct CondensedOverview {
    progress: PacketProgress,
    json: Bytes,
}

/// The progress of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketProgress {
    /// Number of the newest packet.
    pub version: u64,
    /// True if the run has ended.
    pub ended: bool,
}

/// The overview at one time.
#[derive(Clone, Debug)]
pub struct OverviewSnapshot {
    /// The progress at that time.
    pub progress: PacketProgress,
    /// The overview of all packets up to that time.
    pub overview: Arc<Overview>,
}

/// The packets after a version.
#[derive(Clone, Debug)]
pub struct PacketPage {
    /// Number of the last packet of the page.
    pub version: u64,
    /// True if the run has ended and the page has its last packet.
    pub ended: bool,
    /// The packets as JSON, in order.
    pub packets: Vec<Bytes>,
    /// True if these are digests, since the job has many ranks.
    pub are_digests: bool,
}

/// The requested packets are no longer kept, or never existed; the follower must start again from the overview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FellBehind {
    /// The smallest version that can be followed.
    pub oldest: u64,
    /// The largest version that can be followed.
    pub newest: u64,
}

struct State {
    progress: PacketProgress,
    overview: Arc<Overview>,
    /// The newest packets, the oldest first; digests if the job has many ranks.
    packets: VecDeque<Bytes>,
    num_bytes: usize,
    /// True if the job has more ranks than viewers can list.
    has_many_ranks: bool,
    hosts: Arc<RankHosts>,
}

impl Hub {
    /// An empty run, whose packets are numbered from `first_version` + 1.
    pub fn new(first_version: u64) -> Self {
        let progress = PacketProgress {
            version: first_version,
            ended: false,
        };
        let state = State {
            progress,
            overview: Arc::default(),
            packets: VecDeque::new(),
            num_bytes: 0,
            has_many_ranks: false,
            hosts: Arc::default(),
        };
        Self {
            state: Mutex::new(state),
            progress: watch::Sender::new(progress),
            condensed: Mutex::default(),
        }
    }

    /// Adds a packet, wakes the readers that wait for one, and returns the packet's number. A run that had ended
    /// continues.
    pub fn publish(&self, packet: &Packet) -> u64 {
        let has_many_ranks = {
            let state = self.lock();
            let num_new = packet
                .anomaly_stats
                .as_ref()
                .map_or(0, |it| it.anomaly.len());
            state.overview.ranks.len().max(num_new) > MAX_LISTED_RANKS
        };
        let json = if has_many_ranks {
            serde_json::to_vec(&PacketDigest::of(packet))
        } else {
            serde_json::to_vec(packet)
        };
        let json = json.expect("a packet has no maps, whose keys could fail");
        let progress = {
            let mut state = self.lock();
            Arc::make_mut(&mut state.overview).apply(packet);
            if has_many_ranks && !state.has_many_ranks {
                // Followers that are behind start again, from an overview with blocks.
                state.has_many_ranks = true;
                state.packets.clear();
                state.num_bytes = 0;
            }
            state.keep(json.into());
            state.progress = PacketProgress {
                version: state.progress.version + 1,
                ended: false,
            };
            state.progress
        };
        self.progress.send_replace(progress);
        progress.version
    }

    /// Notifies all followers that the run has ended.
    pub fn end(&self) {
        let progress = {
            let mut state = self.lock();
            state.progress.ended = true;
            state.progress
        };
        self.progress.send_replace(progress);
    }

    /// Sets the hosts of the ranks, which packets do not have.
    pub fn set_hosts(&self, hosts: RankHosts) {
        self.lock().hosts = Arc::new(hosts);
    }

    /// Returns the number of ranks whose host is known.
    pub fn num_hosts(&self) -> usize {
        self.lock().hosts.len()
    }

    /// Returns the current state.
    pub fn snapshot(&self) -> OverviewSnapshot {
        let state = self.lock();
        OverviewSnapshot {
            progress: state.progress,
            overview: Arc::clone(&state.overview),
        }
    }

    /// Returns the packets after `version`; only the first of them if all would be too large for one answer.
    ///
    /// # Errors
    /// If some of them are no longer kept, or `version` is not one of this run.
    pub fn packets_after(&self, version: u64) -> Result<PacketPage, FellBehind> {
        let state = self.lock();
        let newest = state.progress.version;
        let oldest = newest - state.packets.len() as u64;
        if !(oldest..=newest).contains(&version) {
            return Err(FellBehind { oldest, newest });
        }
        let mut num_bytes = 0;
        let packets: Vec<Bytes> = state
            .packets
            .range((version - oldest) as usize..)
            .take_while(|packet| {
                let is_first = num_bytes == 0;
                num_bytes += packet.len();
                is_first || num_bytes <= MAX_PAGE_BYTES
            })
            .cloned()
            .collect();
        let version = version + packets.len() as u64;
        Ok(PacketPage {
            version,
            ended: state.progress.ended && version == newest,
            packets,
            are_digests: state.has_many_ranks,
        })
    }

    /// Returns the current overview as JSON, and its progress. It has blocks if the job has many ranks. Takes a moment
    /// for these.
    ///
    /// # Errors
    /// None are known.
    pub fn overview_json(&self) -> serde_json::Result<(PacketProgress, Bytes)> {
        let (OverviewSnapshot { progress, overview }, hosts) = {
            let state = self.lock();
            let hosts = state.has_many_ranks.then(|| Arc::clone(&state.hosts));
            let snapshot = OverviewSnapshot {
                progress: state.progress,
                overview: Arc::clone(&state.overview),
            };
            (snapshot, hosts)
        };
        let Some(hosts) = hosts else {
            return Ok((progress, serde_json::to_vec(&overview)?.into()));
        };
        // Readers of the same version wait for the first.
        let mut condensed = self
            .condensed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = condensed
            .as_ref()
            .filter(|known| known.progress == progress)
        {
            return Ok((progress, known.json.clone()));
        }
        let json = Bytes::from(serde_json::to_vec(&overview.condensed(&hosts))?);
        *condensed = Some(CondensedOverview {
            progress,
            json: json.clone(),
        });
        Ok((progress, json))
    }

    /// Waits until the state differs from `version`: a newer packet, the end of the run, or another run.
    pub async fn changed_from(&self, version: u64) {
        let mut progress = self.progress.subscribe();
        // The sender is dropped with this hub only, so waiting ends in no other way.
        let waited = progress
            .wait_for(|now| now.ended || now.version != version)
            .await;
        drop(waited);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of another thread leaves a state that can still be shown.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, packet: Bytes) {
        self.num_bytes += packet.len();
        self.packets.push_back(packet);
        while self.packets.len() > MAX_PACKETS
            || (self.num_bytes > MAX_BYTES && self.packets.len() > 1)
        {
            let Some(oldest) = self.packets.pop_front() else {
                return;
            };
            self.num_bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_detect::RunStats;
    use callgrove_model::RunIdentity;
    use callgrove_overview::packet::{CounterStats, VERSION};

    use super::*;

    fn packet(created_at: u64, name_len: usize) -> Packet {
        let counter = CounterStats {
            app: 0,
            counter: "x".repeat(name_len),
            stats: RunStats::default(),
        };
        Packet {
            version: VERSION,
            created_at,
            run: RunIdentity::default(),
            anomaly_stats: None,
            anomaly_metrics: Vec::new(),
            counter_stats: Some(vec![counter]),
        }
    }

    fn times(page: &PacketPage) -> Vec<u64> {
        let read = |json: &Bytes| serde_json::from_slice::<Packet>(json).unwrap().created_at;
        page.packets.iter().map(read).collect()
    }

    #[test]
    fn followers_get_each_packet_once_and_in_order() {
        let hub = Hub::new(100);
        let versions: Vec<u64> = (1..=3).map(|time| hub.publish(&packet(time, 4))).collect();
        assert_eq!(versions, [101, 102, 103]);
        assert_eq!(times(&hub.packets_after(100).unwrap()), [1, 2, 3]);
        let rest = hub.packets_after(102).unwrap();
        assert_eq!((rest.version, times(&rest)), (103, vec![3]));
        assert!(hub.packets_after(103).unwrap().packets.is_empty());
        assert_eq!(hub.snapshot().overview.last_packet_ms, 3);
    }

    #[test]
    fn followers_that_fell_behind_or_follow_another_run_get_an_error() {
        let hub = Hub::new(100);
        for time in 0..=MAX_PACKETS as u64 {
            hub.publish(&packet(time, 4));
        }
        let newest = 101 + MAX_PACKETS as u64;
        let fell = Err(FellBehind {
            oldest: 101,
            newest,
        });
        assert_eq!(hub.packets_after(100).map(|page| page.version), fell);
        assert_eq!(hub.packets_after(newest + 1).map(|page| page.version), fell);
        assert_eq!(hub.packets_after(101).unwrap().version, newest);
    }

    #[test]
    fn kept_packets_and_answers_are_bounded_in_bytes() {
        let hub = Hub::new(0);
        for time in 0..10 {
            hub.publish(&packet(time, MAX_BYTES / 4));
        }
        let kept = hub.packets_after(10).map(|_| hub.lock().num_bytes).unwrap();
        assert!(kept <= MAX_BYTES, "{kept} bytes");
        let oldest = hub
            .packets_after(0)
            .map(|page| page.version)
            .expect_err("gone")
            .oldest;
        assert_eq!(oldest, 7);
        // Each is larger than a page, and is returned alone.
        let page = hub.packets_after(7).unwrap();
        assert_eq!((page.version, times(&page)), (8, vec![7]));
    }

    #[test]
    fn one_packet_is_kept_however_large() {
        let hub = Hub::new(0);
        hub.publish(&packet(1, MAX_BYTES + 1));
        assert_eq!(times(&hub.packets_after(0).unwrap()), [1]);
    }

    #[test]
    fn a_reader_keeps_its_overview_while_packets_come() {
        let hub = Hub::new(0);
        hub.publish(&packet(1, 4));
        let before = hub.snapshot();
        hub.publish(&packet(2, 4));
        assert_eq!(before.overview.last_packet_ms, 1);
        assert_eq!(hub.snapshot().overview.last_packet_ms, 2);
    }

    #[test]
    fn the_end_comes_with_the_last_packet_and_is_undone_by_another() {
        let hub = Hub::new(0);
        hub.publish(&packet(1, MAX_PAGE_BYTES));
        hub.publish(&packet(2, 4));
        hub.end();
        assert!(
            !hub.packets_after(0).unwrap().ended,
            "one more packet follows"
        );
        assert!(hub.packets_after(1).unwrap().ended);
        hub.publish(&packet(3, 4));
        assert!(!hub.packets_after(2).unwrap().ended);
    }
}
