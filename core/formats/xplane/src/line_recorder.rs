//! The events of one line, until the line is complete: its number and names may follow them.
//!
//! Numbers: `XLine` of `xplane.proto`.

use callgrove_model::{FuncId, NameTable, TimeNs, WarningKind, Warnings};
use callgrove_source::ListedCalls;

use crate::event_names::text;
use crate::launches::LaunchKey;
use crate::line_kind::{LineKind, PlaneKind};
use crate::plane_table::{PlaneTable, StatKind};
use crate::proto::{PlaneEvent, StatValue};

/// Picoseconds of a nanosecond.
const PS_PER_NS: i64 = 1_000;

/// A line that is being read.
#[derive(Debug, Default)]
pub(crate) struct LineRecorder {
    pub(crate) number: i64,
    pub(crate) name: Box<str>,
    pub(crate) display_name: Box<str>,
    /// The time from which its events count, in nanoseconds.
    pub(crate) start_ns: i64,
    /// The calls, in time of the line.
    pub(crate) calls: ListedCalls,
    /// The numbers that events have in common with others, by the time of their call.
    pub(crate) launches: Vec<(LaunchKey, TimeNs)>,
    /// Number of events that state the number of a step.
    pub(crate) num_steps: usize,
}

/// What the stats of an event state.
#[derive(Clone, Copy, Default)]
struct EventFacts {
    step: Option<i64>,
    correlation: Option<i64>,
    run: Option<i64>,
}

impl LineRecorder {
    /// Sets a number of the line.
    pub(crate) fn set_number(&mut self, field: u64, value: u64) {
        match field {
            1 => self.number = value.cast_signed(),
            3 => self.start_ns = value.cast_signed(),
            _ => {}
        }
    }

    /// Sets a name of the line.
    pub(crate) fn set_name(&mut self, field: u64, bytes: &[u8], warnings: &mut Warnings) {
        match field {
            2 => self.name = text(bytes, warnings),
            _ => self.display_name = text(bytes, warnings),
        }
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn add(
        &mut self,
        event: &PlaneEvent<'_>,
        plane: &mut PlaneTable,
        names: &mut NameTable<FuncId>,
        warnings: &mut Warnings,
    ) {
        if event.is_count {
            return;
        }
        let start = event.offset_ps.div_euclid(PS_PER_NS);
        let end_ps = event.offset_ps.saturating_add(event.duration_ps);
        let end = end_ps.div_euclid(PS_PER_NS);
        if event.duration_ps < 0 {
            let place = || format!("at {start} ns of the line {}", self.name);
            warnings.count(WarningKind::NegativeDuration, None, place);
        }
        let facts = if plane.stats.is_empty() {
            EventFacts::default()
        } else {
            facts_of(event, plane)
        };
        self.num_steps += usize::from(facts.step.is_some());
        let is_of_device = matches!(plane.kind, PlaneKind::Device(_));
        let is_step = facts.step.is_some()
            || (is_of_device && LineKind::of(plane.kind, &self.name) == LineKind::Steps);
        let step_func = if is_step {
            plane.names.step_func(event.name, facts.step, names)
        } else {
            None
        };
        let func = step_func.unwrap_or_else(|| plane.names.func(event.name, names, warnings));
        let start = TimeNs(start);
        let correlation = facts.correlation.map(LaunchKey::Correlation);
        // Work that states its operation needs no other number, but a call may launch both.
        let needs_run = correlation.is_none() || plane.kind == PlaneKind::Host;
        let run = facts.run.filter(|_| needs_run).map(LaunchKey::Run);
        let keys = correlation.into_iter().chain(run);
        self.launches.extend(keys.map(|key| (key, start)));
        self.calls.call(func, start, TimeNs(end));
    }

    /// Returns the name to show.
    pub(crate) fn shown_name(&self) -> &str {
        if self.display_name.is_empty() {
            &self.name
        } else {
            &self.display_name
        }
    }
}

fn facts_of(event: &PlaneEvent<'_>, plane: &PlaneTable) -> EventFacts {
    let mut facts = EventFacts::default();
    for (name, value) in event.stats() {
        let StatValue::Integer(value) = value else {
            continue;
        };
        match plane.stats.get(&name) {
            Some(StatKind::Step) => facts.step = Some(value),
            Some(StatKind::Correlation) => facts.correlation = Some(value),
            Some(StatKind::Run) => facts.run = Some(value),
            _ => {}
        }
    }
    facts
}
