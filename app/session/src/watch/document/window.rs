//! The event window as a timeline: bars by depth, messages by partner.

use std::collections::BTreeMap;

use super::{ExecutionDocument, StackFrame, WindowExecution};

/// Whether a message left or arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageKind {
    /// Sent here.
    Send,
    /// Received here.
    Receive,
}

/// The event window as it is drawn. Times are microseconds since the epoch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WindowLayout {
    /// Where a person begins to look: the calls of the window and the execution itself, without the ends
    /// of callers that run for much longer.
    pub from_us: u64,
    /// Its end; later than `from_us`.
    pub to_us: u64,
    /// Calls in order of entry, callers before what they call.
    pub bars: Vec<WindowBar>,
    /// Rows of bars.
    pub num_depths: usize,
    /// Ranks at the other ends of messages, in order.
    pub partners: Vec<u32>,
    /// Messages in order of time.
    pub messages: Vec<WindowMessage>,
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowBar {
    /// Label; empty if the document has none.
    pub event_id: String,
    /// Function name.
    pub func: String,
    /// Entry.
    pub entry_us: u64,
    /// Exit; the end of all that is known if it was still running.
    pub exit_us: u64,
    /// Row, 0 for the outermost caller.
    pub depth: usize,
    /// Whether it was still running.
    pub is_open: bool,
    /// Whether the detector called it anomalous.
    pub is_anomaly: bool,
    /// Whether it is the execution that the document is about.
    pub is_subject: bool,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowMessage {
    /// Sent or received.
    pub kind: MessageKind,
    /// When.
    pub time_us: u64,
    /// Row in [`WindowLayout::partners`].
    pub partner_row: usize,
    /// The bar that sent or received, if it is in the window.
    pub bar: Option<usize>,
    /// Bytes.
    pub size_bytes: u64,
    /// Tag.
    pub tag: i64,
}

/// A call and the label of its caller, before the depth is known.
struct Call {
    bar: WindowBar,
    parent: String,
    is_caller: bool,
}

impl WindowLayout {
    /// Lays out the window and the callers of a document. A call whose caller is in neither lies below
    /// the innermost call that encloses it in time.
    pub(super) fn new(document: &ExecutionDocument) -> Self {
        let mut calls = calls(document);
        calls.sort_by(|a, b| {
            let key = |call: &Call| (call.bar.entry_us, std::cmp::Reverse(call.bar.exit_us));
            key(a).cmp(&key(b)).then(b.is_caller.cmp(&a.is_caller))
        });
        place(&mut calls);
        let (from_us, to_us) = extent(&calls, document);
        let bars: Vec<WindowBar> = calls.into_iter().map(|call| call.bar).collect();
        let mut partners: Vec<u32> = document
            .window
            .messages
            .iter()
            .map(|message| message.partner)
            .collect();
        partners.sort_unstable();
        partners.dedup();
        let messages = document
            .window
            .messages
            .iter()
            .map(|message| WindowMessage {
                kind: message.kind,
                time_us: message.time_us,
                partner_row: partners.partition_point(|&partner| partner < message.partner),
                bar: bars.iter().position(|bar| {
                    !message.event_id.is_empty() && bar.event_id == message.event_id
                }),
                size_bytes: message.size_bytes,
                tag: message.tag,
            })
            .collect();
        Self {
            from_us,
            to_us,
            num_depths: bars.iter().map(|bar| bar.depth + 1).max().unwrap_or(0),
            bars,
            partners,
            messages,
        }
    }

    /// The bar of the execution that the document is about.
    pub fn subject(&self) -> Option<usize> {
        self.bars.iter().position(|bar| bar.is_subject)
    }
}

/// The calls of window and call stack, each once.
fn calls(document: &ExecutionDocument) -> Vec<Call> {
    let window = &document.window.executions;
    let stack = &document.call_stack;
    let exits = window.iter().filter_map(|execution| execution.exit_us);
    let exits = exits.chain(stack.iter().filter_map(|frame| frame.exit_us));
    let entries = window.iter().map(|execution| execution.entry_us);
    let end_us = exits
        .chain(entries)
        .chain(document.exit_us)
        .max()
        .unwrap_or(0);
    let is_subject = |event_id: &str| !event_id.is_empty() && event_id == document.event_id;
    let in_stack = |event_id: &str| {
        stack
            .iter()
            .skip(1)
            .any(|frame| !event_id.is_empty() && frame.event_id == event_id)
    };
    let from_window = |execution: &WindowExecution| Call {
        parent: execution.parent_event_id.clone(),
        is_caller: in_stack(&execution.event_id),
        bar: WindowBar {
            event_id: execution.event_id.clone(),
            func: execution.func.clone(),
            entry_us: execution.entry_us,
            exit_us: execution.exit_us.unwrap_or(end_us).max(execution.entry_us),
            depth: 0,
            is_open: execution.exit_us.is_none(),
            is_anomaly: execution.is_anomaly == Some(true),
            is_subject: is_subject(&execution.event_id),
        },
    };
    let mut calls: Vec<Call> = window.iter().map(from_window).collect();
    for (at, frame) in stack.iter().enumerate() {
        let is_known = !frame.event_id.is_empty()
            && window
                .iter()
                .any(|execution| execution.event_id == frame.event_id);
        if !is_known {
            calls.push(from_stack(stack, at, end_us, is_subject(&frame.event_id)));
        }
    }
    calls
}

fn from_stack(stack: &[StackFrame], at: usize, end_us: u64, is_subject: bool) -> Call {
    let frame = &stack[at];
    let parent = stack.get(at + 1);
    Call {
        parent: parent.map_or_else(String::new, |parent| parent.event_id.clone()),
        is_caller: at > 0,
        bar: WindowBar {
            event_id: frame.event_id.clone(),
            func: frame.func.clone(),
            entry_us: frame.entry_us,
            exit_us: frame.exit_us.unwrap_or(end_us).max(frame.entry_us),
            depth: 0,
            is_open: frame.exit_us.is_none(),
            is_anomaly: frame.is_anomaly == Some(true),
            is_subject: is_subject || at == 0,
        },
    }
}

/// Gives each call its depth; callers come first in `calls`, so one pass is enough. A caller that comes later
/// (a damaged document) counts as not known.
fn place(calls: &mut [Call]) {
    let mut depths: BTreeMap<String, usize> = BTreeMap::new();
    let mut open: Vec<(u64, usize)> = Vec::new();
    for call in calls {
        let bar = &mut call.bar;
        open.retain(|&(exit_us, _)| exit_us > bar.entry_us);
        let enclosing = open
            .iter()
            .filter(|&&(exit_us, _)| exit_us >= bar.exit_us)
            .map(|&(_, depth)| depth)
            .max();
        let caller = depths.get(&call.parent).copied().or(enclosing);
        bar.depth = caller.map_or(0, |depth| depth + 1);
        open.push((bar.exit_us, bar.depth));
        if !bar.event_id.is_empty() {
            depths.insert(bar.event_id.clone(), bar.depth);
        }
    }
}

/// Where a person begins to look.
fn extent(calls: &[Call], document: &ExecutionDocument) -> (u64, u64) {
    let inner = || calls.iter().filter(|call| !call.is_caller);
    let messages = || {
        document
            .window
            .messages
            .iter()
            .map(|message| message.time_us)
    };
    let from_us = inner()
        .map(|call| call.bar.entry_us)
        .chain(document.entry_us)
        .chain(messages())
        .min()
        .unwrap_or(0);
    let to_us = inner()
        .map(|call| call.bar.exit_us)
        .chain(document.exit_us)
        .chain(messages())
        .max()
        .unwrap_or(0);
    (from_us, to_us.max(from_us.saturating_add(1)))
}
