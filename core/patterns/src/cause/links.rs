//! Links: which stall waited for which other one.

use callgrove_model::{DurationNs, LaneIdx, TimeNs};

use super::evidence::{Evidence, Facts};
use super::stall::{Stall, Stalls};
use super::wait::WaitKind;

/// A stall waited for someone if that one came after this share of it, in percent.
const EXPLAINED_PERCENT: i64 = 50;
/// Two stalls belong together if they share this part of the waiting one, in percent.
const SHARED_PERCENT: i64 = 25;

/// From a stall to what it waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Link {
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

/// By how much the first stall was silent earlier, and moved earlier, than the second.
pub(super) fn lead(first: &Stall, second: &Stall) -> DurationNs {
    second.start.since(first.start) + second.end.since(first.end)
}

/// The links of every stall.
pub(super) fn links(facts: &Facts<'_>, stalls: &Stalls) -> Vec<Vec<Link>> {
    stalls
        .all()
        .iter()
        .map(|stall| of_stall(facts, stalls, stall))
        .collect()
}

fn of_stall(facts: &Facts<'_>, stalls: &Stalls, stall: &Stall) -> Vec<Link> {
    let evidence = facts.of(stall);
    if let Some(proven) = proven(stalls, stall, &evidence) {
        return vec![proven];
    }
    let mut found: Vec<Link> = Vec::new();
    for it in &evidence {
        let Some(to) = beside(stalls, stall, it.peer, stall.end) else {
            continue;
        };
        if lead(&stalls.all()[to], stall) > DurationNs::ZERO
            && found.iter().all(|known| known.to != Some(to))
        {
            found.push(Link {
                to: Some(to),
                peer: it.peer,
                kind: it.kind,
                came: None,
            });
        }
    }
    // Whoever was silent first and moved first is most likely what the others stood for.
    found.sort_by_key(|link| {
        let to = link.to.map(|to| &stalls.all()[to]);
        (to.map(|to| (to.start.0.saturating_add(to.end.0), to.call)), link.peer)
    });
    found
}

/// The peer that came last, if the stall was over soon after it came.
fn proven(stalls: &Stalls, stall: &Stall, evidence: &[Evidence]) -> Option<Link> {
    let came = |it: &Evidence| it.came.filter(|&came| came <= stall.end);
    let last = evidence
        .iter()
        .filter(|it| came(it).is_some())
        .max_by_key(|it| (it.came, it.peer))?;
    let at = last.came?;
    let waited = at.since(stall.start);
    is_share(waited, stall.duration(), EXPLAINED_PERCENT).then(|| Link {
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
