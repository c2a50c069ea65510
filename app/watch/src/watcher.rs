//! The state machine that processes updates and commands. It is the only writer of [`Watch`].

mod records;

use std::collections::VecDeque;
use std::sync::Arc;

use callgrove_overview::packet::PacketDigest;
use callgrove_overview::{Overview, RankRange};
use callgrove_provdb::Collection;

use crate::command::WatchCommand;
use crate::form::QueryForm;
use crate::incident::RecordedIncident;
use crate::state::{Connection, QueryState, Watch, WatchData};
use crate::transport::{
    ConnectionId, DocumentsRequest, QueryRequest, WatchHandle, WatchRequest, WatchUpdate,
};
use crate::trend::{read_trends, trend_request};
use crate::visit::Visit;

/// Largest number of updates processed at once, so that frames stay short.
const MAX_UPDATES_PER_FRAME: usize = 64;
/// Largest number of incidents that are listed.
const MAX_INCIDENTS: u64 = 200;

/// Watches one run at a time through its transport.
pub struct Watcher {
    handle: WatchHandle,
    /// Requests that the transport has not accepted yet, oldest first.
    unsent: VecDeque<WatchRequest>,
    watch: Arc<Watch>,
    /// The connection that was requested last.
    connection: ConnectionId,
    next_query: u64,
    own_queries: OwnQueries,
}

/// Numbers of the queries that the watcher itself makes.
#[derive(Default)]
struct OwnQueries {
    /// Query for the incidents with most delay.
    incidents: Option<u64>,
    /// Query for the trends, sent after the incidents arrived.
    trends: Option<u64>,
    /// Query for the incident of the open document.
    incident: Option<u64>,
    /// The user's query for the executions of an incident, and the label of the one to show.
    to_open: Option<(u64, Option<String>)>,
    /// Request for the ranks of the open block.
    ranks: Option<(u64, RankRange)>,
}

impl Watcher {
    /// Returns a watcher without a run.
    pub fn new(handle: WatchHandle) -> Self {
        Self {
            handle,
            unsent: VecDeque::new(),
            watch: Arc::new(Watch {
                is_offered: true,
                ..Watch::default()
            }),
            connection: ConnectionId::default(),
            next_query: 0,
            own_queries: OwnQueries::default(),
        }
    }

    /// Returns the state of the watched run.
    pub fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// Processes some updates and sends pending requests. Never blocks. Returns whether there were updates; then
    /// there may be more, so it should be called again soon.
    pub fn update(&mut self) -> bool {
        while let Some(request) = self.unsent.pop_front() {
            if let Err(request) = self.handle.send(request) {
                self.unsent.push_front(request);
                break;
            }
        }
        for num_taken in 0..MAX_UPDATES_PER_FRAME {
            let Some((connection, update)) = self.handle.poll() else {
                return num_taken > 0;
            };
            self.take(connection, update);
        }
        true
    }

    /// Carries out a command of the user.
    pub fn carry_out(&mut self, command: WatchCommand) {
        match command {
            WatchCommand::Connect { address, token } => self.connect(address, token),
            WatchCommand::Disconnect => {
                self.now().connection = Connection::Idle;
                self.connection.0 += 1;
                self.send(WatchRequest::Disconnect);
            }
            WatchCommand::Pause(is_paused) => {
                let watch = self.now();
                watch.num_waiting = 0;
                watch.held = is_paused.then(|| Arc::clone(&watch.newest));
            }
            WatchCommand::Show(page) => self.go(|visit| visit.page = page),
            WatchCommand::Scope(focus) => self.go(|visit| {
                visit.form = visit.form.focused(focus);
                visit.focus = focus;
            }),
            WatchCommand::ShowRanks(ranks) => self.go(|visit| visit.ranks = ranks),
            WatchCommand::Query(form) => self.ask(*form, None, None),
            WatchCommand::QueryScope(focus) => {
                let form = QueryForm {
                    filter: String::new(),
                    ..self.watch.visit().form.focused(focus)
                };
                self.ask(form, Some(focus), None);
            }
            WatchCommand::More => self.ask_more(),
            WatchCommand::Open(index) => self.open(index),
            WatchCommand::OpenIncident(incident) => self.open_incident(&incident),
            WatchCommand::Back => self.now().visits.back(),
            WatchCommand::Forward => self.now().visits.forward(),
        }
        if self.watch.shown_ranks().is_none() {
            self.ask_ranks();
        }
    }

