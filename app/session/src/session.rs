//! The session of a window: all sources of one run behind one [`UserCommand`] and one [`Snapshot`].
//!
//! The engine works on a thread of its own, and the watched run is a cheap state machine. What the user inspects (a
//! call, a time range) belongs to the session itself. So a selection is shown in the frame in which it was made, however
//! busy the engine is, and no view depends on where an answer comes from.

use std::collections::VecDeque;
use std::sync::Arc;

use callgrove_model::{ExecIdx, ExecRef, FuncId, RunIdentity, RunMatch, TreeIdx};
use callgrove_query::{FoundCall, Labelled};
use callgrove_watch::{WatchHandle, Watcher};

use crate::command::{Command, Selection, UserCommand};
use crate::comparison::COMPARED_ELSEWHERE;
use crate::handle::{SendError, SessionHandle};
use crate::snapshot::{Inspected, Notice, Severity, Snapshot};

/// First number of the session's own notices. The engine numbers its notices from 1.
const FIRST_NOTICE: u64 = 1 << 63;

/// One run with its sources.
pub struct Session {
    engine: SessionHandle,
    watcher: Option<Watcher>,
    /// The engine's newest snapshot.
    newest: Arc<Snapshot>,
    /// The snapshot of the engine with the user's selections and the state of the watched run.
    shown: Arc<Snapshot>,
    /// Selections that the engine has not confirmed yet, oldest first.
    unanswered: VecDeque<Selection>,
    /// Commands that the engine has not accepted yet, oldest first.
    unsent: VecDeque<Command>,
    inspected: Inspected,
    /// The execution to open, while it is being searched for.
    wanted: Option<Labelled>,
    /// The execution whose forest is being grown.
    awaited: Option<FoundCall>,
    /// The run of the records, as reported to the engine.
    recorded: RunIdentity,
    notices: Vec<Notice>,
    num_notices: u64,
}

impl Session {
    /// Creates a session on an engine. `line` connects to the servers of watched runs, if the host supports them.
    pub fn new(engine: SessionHandle, line: Option<WatchHandle>) -> Self {
        let newest = engine.snapshot();
        let mut session = Self {
            engine,
            watcher: line.map(Watcher::new),
            shown: Arc::clone(&newest),
            newest,
            unanswered: VecDeque::new(),
            unsent: VecDeque::new(),
            inspected: Inspected::default(),
            wanted: None,
            awaited: None,
            recorded: RunIdentity::default(),
            notices: Vec::new(),
            num_notices: 0,
        };
        session.compose();
        session
    }

