//! The live state of the running job on a server: the overview so far, and the newest packets for followers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use callgrove_pserver::overview::Overview;
use callgrove_pserver::packet::Packet;
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
pub struct Hub {
    state: Mutex<State>,
    progress: watch::Sender<PacketProgress>,
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
    /// The newest packets, the oldest first.
    packets: VecDeque<Bytes>,
    num_bytes: usize,
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
        };
        Self {
            state: Mutex::new(state),
            progress: watch::Sender::new(progress),
        }
    }

    /// Adds a packet, wakes the readers that wait for one, and returns the packet's number. A run that had ended
    /// continues.
    pub fn publish(&self, packet: &Packet) -> u64 {
        let json = serde_json::to_vec(packet).expect("a packet has no maps, whose keys could fail");
        let progress = {
            let mut state = self.lock();
            Arc::make_mut(&mut state.overview).apply(packet);
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
        })
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
    use callgrove_pserver::packet::{CounterStats, VERSION};

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
