//! The writer of packets.

use std::collections::BTreeMap;
use std::io::{self, Write};

use callgrove_model::{CommKind, CounterId, FuncId, FunctionName, Progress, Real, TimeNs, Trace};

use super::fields::{
    ALL_STREAMS, ARGUMENTS, BEGIN, BOOTTIME, BYTES_AT_ONCE, CATEGORIES, COLLECTIVE, COMMUNICATOR,
    COUNTER, COUNTERS, DESTINATION, DEVICE_WAIT, DURATION_NS, END, FINDING_TRACKS, FINDINGS,
    FINDINGS_ROOT, FLOW, FLOW_END, INSTANT, INSTANTS, LANES, LAUNCH, MESSAGE_CATEGORY, METADATA,
    NEEDS_STATE, NUM_BYTES, OWN_CATEGORY, REALTIME, RECV, RUN, RUN_CLOCK, SEND, SEQUENCE, SIZE,
    SOURCE, STATE_CLEARED, TAG, THREAD, WRITE,
};
use super::wire::ProtoWriter;
use crate::trace::error::TraceExportError;
use crate::trace::finding::{FindingValue, TraceFinding, TraceFindings};
use crate::trace::layout::{LaneLayout, ProcessLayout, RunLayout};
use crate::trace::sink::{FindingFlows, FindingTrack, LaneItem, TraceSink};
use crate::trace::walk::write_run;

/// Writes a run and its findings as a trace of Perfetto. Times before the epoch are moved so that the run
/// begins at it.
///
/// # Errors
/// The output failed, or the caller cancelled.
pub fn write_perfetto(
    trace: &Trace,
    findings: Option<&TraceFindings>,
    out: &mut impl Write,
    progress: Progress<'_>,
) -> Result<(), TraceExportError> {
    let layout = RunLayout::of(trace);
    let mut sink = PerfettoSink {
        trace,
        start: layout.start,
        out,
        packets: ProtoWriter::default(),
        known: vec![false; trace.names.len()],
        lane: 0,
        counters: BTreeMap::new(),
        num_counters: 0,
        has_findings: false,
        finding_track: 0,
    };
    write_run(trace, &layout, findings, &mut sink, progress)
}

struct PerfettoSink<'a, W> {
    trace: &'a Trace,
    start: TimeNs,
    out: &'a mut W,
    packets: ProtoWriter,
    /// For each function, true if its name was stated.
    known: Vec<bool>,
    /// Track of the current lane, and those of its counters.
    lane: u64,
    counters: BTreeMap<CounterId, u64>,
    num_counters: u64,
    has_findings: bool,
    finding_track: u64,
}

impl<W: Write> PerfettoSink<'_, W> {
    fn packet(&mut self, sequence: u64, fill: impl FnOnce(&mut ProtoWriter)) -> io::Result<()> {
        self.packets.message(1, |packet| {
            fill(packet);
            packet.number(10, sequence);
        });
        if self.packets.bytes().len() > BYTES_AT_ONCE {
            self.pass_on()?;
        }
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.out.write_all(self.packets.bytes())?;
        self.packets.clear();
        Ok(())
    }

    /// Adds a packet that needs the state of the sequence.
    fn with_state(&mut self, fill: impl FnOnce(&mut ProtoWriter)) -> io::Result<()> {
        self.packet(RUN, |packet| {
            fill(packet);
            packet.number(13, NEEDS_STATE);
        })
    }

    /// Adds an event on the track of the lane.
    #[inline]
    fn event(
        &mut self,
        time: TimeNs,
        kind: u64,
        fill: impl FnOnce(&mut ProtoWriter),
    ) -> io::Result<()> {
        let since_start = self.since_start(time);
        self.with_state(|packet| {
            packet.number(8, since_start);
            packet.message(11, |event| {
                event.number(9, kind);
                fill(event);
            });
        })
    }

    fn instant(
        &mut self,
        time: TimeNs,
        (category, name): (u64, u64),
        fill: impl FnOnce(&mut ProtoWriter),
    ) -> io::Result<()> {
        let name = number(self.trace.names.len()) + name;
        self.event(time, INSTANT, |event| {
            event.number(3, category);
            event.number(10, name);
            fill(event);
        })
    }

    fn since_start(&self, time: TimeNs) -> u64 {
        u64::try_from(time.since(self.start).0).unwrap_or_default()
    }

    /// Returns the time of the start on the clock that viewers show.
    fn shown_start(&self) -> u64 {
        u64::try_from(self.start.0).unwrap_or_default()
    }

    fn begin(&mut self, time: TimeNs, func: FuncId, launch: Option<u64>) -> io::Result<()> {
        let since_start = self.since_start(time);
        let id = number(func.index()) + 1;
        let trace = self.trace;
        let name = FunctionName::parse(trace.names.name(func));
        let is_shortened = !name.qualified.is_empty() && name.qualified != name.full;
        let is_known = self.known.get_mut(func.index());
        let is_new = is_known.is_some_and(|it| !std::mem::replace(it, true));
        self.with_state(|packet| {
            packet.number(8, since_start);
            if is_new {
                packet.message(12, |interned| {
                    state_name(interned, id, &name, is_shortened);
                });
            }
            packet.message(11, |event| {
                event.number(9, BEGIN);
                event.number(10, id);
                if is_shortened {
                    event.number(34, id);
                }
                if let Some(flow) = launch {
                    event.fixed(FLOW_END, flow);
                }
            });
        })
    }

    fn counter(&mut self, time: TimeNs, counter: CounterId, value: u64) -> io::Result<()> {
        let track = if let Some(known) = self.counters.get(&counter) {
            *known
        } else {
            let track = COUNTERS + self.num_counters;
            self.num_counters += 1;
            self.counters.insert(counter, track);
            let (lane, name) = (self.lane, self.trace.counter_names.name(counter));
            self.packet(RUN, |packet| {
                packet.message(60, |it| {
                    it.number(1, track);
                    it.number(5, lane);
                    it.text(2, name);
                    it.message(8, |_| {});
                });
            })?;
            track
        };
        self.event(time, COUNTER, |event| {
            event.number(11, track);
            match i64::try_from(value) {
                Ok(_) => event.number(30, value),
                Err(_) => event.fixed(44, value.real().to_bits()),
            }
        })
    }
}

