//! Serialized ids of processes and threads: the machine in the upper 16 bits, then 24 bits each for process and thread.

use crate::process::ProcessKey;

/// Width of the number of a thread, and of that of a process, in bits.
const NUMBER_BITS: u32 = 24;
/// The bits of such a number.
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;

/// Returns the process of a serialized id.
pub(super) fn process_of(global: u64) -> ProcessKey {
    ProcessKey {
        node: global >> (2 * NUMBER_BITS),
        pid: (global >> NUMBER_BITS) & NUMBER,
    }
}

/// Returns the thread of a serialized id.
pub(super) fn thread_of(global: u64) -> u64 {
    global & NUMBER
}
