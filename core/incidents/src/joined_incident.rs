//! Incidents of several ranks among the open steps, found by the engine of recorded runs in their excerpt.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_causes::{
    CauseKind, Causes, DelayRole, Hop, Incident, RootCause, WaitKind, WaitedFor,
};
use callgrove_model::{ExecLabel, ExecRef, FuncId, Progress, RankId, StepId, TimeNs};
use serde::{Deserialize, Serialize};

use crate::excerpt::{Excerpt, MessageKey};
use crate::nested_calls::ReportedStall;

/// Maximum number of messages of an incident.
const MAX_MESSAGES: usize = 4096;
/// Maximum number of executions, of all incidents together, whose waits are looked up.
const MAX_HOPS: usize = 1 << 14;

/// Executions of several ranks that stalled together. Times are microseconds since the epoch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct JoinedIncident {
    /// Its identifier: the label of its earliest member until it is given another.
    pub(crate) id: ExecLabel,
    /// The incident that contains this one, if they turned out to be one.
    pub(crate) joined_to: Option<ExecLabel>,
    /// The last step in which one of its members was reported.
    pub(crate) step: StepId,
    pub(crate) start_us: u64,
    pub(crate) end_us: u64,
    pub(crate) kind: CauseKind,
    /// `None` if no single rank is the cause, or the cause is unknown.
    pub(crate) root: Option<IncidentRoot>,
    /// The root's own delay; `None` if the root is unknown.
    pub(crate) own_us: Option<u64>,
    /// Confidence that the root is right, in percent; `None` for an incident without executions.
    pub(crate) confidence_percent: Option<u8>,
    /// The most likely alternative to the root's rank.
    pub(crate) next_best: Option<RankId>,
    /// The overloaded host.
    pub(crate) host: Option<String>,
    /// The summed delay of all ranks, including the root's own.
    pub(crate) delay_us: u64,
    /// Ranks of members and root, ascending.
    pub(crate) ranks: Vec<RankId>,
    /// In the order of the start of their stalls.
    pub(crate) members: Vec<ExecLabel>,
    /// Number of members that the detector found.
    pub(crate) num_anomalies: usize,
    pub(crate) hops: Vec<IncidentHop>,
    pub(crate) messages: Vec<MatchedMessage>,
}

impl JoinedIncident {
    /// Returns an incident that has no executions any more.
    pub(crate) fn empty(id: ExecLabel, step: StepId, start_us: u64, end_us: u64) -> Self {
        Self {
            id,
            joined_to: None,
            step,
            start_us,
            end_us,
            kind: CauseKind::Unknown,
            root: None,
            own_us: None,
            confidence_percent: None,
            next_best: None,
            host: None,
            delay_us: 0,
            ranks: Vec::new(),
            members: Vec::new(),
            num_anomalies: 0,
            hops: Vec::new(),
            messages: Vec::new(),
        }
    }
}

/// The origin of an incident.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentRoot {
    pub(crate) rank: RankId,
    /// Its stalled call; `None` if none was reported.
    pub(crate) call: Option<RootCall>,
}

/// The stalled call at the origin of an incident.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RootCall {
    pub(crate) label: ExecLabel,
    pub(crate) fid: FuncId,
    pub(crate) stalled_us: u64,
}

/// A member that waited for another rank.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentHop {
    pub(crate) label: ExecLabel,
    pub(crate) fid: FuncId,
    pub(crate) waited_us: u64,
    pub(crate) kind: WaitKind,
    pub(crate) peer: RankId,
    pub(crate) peer_label: Option<ExecLabel>,
    /// Index into the messages of the incident; `None` if no message between the two is known.
    pub(crate) message: Option<usize>,
}

/// A message with both ends known: the time of each, and the execution that contains it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct MatchedMessage {
    pub(crate) source: RankId,
    pub(crate) destination: RankId,
    pub(crate) tag: u64,
    pub(crate) number: u64,
    pub(crate) sent: (u64, Option<ExecLabel>),
    pub(crate) received: (u64, Option<ExecLabel>),
}

/// Returns the incidents of several ranks, in order of their start. Cost: that of [`Causes::of_stalls`].
pub(crate) fn joined(excerpt: &Excerpt<'_>) -> Vec<JoinedIncident> {
    let is_stalled = |it: ExecRef| excerpt.is_stalled(it);
    let Ok(causes) = Causes::of_stalls(&excerpt.trace, is_stalled, Progress::none()) else {
        return Vec::new();
    };
    let mut join = Join {
        excerpt,
        causes: &causes,
        taken: BTreeSet::new(),
        num_hops: 0,
    };
    // The costliest first: members shared by two incidents belong to the costlier one.
    let all = causes.incidents().all().iter();
    let mut incidents: Vec<JoinedIncident> = all.filter_map(|it| join.incident(it)).collect();
    incidents.sort_by_key(|it| (it.start_us, it.id));
    incidents
}

/// Converts the engine's incidents to recorded ones.
struct Join<'a> {
    excerpt: &'a Excerpt<'a>,
    causes: &'a Causes,
    /// Members of the incidents converted so far.
    taken: BTreeSet<ExecLabel>,
    num_hops: usize,
}