/// States the name of a function: the short one for viewers, and as source location the full one with file and line.
fn state_name(interned: &mut ProtoWriter, id: u64, name: &FunctionName<'_>, is_shortened: bool) {
    interned.message(2, |it| {
        it.number(1, id);
        it.text(
            2,
            if is_shortened {
                name.qualified
            } else {
                name.full
            },
        );
    });
    if is_shortened {
        interned.message(4, |it| {
            it.number(1, id);
            if let Some(file) = name.file {
                it.text(2, file);
            }
            it.text(3, name.full);
            if let Some(line) = name.line {
                it.number(4, line.into());
            }
        });
    }
}

fn integer(event: &mut ProtoWriter, name: u64, value: u64) {
    event.message(4, |it| {
        it.number(1, name);
        it.number(3, value);
    });
}

impl<W: Write> TraceSink for PerfettoSink<'_, W> {
    fn start(&mut self) -> io::Result<()> {
        let (start, epoch) = (self.shown_start(), u64::try_from(self.start.0).ok());
        let first_instant = number(self.trace.names.len()) + 1;
        self.packet(RUN, |packet| {
            packet.number(13, STATE_CLEARED);
            packet.number(87, 1);
            packet.message(6, |snapshot| {
                let clocks = [
                    (BOOTTIME, Some(start)),
                    (REALTIME, epoch),
                    (RUN_CLOCK, Some(0)),
                ];
                for (clock, time) in clocks {
                    if let Some(time) = time {
                        snapshot.message(1, |reading| {
                            reading.number(1, clock);
                            reading.number(2, time);
                        });
                    }
                }
                snapshot.number(2, BOOTTIME);
            });
            packet.message(59, |defaults| defaults.number(58, RUN_CLOCK));
            packet.message(12, |interned| {
                let mut table = |field: u64, first: u64, names: &[&str]| {
                    for (id, name) in (first..).zip(names) {
                        interned.message(field, |it| {
                            it.number(1, id);
                            it.text(2, name);
                        });
                    }
                };
                table(1, 1, &CATEGORIES);
                table(2, first_instant, &INSTANTS);
                table(3, 1, &ARGUMENTS);
            });
        })
    }

    fn process(&mut self, process: &ProcessLayout) -> io::Result<()> {
        self.packet(RUN, |packet| {
            packet.message(60, |track| {
                track.number(1, process.pid);
                track.message(3, |it| {
                    it.number(1, process.pid);
                    it.text(6, &process.name);
                    it.number(3, process.pid);
                });
            });
        })
    }

    fn lane(&mut self, lane: &LaneLayout) -> io::Result<()> {
        self.lane = LANES + number(lane.lane.index());
        self.counters.clear();
        let track = self.lane;
        let (program, rank, thread) = (lane.program, lane.rank, lane.thread);
        self.packet(RUN, |packet| {
            packet.message(60, |it| {
                it.number(1, track);
                it.number(5, lane.pid);
                it.text(
                    14,
                    &format!("Callgrove: thread {thread} of rank {rank} of program {program}"),
                );
                it.message(4, |it| {
                    it.number(1, lane.pid);
                    it.number(2, lane.tid);
                    it.text(5, &lane.name);
                    it.number(3, thread.0.into());
                });
            });
        })?;
        self.with_state(|packet| {
            packet.message(59, |defaults| {
                defaults.number(58, RUN_CLOCK);
                defaults.message(11, |it| it.number(11, track));
            });
        })?;
        if lane.metadata.is_empty() {
            return Ok(());
        }
        self.instant(self.start, (OWN_CATEGORY, METADATA), |event| {
            for (key, value) in &lane.metadata {
                event.message(4, |it| {
                    it.text(10, key);
                    it.text(6, value);
                });
            }
        })
    }

    fn item(&mut self, time: TimeNs, item: LaneItem) -> io::Result<()> {
        match item {
            LaneItem::Begin { func, launch } => self.begin(time, func, launch),
            LaneItem::End => self.event(time, END, |_| {}),
            LaneItem::Message {
                kind,
                partner,
                tag,
                num_bytes,
                flow,
            } => {
                let (name, peer, end) = match kind {
                    CommKind::Send => (SEND, DESTINATION, FLOW),
                    CommKind::Recv => (RECV, SOURCE, FLOW_END),
                };
                self.instant(time, (MESSAGE_CATEGORY, name), |event| {
                    integer(event, peer, partner.0.into());
                    integer(event, TAG, tag);
                    integer(event, NUM_BYTES, num_bytes);
                    if let Some(flow) = flow {
                        event.fixed(end, flow);
                    }
                })
            }
            LaneItem::Counter { counter, value } => self.counter(time, counter, value),
            LaneItem::Collective {
                communicator,
                sequence,
            } => self.instant(time, (OWN_CATEGORY, COLLECTIVE), |event| {
                integer(event, COMMUNICATOR, communicator);
                integer(event, SEQUENCE, sequence);
            }),
            LaneItem::Launch { flow } => self.instant(time, (OWN_CATEGORY, LAUNCH), |event| {
                event.fixed(FLOW, flow);
            }),
            LaneItem::Launched { flow } => self.instant(time, (OWN_CATEGORY, LAUNCH), |event| {
                event.fixed(FLOW_END, flow);
            }),
            LaneItem::Size { num_bytes } => self.instant(time, (OWN_CATEGORY, SIZE), |event| {
                integer(event, NUM_BYTES, num_bytes);
            }),
            LaneItem::DeviceWait { stream } => {
                let (argument, value) = match stream {
                    Some(stream) => (THREAD, stream.0.into()),
                    // An instant without arguments is of no interest to readers.
                    None => (ALL_STREAMS, 1),
                };
                self.instant(time, (OWN_CATEGORY, DEVICE_WAIT), |event| {
                    integer(event, argument, value);
                })
            }
            LaneItem::TracerWrite { end } => {
                let duration = u64::try_from(end.since(time).0).unwrap_or_default();
                self.instant(time, (OWN_CATEGORY, WRITE), |event| {
                    integer(event, DURATION_NS, duration);
                })
            }
        }
    }

    fn finding_track(&mut self, track: FindingTrack<'_>) -> io::Result<()> {
        let has_root = self.has_findings;
        let mut describe = |number: u64, parent: Option<u64>, title: &str| {
            self.packet(FINDINGS, |packet| {
                packet.message(60, |it| {
                    it.number(1, number);
                    if let Some(parent) = parent {
                        it.number(5, parent);
                    }
                    it.text(2, title);
                    it.text(14, "Callgrove: findings, not part of the run");
                });
            })
        };
        if !has_root {
            describe(FINDINGS_ROOT, None, "Callgrove")?;
        }
        let number = FINDING_TRACKS + track.number;
        match track.process {
            Some(process) => {
                let title = format!("Callgrove: {}", track.title);
                describe(number, Some(process.pid), &title)?;
            }
            None => describe(number, Some(FINDINGS_ROOT), track.title)?,
        }
        (self.has_findings, self.finding_track) = (true, number);
        Ok(())
    }

    fn finding(&mut self, finding: &TraceFinding, flows: FindingFlows<'_>) -> io::Result<()> {
        let (track, start) = (self.finding_track, self.shown_start());
        let time = |at: TimeNs| start.saturating_add(self.since_start(at));
        let (begin, end) = (time(finding.start), time(finding.end));
        self.packet(FINDINGS, |packet| {
            packet.number(8, begin);
            packet.message(11, |event| {
                event.number(9, BEGIN);
                event.number(11, track);
                event.text(23, &finding.title);
                event.text(22, "callgrove_finding");
                for (name, value) in &finding.values {
                    event.message(4, |it| {
                        it.text(10, name);
                        match value {
                            FindingValue::Text(text) => it.text(6, text),
                            FindingValue::Integer(value) => it.number(4, value.cast_unsigned()),
                            FindingValue::Number(value) => it.fixed(5, value.to_bits()),
                            FindingValue::Flag(value) => it.number(2, u64::from(*value)),
                        }
                    });
                }
                for flow in flows.begin {
                    event.fixed(FLOW, *flow);
                }
                if let Some(flow) = flows.end {
                    event.fixed(FLOW_END, flow);
                }
            });
        })?;
        self.packet(FINDINGS, |packet| {
            packet.number(8, end.max(begin));
            packet.message(11, |event| {
                event.number(9, END);
                event.number(11, track);
            });
        })
    }

    fn finish(&mut self) -> io::Result<()> {
        self.pass_on()?;
        self.out.flush()
    }
}

fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
