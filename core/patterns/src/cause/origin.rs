//! Origins: where the links of the stalls lead to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::links::{StallLink, earliest};
use super::stall::Stalls;

/// Where the links lead.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(super) struct Origins {
    /// The stall that each stall comes from; itself if it waited for none.
    pub(super) of: Vec<usize>,
    /// The link that leads there, an index into the links of the stall.
    pub(super) by: Vec<Option<usize>>,
    /// Stalls that wait for each other in a circle, each from the first to move.
    pub(super) cycles: Vec<Vec<usize>>,
}

/// Follows the links to their ends. A circle ends at the stall that began and ended first, unless a link leads out
/// of it. Cost: O(n log n) in stalls and
/// links.
pub(super) fn origins(stalls: &Stalls, links: &[Vec<StallLink>]) -> Origins {
    let mut graph = DiGraph::<(), usize>::with_capacity(links.len(), links.len());
    for _ in links {
        graph.add_node(());
    }
    for (from, of_stall) in links.iter().enumerate() {
        for (at, link) in of_stall.iter().enumerate() {
            if let Some(to) = link.to {
                graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), at);
            }
        }
    }
    let mut origins = Origins {
        of: (0..links.len()).collect(),
        by: vec![None; links.len()],
        cycles: Vec::new(),
    };
    // Components come in the order in which what they lead to is known already.
    for component in tarjan_scc(&graph) {
        let mut members: Vec<usize> = component.into_iter().map(NodeIndex::index).collect();
        members.sort_unstable();
        if members.len() > 1 {
            settle_cycle(stalls, links, &members, &mut origins);
            origins.cycles.push(members);
        } else if let Some(&only) = members.first() {
            settle(stalls, links, only, &mut origins);
        }
    }
    origins.cycles.sort();
    origins
}

/// Takes the link whose origin is the earliest.
fn settle(stalls: &Stalls, links: &[Vec<StallLink>], stall: usize, origins: &mut Origins) {
    let of = &origins.of;
    let targets = links[stall].iter().filter_map(|link| Some(of[link.to?]));
    if let Some(best) = earliest(stalls, targets) {
        let leads_there = |link: &StallLink| link.to.is_some_and(|to| of[to] == best);
        origins.by[stall] = links[stall].iter().position(leads_there);
        origins.of[stall] = best;
    }
}

/// A circle that links lead out of comes from there; any other one from its earliest member.
fn settle_cycle(
    stalls: &Stalls,
    links: &[Vec<StallLink>],
    members: &[usize],
    origins: &mut Origins,
) {
    let is_out = |link: &StallLink| link.to.filter(|to| members.binary_search(to).is_err());
    let of = &origins.of;
    let outs = members.iter().flat_map(|&stall| links[stall].iter());
    let out = earliest(stalls, outs.filter_map(|link| Some(of[is_out(link)?])));
    let way_out = out.and_then(|origin| {
        let leads_there = |link: &StallLink| is_out(link).is_some_and(|to| of[to] == origin);
        let mut ends = members.iter();
        ends.find_map(|&stall| Some((stall, links[stall].iter().position(leads_there)?, origin)))
    });
    let (end, origin) = if let Some((stall, at, origin)) = way_out {
        origins.by[stall] = Some(at);
        (stall, origin)
    } else {
        let Some(first) = earliest(stalls, members.iter().copied()) else {
            return;
        };
        (first, first)
    };
    come_from(links, members, end, origin, origins);
}

/// Gives every member of a circle the shortest way to its end, going backwards, so that nobody goes round.
fn come_from(
    links: &[Vec<StallLink>],
    members: &[usize],
    end: usize,
    origin: usize,
    origins: &mut Origins,
) {
    let mut back: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for &from in members {
        for (at, link) in links[from].iter().enumerate() {
            if let Some(to) = link.to {
                back.entry(to).or_default().push((from, at));
            }
        }
    }
    let mut seen = BTreeSet::from([end]);
    let mut reached = vec![end];
    let mut next = 0;
    origins.of[end] = origin;
    while let Some(to) = reached.get(next) {
        next += 1;
        for (from, at) in back.remove(to).unwrap_or_default() {
            if seen.insert(from) {
                origins.of[from] = origin;
                origins.by[from] = Some(at);
                reached.push(from);
            }
        }
    }
}
