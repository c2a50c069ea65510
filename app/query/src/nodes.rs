//! Which hosts were the root of delays, in how many runs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, TimeNs, count_of};
use serde::Serialize;

use crate::causes::{CauseKind, RunCauses};

/// Minimum confidence in the rank of an incident whose host counts as its root.
const MIN_PERCENT: u8 = 50;
/// Chance that some host is the root so often, below which one is named.
const NAMED: f64 = 0.05;

/// The hosts of one run, and those at which its incidents began.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodesOfRun {
    /// When it began, if that is known.
    pub start: Option<TimeNs>,
    /// All hosts.
    pub hosts: BTreeSet<String>,
    /// The host of each incident, with the delay of all ranks.
    pub incidents: Vec<(String, DurationNs)>,
}

impl NodesOfRun {
    /// Returns the hosts of a run, and of its incidents that name a fault of a rank or of a host. Incidents whose rank is
    /// uncertain do not count.
    pub fn of(causes: &RunCauses) -> Self {
        let identity = &causes.trace().identity;
        let clocks = causes.found().clocks();
        let incidents = causes.incidents().iter();
        let incidents = incidents.filter(|it| Self::counts(it.kind, it.root.confidence_percent));
        let of_hosts = incidents.filter_map(|it| {
            let host = clocks.hosts().get(clocks.host_of(it.root.lane))?;
            (!host.host.is_empty()).then(|| (host.host.clone(), it.delay))
        });
        Self {
            start: identity.start(),
            hosts: identity.hosts().into_iter().map(str::to_owned).collect(),
            incidents: of_hosts.collect(),
        }
    }

    /// Returns whether an incident of this kind, and with this confidence in its rank, counts for a host.
    pub fn counts(kind: CauseKind, confidence_percent: u8) -> bool {
        let is_sure_of_rank = kind.is_of_a_rank() && confidence_percent >= MIN_PERCENT;
        kind.names_a_fault() && (kind == CauseKind::BusyHost || is_sure_of_rank)
    }
}

/// A host in all runs: a row of `callgrove nodes`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NodeRow {
    /// The host.
    pub host: String,
    /// Number of runs that it took part in.
    pub num_runs: usize,
    /// Number of these in which an incident began at it.
    pub num_runs_as_root: usize,
    /// Number of these in which the incidents that began at it cost most.
    pub num_runs_as_costliest: usize,
    /// The number that is expected of the latter if all hosts of a run are alike.
    pub expected_runs: f64,
    /// Chance of as many or more if all hosts of a run are alike.
    pub p_value: f64,
    /// Number of incidents that began at it.
    pub num_incidents: usize,
    /// Their delay, summed over all ranks.
    pub delay_us: i64,
    /// The last run in which one did: its start, microseconds since the epoch. `None` without one, and if it is not known.
    pub last_start_us: Option<i64>,
}

impl NodeRow {
    /// Returns the row as a sentence: `nid00012: 9 runs, the root in 5, the costliest root in 5 (0.6 expected); 12
    /// incidents, 3.4 s in all`.
    pub fn sentence(&self) -> String {
        format!(
            "{}: {}, the root in {}, the costliest root in {} ({:.1} expected); {}, {} in all",
            self.host,
            count_of(self.num_runs, "run"),
            self.num_runs_as_root,
            self.num_runs_as_costliest,
            self.expected_runs,
            count_of(self.num_incidents, "incident"),
            DurationNs::from_us(self.delay_us)
        )
    }
}

/// The hosts of several runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Nodes {
    rows: Vec<NodeRow>,
    num_runs: usize,
}

impl Nodes {
    /// Counts in how many runs an incident began at each host, and in how many it was the costliest root. The chance of the
    /// latter is that of independent runs, in each of which any host is the costliest. Cost: linear in incidents,
    /// quadratic in runs per host.
    pub fn of(runs: &[NodesOfRun]) -> Self {
        #[derive(Default)]
        struct Known {
            chances: Vec<f64>,
            num_as_root: usize,
            num_as_costliest: usize,
            num_incidents: usize,
            delay: DurationNs,
            last: Option<TimeNs>,
        }
        let mut hosts: BTreeMap<&str, Known> = BTreeMap::new();
        for run in runs {
            let mut delays: BTreeMap<&str, DurationNs> = BTreeMap::new();
            for (host, delay) in &run.incidents {
                *delays.entry(host).or_default() += *delay;
                hosts.entry(host).or_default().num_incidents += 1;
            }
            let costliest = delays.iter().max_by_key(|it| (*it.1, Reverse(*it.0)));
            let costliest = costliest.map(|it| *it.0);
            let all = run.hosts.iter().map(String::as_str);
            let all: BTreeSet<&str> = all.chain(delays.keys().copied()).collect();
            let chance = if costliest.is_some() {
                1.0 / all.len() as f64
            } else {
                0.0
            };
            for host in all {
                let known = hosts.entry(host).or_default();
                known.chances.push(chance);
                known.num_as_costliest += usize::from(costliest == Some(host));
                if let Some(delay) = delays.get(host) {
                    known.num_as_root += 1;
                    known.delay += *delay;
                    known.last = known.last.max(run.start);
                }
            }
        }
        let rows = hosts.into_iter().map(|(host, known)| NodeRow {
            host: host.to_owned(),
            num_runs: known.chances.len(),
            num_runs_as_root: known.num_as_root,
            num_runs_as_costliest: known.num_as_costliest,
            expected_runs: known.chances.iter().sum(),
            p_value: chance_of_as_many(&known.chances, known.num_as_costliest),
            num_incidents: known.num_incidents,
            delay_us: known.delay.as_us(),
            last_start_us: known.last.map(TimeNs::as_us),
        });
        let mut rows: Vec<NodeRow> = rows.collect();
        rows.sort_by(|a, b| {
            let by_chance = a.p_value.total_cmp(&b.p_value);
            by_chance
                .then(b.delay_us.cmp(&a.delay_us))
                .then(a.host.cmp(&b.host))
        });
        Self {
            rows,
            num_runs: runs.len(),
        }
    }

