//! The executions of a lane as bytes.

use super::PackedError;
use super::bytes::{Bytes, put, put_len, put_signed};
use crate::executions::Executions;
use crate::id::{ExecIdx, FuncId, NonMaxIdx, StepId};
use crate::time::{DurationNs, TimeNs};

/// The columns that follow from the depths of executions in pre-order.
struct Derived {
    parent: Vec<Option<NonMaxIdx>>,
    subtree_end: Vec<ExecIdx>,
    exclusive: Vec<DurationNs>,
}

impl Derived {
    /// Returns `None` if the depths are not those of executions in pre-order.
    fn of(depth: &[u16], inclusive: &[DurationNs]) -> Option<Self> {
        let mut derived = Self {
            parent: Vec::with_capacity(depth.len()),
            subtree_end: vec![ExecIdx(0); depth.len()],
            exclusive: inclusive.to_vec(),
        };
        let mut stack: Vec<usize> = Vec::new();
        for (row, &depth) in depth.iter().enumerate() {
            let depth = usize::from(depth);
            if depth > stack.len() {
                return None;
            }
            for left in stack.drain(depth..) {
                derived.subtree_end[left] = ExecIdx::from_index(row);
            }
            let parent = stack.last().copied();
            if let Some(parent) = parent {
                let rest = derived.exclusive[parent].0.wrapping_sub(inclusive[row].0);
                derived.exclusive[parent] = DurationNs(rest);
            }
            let parent = parent.map(|parent| ExecIdx::from_index(parent).into());
            derived.parent.push(parent);
            stack.push(row);
        }
        for left in stack {
            derived.subtree_end[left] = ExecIdx::from_index(depth.len());
        }
        Some(derived)
    }

    fn is_of(&self, executions: &Executions) -> bool {
        self.parent == executions.parent
            && self.subtree_end == executions.subtree_end
            && self.exclusive == executions.exclusive
    }
}

/// Appends the executions of a lane whose times are multiples of `unit` nanoseconds.
pub(super) fn pack(executions: &Executions, unit: i64, bytes: &mut Vec<u8>) {
    put_len(bytes, executions.len());
    for &func in &executions.func {
        put(bytes, u64::from(func.0));
    }
    let mut before = 0;
    for &depth in &executions.depth {
        // A call is at most one level deeper than the one before.
        let depth = i64::from(depth);
        put_signed(bytes, before + 1 - depth);
        before = depth;
    }
    let mut before = 0;
    for &entry in &executions.entry {
        put_signed(bytes, entry.0.wrapping_sub(before) / unit);
        before = entry.0;
    }
    for &inclusive in &executions.inclusive {
        put_signed(bytes, inclusive.0 / unit);
    }
    let mut before = (0, 0);
    for (&step, &row) in executions.step.iter().zip(&executions.row) {
        let (step, row) = (i64::from(step.0), i64::from(row));
        // A single number while the step stays the same.
        let is_next = step != before.0;
        put_signed(bytes, (row - before.1) << 1 | i64::from(is_next));
        if is_next {
            put_signed(bytes, step - before.0);
        }
        before = (step, row);
    }
    let open: Vec<usize> = (0..executions.len())
        .filter(|&row| !executions.closed[row])
        .collect();
    put_len(bytes, open.len());
    for row in open {
        put_len(bytes, row);
    }
    let derived = Derived::of(&executions.depth, &executions.inclusive);
    let is_derived = derived.is_some_and(|derived| derived.is_of(executions));
    put(bytes, u64::from(is_derived));
    if !is_derived {
        for row in 0..executions.len() {
            put(
                bytes,
                executions.parent[row].map_or(0, |parent| u64::from(ExecIdx::from(parent).0) + 1),
            );
            put(bytes, u64::from(executions.subtree_end[row].0));
            put_signed(bytes, executions.exclusive[row].0);
        }
    }
}

/// Reads the executions that [`pack`] wrote; there are `num_funcs` functions.
pub(super) fn unpack(
    bytes: &mut Bytes<'_>,
    unit: i64,
    num_funcs: usize,
) -> Result<Executions, PackedError> {
    let len = bytes.take_len()?;
    let func = bytes.take_column(len, |bytes| {
        let func = FuncId(bytes.take_u32()?);
        let is_known = func.index() < num_funcs;
        is_known
            .then_some(func)
            .ok_or(PackedError::Missing("function"))
    })?;
    let mut before = 0_i64;
    let depth = bytes.take_column(len, |bytes| {
        let depth = before.wrapping_add(1).wrapping_sub(bytes.take_signed()?);
        before = depth;
        Ok(u16::try_from(depth)?)
    })?;
    let mut before = 0_i64;
    let entry = bytes.take_column(len, |bytes| {
        before = bytes.take_ns(before, unit)?;
        Ok(TimeNs(before))
    })?;
    let inclusive = bytes.take_column(len, |bytes| Ok(DurationNs(bytes.take_ns(0, unit)?)))?;
    let mut before = (0_i64, 0_i64);
    let positions = bytes.take_column(len, |bytes| {
        let next = bytes.take_signed()?;
        before.1 = before.1.wrapping_add(next >> 1);
        if next & 1 == 1 {
            before.0 = before.0.wrapping_add(bytes.take_signed()?);
        }
        Ok((StepId(u32::try_from(before.0)?), u32::try_from(before.1)?))
    })?;
    let (step, row) = positions.into_iter().unzip();
    let mut closed = vec![true; len];
    for _ in 0..bytes.take_len()? {
        let row = ExecIdx(bytes.take_u32()?);
        *closed
            .get_mut(row.index())
            .ok_or(PackedError::Missing("call"))? = false;
    }
    let is_derived = bytes.take()? == 1;
    let derived = if is_derived {
        Derived::of(&depth, &inclusive).ok_or(PackedError::Missing("caller"))?
    } else {
        unpack_derived(bytes, len)?
    };
    Ok(Executions {
        func,
        entry,
        inclusive,
        exclusive: derived.exclusive,
        parent: derived.parent,
        subtree_end: derived.subtree_end,
        depth,
        step,
        row,
        closed,
    })
}

fn unpack_derived(bytes: &mut Bytes<'_>, len: usize) -> Result<Derived, PackedError> {
    let mut derived = Derived {
        parent: Vec::with_capacity(len),
        subtree_end: Vec::with_capacity(len),
        exclusive: Vec::with_capacity(len),
    };
    for row in 0..len {
        let parent = bytes.take_u32()?.checked_sub(1).map(ExecIdx);
        if parent.is_some_and(|parent| parent.index() >= row) {
            return Err(PackedError::Missing("caller"));
        }
        derived.parent.push(parent.map(NonMaxIdx::from));
        let end = ExecIdx(bytes.take_u32()?);
        // An open execution ends where it begins.
        if !(row..=len).contains(&end.index()) {
            return Err(PackedError::Missing("end of a call"));
        }
        derived.subtree_end.push(end);
        derived.exclusive.push(DurationNs(bytes.take_signed()?));
    }
    Ok(derived)
}
