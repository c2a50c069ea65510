//! The cause of an execution's delay: looked up once, and described alike in every view.

use std::sync::Arc;

use callgrove_model::{ExecRef, FuncId, TreeIdx};
use callgrove_session::{
    CallTimes, Calls, CauseKind, CausePhrase, Command, DelayCause, DelayRole, InspectCommand,
    Label, RunCauses, Selection, Snapshot, TimesOf, UserCommand,
};

/// The execution that was looked up last.
#[derive(Default)]
pub struct KnownDelay {
    known: Option<(Arc<RunCauses>, ExecRef, Delay)>,
}

/// The delay of an execution and its cause.
pub struct Delay {
    /// The execution.
    pub times: CallTimes,
    /// Role, root and the path from it.
    pub cause: DelayCause,
    /// A description, which begins with a verb.
    pub phrases: Vec<CausePhrase>,
    /// The function in which it waited, or delayed itself.
    pub func: Option<FuncId>,
    /// The functions that waited on the path from the root.
    pub funcs: Vec<FuncId>,
}

impl KnownDelay {
    /// Returns the delay of an execution; `None` if it was on time, and while it is unknown.
    pub fn of(&mut self, snapshot: &Snapshot, exec: Option<ExecRef>) -> Option<&Delay> {
        let (causes, exec) = (snapshot.causes()?, exec?);
        let is_known = |(of, known, _): &(Arc<RunCauses>, ExecRef, Delay)| {
            Arc::ptr_eq(of, causes) && *known == exec
        };
        if !self.known.as_ref().is_some_and(is_known) {
            let found = Delay::find(snapshot.calls()?, causes, exec)?;
            self.known = Some((Arc::clone(causes), exec, found));
        }
        let (_, _, delay) = self.known.as_ref()?;
        Some(delay).filter(|delay| delay.cause.role != DelayRole::OnTime)
    }
}

impl Delay {
    /// Returns `None` while the calls are not yet loaded.
    fn find(calls: &Calls, causes: &RunCauses, exec: ExecRef) -> Option<Self> {
        let times = *calls.ask(&TimesOf(vec![exec]))?.first()?;
        let cause = causes.of_time(exec.lane, times.from..times.to);
        let waited: Vec<ExecRef> = cause.hops.iter().map(|hop| hop.call).collect();
        let waited = calls.ask(&TimesOf(waited))?;
        let root = cause.root.and_then(|root| causes.roots().get(root));
        let late = match waited.first() {
            Some(hop) => Some((hop.call, hop.func)),
            None => root.map(|root| (root.call, root.func)),
        };
        let late = late.filter(|(call, _)| call.lane == exec.lane);
        let rank = calls.trace().lane(exec.lane).rank;
        Some(Self {
            times,
            phrases: causes.phrases(rank, &cause),
            func: late.map(|(_, func)| func),
            funcs: waited.iter().map(|it| it.func).collect(),
            cause,
        })
    }
}

/// Returns the root of the execution of a tree.
pub fn root_of_tree(snapshot: &Snapshot, tree: Option<TreeIdx>) -> Option<ExecRef> {
    let forest = &snapshot.analysis()?.forest;
    forest.trees().get(tree?.index()).map(|known| known.root)
}

/// Returns the short role of a tree in the delays of the run: `root`, `victim of rank 5`; `None` if it was on time.
pub fn role_of_tree(snapshot: &Snapshot, tree: TreeIdx) -> Option<(DelayRole, String)> {
    let cause = snapshot.tree_cause(tree)?;
    let causes = snapshot.causes()?;
    let own = snapshot.analysis()?.forest.code(tree).rank;
    let root = cause
        .root
        .and_then(|root| causes.roots().get(root as usize))
        .map(|root| root.rank);
    let text = match (cause.role, root) {
        (DelayRole::OnTime, _) => return None,
        (DelayRole::Root, _) => "root".to_owned(),
        (DelayRole::Undecided, _) => "cause unknown".to_owned(),
        (DelayRole::Victim, Some(rank)) if rank != own && cause.kind.is_of_a_rank() => {
            format!("victim of rank {rank}")
        }
        (DelayRole::Victim, _) => match cause.kind {
            CauseKind::TracerWrite => "victim of a trace write".to_owned(),
            CauseKind::BusyHost => "victim of a busy host".to_owned(),
            CauseKind::Transfer => "victim of the network".to_owned(),
            _ => "victim".to_owned(),
        },
    };
    Some((cause.role, text))
}

/// Returns the name of a kind of cause.
pub fn kind_text(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Stalled => "stalled",
        CauseKind::Slow => "slow",
        CauseKind::Transfer => "network delay",
        CauseKind::TracerWrite => "trace write",
        CauseKind::NotEntered => "did not enter",
        CauseKind::BusyHost => "busy host",
        CauseKind::Serial => "serial by design",
        CauseKind::Imbalance => "imbalance by design",
        CauseKind::Noise => "short delays of most ranks",
        CauseKind::Unknown => "cause unknown",
    }
}

/// Returns the trees of the forest that an incident hit, in ascending order.
pub fn trees_hit(snapshot: &Snapshot, incident: usize) -> Vec<TreeIdx> {
    let causes = snapshot.tree_causes();
    causes.map_or_else(Vec::new, |causes| causes.of_incident(incident).collect())
}

/// Returns the label that all of some trees have.
pub fn common_label(snapshot: &Snapshot, trees: &[TreeIdx]) -> Option<Label> {
    let label = snapshot.label(*trees.first()?);
    label.filter(|_| trees.iter().all(|&tree| snapshot.label(tree) == label))
}

/// Returns the author of the label that all of some trees have.
pub fn common_author<'a>(snapshot: &'a Snapshot, trees: &[TreeIdx]) -> Option<&'a str> {
    let author = snapshot.label_author(*trees.first()?);
    author.filter(|_| (trees.iter()).all(|&tree| snapshot.label_author(tree) == author))
}

/// Returns the commands that show an incident: the trees that it hit are selected, then the incident.
pub fn commands_to_show_incident(snapshot: &Snapshot, incident: usize) -> [UserCommand; 2] {
    [
        Command::Select(selection_of_incident(snapshot, incident)).into(),
        InspectCommand::Incident(Some(incident)).into(),
    ]
}

/// Returns the selection of the trees that an incident hit.
pub fn selection_of_incident(snapshot: &Snapshot, incident: usize) -> Selection {
    let trees = trees_hit(snapshot, incident);
    match trees[..] {
        [] => Selection::None,
        [tree] => Selection::One(tree),
        _ => Selection::Group(trees),
    }
}