    /// Returns the snapshot to show.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.shown
    }

    /// Returns the number of commands that wait for a busy engine.
    pub fn num_unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Asks the running work to stop.
    pub fn cancel(&self) {
        self.engine.cancel();
    }

    /// Takes over new results, once per frame. Never blocks. Returns whether it should be called again soon.
    pub fn update(&mut self) -> bool {
        if let Some(calls) = self.newest.calls() {
            calls.begin_frame();
        }
        while let Some(command) = self.unsent.pop_front() {
            if let Err(SendError::Full(command)) = self.engine.send(command) {
                self.unsent.push_front(command);
                break;
            }
        }
        let newest = self.engine.snapshot();
        let is_new = !Arc::ptr_eq(&newest, &self.newest);
        if is_new {
            let before = std::mem::replace(&mut self.newest, newest);
            self.take_over(&before);
        }
        let has_news = self.watcher.as_mut().is_some_and(Watcher::update);
        let has_found = self.wanted.is_some() && self.find_wanted();
        if is_new || has_news || has_found {
            self.detach_other_run();
            self.report_run();
            self.compose();
        }
        has_news || !self.unsent.is_empty()
    }

    /// Carries out a command, or passes it on to the engine, which keeps their order. Never blocks.
    pub fn send(&mut self, command: impl Into<UserCommand>) {
        match command.into() {
            UserCommand::Engine(command) => self.send_to_engine(command),
            UserCommand::Inspect(command) => self.inspected.apply(command),
            UserCommand::OpenExecution { program, label } => {
                self.wanted = Some(Labelled { program, label });
                self.find_wanted();
            }
            UserCommand::Watch(command) => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.carry_out(command);
                }
            }
        }
        self.compose();
    }

    fn send_to_engine(&mut self, command: Command) {
        match command {
            Command::Dismiss { notice } if notice >= FIRST_NOTICE => {
                self.notices.retain(|known| known.id != notice);
            }
            Command::CompareWith { .. } if self.is_remote() => {
                let notice = format!("{COMPARED_ELSEWHERE}.");
                self.notify(notice[..1].to_uppercase() + &notice[1..]);
            }
            Command::Select(selection) => self.select(selection),
            command => self.pass_on(command),
        }
    }

    /// Returns whether the calls of the run are in another process.
    fn is_remote(&self) -> bool {
        let calls = self.newest.calls();
        calls.is_some_and(|calls| calls.is_remote())
    }

    fn select(&mut self, selection: Selection) {
        let inspected = &mut self.inspected;
        (inspected.call, inspected.incident, inspected.trend) = (None, None, None);
        self.unanswered.push_back(selection.clone());
        self.pass_on(Command::Select(selection));
    }

    fn pass_on(&mut self, command: Command) {
        if !self.unsent.is_empty() {
            self.unsent.push_back(command);
        } else if let Err(SendError::Full(command)) = self.engine.send(command) {
            self.unsent.push_back(command);
        }
    }

    /// Opens the execution that is being searched for, if it has been found.
    fn find_wanted(&mut self) -> bool {
        let Some(wanted) = self.wanted else {
            return false;
        };
        let label = wanted.label;
        let Some(calls) = self.newest.calls().cloned() else {
            self.wanted = None;
            self.notify(format!("Open the trace of the run to see {label} in it."));
            return true;
        };
        let Some(found) = calls.ask(&wanted) else {
            return false;
        };
        self.wanted = None;
        match &*found {
            Some(found) => self.open(found),
            None => self.notify(format!(
                "This trace has no execution {label}: is it of another run, or is a rank missing?"
            )),
        }
        true
    }

    fn open(&mut self, found: &FoundCall) {
        if let Some(tree) = self.tree_of(found) {
            self.reveal(tree, found.call);
        } else {
            self.inspected.call = Some(found.call);
            self.awaited = Some(found.clone());
            if let (Some(func), Some(trace)) = (self.root_over(found), self.newest.trace()) {
                let function = trace.names.name(func).to_owned();
                self.pass_on(Command::SetRoot { function });
            }
        }
    }

    /// Returns the tree that contains a call.
    fn tree_of(&self, found: &FoundCall) -> Option<TreeIdx> {
        let stack: Vec<ExecIdx> = found.stack.iter().map(|it| it.call.exec).collect();
        let forest = &self.newest.analysis()?.forest;
        forest.tree_around(found.call.lane, &stack)
    }

    /// Returns which function of a call and its callers gives the most promising trees. Falls back to the function of
    /// the call if none of the suggested ones calls anything.
    fn root_over(&self, found: &FoundCall) -> Option<FuncId> {
        let position = |func: FuncId| {
            let mut suggested = self.newest.suggestions().iter();
            suggested.position(|it| it.func == func && it.mean_calls >= 2.0)
        };
        let stack = found.stack.iter().map(|it| it.func);
        let promising = stack.filter_map(|func| Some((position(func)?, func)));
        let best = promising.min_by_key(|(position, _)| *position);
        best.map(|(_, func)| func)
            .or_else(|| found.stack.first().map(|it| it.func))
    }

    fn reveal(&mut self, tree: TreeIdx, exec: ExecRef) {
        self.select(Selection::One(tree));
        self.inspected.call = Some(exec);
    }

    /// Detaches the watched records if they are proven to be of another run than the trace.
    fn detach_other_run(&mut self) {
        let (Some(trace), Some(watcher)) = (self.newest.trace(), &mut self.watcher) else {
            return;
        };
        let watch = watcher.watch();
        let RunMatch::Different(mismatch) = trace.identity.compare(&watch.overview().run) else {
            return;
        };
        let text = format!(
            "{} is of another run and was detached: the open trace is of {}, it is of {} ({}). Open the trace of \
             that run, or attach the records of this one.",
            watch.address(),
            mismatch.known,
            mismatch.other,
            mismatch.reason
        );
        watcher.detach();
        self.notify(text);
    }

    /// Reports the run of the records to the engine, as soon as the records name it.
    fn report_run(&mut self) {
        let Some(watcher) = &self.watcher else {
            return;
        };
        let watch = Arc::clone(watcher.watch());
        let run = &watch.overview().run;
        if run.is_empty() || self.newest.trace().is_some() || self.recorded.is_same_run(run) {
            return;
        }
        self.recorded = run.clone();
        let source = watch.address().to_owned();
        self.pass_on(Command::SetRecordedRun {
            source,
            run: run.clone(),
        });
    }

    /// Shows a message of the window itself.
    pub fn add_notice(&mut self, severity: Severity, text: String) {
        self.push_notice(severity, text);
        self.compose();
    }

    fn notify(&mut self, text: String) {
        self.push_notice(Severity::Warning, text);
    }

    fn push_notice(&mut self, severity: Severity, text: String) {
        let id = FIRST_NOTICE + self.num_notices;
        self.num_notices += 1;
        self.notices.retain(|known| known.text != text);
        self.notices.push(Notice { id, severity, text });
    }

    /// Drops the state that another trace or forest invalidates.
    fn take_over(&mut self, before: &Snapshot) {
        if !is_same(self.newest.trace(), before.trace()) {
            self.inspected = Inspected {
                reference: self.inspected.reference,
                ..Inspected::default()
            };
            (self.wanted, self.awaited) = (None, None);
        }
        let selection = &self.newest.selection;
        if let Some(at) = self.unanswered.iter().rposition(|known| known == selection) {
            self.unanswered.drain(..=at);
        } else if *selection != before.selection {
            self.unanswered.clear();
        }
        let is_new_forest = !is_same(self.newest.analysis(), before.analysis());
        if is_new_forest
            && self.newest.analysis().is_some()
            && let Some(awaited) = self.awaited.take()
            && let Some(tree) = self.tree_of(&awaited)
        {
            self.reveal(tree, awaited.call);
        }
    }

    fn compose(&mut self) {
        let mut shown = Snapshot::clone(&self.newest);
        if let Some(selection) = self.unanswered.back() {
            shown.explanation = shown
                .explanation
                .filter(|about| *selection == Selection::One(about.tree));
            shown.selection.clone_from(selection);
        }
        shown.inspected = self.inspected;
        if let Some(watcher) = &self.watcher {
            shown.watch = Arc::clone(watcher.watch());
        }
        if !self.notices.is_empty() {
            shown.notices = shown.notices.iter().chain(&self.notices).cloned().collect();
        }
        self.shown = Arc::new(shown);
    }
}

