//! The parts of a trace without its lanes, and a trace that receives its lanes one by one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::PackedError;
use super::lane::{self, LaneColumns};
use crate::event::CommKind;
use crate::executions::Executions;
use crate::id::{CounterId, ExecRef, FuncId, LaneIdx, ProgramId, RankId, ThreadId};
use crate::lane::Lane;
use crate::lane_events::{CommRef, Comms, Counters};
use crate::message_matching::{Message, in_order_of_sending};
use crate::metadata::Metadata;
use crate::names::{Name, NameTable};
use crate::relation::{CallSize, CollectiveMember, DeviceWait, Launch};
use crate::run::RunIdentity;
use crate::time::{TimeNs, WeightUnit};
use crate::trace::Trace;
use crate::tracer_write::TracerWrite;
use crate::warning::Warnings;

/// A trace without the contents of its lanes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TraceHead {
    names: Vec<String>,
    counter_names: Vec<String>,
    lanes: Vec<(ProgramId, RankId, ThreadId)>,
    writes: Vec<TracerWrite>,
    /// Lane, time, communicator, sequence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    collectives: Vec<(LaneIdx, TimeNs, u64, u64)>,
    /// Lane, time, launching lane, time of the launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    launches: Vec<(LaneIdx, TimeNs, LaneIdx, TimeNs)>,
    /// Lane, time, bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sizes: Vec<(LaneIdx, TimeNs, u64)>,
    /// Lane, time, stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    device_waits: Vec<(LaneIdx, TimeNs, Option<LaneIdx>)>,
    metadata: Vec<Metadata>,
    warnings: Warnings,
    num_steps: u64,
    identity: RunIdentity,
    #[serde(default)]
    is_selection: bool,
    #[serde(default)]
    unsampled: BTreeSet<ExecRef>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_forest: bool,
    #[serde(default)]
    unit: WeightUnit,
}

/// A trace that receives its lanes one by one.
#[derive(Debug)]
pub struct PackedLanes {
    trace: Trace,
    /// The lanes that have not been read yet.
    missing: std::vec::IntoIter<(ProgramId, RankId, ThreadId)>,
}

fn names_of<Id: Name>(names: &NameTable<Id>) -> Vec<String> {
    names.iter().map(|(_, name)| name.to_owned()).collect()
}

fn table_of<Id: Name>(names: &[String]) -> NameTable<Id> {
    let mut table = NameTable::default();
    for name in names {
        table.intern(name);
    }
    table
}

fn collective_columns(it: &CollectiveMember) -> (LaneIdx, TimeNs, u64, u64) {
    (it.lane, it.time, it.communicator, it.sequence)
}

fn collective(
    (lane, time, communicator, sequence): (LaneIdx, TimeNs, u64, u64),
) -> CollectiveMember {
    CollectiveMember {
        lane,
        time,
        communicator,
        sequence,
    }
}

fn launch_columns(it: &Launch) -> (LaneIdx, TimeNs, LaneIdx, TimeNs) {
    (it.lane, it.time, it.by, it.launched)
}

fn launch((lane, time, by, launched): (LaneIdx, TimeNs, LaneIdx, TimeNs)) -> Launch {
    Launch {
        lane,
        time,
        by,
        launched,
    }
}

fn size((lane, time, bytes): (LaneIdx, TimeNs, u64)) -> CallSize {
    CallSize { lane, time, bytes }
}

fn device_wait((lane, time, stream): (LaneIdx, TimeNs, Option<LaneIdx>)) -> DeviceWait {
    DeviceWait { lane, time, stream }
}

impl TraceHead {
    /// Returns the head of a trace.
    pub fn of(trace: &Trace) -> Self {
        Self {
            names: names_of(&trace.names),
            counter_names: names_of(&trace.counter_names),
            lanes: trace
                .lanes
                .iter()
                .map(|lane| (lane.program, lane.rank, lane.thread))
                .collect(),
            writes: trace.writes.clone(),
            collectives: trace.collectives.iter().map(collective_columns).collect(),
            launches: trace.launches.iter().map(launch_columns).collect(),
            sizes: trace
                .sizes
                .iter()
                .map(|it| (it.lane, it.time, it.bytes))
                .collect(),
            device_waits: trace
                .device_waits
                .iter()
                .map(|it| (it.lane, it.time, it.stream))
                .collect(),
            metadata: trace.metadata.clone(),
            warnings: trace.warnings.clone(),
            num_steps: trace.num_steps,
            identity: trace.identity.clone(),
            is_selection: trace.is_selection,
            unsampled: trace.unsampled.clone(),
            is_forest: trace.is_forest,
            unit: trace.unit.clone(),
        }
    }

