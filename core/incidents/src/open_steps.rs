//! The open steps of a program: what its ranks reported about them, and which of their incidents the database has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use callgrove_model::{ExecLabel, ProgramId, RankId, StepId, pairs};
use serde::{Deserialize, Serialize};

use crate::document::IncidentDocument;
use crate::excerpt::Excerpt;
use crate::joined_incident::{JoinedIncident, joined};
use crate::names::FunctionNames;
use crate::stall_summary::{StallEntry, StallSummary};

/// Maximum number of executions and messages kept, about 10 MB; beyond it the older half of the steps is closed.
const MAX_WEIGHT: usize = 1 << 17;
/// Number of executions and messages from which on settled steps of a running job are closed. About as many as 16 ranks
/// of LAMMPS report in two seconds; the engine takes some 10 ms for them.
const MAX_SETTLED_WEIGHT: usize = 1 << 14;
/// Maximum number of incidents of closed steps that wait for the database while it is unreachable.
const MAX_CLOSED: usize = 1 << 14;
/// Time in milliseconds after which an incident no longer waits for ranks that have not reported their steps.
const RANK_TIMEOUT_MS: u64 = 10_000;

/// The progress of the ranks.
#[derive(Debug, Default)]
pub struct RankProgress {
    /// The live ranks, each with its last reported step, if any.
    pub live: BTreeMap<(ProgramId, RankId), Option<StepId>>,
    /// The programs of recorded runs, each with whether all its ranks are judged by the complete models.
    pub recorded: BTreeMap<ProgramId, bool>,
    /// The last step of each program of a running job after which every rank has reported two more.
    pub settled: BTreeMap<ProgramId, StepId>,
    /// The run ends: incidents wait for no rank any more.
    pub is_last: bool,
    /// Milliseconds of any monotonic clock.
    pub now_ms: u64,
}

/// The open steps of a program. Their number is bounded; closed steps never change again.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenSteps {
    /// The last closed step. Reports of this step or earlier ones come too late.
    closed_until: Option<StepId>,
    /// Saved apart from the rest, in parts.
    #[serde(skip)]
    stall_summaries: BTreeMap<(StepId, RankId), StallSummary>,
    #[serde(with = "pairs")]
    hosts: BTreeMap<RankId, String>,
    /// The identifiers of reported incidents, each the label of one of its members.
    ids: BTreeSet<ExecLabel>,
    /// Incidents that are reported once more, and then never again.
    closed: VecDeque<JoinedIncident>,
    /// The identifiers of those of a recorded run that were reported.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    closed_ids: BTreeSet<ExecLabel>,
    #[serde(skip)]
    weight: usize,
    /// Number of incidents reported so far, including those of closed steps.
    num_reported: u64,
    /// Time when each step of a rank was first seen here.
    #[serde(skip)]
    first_seen_ms: BTreeMap<(StepId, RankId), u64>,
    /// The hash of each incident's document in the database.
    #[serde(skip)]
    stored_hashes: BTreeMap<ExecLabel, u64>,
    /// Incremented with every change.
    #[serde(skip)]
    revision: u64,
    /// The revision at which every incident was due.
    #[serde(skip)]
    due_at: Option<u64>,
    /// The revision at which all of them were stored.
    #[serde(skip)]
    stored_at: Option<u64>,
}

impl OpenSteps {
    /// Adds what a rank reports of a step, unless the rank already reported it or the step is closed. Returns whether
    /// it is new.
    pub(crate) fn add(&mut self, step: StepId, rank: RankId, mut summary: StallSummary) -> bool {
        let host = std::mem::take(&mut summary.host);
        if !host.is_empty() && self.hosts.get(&rank) != Some(&host) {
            self.hosts.insert(rank, host);
            self.revision += 1;
        }
        let is_late = self.closed_until.is_some_and(|closed| step <= closed);
        if summary.is_empty() || is_late || self.stall_summaries.contains_key(&(step, rank)) {
            return false;
        }
        self.revision += 1;
        self.restore(step, rank, summary);
        true
    }

