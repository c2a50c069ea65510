//! The details of a call as text, which the screen and the clipboard share.

use callgrove_canvas::time::{relative_time, utc_clock, wait_text};
use callgrove_model::count_of;
use callgrove_model::{
    CommKind, DurationNs, ExecRef, FunctionName, TimeNs, Trace, tag_text, thousands,
};
use callgrove_session::{CallDetails, Calls, LaneNames, MessageDetails, NamedCall};

/// A group of facts.
pub(super) struct FactGroup {
    pub(super) title: String,
    pub(super) facts: Vec<Fact>,
    /// Number of facts that are not listed.
    pub(super) num_left_out: usize,
}

/// One fact.
pub(super) struct Fact {
    pub(super) name: String,
    pub(super) value: String,
    /// The call that the value names.
    pub(super) call: Option<ExecRef>,
    pub(super) is_strong: bool,
}

impl Fact {
    fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            call: None,
            is_strong: false,
        }
    }
}

/// Returns all groups as text, one line for each fact.
pub(super) fn as_text(groups: &[FactGroup]) -> String {
    let mut text = String::new();
    for group in groups {
        text.push_str(&format!("{}\n", group.title));
        for fact in &group.facts {
            text.push_str(&format!("  {}: {}\n", fact.name, fact.value));
        }
    }
    text
}

/// Returns the facts about a call.
pub(super) fn fact_groups(
    calls: &Calls,
    names: &LaneNames,
    details: &CallDetails,
) -> Vec<FactGroup> {
    let trace = calls.trace();
    let origin = calls.time_span().map_or(details.entry, |(from, _)| from);
    let group = |title: String, facts| FactGroup {
        title,
        facts,
        num_left_out: 0,
    };
    let name = FunctionName::parse(trace.names.name(details.func));
    let mut groups = vec![group(
        name.qualified.to_owned(),
        call_facts(trace, names, details, origin),
    )];
    if !details.counters.is_empty() {
        groups.push(group("Counters".to_owned(), counter_facts(trace, details)));
    }
    if details.num_messages > 0 {
        let messages = details.messages.iter().enumerate();
        let facts = messages.map(|(at, message)| Fact {
            is_strong: details.wait == Some(at),
            ..message_fact(trace, names, message, origin)
        });
        groups.push(FactGroup {
            num_left_out: details.num_messages - details.messages.len(),
            ..group(count_of(details.num_messages, "message"), facts.collect())
        });
    }
    groups
}

fn call_facts(
    trace: &Trace,
    names: &LaneNames,
    details: &CallDetails,
    origin: TimeNs,
) -> Vec<Fact> {
    let name = FunctionName::parse(trace.names.name(details.func));
    let time = |time| {
        format!(
            "{}, {} UTC",
            relative_time(time, origin, 1.0),
            utc_clock(time, 1)
        )
    };
    let label = details.label;
    let mut facts = Vec::new();
    if let Some(message) = details.wait.map(|at| &details.messages[at]) {
        facts.push(Fact {
            is_strong: true,
            ..Fact::new("Waiting", wait_text(trace, names, message))
        });
        if let Some(call) = message.sender_did {
            facts.push(call_fact(trace, "Sender was in", call));
        }
    }
    if let Some(file) = name.file {
        let line = name
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        facts.push(Fact::new("Source", format!("{file}{line}")));
    }
    facts.push(Fact::new("Where", names.name(trace, details.call.lane)));
    let unit = &trace.unit;
    if unit.is_time() {
        facts.push(Fact::new("Entry", time(details.entry)));
        facts.push(if details.is_closed {
            Fact::new("Exit", time(details.exit))
        } else {
            Fact::new("Exit", "not recorded; still running")
        });
    }
    let amount = |weight| unit.amount(weight).to_string();
    facts.push(Fact::new("Inclusive", amount(details.inclusive)));
    facts.push(Fact::new("Exclusive", amount(details.exclusive)));
    if details.written > DurationNs::ZERO {
        let text = format!(
            "the tracer wrote its own data during the call: {}",
            details.written
        );
        facts.push(Fact::new("Trace write", text));
    }
    let inside = unit.of_kind("Calls inside", "Vertices below");
    facts.push(Fact::new(inside, thousands(details.num_calls)));
    let above = unit.of_kind("Caller", "Parent");
    facts.push(match details.caller {
        Some(caller) => call_fact(trace, above, caller),
        None => Fact::new(above, "none"),
    });
    facts.push(Fact::new("I/O step", label.step.to_string()));
    facts.push(Fact::new("Event id", label.to_string()));
    facts
}

fn call_fact(trace: &Trace, name: &str, call: NamedCall) -> Fact {
    let short = FunctionName::parse(trace.names.name(call.func)).short;
    Fact {
        call: Some(call.call),
        ..Fact::new(name, short)
    }
}

fn counter_facts(trace: &Trace, details: &CallDetails) -> Vec<Fact> {
    let number = |value: u64| thousands(value as usize);
    let value = |counter: &callgrove_session::CounterDetails| {
        if counter.num_samples == 1 {
            return number(counter.last);
        }
        format!(
            "{}, from {} to {} in {}",
            number(counter.last),
            number(counter.least),
            number(counter.most),
            count_of(counter.num_samples, "sample")
        )
    };
    let counters = details.counters.iter();
    counters
        .map(|counter| Fact::new(trace.counter_names.name(counter.counter), value(counter)))
        .collect()
}

/// Returns `From rank 3`: bytes, tag, times of sending and receiving, and delay.
fn message_fact(
    trace: &Trace,
    names: &LaneNames,
    message: &MessageDetails,
    origin: TimeNs,
) -> Fact {
    let peer = message.peer_lane.map_or_else(
        || format!("rank {}", message.peer),
        |lane| names.name(trace, lane),
    );
    let name = match message.kind {
        CommKind::Send => format!("To {peer}"),
        CommKind::Recv => format!("From {peer}"),
    };
    let time = |time| relative_time(time, origin, 1.0);
    let mut parts = vec![
        count_of(message.size_bytes as usize, "byte"),
        tag_text(message.tag),
    ];
    parts.push(match message.sent {
        Some(sent) => format!("sent at {}", time(sent)),
        None => "send not recorded".to_owned(),
    });
    parts.push(match message.received {
        Some(received) => format!("received at {}", time(received)),
        None => "receive not recorded".to_owned(),
    });
    match message.under_way() {
        Some(under_way) if under_way < DurationNs::ZERO => parts.push("clocks differ".to_owned()),
        Some(under_way) => parts.push(format!("{under_way} in transit")),
        None => {}
    }
    if let Some(late) = message.late {
        parts.push(format!("sent {late} after the wait began"));
    }
    Fact::new(name, parts.join(", "))
}
