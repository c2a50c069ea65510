//! Joins what stood to incidents, and finds the root of each.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{ExecLabel, FuncId, RankId, StepId};
use serde::{Deserialize, Serialize};

use super::link::{Lateness, StoodCall, WaitLink, links};
use super::message_ends::MessageEnds;
use crate::record::IncidentKind;

/// Most messages of an incident.
const MAX_MESSAGES: usize = 4096;

/// Executions of several ranks that stood together. Times are microseconds since the epoch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct JoinedIncident {
    /// Its name; that of its earliest member until it has been given another.
    pub(super) id: ExecLabel,
    /// The incident that it turned out to be part of.
    pub(super) joined_to: Option<ExecLabel>,
    /// The last step in which one of its members was told.
    pub(super) step: StepId,
    pub(super) start_us: u64,
    pub(super) end_us: u64,
    pub(super) kind: IncidentKind,
    pub(super) root: Option<IncidentRoot>,
    /// How long all members together stood.
    pub(super) delay_us: u64,
    /// Those of members and root, ascending.
    pub(super) ranks: Vec<RankId>,
    /// In the order in which they began to stand.
    pub(super) members: Vec<ExecLabel>,
    /// Members that the detector found.
    pub(super) num_anomalies: usize,
    pub(super) hops: Vec<IncidentHop>,
    pub(super) messages: Vec<MatedMessage>,
}

/// Where an incident came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentRoot {
    pub(super) rank: RankId,
    /// Its anomaly; `None` if it has none.
    pub(super) call: Option<RootCall>,
}

/// The anomaly that an incident came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RootCall {
    pub(super) label: ExecLabel,
    pub(super) fid: FuncId,
    pub(super) stood_us: u64,
}

/// A member that waited for another rank.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentHop {
    pub(super) label: ExecLabel,
    pub(super) fid: FuncId,
    pub(super) waited_us: u64,
    pub(super) is_for_sender: bool,
    pub(super) peer: RankId,
    pub(super) peer_label: Option<ExecLabel>,
    /// Place in the messages of the incident.
    pub(super) message: usize,
}

/// A message of which both ends are known: when, and the execution that each is in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct MatedMessage {
    pub(super) source: RankId,
    pub(super) destination: RankId,
    pub(super) tag: u64,
    pub(super) number: u64,
    pub(super) sent: (u64, Option<ExecLabel>),
    pub(super) received: (u64, Option<ExecLabel>),
}

/// The incidents among calls that stood, in order of their beginning. They do not depend on the order of `calls`. Cost:
/// O(n log n), and O(n) for each call while n others stand.
pub(super) fn joined(mut calls: Vec<StoodCall<'_>>, ends: &MessageEnds<'_>) -> Vec<JoinedIncident> {
    calls.sort_by_key(|call| (call.brief.from_us, call.brief.label));
    let links = links(&calls, ends);
    let mut sets = Sets::new(calls.len());
    for (at, link) in links.iter().enumerate() {
        if let Some(to) = link.and_then(|link| link.to) {
            sets.join(at, to);
        }
    }
    let mut open: Vec<usize> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        open.retain(|&it| calls[it].brief.to_us > call.brief.from_us);
        for &it in &open {
            if sets.of(it) != sets.of(at) && stand_together(&calls[it], call) {
                sets.join(it, at);
            }
        }
        open.push(at);
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..calls.len() {
        members.entry(sets.of(at)).or_default().push(at);
    }
    let mut incidents: Vec<JoinedIncident> = members
        .into_values()
        .filter_map(|members| incident(&calls, &links, ends, &members))
        .collect();
    incidents.sort_by_key(|it| (it.start_us, it.id));
    incidents
}

/// Whether two calls share at least half of the longer time in which one of them stood.
fn stand_together(one: &StoodCall<'_>, other: &StoodCall<'_>) -> bool {
    let longer_us = one.length_us().max(other.length_us());
    one.lane() != other.lane() && one.overlap_us(other) >= longer_us.div_ceil(2).max(1)
}

