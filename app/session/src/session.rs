//! What the window holds: all sources of one run behind one [`Command`] and one [`Snapshot`].
//!
//! The engine works on a thread of its own, the watched run is a state machine that costs nothing, and what
//! is merely looked at (a call, a stretch of time) belongs here. So a selection is shown in the frame in
//! which it was made, however busy the engine is, and no view knows where an answer comes from.

use std::collections::VecDeque;
use std::sync::Arc;

use callgrove_model::{ExecLabel, ExecRef, ProgramId, TreeIdx};

use crate::watch::{WatchHandle, Watcher};
use crate::{Command, Notice, Selection, SendError, SessionHandle, Severity, Snapshot, TimeRange};

/// Notices of the session itself are numbered from here on, those of the engine from 1.
const FIRST_NOTICE: u64 = 1 << 63;

/// One run with its sources.
pub struct Session {
    engine: SessionHandle,
    watcher: Option<Watcher>,
    /// The engine's newest snapshot.
    newest: Arc<Snapshot>,
    /// The same with what the person looks at and what is known of the watched run.
    shown: Arc<Snapshot>,
    /// Selections that the engine has not answered yet, oldest first.
    unanswered: VecDeque<Selection>,
    /// Commands that the engine could not take yet, oldest first.
    unsent: VecDeque<Command>,
    call: Option<ExecRef>,
    range: Option<TimeRange>,
    /// The execution whose forest is being grown.
    awaited: Option<ExecRef>,
    notices: Vec<Notice>,
    num_notices: u64,
}

impl Session {
    /// A session over an engine and, where the carrier can watch runs, a line to their servers.
    pub fn new(engine: SessionHandle, line: Option<WatchHandle>) -> Self {
        let newest = engine.snapshot();
        let mut session = Self {
            engine,
            watcher: line.map(Watcher::new),
            shown: Arc::clone(&newest),
            newest,
            unanswered: VecDeque::new(),
            unsent: VecDeque::new(),
            call: None,
            range: None,
            awaited: None,
            notices: Vec::new(),
            num_notices: 0,
        };
        session.compose();
        session
    }

    /// What there is to see.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.shown
    }

    /// Commands that wait for a busy engine.
    pub fn num_unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Asks the running work to stop.
    pub fn cancel(&self) {
        self.engine.cancel();
    }

    /// Takes over what is new; never waits. Whether it shall be called again soon.
    pub fn update(&mut self) -> bool {
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
        if is_new || has_news {
            self.compose();
        }
        has_news || !self.unsent.is_empty()
    }

    /// Carries out a command or passes it on to the engine, which keeps their order; never waits.
    pub fn send(&mut self, command: Command) {
        match command {
            Command::SelectCall(call) => self.call = call,
            Command::SelectRange(range) => self.range = range,
            Command::OpenExecution { program, label } => self.open_execution(program, label),
            Command::Watch(command) => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.carry_out(command);
                }
            }
            Command::Dismiss { notice } if notice >= FIRST_NOTICE => {
                self.notices.retain(|known| known.id != notice);
            }
            Command::Select(selection) => self.select(selection),
            command => self.pass_on(command),
        }
        self.compose();
    }

    fn select(&mut self, selection: Selection) {
        self.call = None;
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

    fn open_execution(&mut self, program: ProgramId, label: ExecLabel) {
        let Some(trace) = self.newest.trace.clone() else {
            return self.tell(format!("Open the trace of the run to see {label} in it."));
        };
        let Some(exec) = trace.find(program, label) else {
            return self.tell(format!(
                "This trace has no execution {label}: is it of another run, or is a rank missing?"
            ));
        };
        let holder = self
            .newest
            .analysis
            .as_ref()
            .and_then(|known| known.forest.tree_with(exec));
        if let Some(tree) = holder {
            self.reveal(tree, exec);
        } else {
            self.call = Some(exec);
            self.awaited = Some(exec);
            let function = trace.function_name(exec).to_owned();
            self.pass_on(Command::SetRoot { function });
        }
    }

    fn reveal(&mut self, tree: TreeIdx, exec: ExecRef) {
        self.select(Selection::One(tree));
        self.call = Some(exec);
    }

    fn tell(&mut self, text: String) {
        let id = FIRST_NOTICE + self.num_notices;
        self.num_notices += 1;
        self.notices.retain(|known| known.text != text);
        self.notices.push(Notice {
            id,
            severity: Severity::Warning,
            text,
        });
    }

    /// What another trace or forest makes void goes.
    fn take_over(&mut self, before: &Snapshot) {
        if !is_same(self.newest.trace.as_ref(), before.trace.as_ref()) {
            (self.call, self.range, self.awaited) = (None, None, None);
        }
        let selection = &self.newest.selection;
        if let Some(at) = self.unanswered.iter().rposition(|known| known == selection) {
            self.unanswered.drain(..=at);
        } else if *selection != before.selection {
            self.unanswered.clear();
        }
        let has_grown = !is_same(self.newest.analysis.as_ref(), before.analysis.as_ref());
        if let (true, Some(analysis)) = (has_grown, &self.newest.analysis) {
            let awaited = self.awaited.take();
            let found = awaited.and_then(|exec| Some((analysis.forest.tree_with(exec)?, exec)));
            if let Some((tree, exec)) = found {
                self.reveal(tree, exec);
            }
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
        shown.call = self.call;
        shown.range = self.range;
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
