//! The open steps of a run: what ranks reported of them, and which of their incidents the database has.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use callgrove_model::{ExecLabel, ProgramId, RankId, StepId};
use serde::{Deserialize, Serialize};

use super::brief::{BriefKey, StallBrief, StepBrief};
use super::excerpt::Excerpt;
use super::joined::{JoinedIncident, joined};
use crate::functions::FunctionTable;
use crate::statistics::pairs;

/// Most executions and messages that are kept, about 10 MB; then the older half of the steps is closed.
const MAX_WEIGHT: usize = 1 << 17;
/// Most incidents of closed steps that wait for a database, should it be away for long.
const MAX_CLOSED: usize = 1 << 14;
/// How long an incident waits for ranks that have not told their steps.
const PATIENCE_MS: u64 = 10_000;

/// How far the ranks are.
#[derive(Debug, Default)]
pub(crate) struct RankProgress {
    /// The live ranks, each with the last step that it told, if any.
    pub(crate) live: BTreeMap<(ProgramId, RankId), Option<StepId>>,
    /// Programs of which a recorded rank is still to be judged by the complete models.
    pub(crate) unjudged: BTreeSet<ProgramId>,
    /// Nobody is waited for any more.
    pub(crate) is_last: bool,
    /// Milliseconds of any clock that never jumps.
    pub(crate) now_ms: u64,
}

/// The incidents of a run. It holds a bounded number of steps; what is closed never changes again.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IncidentBook {
    #[serde(with = "pairs")]
    programs: BTreeMap<ProgramId, OpenSteps>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenSteps {
    /// The last closed step: what is told of it or one before comes too late.
    closed_until: Option<StepId>,
    #[serde(with = "pairs")]
    briefs: BTreeMap<(StepId, RankId), StepBrief>,
    /// Earlier releases did not keep them.
    #[serde(default, with = "pairs")]
    hosts: BTreeMap<RankId, String>,
    /// The names of incidents that were told: each that of one of its members.
    ids: BTreeSet<ExecLabel>,
    /// Incidents that are told once more and then never again.
    closed: VecDeque<JoinedIncident>,
    weight: usize,
    /// Incidents that were reported so far, those of closed steps included. Earlier releases did not count them.
    #[serde(default)]
    num_reported: u64,
    /// When each step of a rank was first seen here.
    #[serde(skip)]
    heard_ms: BTreeMap<(StepId, RankId), u64>,
    /// What the database has of each incident: a hash of its document.
    #[serde(skip)]
    told: BTreeMap<ExecLabel, u64>,
    /// Counts what was taken in.
    #[serde(skip)]
    revision: u64,
    /// At which revision every incident was due, and at which all of them were stored.
    #[serde(skip)]
    due_at: Option<u64>,
    #[serde(skip)]
    stored_at: Option<u64>,
}

impl IncidentBook {
    /// Takes in what ranks reported. A step that a rank reported before does not count again.
    pub(crate) fn take_in(
        &mut self,
        briefs: BTreeMap<BriefKey, StepBrief>,
        functions: &FunctionTable,
    ) {
        for ((program, step, rank), mut brief) in briefs {
            let open = self.programs.entry(program).or_default();
            let host = std::mem::take(&mut brief.host);
            if !host.is_empty() && open.hosts.get(&rank) != Some(&host) {
                open.hosts.insert(rank, host);
                open.revision += 1;
            }
            if brief.is_empty() {
                continue;
            }
            let is_late = open.closed_until.is_some_and(|closed| step <= closed);
            if is_late || open.briefs.contains_key(&(step, rank)) {
                continue;
            }
            open.revision += 1;
            open.weight += brief.weight();
            open.briefs.insert((step, rank), brief);
            if open.weight > MAX_WEIGHT {
                open.close_older(program, functions);
            }
        }
    }

    /// The incidents that are complete, or waited for long enough, and those that were told before; with their
    /// programs, in order.
    pub(crate) fn due(
        &mut self,
        progress: &RankProgress,
        functions: &FunctionTable,
    ) -> Vec<(ProgramId, JoinedIncident)> {
        let mut due = Vec::new();
        for (&program, open) in &mut self.programs {
            let incidents = open.due(program, progress, functions);
            due.extend(incidents.into_iter().map(|incident| (program, incident)));
        }
        due
    }

    /// How many incidents of each program were reported and are neither withdrawn nor joined to others.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (ProgramId, u64)> {
        let programs = self.programs.iter();
        programs.map(|(&program, open)| (program, open.num_reported))
    }

    /// Whether the database has a document of an incident already, by its hash.
    pub(crate) fn has(&self, program: ProgramId, id: ExecLabel, hash: u64) -> bool {
        let open = self.programs.get(&program);
        open.and_then(|open| open.told.get(&id)) == Some(&hash)
    }

    /// The database has all documents that were due.
    pub(crate) fn confirm_all(&mut self) {
        for open in self.programs.values_mut() {
            open.stored_at = open.due_at;
        }
    }

    /// The database has a document now.
    pub(crate) fn confirm(&mut self, program: ProgramId, id: ExecLabel, hash: u64) {
        let Some(open) = self.programs.get_mut(&program) else {
            return;
        };
        open.closed.retain(|closed| closed.id != id);
        if open.ids.contains(&id) {
            open.told.insert(id, hash);
        } else {
            open.told.remove(&id);
        }
    }
}

