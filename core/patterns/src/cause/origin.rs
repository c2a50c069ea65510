//! Origins: where the links of the stalls lead to.

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::links::{Link, lead};
use super::stall::Stalls;
use callgrove_model::DurationNs;

/// Where the links lead.
#[derive(Clone, Default, Debug)]
pub(super) struct Origins {
    /// The stall that each stall comes from; itself if it waited for none.
    pub(super) of: Vec<usize>,
    /// The link that leads there, an index into the links of the stall.
    pub(super) by: Vec<Option<usize>>,
    /// Stalls that wait for each other in a circle, each from the first to move.
    pub(super) cycles: Vec<Vec<usize>>,
}

/// Follows the links to their ends. A circle ends at the stall that began and ended first, unless a link leads out
/// of it. Cost: linear in stalls and links.
pub(super) fn origins(stalls: &Stalls, links: &[Vec<Link>]) -> Origins {
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

/// Takes the link whose origin began and ended first.
fn settle(stalls: &Stalls, links: &[Vec<Link>], stall: usize, origins: &mut Origins) {
    let targets = links[stall].iter().enumerate();
    let targets = targets.filter_map(|(at, link)| Some((at, origins.of[link.to?])));
    let best = targets.min_by_key(|&(at, origin)| (earliness(stalls, origin), at));
    if let Some((at, origin)) = best {
        origins.of[stall] = origin;
        origins.by[stall] = Some(at);
    }
}

fn settle_cycle(stalls: &Stalls, links: &[Vec<Link>], members: &[usize], origins: &mut Origins) {
    let leads_out = |&stall: &usize| {
        let targets = links[stall].iter().enumerate();
        let out = targets.filter_map(|(at, link)| {
            let to = link.to.filter(|to| members.binary_search(to).is_err())?;
            Some((at, origins.of[to]))
        });
        out.min_by_key(|&(at, origin)| (earliness(stalls, origin), at))
            .map(|(at, origin)| (earliness(stalls, origin), stall, at, origin))
    };
    let exit = members.iter().filter_map(leads_out).min();
    let first = members.iter().copied().min_by_key(|&it| earliness(stalls, it));
    let (Some(end), origin) = (match exit {
        Some((_, stall, at, origin)) => {
            origins.by[stall] = Some(at);
            (Some(stall), origin)
        }
        None => (first, first.unwrap_or(0)),
    }) else {
        return;
    };
    // From the end of the way backwards, so that nobody goes round.
    let mut reached = vec![end];
    let mut next = 0;
    origins.of[end] = origin;
    while let Some(&to) = reached.get(next) {
        next += 1;
        for &from in members {
            if reached.contains(&from) {
                continue;
            }
            if let Some(at) = links[from].iter().position(|link| link.to == Some(to)) {
                origins.of[from] = origin;
                origins.by[from] = Some(at);
                reached.push(from);
            }
        }
    }
}

fn earliness(stalls: &Stalls, stall: usize) -> (i64, usize) {
    let all = stalls.all();
    let DurationNs(behind) = all.first().map_or(DurationNs::ZERO, |it| lead(it, &all[stall]));
    (behind, stall)
}
