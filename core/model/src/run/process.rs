//! The process of one rank, and how it is distinguished from others.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bytes::fnv1a;
use crate::event::{FuncEvent, FuncEventKind, StepBatch};
use crate::id::FuncId;
use crate::metadata::{Metadata, Property};
use crate::names::NameTable;
use crate::rank_builder::RankTrace;
use crate::time::TimeNs;

/// Number of first entries that distinguish a rank whose process does not identify itself.
const NUM_FIRST_ENTRIES: usize = 16;

/// The process of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    host: Option<String>,
    /// The process id; together with the start it identifies the process on its host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pid: Option<u32>,
    /// The start as stated with the pid, or else the time of the first event seen.
    start: TimeNs,
    /// A hash of the first events, if the process states no pid and start, and they were seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    first_entries: Option<u64>,
}

impl Process {
    pub(crate) fn of_rank(trace: &RankTrace) -> Self {
        Self::of_metadata(&trace.metadata).unwrap_or_else(|| {
            let (mut entries, mut start) = (FirstEntries::default(), None);
            // The thread whose first call is in the earliest step; of several, the lowest.
            let first = trace.threads.iter().filter_map(|(thread, executions, ..)| {
                Some(((*executions.step.first()?, *thread), executions))
            });
            if let Some(((step, _), executions)) = first.min_by_key(|(order, _)| *order) {
                let rows = (0..executions.len()).take_while(|&row| executions.step[row] == step);
                start = executions.entry.first().copied();
                for row in rows {
                    let name = trace.names.name(executions.func[row]);
                    entries.push(name, executions.entry[row]);
                }
            }
            Self::of_entries(&trace.metadata, start.unwrap_or_default(), Some(entries))
        })
    }

    /// Returns `None` if the step says nothing about the process.
    pub(crate) fn of_step(
        batch: &StepBatch,
        names: &NameTable<FuncId>,
        is_from_start: bool,
    ) -> Option<Self> {
        if let Some(process) = Self::of_metadata(&batch.metadata) {
            return Some(process);
        }
        let is_entry = |event: &FuncEvent| event.kind() == FuncEventKind::Entry;
        let segments = batch.funcs.segments();
        let with_entries = segments.filter(|(_, events)| events.iter().any(is_entry));
        let thread = with_entries.map(|(thread, _)| thread).min()?;
        let (mut first, mut start, mut latest) = (FirstEntries::default(), None, TimeNs(i64::MIN));
        let of_thread = batch.funcs.segments().filter(|it| it.0 == thread);
        for event in of_thread.flat_map(|(_, events)| events) {
            // Times do not go back, as in call stacks.
            latest = latest.max(event.time);
            if is_entry(event) {
                start = start.or(Some(latest));
                first.push(names.name(event.func), latest);
            }
        }
        let first = is_from_start.then_some(first);
        Some(Self::of_entries(&batch.metadata, start?, first))
    }

    /// Returns the process, if it states its pid and start.
    fn of_metadata(metadata: &[Metadata]) -> Option<Self> {
        let start_us = Property::Start.of(metadata)?.parse().ok()?;
        Some(Self {
            host: Property::Host.of(metadata).map(str::to_owned),
            pid: Some(Property::ProcessId.of(metadata)?.parse().ok()?),
            start: TimeNs::from_us(start_us)?,
            first_entries: None,
        })
    }

    fn of_entries(metadata: &[Metadata], start: TimeNs, first: Option<FirstEntries>) -> Self {
        Self {
            host: Property::Host.of(metadata).map(str::to_owned),
            pid: None,
            start,
            first_entries: first.map(|first| fnv1a(&first.bytes)),
        }
    }

    pub(crate) fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    pub(crate) fn start(&self) -> TimeNs {
        self.start
    }

    /// Returns whether the process states its pid and start.
    pub(crate) fn is_stated(&self) -> bool {
        self.pid.is_some()
    }

    pub(crate) fn is_from_start(&self) -> bool {
        self.is_stated() || self.first_entries.is_some()
    }

    /// Returns whether both are the same process, or `None` if that is unknown.
    pub(crate) fn is_same(&self, other: &Self) -> Option<bool> {
        let are_alike = self.is_stated() == other.is_stated();
        if !(are_alike && self.is_from_start() && other.is_from_start()) {
            return None;
        }
        let have_one_host = match (&self.host, &other.host) {
            (Some(own), Some(others)) => own == others,
            _ => true,
        };
        let facts = |it: &Self| (it.pid, it.start, it.first_entries);
        Some(have_one_host && facts(self) == facts(other))
    }

    /// Returns whether this says more than another view of the same rank. The order is total, so the result does not
    /// depend on which comes first.
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        let facts = |it: &Self| {
            let entries = it.first_entries;
            (
                it.is_stated(),
                it.is_from_start(),
                it.host.clone(),
                it.pid,
                it.start,
                entries,
            )
        };
        facts(self) > facts(other)
    }
}

/// Writes `process 4900 on vm, started 2026-11-04 10:11:12.034 UTC`.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("a process")?,
        }
        if let Some(host) = &self.host {
            write!(f, " on {host}")?;
        }
        let what = if self.is_stated() {
            "started"
        } else {
            "first seen"
        };
        if !self.start.has_date() {
            let since_start = self.start.since(TimeNs(0));
            return write!(f, " {what} at {since_start} of a clock without a date");
        }
        let millis = self.start.as_us().div_euclid(1_000).rem_euclid(1_000);
        write!(f, " {what} {}.{millis:03} UTC", self.start.utc())
    }
}

/// The first calls of a rank as input of a hash.
#[derive(Default)]
struct FirstEntries {
    bytes: Vec<u8>,
    num_entries: usize,
}

impl FirstEntries {
    fn push(&mut self, name: &str, time: TimeNs) {
        if self.num_entries < NUM_FIRST_ENTRIES {
            self.num_entries += 1;
            self.bytes.extend(time.0.to_le_bytes());
            self.bytes.extend(name.as_bytes());
            self.bytes.push(0);
        }
    }
}