impl OpenSteps {
    /// All incidents of the open steps, each under its name if it has one, and the steps of its members.
    fn joined(&self, program: ProgramId, functions: &FunctionTable) -> Vec<JoinedIncident> {
        joined(&Excerpt::new(program, &self.briefs, &self.hosts, functions))
    }

    fn due(
        &mut self,
        program: ProgramId,
        progress: &RankProgress,
        functions: &FunctionTable,
    ) -> Vec<JoinedIncident> {
        if self.stored_at == Some(self.revision) {
            return Vec::new();
        }
        for &key in self.briefs.keys() {
            self.heard_ms.entry(key).or_insert(progress.now_ms);
        }
        let mut due = Vec::new();
        let mut is_all = true;
        let joined = self.joined(program, functions);
        self.withdraw(&joined);
        for mut incident in joined {
            let is_told = incident.members.iter().any(|it| self.ids.contains(it));
            if is_told || self.is_due(program, &incident, progress) {
                self.name(&mut incident);
                due.push(incident);
            } else {
                is_all = false;
            }
        }
        self.due_at = is_all.then_some(self.revision);
        due.extend(self.closed.iter().cloned());
        due.sort_by_key(|it| it.id);
        due
    }

    /// Whether every live rank has told the step after the last one of an incident, or was waited for.
    fn is_due(
        &self,
        program: ProgramId,
        incident: &JoinedIncident,
        progress: &RankProgress,
    ) -> bool {
        let of_program = progress
            .live
            .range((program, RankId(0))..=(program, RankId(u32::MAX)));
        let mut last_told = of_program.map(|(_, &told)| told);
        let heard = incident.ranks.iter().filter_map(|&rank| {
            let key = (incident.step, rank);
            self.heard_ms.get(&key).copied()
        });
        let heard_ms = heard.max().unwrap_or(progress.now_ms);
        if progress.unjudged.contains(&program) && !progress.is_last {
            return false;
        }
        progress.is_last
            || last_told.all(|told| told > Some(incident.step))
            || progress.now_ms.saturating_sub(heard_ms) >= PATIENCE_MS
    }

    /// Gives an incident its name: the one that it was told under, so that it changes in place. Two that turned out to
    /// be one keep the first one's name, and the other's document says so.
    fn name(&mut self, incident: &mut JoinedIncident) {
        let known = incident.members.iter().copied();
        let mut known = known.filter(|it| self.ids.contains(it));
        let name = known.next();
        let others: Vec<ExecLabel> = known.collect();
        incident.id = name.unwrap_or(incident.id);
        if self.ids.insert(incident.id) {
            // It may have lost the name to another one before.
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

    /// What was reported later can show that executions did not belong together after all: then their incident is
    /// written once more, without executions.
    fn withdraw(&mut self, joined: &[JoinedIncident]) {
        let members: BTreeSet<ExecLabel> =
            joined.iter().flat_map(|it| &it.members).copied().collect();
        let withdrawn: Vec<ExecLabel> = self.ids.difference(&members).copied().collect();
        for id in withdrawn {
            self.ids.remove(&id);
            self.num_reported = self.num_reported.saturating_sub(1);
            let mut reported = self.briefs.iter().flat_map(|(&(step, _), brief)| {
                let stalls = brief.stalls.iter();
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

    /// Closes the older half of the steps, with all incidents that have members there.
    fn close_older(&mut self, program: ProgramId, functions: &FunctionTable) {
        let mut kept = self.weight;
        let mut last = None;
        for (&(step, _), brief) in &self.briefs {
            if kept <= MAX_WEIGHT / 2 && last != Some(step) {
                break;
            }
            kept = kept.saturating_sub(brief.weight());
            last = Some(step);
        }
        let Some(last) = last else { return };
        let closing: BTreeSet<ExecLabel> = self
            .briefs
            .range(..=(last, RankId(u32::MAX)))
            .flat_map(|(_, brief)| brief.stalls.iter().map(|it| it.label))
            .collect();
        let mut gone = BTreeSet::new();
        for mut incident in self.joined(program, functions) {
            if incident.members.iter().any(|it| closing.contains(it)) {
                self.name(&mut incident);
                gone.extend(incident.members.iter().copied());
                self.ids.remove(&incident.id);
                self.closed.push_back(incident);
            }
        }
        let num_lost = self.closed.len().saturating_sub(MAX_CLOSED);
        self.closed.drain(..num_lost);
        self.briefs.retain(|&(step, _), brief| {
            brief
                .stalls
                .retain(|it: &StallBrief| !gone.contains(&it.label));
            step > last
        });
        self.heard_ms.retain(|&(step, _), _| step > last);
        let ids = &self.ids;
        self.told.retain(|id, _| ids.contains(id));
        self.closed_until = self.closed_until.max(Some(last));
        self.weight = self.briefs.values().map(StepBrief::weight).sum();
    }
}