    fn now(&mut self) -> &mut Watch {
        Arc::make_mut(&mut self.watch)
    }

    fn send(&mut self, request: WatchRequest) {
        if !self.unsent.is_empty() {
            self.unsent.push_back(request);
        } else if let Err(request) = self.handle.send(request) {
            self.unsent.push_back(request);
        }
    }

    fn go(&mut self, change: impl FnOnce(&mut Visit)) {
        let visits = &mut self.now().visits;
        let mut visit = visits.now().clone();
        change(&mut visit);
        visits.go(visit);
    }

    /// Stops watching the run and discards its data.
    pub fn detach(&mut self) {
        let revision = self.watch.newest.revision + 1;
        *self.now() = Watch {
            is_offered: true,
            newest: Arc::new(WatchData {
                revision,
                ..WatchData::default()
            }),
            ..Watch::default()
        };
        self.connection.0 += 1;
        self.own_queries = OwnQueries::default();
        self.send(WatchRequest::Disconnect);
    }

    /// Connects to a server. Another server has other functions and documents, so the data of the old one is discarded.
    fn connect(&mut self, address: String, token: Option<String>) {
        let before = Arc::clone(&self.watch);
        let watch = self.now();
        if address != before.address {
            *watch = Watch {
                is_offered: true,
                newest: Arc::new(WatchData {
                    revision: before.newest.revision + 1,
                    ..WatchData::default()
                }),
                ..Watch::default()
            };
        }
        watch.address.clone_from(&address);
        watch.connection = Connection::Connecting;
        self.connection.0 += 1;
        self.own_queries = OwnQueries::default();
        self.send(WatchRequest::Connect {
            connection: self.connection,
            address,
            token,
        });
    }

    /// Processes an update. Query results have a number; all other updates are ignored unless they belong to the
    /// connection that was requested last.
    fn take(&mut self, connection: ConnectionId, update: WatchUpdate) {
        let is_old = connection != self.connection;
        match update {
            WatchUpdate::Connected(_)
            | WatchUpdate::Packet(_)
            | WatchUpdate::Condensed { .. }
            | WatchUpdate::Lost { .. }
            | WatchUpdate::Ended
                if is_old => {}
            WatchUpdate::Connected(overview) => {
                let watch = self.now();
                let known = Arc::make_mut(&mut watch.newest);
                known.overview = *overview;
                known.revision += 1;
                watch.connection = Connection::Live;
                self.own_queries.incidents = None;
                self.ask_incidents();
                self.own_queries.ranks = None;
                self.ask_ranks();
            }
            WatchUpdate::Packet(packet) => {
                let digest = PacketDigest::complete(&packet);
                self.take_news([digest], |overview| overview.apply(&packet));
            }
            WatchUpdate::Condensed { digests, overview } => {
                self.take_news(digests, |known| *known = *overview);
            }
            WatchUpdate::Ranks { id, overview } => self.take_ranks(id, *overview),
            WatchUpdate::Lost { cause, retry_in_ms } => {
                self.now().connection = Connection::Lost { cause, retry_in_ms };
            }
            WatchUpdate::Ended => {
                self.now().connection = Connection::Ended;
                self.ask_incidents();
            }
            WatchUpdate::Found {
                id,
                documents,
                total,
            } => {
                if !self.take_incidents(id, &documents) && !self.take_trends(id, &documents) {
                    self.take_documents(id, documents, total);
                    self.open_found(id);
                }
            }
            WatchUpdate::QueryFailed { id, cause } => {
                // Without a database there are no incidents. The user did not query them, so no error is shown.
                self.take_incidents(id, &[]);
                self.take_trends(id, &[]);
                // The next packet requests them again.
                self.own_queries.ranks.take_if(|(asked, _)| *asked == id);
                if self.watch.query == QueryState::Asked(id) {
                    self.now().query = QueryState::Failed(cause);
                }
            }
        }
    }

