//! Takes in the events of a file, one after another.

use std::borrow::Cow;
use std::collections::HashMap;

use callgrove_model::{
    CounterId, FuncId, MAX_COUNTER_NAME_BYTES, MAX_NAME_BYTES, NameTable, ThreadId, TimeNs,
    WarningKind, Warnings, storable_text,
};

use crate::arguments::CallArguments;
use crate::async_calls::AsyncPoint;
use crate::category::{ChromeCallKind, is_launch_flow};
use crate::collectives::{
    CollectiveCall, CollectiveCalls, CollectiveClass, TrainingStep, is_message_call,
};
use crate::file_facts::for_members;
use crate::flows::{FlowPoint, FlowPointKind};
use crate::json::{JsonText, JsonValue, scaled};
use crate::launches::{LaunchEnd, LaunchEnds};
use crate::own_file::{
    OwnEvent, OwnEventKind, OwnEvents, argument, full_name, is_finding, is_own_launch,
};
use crate::rows::{ChromeRowKind, ChromeRows, RowCall, RowName, RowNumber, RowPlace};
use crate::trace_event::TraceEvent;

/// Number of decimal places of a microsecond that are whole nanoseconds.
const NUM_PLACES: i32 = 3;
/// Largest time, in nanoseconds: 146 years. It leaves the range that sums of times need.
const MAX_TIME_NS: i64 = i64::MAX / 2;
/// The name of the iterations of PyTorch before their numbers.
const STEP_NAME: &str = "ProfilerStep";
/// The operation that states the process group of a collective.
const GROUP_OPERATION: &str = "record_param_comms";

/// A sample of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CounterSample {
    pub(crate) process: RowName,
    /// Nanoseconds since the time that the file states.
    pub(crate) time_ns: i64,
    pub(crate) counter: CounterId,
    pub(crate) value: u64,
}

/// What the name of a function says beyond its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NamedFunction {
    func: FuncId,
    /// The class of a kernel, and of a call on the CPU.
    classes: [Option<CollectiveClass>; 2],
    is_group_operation: bool,
    /// The number of the iteration.
    step: Option<u64>,
}

/// The events of a file.
#[derive(Debug, Default)]
pub(crate) struct EventRecorder {
    pub(crate) names: NameTable<FuncId>,
    pub(crate) counter_names: NameTable<CounterId>,
    pub(crate) rows: ChromeRows,
    pub(crate) launches: LaunchEnds,
    pub(crate) launch_flows: Vec<FlowPoint>,
    pub(crate) flows: Vec<FlowPoint>,
    pub(crate) async_points: Vec<AsyncPoint>,
    pub(crate) counters: Vec<CounterSample>,
    pub(crate) collectives: CollectiveCalls,
    pub(crate) process_names: Vec<(RowName, String)>,
    pub(crate) thread_names: Vec<(RowPlace, String)>,
    /// What a file that Callgrove wrote states about rows; `None` in the files of others.
    pub(crate) own: Option<OwnEvents>,
    pub(crate) warnings: Warnings,
    /// Whether an event has a category that only Kineto has.
    pub(crate) is_of_kineto: bool,
    /// Number of events that are no metadata.
    pub(crate) num_events: u64,
    by_name: HashMap<Vec<u8>, NamedFunction>,
    file: String,
}

