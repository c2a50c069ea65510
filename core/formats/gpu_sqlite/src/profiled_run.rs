//! The run that is built from the tables of a file: processes with their lanes, and names.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, HostWait, NameTable, RankId, TimeNs, WarningKind, Warnings};
use callgrove_source::{DecodedRun, LaneIdentity, LaneNumber};

use crate::database::Database;
use crate::func_names::{FuncNames, StringTable};
use crate::process::{CallSpan, ProcessKey, ProfiledProcess};
use crate::rank_choice::{ProcessRanks, RankedProcess};

/// Maximum number of processes. Beyond it, events are counted as invalid.
const MAX_PROCESSES: usize = 1 << 16;

/// A lane of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LanePlace {
    pub(crate) process: usize,
    pub(crate) lane: LaneNumber,
}

/// Work on a GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuWork {
    pub(crate) device: u64,
    pub(crate) func: FuncId,
    pub(crate) span: CallSpan,
    /// Identifies the API call that launched it.
    pub(crate) correlation: Option<u64>,
    /// Number of bytes that it moves, if it is stated.
    pub(crate) num_bytes: Option<u64>,
    /// True for a copy from or to the memory of the host.
    pub(crate) is_host_copy: bool,
}

/// A run under construction.
pub(crate) struct ProfiledRun {
    pub(crate) names: FuncNames,
    pub(crate) warnings: Warnings,
    processes: Vec<ProfiledProcess>,
    by_key: BTreeMap<ProcessKey, usize>,
    /// The lane of the row before, since most rows of a table are of few lanes.
    last_lane: Option<((ProcessKey, LaneIdentity), LanePlace)>,
    /// Time zero of the file, in nanoseconds since the epoch.
    origin_ns: i64,
}

impl ProfiledRun {
    /// Returns the run of a file of this size.
    pub(crate) fn new(strings: StringTable, num_bytes: u64) -> Self {
        Self {
            names: FuncNames::new(strings, num_bytes),
            warnings: Warnings::default(),
            processes: Vec::new(),
            by_key: BTreeMap::new(),
            last_lane: None,
            origin_ns: 0,
        }
    }

    /// States the time since the epoch at which the clock of the file began.
    pub(crate) fn set_origin(&mut self, origin_ns: i64) {
        self.origin_ns = origin_ns;
    }

    /// Returns the index of a process, which is new if it was not asked for before.
    pub(crate) fn process_index(&mut self, key: ProcessKey) -> Option<usize> {
        if let Some(index) = self.by_key.get(&key) {
            return Some(*index);
        }
        let index = self.processes.len();
        if index >= MAX_PROCESSES {
            return None;
        }
        self.processes.push(ProfiledProcess::default());
        self.by_key.insert(key, index);
        Some(index)
    }

    /// Returns a process.
    pub(crate) fn process(&mut self, index: usize) -> Option<&mut ProfiledProcess> {
        self.processes.get_mut(index)
    }