    /// Takes what is new in some packets, and changes the overview.
    fn take_news(
        &mut self,
        digests: impl IntoIterator<Item = PacketDigest>,
        change: impl FnOnce(&mut Overview),
    ) {
        let watch = self.now();
        let known = Arc::make_mut(&mut watch.newest);
        change(&mut known.overview);
        let mut num_packets = 0;
        for digest in digests {
            known.updates.push(digest);
            num_packets += 1;
        }
        known.revision += 1;
        if watch.is_paused() {
            watch.num_waiting += num_packets;
        }
        watch.connection = Connection::Live;
        self.ask_incidents();
        if !self.watch.is_paused() {
            self.ask_ranks();
        }
    }

    /// Requests the ranks of the open block, unless that is running already.
    fn ask_ranks(&mut self) {
        let Some(ranks) = self.watch.open_block() else {
            return;
        };
        if self
            .own_queries
            .ranks
            .is_some_and(|(_, asked)| asked == ranks)
        {
            return;
        }
        let id = self.next_query;
        self.next_query += 1;
        self.own_queries.ranks = Some((id, ranks));
        self.send(WatchRequest::Ranks { id, ranks });
    }

    fn take_ranks(&mut self, id: u64, overview: Overview) {
        let asked = self.own_queries.ranks.take_if(|(asked, _)| *asked == id);
        if let Some((_, ranks)) = asked {
            let watch = self.now();
            watch.ranks = Some(Arc::new((ranks, overview)));
            watch.num_rank_answers += 1;
        }
    }

    /// Queries the incidents with most delay, unless the query is already running.
    fn ask_incidents(&mut self) {
        if self.own_queries.incidents.is_some() {
            return;
        }
        let filter = "joined_to is null".to_owned();
        self.own_queries.incidents = Some(self.query(incident_request(filter, MAX_INCIDENTS)));
    }

    /// Sends a query of the watcher itself, and returns its number.
    fn query(&mut self, documents: DocumentsRequest) -> u64 {
        let id = self.next_query;
        self.next_query += 1;
        self.send(WatchRequest::Query(QueryRequest { id, documents }));
        id
    }

    /// Takes the results of a query for incidents; `false` if `id` is another query.
    fn take_incidents(&mut self, id: u64, documents: &[serde_json::Value]) -> bool {
        let mut incidents = documents
            .iter()
            .filter_map(|document| Some(Arc::new(RecordedIncident::new(document)?)));
        if self.own_queries.incidents == Some(id) {
            self.own_queries.incidents = None;
            let incidents: Vec<_> = incidents.collect();
            if *self.watch.newest.incidents != incidents {
                let known = Arc::make_mut(&mut self.now().newest);
                known.incidents = Arc::new(incidents);
                known.revision += 1;
            }
            self.own_queries.trends = Some(self.query(trend_request()));
        } else if self.own_queries.incident == Some(id) {
            self.own_queries.incident = None;
            self.now().incident = incidents.next();
        } else {
            return false;
        }
        true
    }

    /// Takes the results of a query for trends; `false` if `id` is another query.
    fn take_trends(&mut self, id: u64, documents: &[serde_json::Value]) -> bool {
        let is_one = self
            .own_queries
            .trends
            .take_if(|asked| *asked == id)
            .is_some();
        let trends = read_trends(documents);
        if is_one && *self.watch.newest.trends != trends {
            let known = Arc::make_mut(&mut self.now().newest);
            known.trends = Arc::new(trends);
            known.revision += 1;
        }
        is_one
    }
}

/// Returns the query for the incidents with most delay.
fn incident_request(filter: String, limit: u64) -> DocumentsRequest {
    DocumentsRequest {
        collection: Collection::Incidents,
        filter: Some(filter),
        sort: Some("delay".to_owned()),
        is_descending: true,
        limit,
        offset: 0,
    }
}
