//! Passes a run and its findings to a sink: processes, lanes with their items, tracks of findings.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use callgrove_model::{LaneIdx, Progress, Trace, fraction};

use super::error::TraceExportError;
use super::finding::{TraceFinding, TraceFindings};
use super::items::{FlowNumbers, lane_items};
use super::layout::{ProcessLayout, RunLayout};
use super::sink::{FindingFlows, FindingTrack, TraceSink};

/// Number of items after which progress is reported.
const ITEMS_AT_ONCE: usize = 1 << 16;

/// A finding with its flows.
#[derive(Debug)]
struct PlacedFinding<'a> {
    finding: &'a TraceFinding,
    begin: Vec<u64>,
    end: Option<u64>,
}

/// The findings by the process to which they belong; the key of those of the whole run is 0.
type FindingsByPid<'a> = BTreeMap<u64, Vec<PlacedFinding<'a>>>;

/// Passes everything to a sink. Cost: linear in the run, with memory for one lane's launches and for the findings.
///
/// # Errors
/// [`TraceExportError`].
pub(super) fn write_run(
    trace: &Trace,
    layout: &RunLayout,
    findings: Option<&TraceFindings>,
    sink: &mut impl TraceSink,
    progress: Progress<'_>,
) -> Result<(), TraceExportError> {
    let flows = FlowNumbers::of(trace);
    sink.start()?;
    for process in &layout.processes {
        sink.process(process)?;
    }
    let num_calls = trace.num_executions().max(1);
    let mut num_before = 0;
    for lane in &layout.lanes {
        sink.lane(lane)?;
        let mut num_items = 0_usize;
        lane_items(trace, lane.lane, &flows, |time, item| {
            num_items += 1;
            if num_items.is_multiple_of(ITEMS_AT_ONCE) {
                // Most calls have two items.
                progress.at(fraction(num_before + num_items / 2, num_calls))?;
            }
            sink.item(time, item).map_err(TraceExportError::from)
        })?;
        num_before += trace.lane(lane.lane).executions.len();
        progress.at(fraction(num_before, num_calls))?;
    }
    if let Some(findings) = findings {
        write_findings(layout, findings, flows.first_free(), sink)?;
    }
    Ok(sink.finish()?)
}

fn write_findings(
    layout: &RunLayout,
    findings: &TraceFindings,
    first_flow: u64,
    sink: &mut impl TraceSink,
) -> io::Result<()> {
    let (mut incidents, mut delays) = (FindingsByPid::new(), FindingsByPid::new());
    let mut flows = first_flow..;
    let pid = |lane: LaneIdx| layout.process_of(lane).map(|it| it.pid);
    for incident in &findings.incidents {
        let root = incident.root.as_ref();
        let to_root = root.and_then(|_| flows.next());
        let to_victims: Vec<u64> = flows.by_ref().take(incident.victims.len()).collect();
        for ((lane, victim), flow) in incident.victims.iter().zip(&to_victims) {
            push(&mut delays, pid(*lane), victim, (Vec::new(), Some(*flow)));
        }
        let mut of_summary = to_victims;
        if let Some((lane, root)) = root {
            push(&mut delays, pid(*lane), root, (of_summary, to_root));
            of_summary = to_root.into_iter().collect();
        }
        push(
            &mut incidents,
            Some(0),
            &incident.summary,
            (of_summary, None),
        );
    }
    let mut executions = FindingsByPid::new();
    for (lane, execution) in &findings.executions {
        push(&mut executions, pid(*lane), execution, (Vec::new(), None));
    }
    let mut number = 0;
    for (title, by_pid) in [
        ("Incidents", incidents),
        ("Delays of incidents", delays),
        ("Abnormal executions", executions),
    ] {
        for (pid, findings) in by_pid {
            let process = layout.processes.binary_search_by_key(&pid, |it| it.pid);
            let process = process.ok().and_then(|at| layout.processes.get(at));
            write_tracks((title, process), findings, &mut number, sink)?;
        }
    }
    Ok(())
}

fn push<'a>(
    to: &mut FindingsByPid<'a>,
    pid: Option<u64>,
    finding: &'a TraceFinding,
    (begin, end): (Vec<u64>, Option<u64>),
) {
    if let Some(pid) = pid {
        to.entry(pid).or_default().push(PlacedFinding {
            finding,
            begin,
            end,
        });
    }
}

/// Writes findings on as many tracks as they need to not overlap; a viewer shows tracks of one name as one.
fn write_tracks(
    (title, process): (&'static str, Option<&ProcessLayout>),
    mut findings: Vec<PlacedFinding<'_>>,
    number: &mut u64,
    sink: &mut impl TraceSink,
) -> io::Result<()> {
    findings.sort_by_key(|it| (it.finding.start, Reverse(it.finding.end)));
    let mut tracks: Vec<Vec<PlacedFinding<'_>>> = Vec::new();
    for placed in findings {
        let is_free = |track: &Vec<PlacedFinding<'_>>| {
            let last = track.last().map(|it| it.finding.end);
            last.is_none_or(|end| end <= placed.finding.start)
        };
        match tracks.iter().position(is_free) {
            Some(free) => tracks[free].push(placed),
            None => tracks.push(vec![placed]),
        }
    }
    for track in tracks {
        sink.finding_track(FindingTrack {
            number: *number,
            process,
            title,
        })?;
        *number += 1;
        for it in track {
            let flows = FindingFlows {
                begin: &it.begin,
                end: it.end,
            };
            sink.finding(it.finding, flows)?;
        }
    }
    Ok(())
}
