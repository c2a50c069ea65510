//! Chrome's Trace Event JSON: an object with the time of the start, and one event a line.
//!
//! Calls are beginnings and ends (B, E), whose order nests calls of no duration, which complete events (X) do not.
//! Times are microseconds since the start with three decimals, so that readers with floating point keep nanoseconds.
//! Messages are instants with their facts and flows between them. The key `callgrove` marks the file; findings have a
//! category.
//!
//! Source: Trace Event Format (Google, 2016), and Perfetto's importer of JSON.

use std::io::{self, Write};

use callgrove_model::{CommKind, FuncId, FunctionName, Progress, TimeNs, Trace};

use super::error::TraceExportError;
use super::finding::{FindingValue, TraceFinding, TraceFindings};
use super::layout::{LaneLayout, ProcessLayout, RunLayout};
use super::sink::{FindingFlows, FindingTrack, LaneItem, TraceSink};
use super::walk::write_run;

/// Number of bytes after which text is passed on.
const BYTES_AT_ONCE: usize = 256 << 10;
/// Numbers of the threads of findings begin here, far from those of lanes.
const FINDING_THREADS: u64 = 1 << 40;

/// Writes a run and its findings as Chrome JSON.
///
/// # Errors
/// The output failed, or the caller cancelled.
pub fn write_chrome(
    trace: &Trace,
    findings: Option<&TraceFindings>,
    out: &mut impl Write,
    progress: Progress<'_>,
) -> Result<(), TraceExportError> {
    let layout = RunLayout::of(trace);
    let mut sink = ChromeSink {
        trace,
        start: layout.start,
        out,
        text: Vec::new(),
        pid: 0,
        tid: 0,
        has_events: false,
        free_pid: layout.free_pid,
        has_own_process: false,
    };
    write_run(trace, &layout, findings, &mut sink, progress)
}

struct ChromeSink<'a, W> {
    trace: &'a Trace,
    start: TimeNs,
    out: &'a mut W,
    text: Vec<u8>,
    /// Process and thread of the current lane or track.
    pid: u64,
    tid: u64,
    has_events: bool,
    free_pid: u64,
    has_own_process: bool,
}

impl<W: Write> ChromeSink<'_, W> {
    /// Adds an event of the current thread: its phase, its time, and further keys.
    fn event(
        &mut self,
        phase: char,
        time: Option<TimeNs>,
        fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        let since_start = time.map(|it| it.since(self.start).0.max(0));
        let text = &mut self.text;
        let before = if self.has_events { ",\n" } else { "\n" };
        self.has_events = true;
        write!(
            text,
            "{before}{{\"ph\":\"{phase}\",\"pid\":{},\"tid\":{}",
            self.pid, self.tid
        )?;
        if let Some(time_ns) = since_start {
            write!(text, ",\"ts\":{}.{:03}", time_ns / 1000, time_ns % 1000)?;
        }
        fill(text)?;
        text.push(b'}');
        if text.len() > BYTES_AT_ONCE {
            self.pass_on()?;
        }
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Adds a fact about the current process or thread.
    fn fact(&mut self, name: &str, key: &str, value: &serde_json::Value) -> io::Result<()> {
        self.event('M', None, |text| {
            write!(text, ",\"name\":\"{name}\",\"args\":{{\"{key}\":{value}}}")
        })
    }

    /// Adds an instant with arguments that are numbers.
    fn instant(&mut self, time: TimeNs, name: &str, values: &[(&str, u64)]) -> io::Result<()> {
        self.event('i', Some(time), |text| {
            write!(
                text,
                ",\"s\":\"t\",\"cat\":\"callgrove\",\"name\":\"{name}\",\"args\":{{"
            )?;
            for (index, (key, value)) in values.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                write!(text, "{comma}\"{key}\":{value}")?;
            }
            text.push(b'}');
            Ok(())
        })
    }

    /// Adds one end of a flow of a category.
    fn flow(&mut self, time: TimeNs, category: &str, id: u64, ends: bool) -> io::Result<()> {
        let (phase, place) = if ends {
            ('f', ",\"bp\":\"e\"")
        } else {
            ('s', "")
        };
        self.event(phase, Some(time), |text| {
            write!(
                text,
                ",\"id\":{id},\"cat\":\"{category}\",\"name\":\"{category}\"{place}"
            )
        })
    }

    fn begin(&mut self, time: TimeNs, func: FuncId) -> io::Result<()> {
        let name = FunctionName::parse(self.trace.names.name(func));
        let is_shortened = !name.qualified.is_empty() && name.qualified != name.full;
        self.event('B', Some(time), |text| {
            text.extend(b",\"name\":");
            if !is_shortened {
                return put_text(text, name.full);
            }
            put_text(text, name.qualified)?;
            text.extend(b",\"args\":{\"function\":");
            put_text(text, name.full)?;
            if let Some(file) = name.file {
                text.extend(b",\"file\":");
                put_text(text, file)?;
            }
            if let Some(line) = name.line {
                write!(text, ",\"line\":{line}")?;
            }
            text.push(b'}');
            Ok(())
        })
    }
}

fn put_text(text: &mut Vec<u8>, value: &str) -> io::Result<()> {
    Ok(serde_json::to_writer(text, value)?)
}