    /// Adds a report that was saved.
    pub(crate) fn restore(&mut self, step: StepId, rank: RankId, summary: StallSummary) {
        self.weight += summary.weight();
        self.stall_summaries.insert((step, rank), summary);
    }

    /// Returns the reports, by step and rank.
    pub(crate) fn reports(&self) -> &BTreeMap<(StepId, RankId), StallSummary> {
        &self.stall_summaries
    }

    /// Returns the number of incidents reported so far.
    pub(crate) fn num_reported(&self) -> u64 {
        self.num_reported
    }

    /// Returns a copy of what is saved with the rest of the state.
    pub(crate) fn without_reports(&self) -> Self {
        Self {
            closed_until: self.closed_until,
            hosts: self.hosts.clone(),
            ids: self.ids.clone(),
            closed: self.closed.clone(),
            closed_ids: self.closed_ids.clone(),
            num_reported: self.num_reported,
            ..Self::default()
        }
    }

    /// Returns the documents that the database lacks, and the identifiers of all incidents if they are final.
    pub(crate) fn documents(
        &mut self,
        program: ProgramId,
        progress: &RankProgress,
        functions: &dyn FunctionNames,
    ) -> (Vec<IncidentDocument>, Option<BTreeSet<ExecLabel>>) {
        let mut final_ids = None;
        let incidents = match progress.recorded.get(&program) {
            None => self.due(program, progress, functions),
            Some(&is_judged) => {
                let is_final =
                    (is_judged || progress.is_last) && self.stored_at != Some(self.revision);
                let incidents = self.recorded(program, is_final, functions);
                final_ids = is_final.then(|| self.ids.union(&self.closed_ids).copied().collect());
                incidents
            }
        };
        let documents = incidents
            .iter()
            .map(|incident| IncidentDocument::new(program, incident, functions));
        let new = documents.filter(|it| self.stored_hashes.get(&it.id) != Some(&it.hash));
        (new.collect(), final_ids)
    }

    /// Records that the database has the document of an incident.
    pub(crate) fn confirm(&mut self, id: ExecLabel, hash: u64) {
        self.closed.retain(|closed| closed.id != id);
        if self.ids.contains(&id) {
            self.stored_hashes.insert(id, hash);
        } else {
            self.stored_hashes.remove(&id);
        }
    }

    /// Records that the database has all documents that were due.
    pub(crate) fn confirm_all(&mut self) {
        self.stored_at = self.due_at;
    }

    /// Returns all incidents of the open steps, each with its identifier if it has one, and the steps of its members.
    fn joined(&self, program: ProgramId, functions: &dyn FunctionNames) -> Vec<JoinedIncident> {
        joined(&Excerpt::new(
            program,
            &self.stall_summaries,
            &self.hosts,
            functions,
        ))
    }

    fn due(
        &mut self,
        program: ProgramId,
        progress: &RankProgress,
        functions: &dyn FunctionNames,
    ) -> Vec<JoinedIncident> {
        if self.stored_at == Some(self.revision) {
            return Vec::new();
        }
        for &key in self.stall_summaries.keys() {
            self.first_seen_ms.entry(key).or_insert(progress.now_ms);
        }
        let (mut due, mut others) = (Vec::new(), Vec::new());
        let joined = self.joined(program, functions);
        self.withdraw(&joined);
        for mut incident in joined {
            let was_reported = incident.members.iter().any(|it| self.ids.contains(it));
            if was_reported || self.is_due(program, &incident, progress) {
                self.name(&mut incident);
                due.push(incident);
            } else {
                others.push(incident);
            }
        }
        self.due_at = others.is_empty().then_some(self.revision);
        let settled = progress.settled.get(&program).copied();
        let last_settled = self.last_settled(settled, &due, &others);
        let incidents = due.clone();
        due.extend(self.closed.iter().cloned());
        if let Some(last) = last_settled {
            self.close(last, incidents);
        }
        due.sort_by_key(|it| it.id);
        due
    }