    /// Returns the hosts, the most remarkable first.
    pub fn rows(&self) -> &[NodeRow] {
        &self.rows
    }

    /// Returns which host costs most more often than by chance: `nid00012 was the costliest root in 5 of its 9 runs. If all
    /// hosts of a run were alike, it would be 0.6, and some host would be as often in 1 of 310 such lists.`
    pub fn sentence(&self) -> String {
        let chance = |row: &NodeRow| (row.p_value * self.rows.len() as f64).min(1.0);
        let named = self.rows.iter().filter(|it| chance(it) <= NAMED);
        let sentences = named.map(|it| {
            format!(
                "{} was the costliest root in {} of its {} runs. If all hosts of a run were alike, it would be {:.1}, \
                 and some host would be as often in 1 of {:.0} such lists.",
                it.host,
                it.num_runs_as_costliest,
                it.num_runs,
                it.expected_runs,
                (1.0 / chance(it).max(1e-9)).floor()
            )
        });
        let sentences: Vec<String> = sentences.collect();
        match (sentences.is_empty(), self.num_runs) {
            (false, _) => sentences.join(" "),
            (true, 1) => "One run shows nothing about a host.".to_owned(),
            (true, runs) => {
                format!(
                    "No host was the costliest root in more of the {runs} runs than chance explains."
                )
            }
        }
    }
}

/// Returns the chance that at least `count` of independent events happen.
fn chance_of_as_many(chances: &[f64], count: usize) -> f64 {
    let mut of_number = vec![0.0; chances.len() + 1];
    of_number[0] = 1.0;
    for (seen, chance) in chances.iter().enumerate() {
        for number in (0..=seen + 1).rev() {
            let one_more = number.checked_sub(1).map_or(0.0, |it| of_number[it]);
            of_number[number] = of_number[number] * (1.0 - chance) + one_more * chance;
        }
    }
    of_number[count..].iter().sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: i64, roots: &[&str]) -> NodesOfRun {
        NodesOfRun {
            start: Some(TimeNs(number * 1_000)),
            hosts: (0..8).map(|it| format!("nid{it}")).collect(),
            incidents: (roots.iter())
                .map(|it| ((*it).to_owned(), DurationNs::from_us(100)))
                .collect(),
        }
    }

    #[test]
    fn a_host_that_is_often_the_root_is_named() {
        let mut runs: Vec<NodesOfRun> = (0..4).map(|it| run(it, &["nid3", "nid3"])).collect();
        runs.push(run(4, &["nid5", "nid3", "nid5"]));
        runs.push(run(5, &[]));
        let nodes = Nodes::of(&runs);
        let first = &nodes.rows()[0];
        assert_eq!((first.host.as_str(), first.num_runs), ("nid3", 6));
        assert_eq!((first.num_runs_as_root, first.num_incidents), (5, 9));
        assert_eq!(first.num_runs_as_costliest, 4);
        assert_eq!((first.delay_us, first.last_start_us), (900, Some(4)));
        assert!((first.expected_runs - 5.0 / 8.0).abs() < 1e-12);
        // 4 or 5 of 5 events of 1/8.
        let expected = 5.0 * 0.125_f64.powi(4) * 0.875 + 0.125_f64.powi(5);
        assert!((first.p_value - expected).abs() < 1e-12);
        assert_eq!(
            first.sentence(),
            "nid3: 6 runs, the root in 5, the costliest root in 4 (0.6 expected); 9 incidents, 900 µs in all"
        );
        assert_eq!(
            nodes.sentence(),
            "nid3 was the costliest root in 4 of its 6 runs. If all hosts of a run were alike, it would be 0.6, and some \
             host would be as often in 1 of 113 such lists."
        );
    }

    #[test]
    fn chance_names_no_host() {
        let runs = [run(0, &["nid1"]), run(1, &["nid2"]), run(2, &["nid7"])];
        assert_eq!(
            Nodes::of(&runs).sentence(),
            "No host was the costliest root in more of the 3 runs than chance explains."
        );
        // The only host of each run is the root of all that happens.
        let alone = NodesOfRun {
            hosts: BTreeSet::from(["nid0".to_owned()]),
            ..run(0, &["nid0"])
        };
        let nodes = Nodes::of(&vec![alone; 9]);
        assert_eq!(
            (nodes.rows()[0].p_value, nodes.rows()[0].num_runs_as_root),
            (1.0, 9)
        );
        assert!(Nodes::of(&[]).rows().is_empty());
    }
}