    /// Returns the processes with their keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (ProcessKey, usize)> + '_ {
        self.by_key.iter().map(|(key, index)| (*key, *index))
    }

    /// Returns the lane of a key in a process.
    #[inline]
    pub(crate) fn lane(&mut self, process: ProcessKey, key: LaneIdentity) -> Option<LanePlace> {
        match self.last_lane {
            Some((last, place)) if last == (process, key) => Some(place),
            _ => self.find_lane(process, key),
        }
    }

    fn find_lane(&mut self, process: ProcessKey, key: LaneIdentity) -> Option<LanePlace> {
        let index = self.process_index(process)?;
        let lane = self.process(index)?.events.lane(key);
        let place = LanePlace {
            process: index,
            lane,
        };
        self.last_lane = Some(((process, key), place));
        Some(place)
    }

    /// Returns the process of a row that does not state it: the only one, or the one that launched it.
    pub(crate) fn process_of_launch(&mut self, correlation: Option<u64>) -> Option<ProcessKey> {
        let mut keys = self.by_key.iter();
        if let (Some((key, _)), None) = (keys.next(), keys.next()) {
            return Some(*key);
        }
        let correlation = correlation?;
        let processes = &mut self.processes;
        let has_call = |index: usize| {
            let process = processes.get_mut(index);
            process.is_some_and(|it| it.api_calls.find(correlation).is_some())
        };
        let mut has_call = has_call;
        let mut keys = self.by_key.iter();
        keys.find(|(_, index)| has_call(**index))
            .map(|(key, _)| *key)
    }

    /// Returns the span of a row, if its times are possible. A call without an end has none, or an end of zero.
    #[inline]
    pub(crate) fn span(&self, start: Option<i64>, end: Option<i64>) -> Option<CallSpan> {
        let start_ns = start?;
        let end_ns = end.filter(|it| *it != 0 || start_ns <= 0);
        let on_axis = |time_ns: i64| {
            let time = TimeNs(self.origin_ns.checked_add(time_ns)?);
            time.is_in_bounds().then_some(time)
        };
        let end = match end_ns {
            Some(end_ns) if end_ns < start_ns => return None,
            Some(end_ns) => Some(on_axis(end_ns)?),
            None => None,
        };
        Some(CallSpan {
            start: on_axis(start_ns)?,
            end,
        })
    }

    /// Adds a call to a lane.
    pub(crate) fn call(&mut self, place: LanePlace, func: FuncId, span: CallSpan) {
        if let Some(process) = self.processes.get_mut(place.process) {
            process.call(place.lane, func, span);
        }
    }

    /// Adds an API call that may launch work on a GPU.
    pub(crate) fn api_call(
        &mut self,
        place: LanePlace,
        func: FuncId,
        span: CallSpan,
        correlation: Option<u64>,
    ) {
        let Some(process) = self.processes.get_mut(place.process) else {
            return;
        };
        process.call(place.lane, func, span);
        if let Some(correlation) = correlation {
            process.api_calls.push(correlation, span.start, place.lane);
        }
        match (self.names.host_wait(func), correlation) {
            (Some(HostWait::Device | HostWait::Stream), _) => {
                process.named_wait(place.lane, span.start);
            }
            (Some(HostWait::Copy), Some(correlation)) => process.blocking_copy(correlation),
            (Some(HostWait::Copy), None) | (None, _) => {}
        }
    }

    /// Adds work on a GPU, with the API call that launched it.
    pub(crate) fn gpu_call(&mut self, place: LanePlace, work: GpuWork) {
        let GpuWork {
            device,
            func,
            span,
            correlation,
            ..
        } = work;
        let Some(process) = self.processes.get_mut(place.process) else {
            return;
        };
        process.uses_gpu = true;
        process.call(place.lane, func, span);
        if self.names.is_collective(func) {
            process.collective_kernel(device, span.start, place.lane);
            let warnings = &mut self.warnings;
            warnings.count(WarningKind::CommunicatorAssumed, None, String::new);
        }
        if let Some(num_bytes) = work.num_bytes {
            process.events.size(place.lane, span.start, num_bytes);
        }
        if let Some(correlation) = correlation
            && let Some(launch) = process.api_calls.find(correlation)
        {
            let events = &mut process.events;
            events.launch(place.lane, span.start, launch.lane, launch.start);
            if work.is_host_copy {
                process.host_copy(correlation, launch, place.lane);
            }
        }
    }

    /// Counts a row that is left out.
    pub(crate) fn count_bad_row(&mut self, relation: &str, row: u64, database: &Database) {
        let place = || format!("{relation}, row {row}: {}", database.path().display());
        self.warnings.count(WarningKind::BadRow, None, place);
    }

    /// Returns a name in a row; an invalid one is counted.
    pub(crate) fn intern_text(&mut self, (text, is_valid): &(impl AsRef<str>, bool)) -> FuncId {
        let text = text.as_ref();
        if !is_valid {
            let place = || format!("name {text}");
            self.warnings.count(WarningKind::TextChanged, None, place);
        }
        self.names.intern(text)
    }

    /// Returns whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.processes.iter().all(ProfiledProcess::is_empty)
    }

    /// Returns the ranks.
    pub(crate) fn into_decoded(mut self, assumed: RankId, place: &str) -> DecodedRun {
        let mut processes: Vec<_> = self.processes.into_iter().map(Some).collect();
        let in_order = self.by_key.iter().filter_map(|(key, index)| {
            let process = processes.get_mut(*index)?.take()?;
            Some((*key, process))
        });
        let in_order: Vec<_> = in_order.collect();
        let choice = ProcessRanks::of(in_order, assumed, place, &mut self.warnings);
        let mut run = DecodedRun {
            names: std::mem::take(&mut self.names.table),
            counter_names: NameTable::default(),
            ranks: BTreeMap::new(),
            num_ranks: choice.num_ranks,
            warnings: self.warnings,
        };
        for (index, ranked) in (0..).zip(choice.processes) {
            let RankedProcess { rank, key, process } = ranked;
            let events = process.into_events(key, index);
            run.ranks.entry(rank).or_default().join(events);
        }
        run
    }
}