    /// Returns the incidents of a recorded run: the closed ones and, if they are final, those of the open steps under their
    /// own identifiers.
    fn recorded(
        &mut self,
        program: ProgramId,
        is_final: bool,
        functions: &dyn FunctionNames,
    ) -> Vec<JoinedIncident> {
        let has_members = |incident: &JoinedIncident| !incident.members.is_empty();
        self.closed.retain(has_members);
        self.closed_ids.extend(self.closed.iter().map(|it| it.id));
        let mut due: Vec<JoinedIncident> = self.closed.iter().cloned().collect();
        if is_final {
            let joined = self.joined(program, functions);
            self.ids = joined.iter().map(|it| it.id).collect();
            let num_reported = self.ids.len() + self.closed_ids.len();
            self.num_reported = u64::try_from(num_reported).unwrap_or(u64::MAX);
            self.due_at = Some(self.revision);
            due.extend(joined);
        }
        due
    }

    /// Returns whether every live rank has reported the step after the incident's last one, or the wait has timed out.
    fn is_due(
        &self,
        program: ProgramId,
        incident: &JoinedIncident,
        progress: &RankProgress,
    ) -> bool {
        let of_program = progress
            .live
            .range((program, RankId(0))..=(program, RankId(u32::MAX)));
        let mut last_steps = of_program.map(|(_, &last)| last);
        let first_seen = incident.ranks.iter().filter_map(|&rank| {
            let key = (incident.step, rank);
            self.first_seen_ms.get(&key).copied()
        });
        let first_seen_ms = first_seen.max().unwrap_or(progress.now_ms);
        progress.is_last
            || last_steps.all(|last| last > Some(incident.step))
            || progress.now_ms.saturating_sub(first_seen_ms) >= RANK_TIMEOUT_MS
    }

    /// Gives an incident its identifier. A reported incident keeps it, so that its document changes in place. If two
    /// reported incidents turn out to be one, it keeps the first one's identifier, and the other's document refers to
    /// it.
    fn name(&mut self, incident: &mut JoinedIncident) {
        let known = incident.members.iter().copied();
        let mut known = known.filter(|it| self.ids.contains(it));
        let name = known.next();
        let others: Vec<ExecLabel> = known.collect();
        incident.id = name.unwrap_or(incident.id);
        if self.ids.insert(incident.id) {
            // It may have lost this identifier to another incident before.
            self.closed.retain(|it| it.id != incident.id);
            self.num_reported += 1;
        }
        for other in others {
            self.ids.remove(&other);
            self.num_reported = self.num_reported.saturating_sub(1);
            self.closed.push_back(JoinedIncident {
                joined_to: Some(incident.id),
                ..JoinedIncident::empty(other, incident.step, incident.start_us, incident.end_us)
            });
        }
    }

    /// Withdraws reported incidents whose executions no longer belong together after later reports: their documents are
    /// written once more, without executions.
    fn withdraw(&mut self, joined: &[JoinedIncident]) {
        let members: BTreeSet<ExecLabel> =
            joined.iter().flat_map(|it| &it.members).copied().collect();
        let withdrawn: Vec<ExecLabel> = self.ids.difference(&members).copied().collect();
        for id in withdrawn {
            self.ids.remove(&id);
            self.num_reported = self.num_reported.saturating_sub(1);
            let mut reported = self
                .stall_summaries
                .iter()
                .flat_map(|(&(step, _), summary)| {
                    let stalls = summary.stalls.iter();
                    stalls.map(move |stall| (step, stall))
                });
            let stall = reported.find(|(_, stall)| stall.label == id);
            let (step, start_us, end_us) = stall.map_or((id.step, 0, 0), |(step, stall)| {
                (step, stall.from_us, stall.to_us)
            });
            self.closed
                .push_back(JoinedIncident::empty(id, step, start_us, end_us));
        }
    }

