//! Executions that the user looks up, and the documents that arrive.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_incidents::IncidentRecord;

use super::{Watcher, incident_request};
use crate::document::ExecutionDocument;
use crate::form::{FormError, QueryForm};
use crate::incident::RecordedIncident;
use crate::scope::Scope;
use crate::state::QueryState;
use crate::transport::{QueryRequest, WatchRequest};
use crate::visit::{Page, Results};

/// Largest number of executions of an incident that are looked up at once.
const MAX_MEMBERS: usize = 200;

impl Watcher {
    pub(super) fn ask(
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

    pub(super) fn ask_more(&mut self) {
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

    pub(super) fn take_documents(
        &mut self,
        id: u64,
        found: Vec<serde_json::Value>,
        total: Option<u64>,
    ) {
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

    /// Looks up the executions of an incident, to show that of the root.
    pub(super) fn open_incident(&mut self, incident: &Arc<RecordedIncident>) {
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
    pub(super) fn open_found(&mut self, id: u64) {
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

    pub(super) fn open(&mut self, index: usize) {
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

/// Returns a text as a literal of the query language.
fn quoted(text: impl AsRef<str>) -> String {
    format!("'{}'", text.as_ref().replace('\'', "''"))
}