fn is_same<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use callgrove_model::{ProgramId, RankId, RunIdentity, Trace};
    use callgrove_query::{Calls, PatternId};

    use super::*;
    use crate::command::InspectCommand;
    use crate::handle::SnapshotCell;
    use crate::snapshot::RunSnapshot;
    use callgrove_watch::{Overview, WatchCommand, WatchRequest, WatchTransport, WatchUpdate};

    /// A run with one process, which had this pid.
    fn run(pid: u32) -> RunIdentity {
        let metadata = [
            ("Executable", "/apps/lmp"),
            ("Command Line", "lmp -in in.eam"),
            ("Hostname", "n17"),
            ("pid", &pid.to_string()),
            ("Starting Timestamp", "1795231715000000"),
        ]
        .map(|(key, value)| callgrove_model::Metadata {
            program: ProgramId(0),
            rank: RankId(0),
            thread: callgrove_model::ThreadId(0),
            key: key.to_owned(),
            value: value.to_owned(),
        });
        let mut batch =
            callgrove_model::StepBatch::empty(ProgramId(0), RankId(0), callgrove_model::StepId(0));
        batch.metadata = metadata.into();
        RunIdentity::of_step(&batch, &callgrove_model::NameTable::default(), true)
    }

    fn session_on(identity: RunIdentity) -> (Session, WatchTransport) {
        let (sender, _) = sync_channel(8);
        let cell = SnapshotCell::default();
        let trace = Trace {
            identity,
            ..Trace::default()
        };
        let calls = Arc::new(Calls::local(&Arc::new(trace)));
        cell.publish(Arc::new(Snapshot {
            run: Some(RunSnapshot::new(calls, Arc::new([]))),
            ..Snapshot::default()
        }));
        let (handle, transport) = WatchHandle::pair();
        let mut session = Session::new(SessionHandle::new(sender, cell), Some(handle));
        session.send(WatchCommand::Connect {
            address: "found".to_owned(),
            token: None,
        });
        (session, transport)
    }

    /// Sends the session an overview of a run.
    fn receive_overview(session: &mut Session, transport: &WatchTransport, identity: RunIdentity) {
        let Ok(WatchRequest::Connect { connection, .. }) = transport.requests.try_recv() else {
            panic!("the transport is asked to connect");
        };
        let mut overview = Box::<Overview>::default();
        overview.run = identity;
        let update = WatchUpdate::Connected(overview);
        transport.updates.send((connection, update)).unwrap();
        session.update();
    }

    #[test]
    fn records_of_another_run_are_detached_with_a_notice() {
        let (mut session, transport) = session_on(run(1));
        receive_overview(&mut session, &transport, run(2));
        let snapshot = session.snapshot();
        assert!(!snapshot.watch.is_attached());
        let text = &snapshot.notices.last().expect("it is said").text;
        assert!(text.contains("found is of another run"), "{text}");
        let last = transport.requests.try_iter().last();
        assert_eq!(last, Some(WatchRequest::Disconnect));
    }

    #[test]
    fn records_of_the_same_run_stay() {
        let (mut session, transport) = session_on(run(1));
        receive_overview(&mut session, &transport, run(1));
        let snapshot = session.snapshot();
        assert!(snapshot.watch.is_attached() && snapshot.notices.is_empty());
    }

    #[test]
    fn a_selection_deselects_the_incident_and_keeps_the_pattern() {
        let (mut session, _) = session_on(run(1));
        session.send(InspectCommand::Incident(Some(3)));
        session.send(InspectCommand::Pattern(Some(PatternId(2))));
        let shown = session.snapshot();
        assert_eq!(
            (shown.inspected.incident, shown.inspected.pattern),
            (Some(3), Some(PatternId(2)))
        );
        session.send(Command::Select(Selection::None));
        let shown = session.snapshot();
        assert_eq!(
            (shown.inspected.incident, shown.inspected.pattern),
            (None, Some(PatternId(2)))
        );
    }
}
