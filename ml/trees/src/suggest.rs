//! Suggestion of the root function of the trees, if the user selects none.

use std::collections::BTreeSet;
use std::fmt;

use crate::real::{Real, whole};
use callgrove_model::{DurationNs, FuncId, FunctionName, Lane, ProgramId, RankId, Trace};

/// Minimum number of executions of a function; rarer ones have nothing to be compared with.
const MIN_EXECUTIONS: usize = 8;

/// A function that may serve as root, with the numbers that support it.
#[derive(Clone, PartialEq, Debug)]
pub struct RootSuggestion {
    /// The function.
    pub func: FuncId,
    /// Rating of the function, 0..=1.
    pub score: f64,
    /// Finished executions.
    pub num_executions: usize,
    /// Ranks that executed it.
    pub num_ranks: usize,
    /// Median duration.
    pub median: DurationNs,
    /// Longest duration.
    pub longest: DurationNs,
    /// Minimum excess of the slowest 5 % over the median, in medians.
    pub spread: f64,
    /// Mean number of calls in a tree, the root included.
    pub mean_tree_len: f64,
    /// Mean number of messages in a tree, sent and received.
    pub mean_messages: f64,
    /// Share of the lanes' time that is spent in it, 0..=1.
    pub time_share: f64,
}

/// Ranks functions by their suitability as roots, the best first; equal ones in order of id.
///
/// Good roots are executed repeatedly on each rank, take a good part of the run, call many functions, exchange
/// messages with other ranks, and vary in duration. Each of these is a number x between 0 and infinity that counts as
/// x / (x + half), where half is the value that counts as a half; the score is their product. MPI functions, those
/// without callees and those executed less than eight times are left out. If no others exist, they are proposed in
/// this order of exceptions: functions without callees, MPI functions, functions that are executed less often. So
/// every run with calls has a proposal.
pub fn suggest_roots(trace: &Trace) -> Vec<RootSuggestion> {
    let mut tallies: Vec<Tally> = vec![Tally::default(); trace.names.len()];
    let mut total_ns = 0;
    for lane in &trace.lanes {
        total_ns += tally_lane(lane, &mut tallies);
    }
    for lenience in Lenience::ALL {
        let mut suggestions: Vec<RootSuggestion> = trace
            .names
            .iter()
            .filter(|(_, name)| lenience.mpi || !FunctionName::parse(name).is_mpi())
            .filter_map(|(func, _)| rate(func, &mut tallies[func.index()], total_ns, lenience))
            .collect();
        suggestions.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.func.cmp(&b.func)));
        if !suggestions.is_empty() {
            return suggestions;
        }
    }
    Vec::new()
}

/// Requirements that are relaxed if no function meets the stricter ones.
#[derive(Clone, Copy, Debug)]
struct Lenience {
    /// Minimum number of calls below the root that a tree counts as having.
    min_calls: f64,
    /// True if MPI functions are proposed.
    mpi: bool,
    /// Minimum number of executions of a function.
    min_executions: usize,
}

impl Lenience {
    /// All levels, the strictest first.
    const ALL: [Self; 4] = [
        Self {
            min_calls: 0.0,
            mpi: false,
            min_executions: MIN_EXECUTIONS,
        },
        Self {
            min_calls: 0.1,
            mpi: false,
            min_executions: MIN_EXECUTIONS,
        },
        Self {
            min_calls: 0.1,
            mpi: true,
            min_executions: MIN_EXECUTIONS,
        },
        Self {
            min_calls: 0.1,
            mpi: true,
            min_executions: 1,
        },
    ];
}

/// The totals of one function over the lanes.
#[derive(Clone, Default)]
struct Tally {
    durations_ns: Vec<i64>,
    ranks: BTreeSet<(ProgramId, RankId)>,
    num_calls: u64,
    num_messages: u64,
    /// Time in executions that are not within another execution of the function.
    outermost_ns: i64,
}

