//! The monitor: what is known, where the person is, and what becomes of updates and commands.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use callgrove_model::{DurationNs, FuncId, FunctionName, NameTable};

use super::place::Places;
use super::{
    ExecutionDocument, Focus, FormError, MonitorCommand, MonitorHandle, MonitorRequest,
    MonitorUpdate, Overview, Pace, Packet, Page, Place, QueryForm, Results,
};
use crate::LegendEntry;

/// Updates taken over in one go, so that a frame stays short.
const MAX_UPDATES_AT_ONCE: usize = 64;

/// How the monitor and its server stand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Connection {
    /// No server yet.
    #[default]
    Idle,
    /// Asked, not yet answered.
    Connecting,
    /// Packets come.
    Live,
    /// The server does not answer.
    Lost {
        /// What happened and what to do about it.
        cause: String,
        /// When the carrier tries again; `None` if there is no sense in it.
        retry_in_ms: Option<u64>,
    },
    /// The run is over.
    Ended,
}

/// What becomes of the last question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum QueryState {
    /// Nothing is asked.
    #[default]
    Idle,
    /// The question of this id is not answered yet.
    Asked(u64),
    /// It could not be asked or answered: what happened and what to do about it.
    Failed(String),
}

/// State of the live view.
pub struct Monitor {
    handle: MonitorHandle,
    /// Requests that the carrier could not take yet, oldest first.
    unsent: VecDeque<MonitorRequest>,
    address: String,
    connection: Connection,
    /// Everything that is known.
    newest: Arc<Known>,
    /// What the person sees while everything is held still.
    held: Option<Arc<Known>>,
    num_held_back: u64,
    names: NameTable,
    places: Places,
    query: QueryState,
    next_query: u64,
}

/// What is known of the run.
#[derive(Clone, Default)]
struct Known {
    overview: Overview,
    pace: Pace,
    revision: u64,
}

impl Monitor {
    /// A monitor of no server yet.
    pub fn new(handle: MonitorHandle) -> Self {
        Self {
            handle,
            unsent: VecDeque::new(),
            address: String::new(),
            connection: Connection::Idle,
            newest: Arc::default(),
            held: None,
            num_held_back: 0,
            names: NameTable::default(),
            places: Places::default(),
            query: QueryState::Idle,
            next_query: 0,
        }
    }

    /// Takes over some of what came in and sends what waits; never waits itself. Whether anything
    /// is new; then there may be more, so it is called again soon.
    pub fn update(&mut self) -> bool {
        while let Some(request) = self.unsent.pop_front() {
            if let Err(request) = self.handle.send(request) {
                self.unsent.push_front(request);
                break;
            }
        }
        for num_taken in 0..MAX_UPDATES_AT_ONCE {
            let Some(update) = self.handle.poll() else {
                return num_taken > 0;
            };
            self.take(update);
        }
        true
    }

    /// Carries out a person's wish.
    pub fn carry_out(&mut self, command: MonitorCommand) {
        match command {
            MonitorCommand::Connect { address, token } => self.connect(address, token),
            MonitorCommand::Disconnect => {
                self.connection = Connection::Idle;
                self.send(MonitorRequest::Disconnect);
            }
            MonitorCommand::Pause(is_paused) => {
                self.num_held_back = 0;
                self.held = is_paused.then(|| Arc::clone(&self.newest));
            }
            MonitorCommand::Show(page) => self.go(|place| place.page = page),
            MonitorCommand::Focus(focus) => self.go(|place| {
                place.form = place.form.focused(focus);
                place.focus = focus;
            }),
            MonitorCommand::Query(form) => self.ask(*form, None),
            MonitorCommand::QueryFocus(focus) => {
                let form = QueryForm {
                    filter: String::new(),
                    ..self.place().form.focused(focus)
                };
                self.ask(form, Some(focus));
            }
            MonitorCommand::More => self.ask_more(),
            MonitorCommand::Open(index) => self.open(index),
            MonitorCommand::Back => self.places.back(),
            MonitorCommand::Forward => self.places.forward(),
        }
    }

    /// How monitor and server stand.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The server that is or was watched, as the person typed it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What is shown of the run.
    pub fn overview(&self) -> &Overview {
        &self.shown().overview
    }

    /// How anomalies came in.
    pub fn pace(&self) -> &Pace {
        &self.shown().pace
    }

    /// A number that changes whenever what [`Monitor::overview`] and [`Monitor::pace`] show changes.
    pub fn revision(&self) -> u64 {
        self.shown().revision
    }

    /// Whether what is shown is held still.
    pub fn is_paused(&self) -> bool {
        self.held.is_some()
    }

    /// Packets that came in since it is held still.
    pub fn num_held_back(&self) -> u64 {
        self.num_held_back
    }

    /// Where the person is.
    pub fn place(&self) -> &Place {
        self.places.now()
    }

    /// Whether there is a place to go back to.
    pub fn can_go_back(&self) -> bool {
        self.places.can_go_back()
    }

    /// Whether a step back can be undone.
    pub fn can_go_forward(&self) -> bool {
        self.places.can_go_forward()
    }

    /// What becomes of the last question.
    pub fn query(&self) -> &QueryState {
        &self.query
    }

    /// The id of a function's name, the same as long as the monitor lives.
    pub fn name_id(&self, name: &str) -> Option<FuncId> {
        self.names.get(name)
    }

    /// All functions by their ids, for their colours: what was heard of first comes first, so that no
    /// function changes its colour while the run goes on.
    pub fn legend(&self) -> Vec<LegendEntry> {
        let entry = |(func, name): (FuncId, &str)| LegendEntry {
            func,
            name: name.to_owned(),
            exclusive: DurationNs::ZERO,
            num_calls: 0,
            is_mpi: FunctionName::parse(name).is_mpi(),
        };
        self.names.iter().map(entry).collect()
    }

