//! Memory that ADIOS2 gives back is kept for its next step, and what it reads beyond its own can be made to show.
//!
//! ADIOS2 takes a buffer of the size of a step for each, fills it with zeros and gives it back. The C library's
//! allocator hands so much back to the system, and takes it anew, page by page: half of all page faults of a detector, and a
//! tenth of its time (glibc 2.36). The C library is shared with ADIOS2, so this is the one place that can tell it.

#[cfg(target_env = "gnu")]
use std::ffi::{c_int, c_long, c_void};

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    /// The C library's own: not 0 if it takes the value.
    fn mallopt(parameter: c_int, value: c_int) -> c_int;

    /// The system's own: where the stretch was laid, or −1.
    fn mmap(
        wish: *mut c_void,
        num_bytes: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;

    /// The system's own: gives back what lies there.
    fn munmap(start: *mut c_void, num_bytes: usize) -> c_int;
}

/// Blocks up to this size come from memory that is kept: the most that glibc takes.
#[cfg(target_env = "gnu")]
const LARGEST_KEPT_BYTES: c_int = 32 << 20;
/// So much free memory at the end of an arena is not given back.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: c_int = 64 << 20;

/// Has freed blocks of the size of a step kept, where the allocator can be told.
pub(crate) fn keep_freed_blocks() {
    #[cfg(target_env = "gnu")]
    {
        const M_TRIM_THRESHOLD: c_int = -1;
        const M_MMAP_THRESHOLD: c_int = -3;
        set([
            (M_TRIM_THRESHOLD, KEPT_BYTES),
            (M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES),
        ]);
    }
}

/// In a process that is there to see whether ADIOS2 survives what it reads: threads that are started from now on share
/// memory that is full of what no block was, ends where its use does, and has nothing above it, where the system can be
/// told. So what is read beyond it, or before it is written, shows each time, and not by chance in another process.
///
/// The answer is the size of the nothing, which counts as address space.
pub fn expose_stray_reads() -> u64 {
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    {
        const M_TOP_PAD: c_int = -2;
        const M_PERTURB: c_int = -6;
        const M_ARENA_MAX: c_int = -8;
        const NOTHING_BYTES: usize = 1 << 40;
        /// Above it, for what is no block: stacks of threads. Too little for memory that is shared out in blocks.
        const STACK_BYTES: usize = 120 << 20;
        const NO_ACCESS: c_int = 0;
        /// Private and anonymous.
        const FLAGS: c_int = 0x2 | 0x20;
        set([(M_TOP_PAD, 0), (M_PERTURB, 85), (M_ARENA_MAX, 2)]);
        let num_bytes = NOTHING_BYTES + STACK_BYTES;
        // SAFETY: a new stretch, which nobody may touch, takes nothing from anybody.
        let start = unsafe { mmap(std::ptr::null_mut(), num_bytes, NO_ACCESS, FLAGS, -1, 0) };
        if start.addr() != usize::MAX {
            // Memory is laid from above: first where there is room again, then below the stretch.
            let room = start.wrapping_byte_add(NOTHING_BYTES);
            // SAFETY: it belongs to the stretch, where nothing is.
            let _is_there = unsafe { munmap(room, STACK_BYTES) };
            return u64::try_from(num_bytes).unwrap_or(u64::MAX);
        }
    }
    0
}

#[cfg(target_env = "gnu")]
fn set<const N: usize>(parameters: [(c_int, c_int); N]) {
    for (parameter, value) in parameters {
        // SAFETY: takes two numbers, at any time, from any thread. What is refused stays as it was.
        let _is_taken = unsafe { mallopt(parameter, value) };
    }
}
