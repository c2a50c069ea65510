//! Causes and incidents as table rows with fixed column names. Times are in microseconds.

use callgrove_causes::{DelayRole, Hop, Incident};
use callgrove_model::{DurationNs, Forest, FunctionName, TreeIdx};
use serde::Serialize;

use super::{RunCauses, SimilarIncidents};

/// The cause of one execution's delay: a row of `callgrove causes`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CauseRow {
    /// Rank.
    pub rank: u32,
    /// Invocation number on the rank.
    pub index: u32,
    /// Event label `rank:step:idx`.
    pub event_id: String,
    /// `root`, `victim` or `undecided`; `None` for an execution that was on time.
    pub role: Option<String>,
    /// Rank of the root.
    pub root_rank: Option<u32>,
    /// The innermost function of the root, without arguments.
    pub root_function: Option<String>,
    /// The kind of cause: `stalled`, `slow`, `not_entered`, `transfer`, `tracer_write`, `busy_host`, `noise` or
    /// `unknown`.
    pub kind: Option<String>,
    /// Waiting time of the execution.
    pub waited_us: i64,
    /// Number of steps to the root.
    pub hops: usize,
    /// The steps, starting at the execution; not in tables.
    pub chain: Vec<HopRow>,
    /// Description as text; only in tables for people.
    #[serde(skip)]
    pub words: String,
}

/// A step on the path to a root.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HopRow {
    /// Rank that waited.
    pub rank: u32,
    /// Function that it waited in.
    pub function: String,
    /// Kind of wait: `late_sender`, `late_receiver`, `wait_at_collective`, …
    pub wait: String,
    /// Rank that it waited for.
    pub peer_rank: u32,
    /// Innermost function of that rank at the time.
    pub peer_function: Option<String>,
    /// Delay that the peer handed on.
    pub delay_us: i64,
    /// Part of it that the peer caused itself (short-term costs).
    pub own_us: i64,
}

/// One incident: a row of `callgrove incidents`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IncidentRow {
    /// Number, from 1, by descending delay, as the window counts; collectives that a rank did not enter come first.
    pub incident: usize,
    /// Start of the first delay, microseconds since the epoch.
    pub start_us: i64,
    /// End of the last delay, microseconds since the epoch.
    pub end_us: i64,
    /// Rank of the root; `None` if no rank caused it but the network, a host or the machine.
    pub root_rank: Option<u32>,
    /// The innermost function of the root, without arguments.
    pub root_function: String,
    /// The kind of cause: those of `causes`, and `serial` and `imbalance`.
    pub kind: String,
    /// True if it is by design or noise of the machine, so that nothing went wrong.
    pub by_design: bool,
    /// Share of such cases in which the rank is the right one, in percent.
    pub confidence_percent: u8,
    /// The second most likely rank, if the trace leaves a choice.
    pub next_best_rank: Option<u32>,
    /// Number of repetitions, if they form one incident; start and end are those of the costliest.
    pub times: u32,
    /// Calls that waited or were slow; with a function, its delayed executions.
    pub num_executions: usize,
    /// Ranks that were delayed, including the root's.
    pub num_ranks: usize,
    /// Total delay of all of them.
    pub delay_us: i64,
    /// How much earlier the run would have ended without it; `None` if it is by design, or if that is not known.
    pub lost_run_time_us: Option<i64>,
    /// Description as text.
    pub words: String,
    /// Repetition as text; empty if it does not repeat.
    pub again: String,
}

impl RunCauses {
    /// Returns the row of a tree of a forest of the same trace.
    pub fn row(&self, forest: &Forest, tree: TreeIdx) -> CauseRow {
        let exec = forest.trees()[tree.index()].root;
        let (code, cause) = (forest.code(tree), self.of(exec));
        let root = cause.root.and_then(|root| self.roots().get(root));
        let is_late = cause.role != DelayRole::OnTime;
        CauseRow {
            rank: code.rank.0,
            index: code.index,
            event_id: forest.trace().label(exec).to_string(),
            role: is_late.then(|| cause.role.to_string()),
            root_rank: root.filter(|it| it.kind.is_of_a_rank()).map(|it| it.rank.0),
            root_function: root.map(|root| self.short_name(root.call).to_owned()),
            kind: is_late.then(|| cause.kind.to_string()),
            waited_us: cause.waited.0 / 1_000,
            hops: cause.hops.len(),
            chain: cause.hops.iter().map(|hop| self.hop_row(hop)).collect(),
            words: self.sentence(code.rank, &cause).unwrap_or_default(),
        }
    }

    /// Returns the row of an incident; `index` is that in [`RunCauses::incidents`].
    pub fn incident_row(&self, index: usize, incident: &Incident) -> IncidentRow {
        let func = self.trace().names.name(incident.root.func);
        IncidentRow {
            incident: index + 1,
            start_us: incident.start.as_us(),
            end_us: incident.end.as_us(),
            root_rank: (incident.kind.is_of_a_rank()).then_some(incident.root.rank.0),
            root_function: FunctionName::parse(func).short.to_owned(),
            kind: incident.kind.to_string(),
            by_design: incident.kind.is_by_design(),
            confidence_percent: incident.root.confidence_percent,
            next_best_rank: incident.root.next_best.map(|rank| rank.0),
            times: incident.times,
            num_executions: incident.members.len(),
            num_ranks: incident.ranks.len(),
            delay_us: incident.delay.0 / 1_000,
            lost_run_time_us: incident.lost_run_time.map(DurationNs::as_us),
            words: self.incident_sentence(incident),
            again: self
                .similar(index)
                .map_or(String::new(), SimilarIncidents::summary),
        }
    }

    fn hop_row(&self, hop: &Hop) -> HopRow {
        HopRow {
            rank: hop.rank.0,
            function: self.short_name(hop.call).to_owned(),
            wait: hop.kind.to_string(),
            peer_rank: hop.peer_rank.0,
            peer_function: hop.peer_call.map(|call| self.short_name(call).to_owned()),
            delay_us: hop.handed_on.0 / 1_000,
            own_us: hop.short_term.0 / 1_000,
        }
    }
}