impl EventRecorder {
    /// Returns a recorder of the events of a file, whose path is for messages.
    pub(crate) fn new(file: String) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }

    /// Takes in an event.
    pub(crate) fn add(&mut self, event: &TraceEvent<'_>) {
        self.num_events += u64::from(event.phase != b'M');
        if self.own.is_some() && is_finding(event) {
            return;
        }
        let is_valid = match event.phase {
            b'i' | b'C' | b's' | b'f' if self.own.is_some() => self.add_own(event),
            b'X' => self.add_call(event),
            b'B' | b'E' => self.add_call_end(event),
            b'b' | b'e' | b'S' | b'F' => self.add_async(event),
            b's' | b't' | b'f' => self.add_flow(event),
            b'C' => self.add_counter(event),
            b'M' => {
                self.add_metadata(event);
                Some(())
            }
            // Instants, snapshots of objects, memory dumps, and what later versions may have.
            _ => Some(()),
        };
        if is_valid.is_none() {
            self.count(WarningKind::BadRow);
        }
    }

    /// Counts a fault of the current event.
    pub(crate) fn count(&mut self, kind: WarningKind) {
        let (event, file) = (self.num_events, &self.file);
        self.warnings
            .count(kind, None, || format!("event {event}: {file}"));
    }

    fn add_call(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let start_ns = time_ns(event.begin)?;
        let length_ns = match event.length {
            JsonValue::Missing => 0,
            stated => time_ns(stated)?,
        };
        let (kind, is_of_kineto) = ChromeCallKind::of(event.category.raw());
        self.is_of_kineto |= is_of_kineto;
        let place = self.rows.place(event.process, event.thread);
        let row = self.rows.row(place, ChromeRowKind::Calls(kind));
        let named = self.function(event.name);
        if length_ns < 0 {
            self.count(WarningKind::NegativeDuration);
        }
        let call = RowCall {
            start_ns,
            end_ns: start_ns + length_ns.max(0),
            func: named.func,
        };
        self.rows.push(row, &call);
        self.add_bound_flow(event, place, start_ns);
        self.add_relations(event, kind, row, named, &call);
        Some(())
    }

    /// Takes in how a call relates to others.
    #[inline]
    fn add_relations(
        &mut self,
        event: &TraceEvent<'_>,
        kind: ChromeCallKind,
        row: RowNumber,
        named: NamedFunction,
        call: &RowCall,
    ) {
        let (start_ns, end_ns) = (call.start_ns, call.end_ns);
        if let Some(number) = named.step
            && kind == ChromeCallKind::Host
        {
            self.collectives
                .steps
                .push(TrainingStep { start_ns, number });
            if let Some(row) = self.rows.list.get_mut(row.index()) {
                row.num_steps += 1;
            }
        }
        let class = match kind {
            ChromeCallKind::Device => named.classes[0],
            ChromeCallKind::Host => named.classes[1],
            ChromeCallKind::Runtime | ChromeCallKind::DeviceRange | ChromeCallKind::Span => None,
        };
        let is_launch_end = matches!(kind, ChromeCallKind::Runtime | ChromeCallKind::Device);
        if !is_launch_end && !named.is_group_operation && class.is_none() {
            return;
        }
        let arguments = CallArguments::of(event);
        if let (Some(correlation), true) = (arguments.correlation, is_launch_end) {
            let end = LaunchEnd {
                correlation,
                start_ns,
                row,
            };
            if kind == ChromeCallKind::Device {
                self.launches.work.push(end);
            } else {
                self.launches.calls.push(end);
            }
        }
        if let Some(class) = class {
            self.collectives.calls.push(CollectiveCall {
                row,
                start_ns,
                end_ns,
                external_id: arguments.external_id,
                facts: arguments.collective,
                class,
                is_kernel: kind == ChromeCallKind::Device,
            });
        }
        if let (true, Some(id)) = (named.is_group_operation, arguments.external_id) {
            self.collectives.operations.insert(id, arguments.collective);
        }
    }

    fn add_call_end(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let start_ns = time_ns(event.begin)?;
        let place = self.rows.place(event.process, event.thread);
        let row = self
            .rows
            .row(place, ChromeRowKind::Calls(ChromeCallKind::Host));
        let func = (event.phase == b'B').then(|| {
            let is_own = self.own.is_some();
            let name = if is_own { full_name(event) } else { event.name };
            self.function(name).func
        });
        if let Some(calls) = self.rows.calls_mut(row) {
            match func {
                Some(func) => calls.begin(func, TimeNs(start_ns)),
                None => calls.end(TimeNs(start_ns)),
            }
        }
        self.add_bound_flow(event, place, start_ns);
        Some(())
    }

    /// Takes in an event that other writers do not have, or not with these arguments.
    fn add_own(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let time_ns = time_ns(event.begin)?;
        let place = self.rows.place(event.process, event.thread);
        let kind = ChromeRowKind::Calls(ChromeCallKind::Host);
        let row = self.rows.row(place, kind);
        match event.phase {
            b'i' => {
                let own = self.own.get_or_insert_default();
                own.add_instant(event, row, time_ns);
            }
            b'C' => {
                let name = event.name.decoded().text;
                let name = storable_text(&name, MAX_COUNTER_NAME_BYTES);
                let counter = self.counter_names.intern(&name);
                let own = self.own.get_or_insert_default();
                own.add_sample(event, row, time_ns, counter);
            }
            _ if is_own_launch(event) => {
                let end = LaunchEnd {
                    correlation: event.id.integer()?,
                    start_ns: time_ns,
                    row,
                };
                if event.phase == b's' {
                    self.launches.calls.push(end);
                } else {
                    self.launches.work.push(end);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn add_async(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let time_ns = time_ns(event.begin)?;
        let category = self.rows.text(event.category.raw());
        let place = self.rows.place(event.process, JsonValue::Missing);
        let row = self.rows.row(place, ChromeRowKind::Asynchronous(category));
        let is_begin = matches!(event.phase, b'b' | b'S');
        let func = is_begin.then(|| self.function(event.name).func);
        self.async_points.push(AsyncPoint {
            row,
            id: hash(&[raw(event.id)]),
            time_ns,
            order: self.num_events,
            func,
        });
        Some(())
    }

    fn add_flow(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let time_ns = time_ns(event.begin)?;
        let kind = match event.phase {
            b's' => FlowPointKind::Start,
            b't' => FlowPointKind::Step,
            _ => FlowPointKind::End,
        };
        let is_launch = is_launch_flow(event.category.raw());
        if is_launch && self.launches.are_stated() {
            return Some(());
        }
        let place = self.rows.place(event.process, event.thread);
        let id = match event.id.integer() {
            Some(number) if is_launch => number.cast_unsigned(),
            _ => hash(&[event.category.raw(), event.name.raw(), raw(event.id)]),
        };
        let point = FlowPoint {
            id,
            time_ns,
            place,
            kind,
        };
        if is_launch {
            self.launch_flows.push(point);
        } else if !self.is_of_kineto {
            self.flows.push(point);
        }
        Some(())
    }

    /// Takes in the flow that a call states itself.
    #[inline]
    fn add_bound_flow(&mut self, event: &TraceEvent<'_>, place: RowPlace, time_ns: i64) {
        let kind = match event.flow {
            (false, false) => return,
            (false, true) => FlowPointKind::Start,
            (true, true) => FlowPointKind::Step,
            (true, false) => FlowPointKind::End,
        };
        self.flows.push(FlowPoint {
            id: hash(&[b"bind_id", raw(event.bind_id)]),
            time_ns,
            place,
            kind,
        });
    }

    fn add_counter(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let time_ns = time_ns(event.begin)?;
        let process = self.rows.name(event.process);
        let mut name = event.name.decoded().text.into_owned();
        if let Some(id) = event.id.plain() {
            name = format!("{name} {}", String::from_utf8_lossy(id));
        }
        let mut num_invalid = 0_u32;
        let mut samples = Vec::new();
        event.arguments(|key, value| {
            // A series that is no number, such as a text, is no counter.
            let Some(text) = value.plain().filter(|it| it.iter().any(u8::is_ascii_digit)) else {
                return;
            };
            match scaled(text, 0).and_then(|it| u64::try_from(it).ok()) {
                Some(value) => samples.push((key, value)),
                None => num_invalid += 1,
            }
        });
        for (key, value) in samples {
            let series = String::from_utf8_lossy(key);
            let full = if series == "value" || series == name {
                Cow::Borrowed(name.as_str())
            } else {
                Cow::Owned(format!("{name} {series}"))
            };
            let full = storable_text(&full, MAX_COUNTER_NAME_BYTES);
            let counter = self.counter_names.intern(&full);
            self.counters.push(CounterSample {
                process,
                time_ns,
                counter,
                value,
            });
        }
        (num_invalid == 0).then_some(())
    }

    fn add_metadata(&mut self, event: &TraceEvent<'_>) {
        if let (Some(own), b"callgrove_thread") = (&mut self.own, event.name.raw()) {
            let place = self.rows.place(event.process, event.thread);
            let kind = ChromeRowKind::Calls(ChromeCallKind::Host);
            let row = self.rows.row(place, kind);
            if let Some(row) = self.rows.list.get_mut(row.index()) {
                row.is_stated = true;
            }
            let thread = u32::try_from(argument(event, "thread")).unwrap_or(u32::MAX);
            own.others.push(OwnEvent {
                row,
                time_ns: 0,
                kind: OwnEventKind::Thread(ThreadId(thread)),
            });
            return;
        }
        let mut name = None;
        event.arguments(|key, value| {
            if let (b"name", JsonValue::Text(text)) = (key, value) {
                name = Some(text.decoded().text.into_owned());
            }
        });
        let Some(name) = name.filter(|it| !it.is_empty()) else {
            return;
        };
        match event.name.raw() {
            b"process_name" => {
                let process = self.rows.name(event.process);
                self.process_names.push((process, name));
            }
            b"thread_name" => {
                let place = self.rows.place(event.process, event.thread);
                self.thread_names.push((place, name));
            }
            _ => {}
        }
    }

    /// Returns the function of a name.
    #[inline]
    fn function(&mut self, name: JsonText<'_>) -> NamedFunction {
        match self.by_name.get(name.raw()) {
            Some(known) => *known,
            None => self.new_function(name),
        }
    }

    fn new_function(&mut self, name: JsonText<'_>) -> NamedFunction {
        let decoded = name.decoded();
        if decoded.is_irregular {
            self.count(WarningKind::TextChanged);
        }
        let text = if decoded.is_irregular {
            Cow::Owned(decoded.text.replace(char::is_control, " "))
        } else {
            decoded.text
        };
        let step = text.strip_prefix(STEP_NAME).filter(|_| self.own.is_none());
        let step = step.and_then(|it| it.strip_prefix('#')?.parse().ok());
        let short = match step {
            Some(_) => Cow::Borrowed(STEP_NAME),
            None => storable_text(&text, MAX_NAME_BYTES),
        };
        if step.is_none() && short != text {
            self.count(WarningKind::TextChanged);
        }
        self.collectives.has_messages |= is_message_call(&short);
        let named = NamedFunction {
            func: self.names.intern(&short),
            classes: [
                CollectiveClass::of_kernel(&short),
                CollectiveClass::of_call(&short),
            ],
            is_group_operation: short == GROUP_OPERATION,
            step,
        };
        self.by_name.insert(name.raw().to_owned(), named);
        named
    }
}

/// Returns a time in nanoseconds, or `None` if it is missing or out of range.
#[inline]
fn time_ns(value: JsonValue<'_>) -> Option<i64> {
    let time_ns = scaled(value.plain()?, NUM_PLACES)?;
    (-MAX_TIME_NS..=MAX_TIME_NS)
        .contains(&time_ns)
        .then_some(time_ns)
}

/// Returns the text of an id, which may be an object: `{"local": "0x1"}`.
fn raw(value: JsonValue<'_>) -> &[u8] {
    let mut inner = None;
    for_members(value, |_, value| inner = inner.or(value.plain()));
    inner.or(value.plain()).unwrap_or_default()
}

/// Returns a number for texts.
fn hash(texts: &[&[u8]]) -> u64 {
    let mut bytes = Vec::with_capacity(64);
    for text in texts {
        bytes.extend(*text);
        bytes.push(0);
    }
    callgrove_model::fnv1a(&bytes)
}
