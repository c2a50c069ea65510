//! The state machine that processes updates and commands. It is the only writer of [`Watch`].

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use callgrove_incidents::IncidentRecord;
use callgrove_provdb::Collection;
use callgrove_pserver::packet::Packet;

use crate::command::WatchCommand;
use crate::document::ExecutionDocument;
use crate::form::{FormError, QueryForm};
use crate::incident::RecordedIncident;
use crate::scope::Scope;
use crate::state::{Connection, QueryState, Watch, WatchData};
use crate::transport::{
    ConnectionId, DocumentsRequest, QueryRequest, WatchHandle, WatchRequest, WatchUpdate,
};
use crate::trend::{read_trends, trend_request};
use crate::visit::{Page, Results, Visit};

/// Largest number of updates processed at once, so that frames stay short.
const MAX_UPDATES_PER_FRAME: usize = 64;
/// Largest number of incidents that are listed.
const MAX_INCIDENTS: u64 = 200;
/// Largest number of executions of an incident that are looked up at once.
const MAX_MEMBERS: usize = 200;

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
            }
            WatchUpdate::Packet(packet) => {
                self.take_packet(&packet);
                self.ask_incidents();
            }
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
                if self.watch.query == QueryState::Asked(id) {
                    self.now().query = QueryState::Failed(cause);
                }
            }
        }
    }

    fn take_packet(&mut self, packet: &Packet) {
        let watch = self.now();
        let known = Arc::make_mut(&mut watch.newest);
        known.overview.apply(packet);
        known.updates.push(packet);
        known.revision += 1;
        watch.num_waiting += u64::from(watch.is_paused());
        watch.connection = Connection::Live;
    }

    fn ask(
        &mut self,
        form: QueryForm,
        focus: Option<Scope>,
        incident: Option<Arc<RecordedIncident>>,
    ) {
        let documents = match form.request() {
            Ok(documents) => documents,
            Err(error) => {
                self.fail(&error);
                self.go(|visit| {
                    visit.page = Page::Executions;
                    visit.form = form;
                });
                return;
            }
        };
        let id = self.next_query;
        let request = QueryRequest { id, documents };
        self.next_query += 1;
        let results = Arc::new(Results {
            request: request.clone(),
            incident,
            documents: Vec::new(),
            total: None,
            is_complete: false,
        });
        self.go(|visit| {
            visit.page = Page::Executions;
            visit.form = form;
            visit.focus = focus.unwrap_or(visit.focus);
            visit.results = Some(results);
        });
        self.now().query = QueryState::Asked(id);
        self.send(WatchRequest::Query(request));
    }

    fn ask_more(&mut self) {
        let Some(results) = self.watch.visit().results.clone() else {
            return;
        };
        if results.is_complete || matches!(self.watch.query, QueryState::Asked(_)) {
            return;
        }
        let mut request = results.request.clone();
        request.documents.offset = results.documents.len() as u64;
        self.now().query = QueryState::Asked(request.id);
        self.send(WatchRequest::Query(request));
    }

    fn fail(&mut self, error: &FormError) {
        self.now().query = QueryState::Failed(error.to_string());
    }

    fn take_documents(&mut self, id: u64, found: Vec<serde_json::Value>, total: Option<u64>) {
        if self.watch.query == QueryState::Asked(id) {
            self.now().query = QueryState::Idle;
        }
        let Some(known) = self.watch.visits.results_of(id) else {
            return;
        };
        let num_found = found.len() as u64;
        let mut documents = known.documents.clone();
        let mut labels: BTreeSet<_> = documents.iter().map(|known| known.label()).collect();
        for document in found.into_iter().map(ExecutionDocument::new) {
            // New documents move others to later pages, so some occur twice.
            if document.event_id.is_empty() || labels.insert(document.label()) {
                documents.push(Arc::new(document));
            }
        }
        let num_known = documents.len() as u64;
        let results = Results {
            request: known.request.clone(),
            incident: known.incident.clone(),
            is_complete: num_known == known.documents.len() as u64
                || total
                    .or(known.total)
                    .map_or(num_found < known.request.documents.limit, |total| {
                        num_known >= total
                    }),
            documents,
            total: total.or(known.total),
        };
        self.now().visits.answer(id, &Arc::new(results));
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

    /// Looks up the executions of an incident, to show that of the root.
    fn open_incident(&mut self, incident: &Arc<RecordedIncident>) {
        let IncidentRecord {
            pid,
            event_id,
            members,
            ..
        } = &incident.record;
        let members = members.iter().take(MAX_MEMBERS);
        let labels: Vec<String> = event_id.iter().chain(members).map(quoted).collect();
        let form = QueryForm {
            apps: pid.to_string(),
            filter: format!("event_id in ({})", labels.join(", ")),
            ..QueryForm::default()
        };
        self.own_queries.to_open = Some((self.next_query, event_id.clone()));
        self.now().incident = Some(Arc::clone(incident));
        self.ask(form, None, Some(Arc::clone(incident)));
    }

    /// Opens the document that a query was made for.
    fn open_found(&mut self, id: u64) {
        let Some((_, event_id)) = self.own_queries.to_open.take_if(|(asked, _)| *asked == id)
        else {
            return;
        };
        let results = self.watch.visit().results.clone();
        if let Some(results) = results.filter(|results| results.request.id == id) {
            let is_root = |it: &Arc<ExecutionDocument>| Some(&it.event_id) == event_id.as_ref();
            self.open(results.documents.iter().position(is_root).unwrap_or(0));
        }
    }

    /// Queries the incident of the open document, to know the other ends of its messages.
    fn ask_incident(&mut self, document: &ExecutionDocument) {
        if self.watch.incident().is_some() || document.event_id.is_empty() {
            return;
        }
        let filter = format!(
            "pid = {} and members[*] = {}",
            document.app.unwrap_or(0),
            quoted(&document.event_id)
        );
        self.own_queries.incident = Some(self.query(incident_request(filter, 1)));
    }

    fn open(&mut self, index: usize) {
        let results = self.watch.visit().results.as_ref();
        let document = results.and_then(|results| results.documents.get(index));
        let Some(document) = document.map(Arc::clone) else {
            return;
        };
        // Going from one execution to the next is not a new position, otherwise going back would step through all of
        // them.
        if self.watch.visit().page == Page::Document {
            self.now().visits.now_mut().document = Some(Arc::clone(&document));
        } else {
            self.go(|visit| {
                visit.page = Page::Document;
                visit.document = Some(Arc::clone(&document));
            });
        }
        self.ask_incident(&document);
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

/// Returns a text as a literal of the query language.
fn quoted(text: impl AsRef<str>) -> String {
    format!("'{}'", text.as_ref().replace('\'', "''"))
}
