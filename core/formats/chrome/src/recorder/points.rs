//! Events at one time: ends of asynchronous calls, points of flows, counter samples, and events that only Callgrove
//! writes.

use std::borrow::Cow;

use callgrove_model::{MAX_COUNTER_NAME_BYTES, storable_text};

use super::async_calls::AsyncPoint;
use super::counter_sample::CounterSample;
use super::event_recorder::EventRecorder;
use super::event_values::{hash, raw, time_ns};
use super::flows::{FlowPoint, FlowPointKind};
use super::launches::LaunchEnd;
use super::own_file::is_own_launch;
use super::rows::{ChromeRowKind, RowPlace};
use crate::events::{ChromeCallKind, TraceEvent, is_launch_flow};
use crate::json::{JsonValue, scaled};

impl EventRecorder {
    /// Processes an event that other writers do not have, or not with these arguments.
    pub(super) fn add_own(&mut self, event: &TraceEvent<'_>) -> Option<()> {
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

    pub(super) fn add_async(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let time_ns = time_ns(event.begin)?;
        let category = self.rows.text(event.category.raw());
        let place = self.rows.place(event.process, JsonValue::Missing);
        let row = self.rows.row(place, ChromeRowKind::Asynchronous(category));
        let is_begin = matches!(event.phase, b'b' | b'S');
        let func = if is_begin {
            Some(self.function(event.name).func)
        } else {
            self.function_of_end(event)
        };
        self.async_points.push(AsyncPoint {
            row,
            id: hash(&[raw(event.id)]),
            time_ns,
            order: self.num_events,
            is_begin,
            func,
        });
        Some(())
    }

    pub(super) fn add_flow(&mut self, event: &TraceEvent<'_>) -> Option<()> {
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

    /// Processes the flow that a call states itself.
    #[inline]
    pub(super) fn add_bound_flow(&mut self, event: &TraceEvent<'_>, place: RowPlace, time_ns: i64) {
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

    pub(super) fn add_counter(&mut self, event: &TraceEvent<'_>) -> Option<()> {
        let time_ns = time_ns(event.begin)?;
        let process = self.rows.name(event.process);
        let mut name = event.name.decoded().text.into_owned();
        if let Some(id) = event.id.plain() {
            name = format!("{name} {}", String::from_utf8_lossy(id));
        }
        let mut num_invalid = 0_u32;
        let mut samples = Vec::new();
        event.arguments(|key, value| {
            // A series that is not a number, such as a text, is not a counter.
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
}