    /// Number of functions in [`Monitor::legend`].
    pub fn num_names(&self) -> usize {
        self.names.len()
    }

    fn shown(&self) -> &Known {
        self.held.as_ref().unwrap_or(&self.newest)
    }

    fn send(&mut self, request: MonitorRequest) {
        if !self.unsent.is_empty() {
            self.unsent.push_back(request);
        } else if let Err(request) = self.handle.send(request) {
            self.unsent.push_back(request);
        }
    }

    fn go(&mut self, change: impl FnOnce(&mut Place)) {
        let mut place = self.places.now().clone();
        change(&mut place);
        self.places.go(place);
    }

    /// Another server has other functions and documents: nothing of the old one is kept.
    fn connect(&mut self, address: String, token: Option<String>) {
        if address != self.address {
            let revision = self.newest.revision + 1;
            self.newest = Arc::new(Known {
                revision,
                ..Known::default()
            });
            self.places = Places::default();
            self.names = NameTable::default();
            self.query = QueryState::Idle;
            self.held = None;
        }
        self.address.clone_from(&address);
        self.connection = Connection::Connecting;
        self.send(MonitorRequest::Connect { address, token });
    }

    fn take(&mut self, update: MonitorUpdate) {
        match update {
            MonitorUpdate::Connected(overview) => {
                self.learn_names(overview.funcs.iter().map(|func| func.name.as_str()));
                let known = Arc::make_mut(&mut self.newest);
                known.overview = *overview;
                known.revision += 1;
                self.connection = Connection::Live;
            }
            MonitorUpdate::Packet(packet) => self.take_packet(&packet),
            MonitorUpdate::Lost { cause, retry_in_ms } => {
                self.connection = Connection::Lost { cause, retry_in_ms };
            }
            MonitorUpdate::Ended => self.connection = Connection::Ended,
            MonitorUpdate::Found {
                id,
                documents,
                total,
            } => self.take_documents(id, documents, total),
            MonitorUpdate::QueryFailed { id, cause } => {
                if self.query == QueryState::Asked(id) {
                    self.query = QueryState::Failed(cause);
                }
            }
        }
    }

    fn take_packet(&mut self, packet: &Packet) {
        let known = Arc::make_mut(&mut self.newest);
        known.overview.apply(packet);
        known.pace.push(packet);
        known.revision += 1;
        let newest = Arc::clone(&self.newest);
        self.learn_names(newest.overview.funcs.iter().map(|func| func.name.as_str()));
        if self.is_paused() {
            self.num_held_back += 1;
        }
        self.connection = Connection::Live;
    }

    fn learn_names<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            self.names.intern(name);
        }
    }

    fn ask(&mut self, form: QueryForm, focus: Option<Focus>) {
        let id = self.next_query;
        let request = match form.request(id, 0) {
            Ok(request) => request,
            Err(error) => {
                self.fail(&error);
                self.go(|place| {
                    place.page = Page::Executions;
                    place.form = form;
                });
                return;
            }
        };
        self.next_query += 1;
        let results = Arc::new(Results {
            request: request.clone(),
            documents: Vec::new(),
            total: None,
            is_complete: false,
        });
        self.go(|place| {
            place.page = Page::Executions;
            place.form = form;
            place.focus = focus.unwrap_or(place.focus);
            place.results = Some(results);
        });
        self.query = QueryState::Asked(id);
        self.send(MonitorRequest::Query(request));
    }

    fn ask_more(&mut self) {
        let Some(results) = &self.place().results else {
            return;
        };
        if results.is_complete || matches!(self.query, QueryState::Asked(_)) {
            return;
        }
        let mut request = results.request.clone();
        request.offset = results.documents.len() as u64;
        self.query = QueryState::Asked(request.id);
        self.send(MonitorRequest::Query(request));
    }

    fn fail(&mut self, error: &FormError) {
        self.query = QueryState::Failed(error.to_string());
    }

    fn take_documents(&mut self, id: u64, found: Vec<serde_json::Value>, total: Option<u64>) {
        if self.query == QueryState::Asked(id) {
            self.query = QueryState::Idle;
        }
        let Some(known) = self.places.results_of(id) else {
            return;
        };
        let num_found = found.len() as u64;
        let mut documents = known.documents.clone();
        let mut labels: BTreeSet<_> = documents.iter().map(|known| known.label()).collect();
        for document in found.into_iter().map(ExecutionDocument::new) {
            // What came in meanwhile moves documents to later pages, so some come twice.
            if document.event_id.is_empty() || labels.insert(document.label()) {
                self.names.intern(&document.func);
                for execution in &document.window.executions {
                    self.names.intern(&execution.func);
                }
                documents.push(Arc::new(document));
            }
        }
        let num_known = documents.len() as u64;
        let results = Results {
            request: known.request.clone(),
            is_complete: num_known == known.documents.len() as u64
                || total
                    .or(known.total)
                    .map_or(num_found < known.request.limit, |total| num_known >= total),
            documents,
            total: total.or(known.total),
        };
        self.places.answer(id, &Arc::new(results));
    }

    fn open(&mut self, index: usize) {
        let results = self.place().results.as_ref();
        let document = results.and_then(|results| results.documents.get(index));
        let Some(document) = document.map(Arc::clone) else {
            return;
        };
        // Going from one execution to the next is no new place, or a step back would go through them all.
        if self.place().page == Page::Document {
            self.places.now_mut().document = Some(document);
        } else {
            self.go(|place| {
                place.page = Page::Document;
                place.document = Some(document);
            });
        }
    }
}