fn incident(
    calls: &[StoodCall<'_>],
    links: &[Option<WaitLink>],
    ends: &MessageEnds<'_>,
    members: &[usize],
) -> Option<JoinedIncident> {
    let mut ranks: BTreeSet<RankId> = members.iter().map(|&at| calls[at].lane().0).collect();
    if ranks.len() < 2 {
        return None;
    }
    let of_members = || members.iter().map(|&at| calls[at].brief);
    let root = root(calls, links, members);
    ranks.extend(root.map(|root| root.rank));
    let messages = messages(links, ends, calls, members);
    let hops = members.iter().filter_map(|&at| {
        let (call, link) = (calls[at].brief, links[at]?);
        let is_it = |it: &MatedMessage| {
            (it.source, it.destination) == (link.message.source, link.message.destination)
                && (it.tag, it.number) == (link.message.tag, link.message.number)
        };
        Some(IncidentHop {
            label: call.label,
            fid: call.fid,
            waited_us: link.waited_us,
            is_for_sender: link.lateness == Lateness::Sender,
            peer: link.peer,
            peer_label: link.to.map(|to| calls[to].brief.label),
            message: messages.iter().position(is_it)?,
        })
    });
    Some(JoinedIncident {
        id: of_members().map(|call| call.label).next()?,
        joined_to: None,
        step: members.iter().map(|&at| calls[at].step).max()?,
        start_us: of_members().map(|call| call.from_us).min()?,
        end_us: of_members().map(|call| call.to_us).max()?,
        kind: match root {
            None => IncidentKind::Untold,
            Some(root) if root.call.is_some() => IncidentKind::StoodStill,
            Some(_) => IncidentKind::OwnWork,
        },
        root,
        delay_us: total(members.iter().map(|&at| calls[at].length_us())),
        ranks: ranks.into_iter().collect(),
        members: of_members().map(|call| call.label).collect(),
        num_anomalies: of_members().filter(|call| call.is_anomaly).count(),
        hops: hops.collect(),
        messages,
    })
}

/// A sum, however large.
fn total(lengths_us: impl Iterator<Item = u64>) -> u64 {
    lengths_us.fold(0, u64::saturating_add)
}

/// Where a call's links lead.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// A call that stood and waited for nobody, or was the first in a circle.
    Call(usize),
    /// A rank that came late though it did not stand.
    Worker(RankId),
}

/// Where the links of most of the time that calls waited lead.
fn root(
    calls: &[StoodCall<'_>],
    links: &[Option<WaitLink>],
    members: &[usize],
) -> Option<IncidentRoot> {
    let mut waited_us: BTreeMap<Origin, u64> = BTreeMap::new();
    for &at in members {
        let origin = origin(calls, links, at);
        if origin != Origin::Call(at) {
            let of_origin = waited_us.entry(origin).or_default();
            *of_origin = of_origin.saturating_add(calls[at].length_us());
        }
    }
    let total_us = total(waited_us.values().copied());
    let (&origin, &most_us) = waited_us.iter().max_by_key(|&(_, &waited_us)| waited_us)?;
    if most_us <= total_us / 2 {
        return None;
    }
    Some(match origin {
        Origin::Worker(rank) => IncidentRoot { rank, call: None },
        Origin::Call(at) => IncidentRoot {
            rank: calls[at].lane().0,
            call: Some(RootCall {
                label: calls[at].brief.label,
                fid: calls[at].brief.fid,
                stood_us: calls[at].length_us(),
            }),
        },
    })
}

fn origin(calls: &[StoodCall<'_>], links: &[Option<WaitLink>], from: usize) -> Origin {
    let mut way = vec![from];
    let mut at = from;
    while let Some(link) = links[at] {
        let Some(to) = link.to else {
            return Origin::Worker(link.peer);
        };
        if let Some(first) = way.iter().position(|&it| it == to) {
            // They stand for one another: the earliest made them.
            let circle = way[first..].iter().copied();
            let earliest = circle.min_by_key(|&it| calls[it].earliness());
            return Origin::Call(earliest.unwrap_or(to));
        }
        way.push(to);
        at = to;
    }
    Origin::Call(at)
}

/// The messages of the members with both ends, by key: those that links go by in any case.
fn messages(
    links: &[Option<WaitLink>],
    ends: &MessageEnds<'_>,
    calls: &[StoodCall<'_>],
    members: &[usize],
) -> Vec<MatedMessage> {
    let of_links = members.iter().filter_map(|&at| Some(links[at]?.message));
    let mut keys: BTreeSet<_> = of_links.collect();
    let of_members = members
        .iter()
        .flat_map(|&at| ends.of_call(calls[at].brief.label));
    for &key in of_members {
        if keys.len() < MAX_MESSAGES && ends.both(key).is_some() {
            keys.insert(key);
        }
    }
    let mated = keys.into_iter().filter_map(|key| {
        let (sent, received) = ends.both(key)?;
        Some(MatedMessage {
            source: key.source,
            destination: key.destination,
            tag: key.tag,
            number: key.number,
            sent: (sent.time_us, sent.call),
            received: (received.time_us, received.call),
        })
    });
    mated.collect()
}

/// Disjoint sets of places, each named by the smallest place in it.
struct Sets {
    parent: Vec<usize>,
}

impl Sets {
    fn new(len: usize) -> Self {
        Self {
            parent: (0..len).collect(),
        }
    }

    fn of(&mut self, at: usize) -> usize {
        let mut top = at;
        while self.parent[top] != top {
            self.parent[top] = self.parent[self.parent[top]];
            top = self.parent[top];
        }
        top
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.parent[one.max(other)] = one.min(other);
    }
}
