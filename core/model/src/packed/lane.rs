//! A lane as bytes.

use super::bytes::{Bytes, put};
use super::{PackedError, comms, executions};
use crate::executions::Executions;
use crate::lane::Lane;
use crate::lane_events::{Comms, Counters};
use crate::time::{DurationNs, TimeNs};

/// Nanoseconds per microsecond, the unit of most tracers.
const US: i64 = 1_000;

/// The contents of a lane.
pub(super) struct LaneColumns {
    pub(super) executions: Executions,
    pub(super) comms: Comms,
    pub(super) counters: Counters,
}

/// Returns the largest unit in nanoseconds of which all times of the lane are multiples.
fn unit_of(lane: &Lane) -> i64 {
    let times = [
        &lane.executions.entry,
        &lane.comms.time,
        &lane.counters.time,
    ];
    let mut times = times.into_iter().flatten();
    let in_us = times.all(|TimeNs(ns)| ns % US == 0);
    let mut durations = lane.executions.inclusive.iter();
    if in_us && durations.all(|DurationNs(ns)| ns % US == 0) {
        US
    } else {
        1
    }
}

pub(super) fn pack(lane: &Lane) -> Vec<u8> {
    let unit = unit_of(lane);
    let mut bytes = Vec::new();
    put(&mut bytes, unit.unsigned_abs());
    executions::pack(&lane.executions, unit, &mut bytes);
    comms::pack(&lane.comms, unit, &mut bytes);
    comms::pack_counters(&lane.counters, unit, &mut bytes);
    bytes
}

pub(super) fn unpack(
    bytes: &[u8],
    num_funcs: usize,
    num_counters: usize,
) -> Result<LaneColumns, PackedError> {
    let mut bytes = Bytes::new(bytes);
    let unit = i64::from(bytes.take_u32()?);
    let executions = executions::unpack(&mut bytes, unit, num_funcs)?;
    let num_executions = executions.len();
    let comms = comms::unpack(&mut bytes, unit, num_executions)?;
    let counters = comms::unpack_counters(&mut bytes, unit, num_executions, num_counters)?;
    bytes.end()?;
    Ok(LaneColumns {
        executions,
        comms,
        counters,
    })
}