    /// Closes the older half of the steps if there are too many reports. Returns whether it does.
    pub(crate) fn bound(&mut self, program: ProgramId, functions: &dyn FunctionNames) -> bool {
        if self.weight <= MAX_WEIGHT {
            return false;
        }
        let last = self.end_of_older(MAX_WEIGHT / 2);
        if let Some(last) = last {
            let joined = self.joined(program, functions);
            self.close(last, joined);
        }
        last.is_some()
    }

    /// Returns the first step after which the reports have at most this weight.
    fn end_of_older(&self, max_weight: usize) -> Option<StepId> {
        let mut kept_weight = self.weight;
        let mut last = None;
        for (&(step, _), summary) in &self.stall_summaries {
            if kept_weight <= max_weight && last != Some(step) {
                break;
            }
            kept_weight = kept_weight.saturating_sub(summary.weight());
            last = Some(step);
        }
        last
    }

    /// Returns the last of the older steps that are settled, if there is more than the engine needs to be certain:
    /// all ranks have reported the two steps after it, and each of the `named` incidents, and of the `others`, which
    /// are not due yet, is before or after its end.
    fn last_settled(
        &self,
        settled: Option<StepId>,
        named: &[JoinedIncident],
        others: &[JoinedIncident],
    ) -> Option<StepId> {
        if self.weight <= MAX_SETTLED_WEIGHT {
            return None;
        }
        let mut last = settled?.min(self.end_of_older(MAX_SETTLED_WEIGHT / 2)?);
        let summaries = self.stall_summaries.iter();
        let steps: BTreeMap<ExecLabel, StepId> = summaries
            .flat_map(|(&(step, _), it)| it.stalls.iter().map(move |stall| (stall.label, step)))
            .collect();
        let first_step = |it: &JoinedIncident| {
            let members = it.members.iter();
            members.filter_map(|label| steps.get(label)).min().copied()
        };
        let spans = named.iter().map(|it| (first_step(it), it.step));
        let waiting = others.iter().map(|it| (first_step(it), StepId(u32::MAX)));
        let mut spans: Vec<(StepId, StepId)> = spans
            .chain(waiting)
            .filter_map(|(first, last)| Some((first?, last)))
            .collect();
        // Those that begin last come first: each can only lower the end for those after it.
        spans.sort_unstable_by_key(|&span| Reverse(span));
        for (first, end) in spans {
            if first <= last && last < end {
                last = StepId(first.0.checked_sub(1)?);
            }
        }
        let oldest = self.stall_summaries.keys().next();
        oldest
            .is_some_and(|&(step, _)| step <= last)
            .then_some(last)
    }

    /// Closes the steps up to `last`, with all incidents that have members in them.
    fn close(&mut self, last: StepId, incidents: impl IntoIterator<Item = JoinedIncident>) {
        let closing: BTreeSet<ExecLabel> = self
            .stall_summaries
            .range(..=(last, RankId(u32::MAX)))
            .flat_map(|(_, summary)| summary.stalls.iter().map(|it| it.label))
            .collect();
        let mut closed_members = BTreeSet::new();
        for mut incident in incidents {
            if incident.members.iter().any(|it| closing.contains(it)) {
                self.name(&mut incident);
                closed_members.extend(incident.members.iter().copied());
                self.ids.remove(&incident.id);
                self.closed.push_back(incident);
            }
        }
        let num_lost = self.closed.len().saturating_sub(MAX_CLOSED);
        self.closed.drain(..num_lost);
        self.stall_summaries.retain(|&(step, _), summary| {
            summary
                .stalls
                .retain(|it: &StallEntry| !closed_members.contains(&it.label));
            step > last
        });
        self.first_seen_ms.retain(|&(step, _), _| step > last);
        let ids = &self.ids;
        self.stored_hashes.retain(|id, _| ids.contains(id));
        self.closed_until = self.closed_until.max(Some(last));
        self.weight = self
            .stall_summaries
            .values()
            .map(StallSummary::weight)
            .sum();
    }
}