impl<W: Write> TraceSink for ChromeSink<'_, W> {
    fn start(&mut self) -> io::Result<()> {
        write!(
            self.text,
            "{{\"callgrove\":{{\"version\":1}},\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":{},\"traceEvents\":[",
            self.start.0
        )
    }

    fn process(&mut self, process: &ProcessLayout) -> io::Result<()> {
        (self.pid, self.tid) = (process.pid, process.pid);
        self.fact("process_name", "name", &process.name.as_str().into())?;
        self.fact("process_sort_index", "sort_index", &process.pid.into())
    }

    fn lane(&mut self, lane: &LaneLayout) -> io::Result<()> {
        (self.pid, self.tid) = (lane.pid, lane.tid);
        self.fact("thread_name", "name", &lane.name.as_str().into())?;
        self.fact("thread_sort_index", "sort_index", &lane.thread.0.into())?;
        self.fact("callgrove_thread", "thread", &lane.thread.0.into())?;
        if lane.metadata.is_empty() {
            return Ok(());
        }
        self.event('i', Some(self.start), |text| {
            text.extend(b",\"s\":\"t\",\"cat\":\"callgrove\",\"name\":\"metadata\",\"args\":{");
            for (index, (key, value)) in lane.metadata.iter().enumerate() {
                text.extend(if index > 0 { &b","[..] } else { b"" });
                put_text(text, key)?;
                text.push(b':');
                put_text(text, value)?;
            }
            text.push(b'}');
            Ok(())
        })
    }

    fn item(&mut self, time: TimeNs, item: LaneItem) -> io::Result<()> {
        match item {
            LaneItem::Begin { func, launch } => {
                self.begin(time, func)?;
                match launch {
                    Some(flow) => self.flow(time, "launch", flow, true),
                    None => Ok(()),
                }
            }
            LaneItem::End => self.event('E', Some(time), |_| Ok(())),
            LaneItem::Message {
                kind,
                partner,
                tag,
                num_bytes,
                flow,
            } => {
                let (name, peer) = match kind {
                    CommKind::Send => ("MPI_Send", "dst"),
                    CommKind::Recv => ("MPI_Recv", "src"),
                };
                let partner = u64::from(partner.0);
                let values = [(peer, partner), ("tag", tag), ("bytes", num_bytes)];
                self.instant(time, name, &values)?;
                match flow {
                    Some(flow) => self.flow(time, "message", flow, kind == CommKind::Recv),
                    None => Ok(()),
                }
            }
            LaneItem::Counter { counter, value } => {
                let name = self.trace.counter_names.name(counter);
                let (pid, tid) = (self.pid, self.tid);
                self.event('C', Some(time), |text| {
                    text.extend(b",\"name\":");
                    put_text(text, name)?;
                    // Viewers show counters of a process by name.
                    if tid != pid {
                        write!(text, ",\"id\":{tid}")?;
                    }
                    write!(text, ",\"args\":{{\"value\":{value}}}")
                })
            }
            LaneItem::Collective {
                communicator,
                sequence,
            } => {
                let values = [("communicator", communicator), ("sequence", sequence)];
                self.instant(time, "collective", &values)
            }
            LaneItem::Launch { flow } => {
                self.instant(time, "launch", &[])?;
                self.flow(time, "launch", flow, false)
            }
            LaneItem::Launched { flow } => {
                self.instant(time, "launch", &[])?;
                self.flow(time, "launch", flow, true)
            }
            LaneItem::Size { num_bytes } => self.instant(time, "size", &[("bytes", num_bytes)]),
            LaneItem::DeviceWait { stream } => {
                let value = match stream {
                    Some(stream) => ("thread", u64::from(stream.0)),
                    None => ("all_streams", 1),
                };
                self.instant(time, "device wait", &[value])
            }
            LaneItem::TracerWrite { end } => {
                let duration_ns = u64::try_from(end.since(time).0).unwrap_or_default();
                self.instant(time, "tracer write", &[("duration_ns", duration_ns)])
            }
        }
    }

    fn finding_track(&mut self, track: FindingTrack<'_>) -> io::Result<()> {
        self.tid = FINDING_THREADS + track.number;
        let title = if let Some(process) = track.process {
            self.pid = process.pid;
            format!("Callgrove: {}", track.title)
        } else {
            self.pid = self.free_pid;
            if !std::mem::replace(&mut self.has_own_process, true) {
                self.fact("process_name", "name", &"Callgrove".into())?;
                self.fact("process_sort_index", "sort_index", &(-1).into())?;
            }
            track.title.to_owned()
        };
        self.fact("thread_name", "name", &title.into())
    }

    fn finding(&mut self, finding: &TraceFinding, flows: FindingFlows<'_>) -> io::Result<()> {
        let duration_ns = finding.end.since(finding.start).0.max(0);
        self.event('X', Some(finding.start), |text| {
            write!(
                text,
                ",\"dur\":{}.{:03},\"cat\":\"callgrove_finding\",\"name\":",
                duration_ns / 1000,
                duration_ns % 1000
            )?;
            put_text(text, &finding.title)?;
            text.extend(b",\"args\":{");
            for (index, (name, value)) in finding.values.iter().enumerate() {
                text.extend(if index > 0 { &b","[..] } else { b"" });
                put_text(text, name)?;
                text.push(b':');
                match value {
                    FindingValue::Text(value) => put_text(text, value)?,
                    FindingValue::Integer(value) => write!(text, "{value}")?,
                    FindingValue::Number(value) => serde_json::to_writer(&mut *text, value)?,
                    FindingValue::Flag(value) => write!(text, "{value}")?,
                }
            }
            text.push(b'}');
            Ok(())
        })?;
        if let Some(flow) = flows.end {
            self.flow(finding.start, "callgrove_finding", flow, true)?;
        }
        for &flow in flows.begin {
            self.flow(finding.start, "callgrove_finding", flow, false)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.text.extend(b"\n]}\n");
        self.pass_on()?;
        self.out.flush()
    }
}
