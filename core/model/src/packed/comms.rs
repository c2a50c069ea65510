//! The messages and counter samples of a lane as bytes.

use super::PackedError;
use super::bytes::{Bytes, put, put_len, put_signed};
use crate::event::CommKind;
use crate::id::{CounterId, ExecIdx, LaneIdx, NonMaxIdx, RankId};
use crate::lane_events::{CommRef, Comms, Counters};
use crate::time::TimeNs;

/// Appends the times and executions of events, each as the difference to the one before.
fn pack_positions(time: &[TimeNs], exec: &[Option<NonMaxIdx>], unit: i64, bytes: &mut Vec<u8>) {
    put_len(bytes, time.len());
    let mut before = (0, 0);
    for (&time, exec) in time.iter().zip(exec) {
        let exec = exec.map_or(0, |exec| i64::from(ExecIdx::from(exec).0) + 1);
        put_signed(bytes, time.0.wrapping_sub(before.0) / unit);
        put_signed(bytes, exec - before.1);
        before = (time.0, exec);
    }
}

type EventPositions = (Vec<TimeNs>, Vec<Option<NonMaxIdx>>);

fn unpack_positions(
    bytes: &mut Bytes<'_>,
    unit: i64,
    num_executions: usize,
) -> Result<EventPositions, PackedError> {
    let len = bytes.take_len()?;
    let mut before = (0_i64, 0_i64);
    let positions = bytes.take_column(len, |bytes| {
        before.0 = bytes.take_ns(before.0, unit)?;
        before.1 = before.1.wrapping_add(bytes.take_signed()?);
        let exec = usize::try_from(before.1)?;
        if exec > num_executions {
            return Err(PackedError::Missing("call"));
        }
        let exec = exec
            .checked_sub(1)
            .map(|exec| ExecIdx::from_index(exec).into());
        Ok((TimeNs(before.0), exec))
    })?;
    Ok(positions.into_iter().unzip())
}

pub(super) fn pack(comms: &Comms, unit: i64, bytes: &mut Vec<u8>) {
    pack_positions(&comms.time, &comms.exec, unit, bytes);
    for row in 0..comms.len() {
        let is_send = comms.kind[row] == CommKind::Send;
        put(
            bytes,
            u64::from(comms.partner[row].0) << 1 | u64::from(is_send),
        );
        put(bytes, comms.tag[row]);
        put(bytes, comms.size_bytes[row]);
        match comms.mate[row] {
            None => put(bytes, 0),
            Some(mate) => {
                put(bytes, u64::from(mate.lane.0) + 1);
                put(bytes, u64::from(mate.row));
            }
        }
    }
}

pub(super) fn unpack(
    bytes: &mut Bytes<'_>,
    unit: i64,
    num_executions: usize,
) -> Result<Comms, PackedError> {
    let (time, exec) = unpack_positions(bytes, unit, num_executions)?;
    let mut comms = Comms {
        time,
        exec,
        ..Comms::default()
    };
    for _ in 0..comms.time.len() {
        let partner = bytes.take()?;
        let is_send = partner & 1 == 1;
        comms.kind.push(if is_send {
            CommKind::Send
        } else {
            CommKind::Recv
        });
        let partner = u32::try_from(partner >> 1)?;
        comms.partner.push(RankId(partner));
        comms.tag.push(bytes.take()?);
        comms.size_bytes.push(bytes.take()?);
        let mate = match bytes.take()?.checked_sub(1) {
            None => None,
            Some(lane) => Some(CommRef {
                lane: LaneIdx(u32::try_from(lane)?),
                row: bytes.take_u32()?,
            }),
        };
        comms.mate.push(mate);
    }
    Ok(comms)
}

pub(super) fn pack_counters(counters: &Counters, unit: i64, bytes: &mut Vec<u8>) {
    pack_positions(&counters.time, &counters.exec, unit, bytes);
    for (&counter, &value) in counters.counter.iter().zip(&counters.value) {
        put(bytes, u64::from(counter.0));
        put(bytes, value);
    }
}

pub(super) fn unpack_counters(
    bytes: &mut Bytes<'_>,
    unit: i64,
    num_executions: usize,
    num_counters: usize,
) -> Result<Counters, PackedError> {
    let (time, exec) = unpack_positions(bytes, unit, num_executions)?;
    let mut counters = Counters {
        time,
        exec,
        ..Counters::default()
    };
    for _ in 0..counters.time.len() {
        let counter = CounterId(bytes.take_u32()?);
        if counter.index() >= num_counters {
            return Err(PackedError::Missing("counter"));
        }
        counters.counter.push(counter);
        counters.value.push(bytes.take()?);
    }
    Ok(counters)
}
