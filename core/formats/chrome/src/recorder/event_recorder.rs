//! Processes the events of a file, one after another.

use std::collections::HashMap;

use callgrove_model::{CounterId, FuncId, NameTable, ThreadId, TimeNs, WarningKind, Warnings};

use super::async_calls::AsyncPoint;
use super::chrome_function::ChromeFunction;
use super::collectives::{CollectiveCall, CollectiveCalls, TrainingStep};
use super::counter_sample::CounterSample;
use super::event_values::time_ns;
use super::flows::FlowPoint;
use super::gpu_facts::{CallStart, GpuFacts};
use super::launches::{LaunchEnd, LaunchEnds};
use super::own_file::{OwnEvent, OwnEventKind, OwnEvents, argument, full_name, is_finding};
use super::rows::{ChromeRowKind, ChromeRows, RowCall, RowName, RowNumber, RowPlace};
use crate::events::{CallArguments, ChromeCallKind, TraceEvent};
use crate::json::{JsonText, JsonValue};

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
    pub(crate) gpu_facts: GpuFacts,
    pub(crate) process_names: Vec<(RowName, String)>,
    pub(crate) thread_names: Vec<(RowPlace, String)>,
    /// The facts about rows in a file that Callgrove wrote; `None` in files of other programs.
    pub(crate) own: Option<OwnEvents>,
    pub(crate) warnings: Warnings,
    /// True if an event has a category that only Kineto uses.
    pub(crate) is_of_kineto: bool,
    /// Number of events other than metadata.
    pub(crate) num_events: u64,
    by_name: HashMap<Vec<u8>, ChromeFunction>,
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

    /// Processes an event.
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

    /// Processes the relations of a call to others.
    #[inline]
    fn add_relations(
        &mut self,
        event: &TraceEvent<'_>,
        kind: ChromeCallKind,
        row: RowNumber,
        named: ChromeFunction,
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
            ChromeCallKind::Runtime
            | ChromeCallKind::DeviceRange
            | ChromeCallKind::DeviceWait
            | ChromeCallKind::Span => None,
        };
        let is_launch_end = matches!(kind, ChromeCallKind::Runtime | ChromeCallKind::Device);
        let is_wait = kind == ChromeCallKind::DeviceWait;
        if !is_launch_end && !is_wait && !named.is_group_operation && class.is_none() {
            return;
        }
        let arguments = CallArguments::of(event);
        self.add_gpu_facts(kind, (row, start_ns), named, &arguments);
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

    fn add_gpu_facts(
        &mut self,
        kind: ChromeCallKind,
        call: CallStart,
        named: ChromeFunction,
        arguments: &CallArguments,
    ) {
        let facts = &mut self.gpu_facts;
        match (kind, named.host_wait) {
            (ChromeCallKind::Runtime, Some(wait)) => facts.add_host_wait(call, wait),
            (ChromeCallKind::Device, _) => {
                facts.add_work(call, arguments.num_bytes, named.is_host_copy);
            }
            (ChromeCallKind::DeviceWait, _) => facts.add_synchronization(arguments),
            _ => {}
        }
    }

    fn add_call_end(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let start_ns = time_ns(event.begin)?;
        let place = self.rows.place(event.process, event.thread);
        let row = self
            .rows
            .row(place, ChromeRowKind::Calls(ChromeCallKind::Host));
        let is_own = self.own.is_some();
        let time = TimeNs(start_ns);
        if event.phase == b'B' {
            let name = if is_own { full_name(event) } else { event.name };
            let func = self.function(name).func;
            if let Some(calls) = self.rows.calls_mut(row) {
                calls.begin(func, time);
            }
        } else {
            let func = self.function_of_end(event);
            if let Some(calls) = self.rows.calls_mut(row) {
                match func {
                    Some(func) => calls.end_of(func, time),
                    None => calls.end(time),
                }
            }
        }
        self.add_bound_flow(event, place, start_ns);
        Some(())
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

    /// Returns the function that an end names. In files of Callgrove, ends are those of the innermost calls.
    pub(super) fn function_of_end(&mut self, event: &TraceEvent<'_>) -> Option<FuncId> {
        let is_named = self.own.is_none() && !event.name.raw().is_empty();
        is_named.then(|| self.function(event.name).func)
    }

    /// Returns the function of a name.
    #[inline]
    pub(super) fn function(&mut self, name: JsonText<'_>) -> ChromeFunction {
        match self.by_name.get(name.raw()) {
            Some(known) => *known,
            None => self.new_function(name),
        }
    }

    fn new_function(&mut self, name: JsonText<'_>) -> ChromeFunction {
        let read = ChromeFunction::read(name, &mut self.names, self.own.is_some());
        for _ in 0..read.num_changes {
            self.count(WarningKind::TextChanged);
        }
        self.collectives.has_messages |= read.is_message_call;
        self.by_name.insert(name.raw().to_owned(), read.function);
        read.function
    }
}
