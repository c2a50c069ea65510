//! Memory that is given back is kept for the next step, and what ADIOS2 reads beyond its own can be made to show.
//!
//! ADIOS2, and who reads without it, take memory of the size of a step for each and give it back. The C library's allocator
//! hands so much back to the system, and takes it anew, page by page: half of all page faults of a detector, and up to a
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

/// In a process that is there to see whether ADIOS2 survives what it reads: blocks of memory are full of what was not written,
/// and the larger ones lie each for itself, with nothing around, where the system can be told. So what is read beyond
/// one, or before it is written, shows each time, and not by chance in another process.
///
/// The answer is the size of the nothing, which counts as address space.
pub fn expose_stray_reads() -> u64 {
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    {
        const M_MMAP_THRESHOLD: c_int = -3;
        const M_MMAP_MAX: c_int = -4;
        const M_TOP_PAD: c_int = -2;
        const M_PERTURB: c_int = -6;
        const M_ARENA_MAX: c_int = -8;
        set([
            (M_TOP_PAD, 0),
            (M_PERTURB, 85),
            (M_ARENA_MAX, 2),
            // Blocks from this size on are asked of the system.
            (M_MMAP_THRESHOLD, 1 << 10),
            (M_MMAP_MAX, 1 << 14),
        ]);
        rooms::lay()
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
    0
}

/// Rooms in a great stretch of nothing. The system lays memory into the highest room that is large enough.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod rooms {
    use super::{c_int, c_void, mmap, munmap};

    /// How many there are, and how large; the smallest are the highest.
    const ROOMS: [(usize, usize); 7] = [
        (128, 8 << 10),
        (64, 64 << 10),
        (32, 512 << 10),
        (16, 4 << 20),
        (8, 32 << 20),
        (8, 256 << 20),
        (2, 2 << 30),
    ];
    /// Between them,
    const APART_BYTES: usize = 64 << 20;
    /// and above all.
    const ABOVE_BYTES: usize = 1 << 40;
    const PAGE_BYTES: usize = 4 << 10;

    pub(super) fn lay() -> u64 {
        let below = ROOMS
            .iter()
            .map(|(count, size)| count * (size + APART_BYTES));
        let below_bytes: usize = below.sum();
        let mut num_bytes = below_bytes + ABOVE_BYTES;
        let Some(start) = nothing(num_bytes) else {
            return 0;
        };
        // Whatever fits between what lies higher is taken first.
        let mut filling = ABOVE_BYTES;
        while filling >= PAGE_BYTES {
            match nothing(filling) {
                Some(higher) if higher > start => num_bytes += filling,
                lower => {
                    if let Some(lower) = lower {
                        give_back(lower, filling);
                    }
                    filling /= 2;
                }
            }
        }
        let mut end = start.wrapping_byte_add(below_bytes);
        for (count, size) in ROOMS {
            for _ in 0..count {
                let room = end.wrapping_byte_sub(size);
                give_back(room, size);
                end = room.wrapping_byte_sub(APART_BYTES);
            }
        }
        u64::try_from(num_bytes).unwrap_or(u64::MAX)
    }

    /// A stretch that nobody may touch.
    fn nothing(num_bytes: usize) -> Option<*mut c_void> {
        const NO_ACCESS: c_int = 0;
        /// Private and anonymous.
        const FLAGS: c_int = 0x2 | 0x20;
        // SAFETY: a new stretch takes nothing from anybody.
        let start = unsafe { mmap(std::ptr::null_mut(), num_bytes, NO_ACCESS, FLAGS, -1, 0) };
        (start.addr() != usize::MAX).then_some(start)
    }

    /// Makes room in a stretch that [`nothing`] laid.
    fn give_back(start: *mut c_void, num_bytes: usize) {
        // SAFETY: nothing is there.
        let _is_room = unsafe { munmap(start, num_bytes) };
    }
}

#[cfg(target_env = "gnu")]
fn set<const N: usize>(parameters: [(c_int, c_int); N]) {
    for (parameter, value) in parameters {
        // SAFETY: takes two numbers, at any time, from any thread. What is refused stays as it was.
        let _is_taken = unsafe { mallopt(parameter, value) };
    }
}
