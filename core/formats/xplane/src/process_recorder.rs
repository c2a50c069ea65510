//! The lanes, names and warnings that the lines of a file build.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgrove_model::{FuncId, NameTable, Property, RankId, TimeNs, WarningKind, Warnings};
use callgrove_source::{DecodedRun, LaneIdentity, LaneNumber, RankEvents};

use crate::launches::{LineLaunchEnd, LineLaunchEnds};
use crate::line_kind::{LineKind, PlaneKind};
use crate::line_recorder::LineRecorder;
use crate::plane_table::FileTables;

/// Name of the thread that the tracer of Python records.
const PYTHON: &str = "python";

/// Everything that was read.
#[derive(Debug, Default)]
pub(crate) struct ProcessRecorder {
    pub(crate) names: NameTable<FuncId>,
    pub(crate) warnings: Warnings,
    pub(crate) num_events: usize,
    events: RankEvents,
    launches: LineLaunchEnds,
    /// By thread, the reasons for it to be the main one: steps, the name, calls.
    threads: BTreeMap<LaneNumber, (usize, bool, usize)>,
    /// Number of lines that are on tracks of their own.
    num_tracks: u64,
}

impl ProcessRecorder {
    /// Adds a complete line of a plane, which has this index in the file.
    pub(crate) fn add(&mut self, mut line: LineRecorder, plane: usize, tables: &FileTables) {
        let Some(plane_table) = tables.planes.get(plane) else {
            return;
        };
        let kind = LineKind::of(plane_table.kind, &line.name);
        let num_calls = line.calls.len();
        if num_calls == 0 || kind == LineKind::Counters {
            return;
        }
        self.num_events += num_calls;
        let start_ns = started_at(line.start_ns, tables.start_ns);
        let on_axis = |time: TimeNs| TimeNs(time.0.saturating_add(start_ns)).bounded();
        line.calls.map_times(on_axis);
        let key = self.key(kind, plane, plane_table.kind, line.number.cast_unsigned());
        let lane = self.events.lane(key);
        self.events.add_calls(lane, std::mem::take(&mut line.calls));
        let is_work = matches!(plane_table.kind, PlaneKind::Device(_));
        let ends = if is_work {
            &mut self.launches.work
        } else {
            &mut self.launches.calls
        };
        ends.extend(line.launches.iter().map(|&(key, time)| LineLaunchEnd {
            key,
            time: on_axis(time),
            lane,
        }));
        let mut name = line.shown_name().to_owned();
        if matches!(kind, LineKind::Steps | LineKind::Ranges) {
            name = format!("{} {name}", plane_table.name);
        }
        if kind == LineKind::Thread {
            let merit = self.threads.entry(lane).or_default();
            merit.0 += line.num_steps;
            merit.1 |= name == PYTHON;
            merit.2 += num_calls;
        }
        if !name.is_empty() {
            self.events.property(lane, Property::ThreadName, name);
        }
    }

    /// Returns the identity of the lane of a line. Work of devices without a number of their own has streams of numbers
    /// that no other has.
    fn key(
        &mut self,
        kind: LineKind,
        plane: usize,
        of_plane: PlaneKind,
        number: u64,
    ) -> LaneIdentity {
        match (kind, of_plane) {
            (LineKind::Thread, _) => LaneIdentity::Thread(number),
            (LineKind::Stream, PlaneKind::Device(Some(device))) => LaneIdentity::Stream {
                device,
                stream: number,
            },
            (LineKind::Stream, _) => LaneIdentity::Stream {
                device: u64::try_from(plane).unwrap_or(u64::MAX),
                stream: number | (1 << 32),
            },
            _ => {
                self.num_tracks += 1;
                LaneIdentity::Track(self.num_tracks)
            }
        }
    }

    /// Returns the run: one rank.
    pub(crate) fn finish(mut self, tables: &FileTables, rank: RankId, file: &str) -> DecodedRun {
        let launches = std::mem::take(&mut self.launches);
        launches.add_to(&mut self.events);
        let best = self.threads.iter();
        let main = best.max_by_key(|(lane, merit)| (**merit, Reverse(**lane)));
        let main = main.map(|(lane, _)| *lane);
        if let Some(main) = main {
            self.events.set_main(main);
        }
        let first = main.or_else(|| self.events.lanes().next().map(|it| it.0));
        if let Some(lane) = first {
            self.describe(lane, tables, file);
        }
        let assumed = || file.to_owned();
        self.warnings.count(WarningKind::RankAssumed, None, assumed);
        DecodedRun {
            names: self.names,
            ranks: BTreeMap::from([(rank, self.events)]),
            warnings: self.warnings,
            ..DecodedRun::default()
        }
    }

    fn describe(&mut self, lane: LaneNumber, tables: &FileTables, file: &str) {
        let events = &mut self.events;
        if let Some(host) = tables.host.as_deref().or_else(|| host_in_name(file)) {
            events.property(lane, Property::Host, host);
        }
        if let Some(process) = tables.process {
            events.property(lane, Property::ProcessId, process.to_string());
        }
        for report in &tables.reports {
            events.metadata(lane, "Profiler Message", &**report);
        }
    }
}

/// Returns the time from which the events of a line count. Lines count from the start of the profile, unless they begin
/// after it since the epoch.
fn started_at(line_ns: i64, profile_ns: Option<i64>) -> i64 {
    match profile_ns {
        Some(profile_ns) if line_ns < profile_ns => line_ns.saturating_add(profile_ns),
        _ => line_ns,
    }
}

/// Returns the host that the profiler writes in the name of a file: `HOST.xplane.pb`.
fn host_in_name(file: &str) -> Option<&str> {
    let name = file.rsplit(['/', '\\']).next()?;
    let host = name.split(".xplane.").next().filter(|it| *it != name)?;
    Some(host).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_the_profile_or_from_the_epoch() {
        assert_eq!(started_at(4_827, Some(1_000_000)), 1_004_827);
        assert_eq!(started_at(1_000_007, Some(1_000_000)), 1_000_007);
        assert_eq!(started_at(4_827, None), 4_827);
    }

    #[test]
    fn a_file_is_named_after_its_host() {
        let host = host_in_name("run/2026_11_28/node-3.example.xplane.pb");
        assert_eq!(host, Some("node-3.example"));
        assert_eq!(host_in_name("run/trace.pb"), None);
    }
}
