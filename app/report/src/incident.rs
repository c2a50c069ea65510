//! An incident in a report: what happened, how sure that is, and who waited for whom.

use std::cmp::Reverse;

use callgrove_model::{DurationNs, FunctionName, Reason, TimeNs, TreeIdx, thousands};
use callgrove_query::{DelayCause, DelayRole, Incident, RunCauses, SimilarIncidents};
use callgrove_session::Snapshot;

use crate::fact::ReportFact;
use crate::request::ReportPicture;

/// Number of waits in the table of an incident.
const MAX_WAITS: usize = 8;
/// Number of reasons why its tree is unusual.
const MAX_REASONS: usize = 5;

/// One incident of a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IncidentSection {
    /// Its index in [`RunCauses::incidents`].
    pub index: usize,
    /// Description of the incident, one sentence.
    pub sentence: String,
    /// Time, length, cost, confidence.
    pub facts: Vec<ReportFact>,
    /// The longest waits, longest first.
    pub waits: Vec<WaitLine>,
    /// Number of waits that the list leaves out.
    pub num_more_waits: usize,
    /// The execution of the analysed function in which it shows most, if there is one.
    pub tree: Option<TreeIdx>,
    /// Why that execution is unusual: its differences from a usual one.
    pub reasons: Vec<String>,
    /// Pictures: of the timeline, of the tree.
    pub pictures: Vec<ReportPicture>,
}

/// One call that waited or was slow in an incident.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitLine {
    /// Rank.
    pub rank: u32,
    /// Function, without arguments.
    pub function: String,
    /// Its delay.
    pub delay: DurationNs,
    /// Description, beginning with a verb.
    pub text: String,
}

impl IncidentSection {
    /// Returns the section of an incident without pictures. Times are counted from `begin`.
    pub(crate) fn new(
        snapshot: &Snapshot,
        causes: &RunCauses,
        (index, incident): (usize, &Incident),
        begin: TimeNs,
        reasons_of: &impl Fn(TreeIdx) -> Vec<Reason>,
    ) -> Self {
        let mut late: Vec<_> = incident
            .members
            .iter()
            .map(|&member| (member, causes.of(member)))
            .filter(|(_, cause)| cause.role != DelayRole::OnTime)
            .collect();
        late.sort_by_key(|(member, cause)| (Reverse(cause.waited), *member));
        let num_more_waits = late.len().saturating_sub(MAX_WAITS);
        late.truncate(MAX_WAITS);
        let waits = late.iter().map(|(member, cause)| {
            let trace = causes.trace();
            let rank = trace.lane(member.lane).rank;
            WaitLine {
                rank: rank.0,
                function: FunctionName::parse(trace.function_name(*member))
                    .qualified
                    .to_owned(),
                delay: cause.waited,
                text: causes.sentence(rank, cause).unwrap_or_default(),
            }
        });
        let tree = tree_of(snapshot, causes, index);
        let reasons = tree.map(reasons_of).unwrap_or_default();
        Self {
            index,
            sentence: causes.incident_sentence(incident),
            facts: facts(causes, (index, incident), begin),
            waits: waits.collect(),
            num_more_waits,
            tree,
            reasons: reasons
                .iter()
                .take(MAX_REASONS)
                .map(Reason::words)
                .collect(),
            pictures: Vec::new(),
        }
    }
}

/// Returns the tree that an incident delayed most; the root's own, if it is one of them.
fn tree_of(snapshot: &Snapshot, causes: &RunCauses, index: usize) -> Option<TreeIdx> {
    let forest = &snapshot.analysis()?.forest;
    let tree_causes = snapshot.tree_causes()?;
    let trees: Vec<TreeIdx> = tree_causes.of_incident(index).collect();
    let delay = |tree: &TreeIdx| {
        let DelayCause { role, waited, .. } = causes.of_tree(forest, *tree);
        (role == DelayRole::Root, waited, Reverse(*tree))
    };
    trees.into_iter().max_by_key(delay)
}

fn facts(
    causes: &RunCauses,
    (index, incident): (usize, &Incident),
    begin: TimeNs,
) -> Vec<ReportFact> {
    let root = &incident.root;
    let without = causes.run_without(incident);
    let without = without.map_or_else(String::new, |it| {
        format!("; without it the run would be {it}")
    });
    let mut facts = vec![
        ReportFact::new(
            "Begins",
            format!("{} after the start of the run", incident.start.since(begin)),
        ),
        ReportFact::new("Lasts", incident.end.since(incident.start)),
        ReportFact::new(
            "Costs",
            format!(
                "{}, summed over {} ranks{without}",
                incident.delay,
                thousands(incident.ranks.len())
            ),
        ),
        ReportFact::new("Kind", incident.kind),
    ];
    if incident.kind.is_of_a_rank() {
        let next = root.next_best.map_or_else(String::new, |rank| {
            format!("; the next most likely is rank {rank}")
        });
        let clock = if root.is_clock_unsure {
            "; it rests on clocks that messages bound from one side only"
        } else {
            ""
        };
        let network = root.late_sender.map_or_else(String::new, |rank| {
            format!("; or the network, in which a message from rank {rank} was late")
        });
        facts.push(ReportFact::new(
            "Cause",
            format!(
                "rank {}, which is right in {} of 100 such cases{next}{clock}{network}",
                root.rank, root.confidence_percent
            ),
        ));
    }
    if !incident.call_path.is_empty() {
        let path = incident.call_path.iter().map(|&func| {
            let name = causes.trace().names.name(func);
            FunctionName::parse(name).short
        });
        facts.push(ReportFact::new("In", path.collect::<Vec<_>>().join(" › ")));
    }
    let again = causes.similar(index).map(SimilarIncidents::summary);
    if let Some(again) = again.filter(|again| !again.is_empty()) {
        facts.push(ReportFact::new("Again", again));
    }
    facts
}