/// Adds the executions of a lane; returns the time the lane was busy.
fn tally_lane(lane: &Lane, tallies: &mut [Tally]) -> i64 {
    let executions = &lane.executions;
    let mut messages_before = vec![0_u64; executions.len() + 1];
    for exec in lane.comms.exec.iter().flatten() {
        messages_before[callgrove_model::ExecIdx::from(*exec).index() + 1] += 1;
    }
    for row in 0..executions.len() {
        messages_before[row + 1] += messages_before[row];
    }
    let mut inside_until = vec![0_usize; tallies.len()];
    let mut busy_ns = 0;
    for row in 0..executions.len() {
        let inclusive_ns = executions.inclusive[row].0;
        if executions.depth[row] == 0 {
            busy_ns += inclusive_ns;
        }
        if !executions.closed[row] {
            continue;
        }
        let func = executions.func[row].index();
        let end = executions.subtree_end[row].index();
        let tally = &mut tallies[func];
        tally.durations_ns.push(inclusive_ns);
        tally.ranks.insert((lane.program, lane.rank));
        tally.num_calls += (end - row) as u64;
        tally.num_messages += messages_before[end] - messages_before[row];
        if row >= inside_until[func] {
            tally.outermost_ns += inclusive_ns;
            inside_until[func] = end;
        }
    }
    busy_ns
}

fn rate(
    func: FuncId,
    tally: &mut Tally,
    total_ns: i64,
    lenience: Lenience,
) -> Option<RootSuggestion> {
    let num_executions = tally.durations_ns.len();
    if num_executions < lenience.min_executions {
        return None;
    }
    let count = num_executions.real();
    let median_ns = quantile(&mut tally.durations_ns, 0.5);
    let slow_ns = quantile(&mut tally.durations_ns, 0.95);
    let longest_ns = quantile(&mut tally.durations_ns, 1.0);
    let suggestion = RootSuggestion {
        func,
        score: 0.0,
        num_executions,
        num_ranks: tally.ranks.len(),
        median: DurationNs(median_ns),
        longest: DurationNs(longest_ns),
        spread: (slow_ns - median_ns).real() / (median_ns.real()).max(1_000.0),
        mean_tree_len: tally.num_calls.real() / count,
        mean_messages: tally.num_messages.real() / count,
        time_share: tally.outermost_ns.real() / (total_ns.real()).max(1.0),
    };
    let score = suggestion.rated(lenience.min_calls);
    (score > 0.0).then_some(RootSuggestion {
        score,
        ..suggestion
    })
}

impl RootSuggestion {
    /// Returns the product of the factors; a tree counts as having at least `min_calls` calls below its root.
    fn rated(&self, min_calls: f64) -> f64 {
        let saturating = |x: f64, half: f64| x / (x + half);
        let per_rank = self.num_executions.real() / self.num_ranks.max(1).real();
        saturating(self.num_executions.real(), 100.0)
            * saturating(per_rank, 20.0)
            * saturating(self.time_share.max(min_calls * 1e-6), 0.1)
            * saturating((self.mean_tree_len - 1.0).max(min_calls), 20.0)
            // No messages and equal times lower the rating, but do not exclude a function.
            * (0.5 + 0.5 * saturating(self.mean_messages, 2.0))
            * (0.1 + 0.9 * saturating(self.spread, 1.0))
    }
}

/// Formats the numbers as text for a user.
impl fmt::Display for RootSuggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = if self.num_ranks == 1 { "rank" } else { "ranks" };
        write!(
            f,
            "{} executions on {} {ranks}, {:.0} % of the time, median {:.2} ms, 1 in 20 takes more than \
             {:.1} times as long, {:.0} calls and {:.0} messages in each",
            self.num_executions,
            self.num_ranks,
            100.0 * self.time_share,
            self.median.0.real() / 1e6,
            1.0 + self.spread,
            self.mean_tree_len,
            self.mean_messages,
        )
    }
}

/// Returns the smallest of `values` that at least a share of them do not exceed.
fn quantile(values: &mut [i64], share: f64) -> i64 {
    let index = whole((share * (values.len() - 1).real()).round());
    *values.select_nth_unstable(index).1
}
