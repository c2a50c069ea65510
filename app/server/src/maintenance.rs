//! The maintenance of a parameter server. One thread folds and publishes packets, another saves, so that live views
//! stay current while a database is unreachable.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use callgrove_provdb::Store;
use callgrove_pserver::{MonotonicClock, ServerState};
use callgrove_pserver_net::Poster;

use crate::background::Background;
use crate::error::ServerError;
use crate::hub::Hub;
use crate::monitoring::DatabaseHealth;
use crate::state_saver::{SETTLE_INTERVAL, StateSaver};

pub use crate::state_saver::{STATE_NAME, TREE_MODELS_NAME, reports_name};

/// The maintenance threads of a parameter server.
pub struct Maintenance {
    publisher: Background<()>,
    /// `None` without a database: nothing is saved.
    saver: Option<Background<Result<(), ServerError>>>,
    /// The health of the database, if there is one.
    health: Option<Arc<DatabaseHealth>>,
    state: Arc<ServerState>,
    hub: Arc<Hub>,
    posters: Arc<Vec<Poster>>,
}

/// The outcome of the last packets and the last save.
#[derive(Debug)]
pub struct MaintenanceEnd {
    /// `Ok` if the database has the last state and all packets were made.
    pub saved: Result<(), ServerError>,
    /// For each receiver that did not take the last packet, its address and the reason.
    pub undelivered: Vec<String>,
}

/// The inputs and outputs of a [`Maintenance`].
pub struct MaintenanceConfig {
    /// The server's state.
    pub state: Arc<ServerState>,
    /// Time between two packets.
    pub interval: Duration,
    /// The live state for the followers of this server.
    pub hub: Arc<Hub>,
    /// Other servers that receive the packets.
    pub posters: Vec<Poster>,
    /// The store for statistics, models and the state.
    pub store: Option<Box<dyn Store>>,
}

impl Maintenance {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`ServerError::Threads`].
    pub fn start(config: MaintenanceConfig) -> Result<Self, ServerError> {
        let posters = Arc::new(config.posters);
        let mut publisher = Publisher {
            state: Arc::clone(&config.state),
            interval: config.interval,
            hub: Arc::clone(&config.hub),
            posters: Arc::clone(&posters),
        };
        let health = config.store.is_some().then(Arc::<DatabaseHealth>::default);
        let saver = config.store.zip(health.clone()).map(|(store, health)| {
            let mut saver = StateSaver {
                state: Arc::clone(&config.state),
                store,
                health,
            };
            Background::start("saving", move |stopped| saver.run(stopped))
        });
        Ok(Self {
            saver: saver.transpose()?,
            publisher: Background::start("publishing", move |stopped| publisher.run(stopped))?,
            health,
            state: config.state,
            hub: config.hub,
            posters,
        })
    }

    /// Returns the health of the database, if there is one, for readiness probes.
    pub fn database_health(&self) -> Option<Arc<DatabaseHealth>> {
        self.health.clone()
    }

    /// Returns what cannot be saved or delivered at present, and the reason, one message each.
    pub fn problems(&self) -> Vec<String> {
        let unsaved = self.health.as_ref().and_then(|health| health.problem());
        let faults = [
            self.publisher.fault(),
            self.saver.as_ref().and_then(Background::fault),
        ];
        let undelivered = self.posters.iter().filter_map(|poster| {
            let (url, failure) = (poster.url(), poster.status().failure?);
            Some(format!(
                "{url} does not accept packets: {failure}; the next packet includes them"
            ))
        });
        let own = unsaved.into_iter().chain(faults.into_iter().flatten());
        own.chain(undelivered).collect()
    }

    /// Publishes and saves a last time, and stops the threads.
    pub fn finish(self) -> MaintenanceEnd {
        let published = self.publisher.finish();
        self.state.close_tree_models();
        let saved = self.saver.map_or(Ok(()), |saver| saver.finish().flatten());
        self.hub.end();
        let undelivered = |poster: Poster| {
            let url = poster.url().to_owned();
            let failure = poster.finish().failure?;
            Some(format!("{url} did not accept the last packet: {failure}"))
        };
        // The thread that posted has ended, so this is the only reference.
        let posters = Arc::into_inner(self.posters).unwrap_or_default();
        MaintenanceEnd {
            saved: published.and(saved),
            undelivered: posters.into_iter().filter_map(undelivered).collect(),
        }
    }
}

/// Folds and publishes new data.
struct Publisher {
    state: Arc<ServerState>,
    interval: Duration,
    hub: Arc<Hub>,
    posters: Arc<Vec<Poster>>,
}

impl Publisher {
    fn run(&mut self, stopped: &Receiver<()>) {
        let clock = MonotonicClock::new();
        let mut last_published = Instant::now();
        let pause = self.interval.min(SETTLE_INTERVAL);
        let mut is_last = false;
        while !is_last {
            is_last = stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
            self.state.fold();
            if is_last || last_published.elapsed() >= self.interval {
                self.publish(clock.now_ms());
                last_published = Instant::now();
            }
        }
    }

    /// Publishes new data to all followers.
    fn publish(&self, now_ms: u64) {
        let packet = self.state.take_packet(now_ms);
        if let Some(hosts) = self.state.hosts(self.hub.num_hosts()) {
            self.hub.set_hosts(hosts);
        }
        self.hub.publish(&packet);
        for poster in self.posters.iter() {
            poster.post(packet.clone());
        }
    }
}
