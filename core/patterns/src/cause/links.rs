//! Links: which stall waited for which other one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecRef, LaneIdx, TimeNs};

use super::evidence::{Evidence, Facts};
use super::stall::{Stall, Stalls};
use super::wait::WaitKind;

/// A stall waited for someone if that one came after this share of it, in percent.
const EXPLAINED_PERCENT: i64 = 50;
/// Two stalls belong together if they share this part of the waiting one, in percent.
const SHARED_PERCENT: i64 = 50;

/// How many times as much the order in which ranks fall silent tells as that in which they move again.
const SILENCE_TELLS: i128 = 8;

/// From a stall to what it waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct StallLink {
    /// The stall that it waited for; `None` if the peer did not stall.
    pub(super) to: Option<usize>,
    /// The lane of the peer.
    pub(super) peer: LaneIdx,
    /// How it waited.
    pub(super) kind: WaitKind,
    /// When the peer came, if the order of the two events proves that it was waited for.
    pub(super) came: Option<TimeNs>,
}

/// Whether a part is at least so many percent of a whole.
fn is_share(part: DurationNs, whole: DurationNs, percent: i64) -> bool {
    i128::from(part.0) * 100 >= i128::from(whole.0) * i128::from(percent)
}

/// How early a stall is: of two that stood for each other, the smaller one is what the other stood for.
///
/// A rank that stands makes others stand, so it falls silent first and moves first. But others may have been silent
/// before, for reasons of their own, and may move before it shows that it does; so both orders count, and the more
/// telling one more.
pub(super) fn earliness(stall: &Stall) -> (i128, ExecRef, TimeNs) {
    let silent_ns = i128::from(stall.due.0) * SILENCE_TELLS;
    let moved_ns = i128::from(stall.end.0);
    (silent_ns + moved_ns, stall.call, stall.start)
}

/// The one of several stalls that the others most likely stood for.
pub(super) fn earliest(stalls: &Stalls, among: impl Iterator<Item = usize>) -> Option<usize> {
    among.min_by_key(|&it| earliness(&stalls.all()[it]))
}

/// The links of every stall.
pub(super) fn links(facts: &Facts<'_>, stalls: &Stalls) -> Vec<Vec<StallLink>> {
    let mut links: Vec<Vec<StallLink>> = stalls
        .all()
        .iter()
        .map(|stall| of_stall(facts, stalls, stall))
        .collect();
    let mut stood: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, stall) in stalls.all().iter().enumerate() {
        if let Some(collective) = facts.complete_collective(stall) {
            stood.entry(collective).or_default().push(index);
        }
    }
    for members in stood.into_values() {
        let Some(first) = earliest(stalls, members.iter().copied()) else {
            continue;
        };
        let peer = &stalls.all()[first];
        for member in members {
            let stall = &stalls.all()[member];
            let shared = peer.overlap(stall);
            if peer.lane() != stall.lane() && is_share(shared, stall.duration(), SHARED_PERCENT) {
                links[member].push(StallLink {
                    to: Some(first),
                    peer: peer.lane(),
                    kind: facts.meeting(stall.call),
                    came: None,
                });
            }
        }
    }
    links
}

fn of_stall(facts: &Facts<'_>, stalls: &Stalls, stall: &Stall) -> Vec<StallLink> {
    let evidence = facts.of(stall);
    if let Some(proven) = proven(stalls, stall, &evidence) {
        return vec![proven];
    }
    let mut found: Vec<StallLink> = Vec::new();
    for it in &evidence {
        let Some(to) = beside(stalls, stall, it.peer, stall.end) else {
            continue;
        };
        let is_new = found.iter().all(|known| known.to != Some(to));
        if is_new && is_waited_for(stall, &stalls.all()[to], it) {
            found.push(StallLink {
                to: Some(to),
                peer: it.peer,
                kind: it.kind,
                came: None,
            });
        }
    }
    found.sort_by_key(|link| link.to.map(|to| (stalls.all()[to].start, to)));
    found
}

/// The peer that came last, if the stall was over soon after it came.
fn proven(stalls: &Stalls, stall: &Stall, evidence: &[Evidence]) -> Option<StallLink> {
    let came = |it: &Evidence| it.came.filter(|&came| came <= stall.end);
    let last = evidence
        .iter()
        .filter(|it| came(it).is_some())
        .max_by_key(|it| (it.came, it.peer))?;
    let at = last.came?;
    let waited = at.since(stall.start);
    is_share(waited, stall.duration(), EXPLAINED_PERCENT).then(|| StallLink {
        to: beside(stalls, stall, last.peer, at),
        peer: last.peer,
        kind: last.kind,
        came: Some(at),
    })
}

/// The stall of another lane that shares most of one, before `until`.
fn beside(stalls: &Stalls, stall: &Stall, peer: LaneIdx, until: TimeNs) -> Option<usize> {
    let within = stalls.within(peer, stall.start, until);
    let best = within.max_by_key(|&it| (stalls.all()[it].overlap(stall), std::cmp::Reverse(it)))?;
    let shared = stalls.all()[best].overlap(stall);
    is_share(shared, stall.duration(), SHARED_PERCENT).then_some(best)
}

/// Whether a stall can have waited for that of a peer. A receiver that stood elsewhere had not come; whether a
/// message was there, and whether its receiver went on with it, only the order of the two tells.
fn is_waited_for(stall: &Stall, peer: &Stall, it: &Evidence) -> bool {
    let is_elsewhere = it.kind == WaitKind::LateReceiver && it.part != Some(peer.call);
    is_elsewhere || earliness(peer) < earliness(stall)
}