    /// Returns a trace with this head and empty lanes.
    ///
    /// # Errors
    /// If the head is inconsistent.
    pub fn without_calls(self) -> Result<Trace, PackedError> {
        let PackedLanes { mut trace, missing } = PackedLanes::new(self)?;
        trace
            .lanes
            .extend(missing.map(|(program, rank, thread)| Lane {
                program,
                rank,
                thread,
                executions: Executions::default(),
                comms: Comms::default(),
                counters: Counters::default(),
            }));
        Ok(trace)
    }
}

impl PackedLanes {
    /// Returns a trace without lanes, which [`PackedLanes::push`] adds.
    ///
    /// # Errors
    /// If the head is inconsistent.
    pub fn new(head: TraceHead) -> Result<Self, PackedError> {
        let names = table_of::<FuncId>(&head.names);
        let counter_names = table_of::<CounterId>(&head.counter_names);
        if names.len() != head.names.len() || counter_names.len() != head.counter_names.len() {
            return Err(PackedError::Missing("unique name"));
        }
        let is_known = |lane: LaneIdx| lane.index() < head.lanes.len();
        let collectives: Vec<_> = head.collectives.into_iter().map(collective).collect();
        let launches: Vec<_> = head.launches.into_iter().map(launch).collect();
        let sizes: Vec<_> = head.sizes.into_iter().map(size).collect();
        let device_waits: Vec<_> = head.device_waits.into_iter().map(device_wait).collect();
        let is_valid = head.writes.iter().all(|it| is_known(it.lane))
            && collectives.iter().all(|it| is_known(it.lane))
            && launches
                .iter()
                .all(|it| is_known(it.lane) && is_known(it.by))
            && sizes.iter().all(|it| is_known(it.lane))
            && device_waits
                .iter()
                .all(|it| is_known(it.lane) && it.stream.is_none_or(is_known));
        if !is_valid {
            return Err(PackedError::Missing("lane"));
        }
        Ok(Self {
            trace: Trace {
                names,
                counter_names,
                lanes: Vec::with_capacity(head.lanes.len()),
                messages: Vec::new(),
                writes: head.writes,
                collectives,
                launches,
                sizes,
                device_waits,
                metadata: head.metadata,
                warnings: head.warnings,
                num_steps: head.num_steps,
                identity: head.identity,
                is_selection: head.is_selection,
                unsampled: head.unsampled,
                is_forest: head.is_forest,
                unit: head.unit,
            },
            missing: head.lanes.into_iter(),
        })
    }

    /// Returns the number of lanes that have not been read yet.
    pub fn num_missing(&self) -> usize {
        self.missing.len()
    }

    /// Returns the number of lanes of the complete trace.
    pub fn num_lanes(&self) -> usize {
        self.trace.lanes.len() + self.missing.len()
    }

    /// Reads the next lane, as written by [`Trace::pack_lane`].
    ///
    /// # Errors
    /// If the bytes are not a valid lane, or all lanes have already been read.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), PackedError> {
        let (num_funcs, num_counters) = (self.trace.names.len(), self.trace.counter_names.len());
        let LaneColumns {
            executions,
            comms,
            counters,
        } = lane::unpack(bytes, num_funcs, num_counters)?;
        let (program, rank, thread) = self.missing.next().ok_or(PackedError::Lanes)?;
        self.trace.lanes.push(Lane {
            program,
            rank,
            thread,
            executions,
            comms,
            counters,
        });
        Ok(())
    }

    /// Returns the trace after all its lanes have been read.
    ///
    /// # Errors
    /// If lanes are missing, or a message has no other end.
    pub fn finish(self) -> Result<Trace, PackedError> {
        if self.missing.len() > 0 {
            return Err(PackedError::Lanes);
        }
        let mut trace = self.trace;
        let mut messages = Vec::new();
        for (lane, columns) in trace.lanes() {
            for (row, mate) in columns.comms.mate.iter().enumerate() {
                let Some(mate) = *mate else { continue };
                let own = CommRef {
                    lane,
                    row: u32::try_from(row)?,
                };
                if mate_of(&trace, mate) != Some(own) {
                    return Err(PackedError::Missing("mate of a message"));
                }
                if columns.comms.kind[row] == CommKind::Send {
                    messages.push(Message {
                        send: own,
                        recv: mate,
                    });
                }
            }
        }
        in_order_of_sending(&trace.lanes, &mut messages);
        trace.messages = messages;
        Ok(trace)
    }
}

fn mate_of(trace: &Trace, event: CommRef) -> Option<CommRef> {
    let lane = trace.lanes.get(event.lane.index())?;
    *lane.comms.mate.get(usize::try_from(event.row).ok()?)?
}

impl Trace {
    /// Returns the contents of a lane as bytes.
    pub fn pack_lane(&self, lane: LaneIdx) -> Vec<u8> {
        lane::pack(self.lane(lane))
    }
}