impl Join<'_> {
    fn incident(&mut self, incident: &Incident) -> Option<JoinedIncident> {
        let mut members: Vec<(ExecRef, ReportedStall<'_>)> = incident
            .members
            .iter()
            .flat_map(|&it| self.excerpt.stalls_in(it))
            .filter(|(_, stall)| !self.taken.contains(&stall.entry.label))
            .collect();
        members.sort_by_key(|(_, stall)| (stall.entry.from_us, stall.entry.label));
        members.dedup_by_key(|(_, stall)| stall.entry.label);
        let of_members = || members.iter().map(|(_, stall)| stall.entry);
        let mut ranks: BTreeSet<RankId> = of_members().map(|it| it.label.rank).collect();
        if ranks.len() < 2 {
            return None;
        }
        let (is_known, found) = (incident.kind != CauseKind::Unknown, &incident.root);
        let root = (is_known && incident.kind.is_of_a_rank()).then(|| self.root(found));
        ranks.extend(root.map(|root| root.rank));
        let hops = if is_known {
            self.hops(&members)
        } else {
            Vec::new()
        };
        let (messages, places) = self.messages(&members, &hops);
        let hops = hops.into_iter().map(|(hop, message)| IncidentHop {
            message: message.and_then(|it| places.get(&it).copied()),
            ..hop
        });
        self.taken.extend(of_members().map(|it| it.label));
        Some(JoinedIncident {
            id: of_members().map(|it| it.label).next()?,
            joined_to: None,
            step: members.iter().map(|(_, stall)| stall.step).max()?,
            start_us: as_us(incident.start),
            end_us: as_us(incident.end),
            kind: incident.kind,
            root,
            own_us: is_known.then(|| length_us(found.own_delay.as_us())),
            confidence_percent: Some(found.confidence_percent),
            next_best: if is_known {
                found.next_best
            } else {
                Some(found.rank)
            },
            host: self.busy_host(incident),
            delay_us: length_us(incident.delay.as_us()),
            ranks: ranks.into_iter().collect(),
            members: of_members().map(|it| it.label).collect(),
            num_anomalies: of_members().filter(|it| it.is_anomaly).count(),
            hops: hops.collect(),
            messages,
        })
    }

    fn root(&self, root: &RootCause) -> IncidentRoot {
        let call = self.excerpt.stalls_in(root.call).next();
        IncidentRoot {
            rank: root.rank,
            call: call.map(|(_, stall)| RootCall {
                label: stall.entry.label,
                fid: stall.entry.fid,
                stalled_us: length_us(root.own_delay.as_us()),
            }),
        }
    }

    fn busy_host(&self, incident: &Incident) -> Option<String> {
        let clocks = self.causes.clocks();
        let host = clocks.hosts().get(clocks.host_of(incident.root.lane))?;
        (incident.kind == CauseKind::BusyHost).then(|| host.host.clone())
    }

    /// Returns the wait of each member, with the message (an index into those of the excerpt) if one is known.
    fn hops(
        &mut self,
        members: &[(ExecRef, ReportedStall<'_>)],
    ) -> Vec<(IncidentHop, Option<usize>)> {
        let num_left = MAX_HOPS.saturating_sub(self.num_hops);
        self.num_hops += members.len().min(num_left);
        let asked = members.iter().take(num_left);
        asked
            .filter_map(|&(call, stall)| {
                let cause = self.causes.of(&self.excerpt.trace, call);
                let hop = cause.hops.first()?;
                let is_other = hop.peer_rank != stall.entry.label.rank;
                (cause.role == DelayRole::Victim && is_other).then(|| self.hop(stall, hop))
            })
            .collect()
    }

    fn hop(&self, stall: ReportedStall<'_>, hop: &Hop) -> (IncidentHop, Option<usize>) {
        let label = stall.entry.label;
        let waits = self.causes.waits().of_call(hop.call);
        let waits = waits.filter(|it| it.peer == Some(hop.peer));
        let mut waited_for = waits.filter_map(|it| match it.waited_for {
            WaitedFor::Message(number) => usize::try_from(number).ok(),
            _ => None,
        });
        let mut between = self.excerpt.messages_of(label).filter(|&at| {
            let key = self.excerpt.messages[at].key;
            [key.source, key.destination].contains(&hop.peer_rank)
        });
        let peer_call = hop
            .peer_call
            .and_then(|it| self.excerpt.stalls_in(it).next());
        let hop = IncidentHop {
            label,
            fid: stall.entry.fid,
            waited_us: length_us(hop.handed_on.as_us()),
            kind: hop.kind,
            peer: hop.peer_rank,
            peer_label: peer_call.map(|(_, stall)| stall.entry.label),
            message: None,
        };
        (hop, waited_for.next().or_else(|| between.next()))
    }

    /// Returns the messages of the members, by key, including those of all hops; and each one's index by its index in
    /// the excerpt.
    fn messages(
        &self,
        members: &[(ExecRef, ReportedStall<'_>)],
        hops: &[(IncidentHop, Option<usize>)],
    ) -> (Vec<MatchedMessage>, BTreeMap<usize, usize>) {
        let all = &self.excerpt.messages;
        let of_hops = hops.iter().filter_map(|(_, message)| *message);
        let keyed = |at: usize| all.get(at).map(|it| (it.key, at));
        let mut keys: BTreeMap<MessageKey, usize> = of_hops.filter_map(keyed).collect();
        let of_members = members
            .iter()
            .flat_map(|(_, stall)| self.excerpt.messages_of(stall.entry.label));
        for at in of_members {
            if keys.len() < MAX_MESSAGES {
                keys.extend(keyed(at));
            }
        }
        let places = keys.values().enumerate().map(|(place, &at)| (at, place));
        let places = places.collect();
        let matched = keys.into_iter().map(|(key, at)| MatchedMessage {
            source: key.source,
            destination: key.destination,
            tag: key.tag,
            number: key.number,
            sent: (all[at].send.time_us, all[at].send.call),
            received: (all[at].recv.time_us, all[at].recv.call),
        });
        (matched.collect(), places)
    }
}

fn as_us(time: TimeNs) -> u64 {
    length_us(time.as_us())
}

/// Negative lengths become 0.
fn length_us(length_us: i64) -> u64 {
    u64::try_from(length_us).unwrap_or(0)
}
