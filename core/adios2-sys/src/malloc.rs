//! Settings of the allocator: freed memory is kept for the next step, and out-of-bounds reads of ADIOS2 can be made
//! visible.
//!
//! ADIOS2, like readers that work without it, allocates memory of the size of a step for each step and frees it. The
//! C library's allocator returns that memory to the system and requests it again, page by page: half of all page
//! faults of a detector, and up to a tenth of its time (glibc 2.36). The C library is shared with ADIOS2, so its
//! settings cover both.

#[cfg(target_env = "gnu")]
use std::ffi::{c_int, c_long, c_void};

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    /// Sets a parameter of the allocator (glibc); returns 0 if the value is refused.
    fn mallopt(parameter: c_int, value: c_int) -> c_int;

    /// Maps memory (POSIX); returns the start of the mapping, or −1.
    fn mmap(
        hint: *mut c_void,
        num_bytes: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;

    /// Unmaps a range of memory (POSIX).
    fn munmap(start: *mut c_void, num_bytes: usize) -> c_int;
}

/// Size in bytes up to which blocks come from kept memory: the maximum of glibc.
#[cfg(target_env = "gnu")]
const LARGEST_KEPT_BYTES: c_int = 32 << 20;
/// Free memory in bytes at the end of an arena that is not returned to the system.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: c_int = 64 << 20;

/// Makes the allocator keep freed blocks of the size of a step, where it supports that.
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

/// Makes out-of-bounds and uninitialised reads of ADIOS2 visible, in a process that tests whether ADIOS2 survives its
/// input. Unwritten memory is filled with a pattern, and larger blocks are surrounded by inaccessible memory, where
/// the system supports that. So a read beyond a block, or before it is written, shows every time, and not by chance
/// in another process.
///
/// Returns the size in bytes of the inaccessible memory, which counts as address space.
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
            // Blocks from this size on are allocated by `mmap`.
            (M_MMAP_THRESHOLD, 1 << 10),
            (M_MMAP_MAX, 1 << 14),
        ]);
        gaps::map()
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
    0
}

/// Gaps in a large inaccessible mapping. The system maps memory into the highest gap that is large enough.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod gaps {
    use super::{c_int, c_void, mmap, munmap};

    /// Number and size in bytes of the gaps; the smallest are the highest.
    const GAPS: [(usize, usize); 7] = [
        (128, 8 << 10),
        (64, 64 << 10),
        (32, 512 << 10),
        (16, 4 << 20),
        (8, 32 << 20),
        (8, 256 << 20),
        (2, 2 << 30),
    ];
    /// Inaccessible memory in bytes between two gaps.
    const APART_BYTES: usize = 64 << 20;
    /// Inaccessible memory in bytes above all gaps.
    const ABOVE_BYTES: usize = 1 << 40;
    /// Size in bytes of a page.
    const PAGE_BYTES: usize = 4 << 10;

    /// Maps inaccessible memory with gaps in it; returns its size in bytes, or 0 if that failed.
    pub(super) fn map() -> u64 {
        let below = GAPS
            .iter()
            .map(|(count, size)| count * (size + APART_BYTES));
        let below_bytes: usize = below.sum();
        let mut num_bytes = below_bytes + ABOVE_BYTES;
        let Some(start) = map_inaccessible(num_bytes) else {
            return 0;
        };
        // Free ranges between higher mappings would be used first, so fill them.
        let mut filling = ABOVE_BYTES;
        while filling >= PAGE_BYTES {
            match map_inaccessible(filling) {
                Some(higher) if higher > start => num_bytes += filling,
                lower => {
                    if let Some(lower) = lower {
                        unmap(lower, filling);
                    }
                    filling /= 2;
                }
            }
        }
        let mut end = start.wrapping_byte_add(below_bytes);
        for (count, size) in GAPS {
            for _ in 0..count {
                let gap = end.wrapping_byte_sub(size);
                unmap(gap, size);
                end = gap.wrapping_byte_sub(APART_BYTES);
            }
        }
        u64::try_from(num_bytes).unwrap_or(u64::MAX)
    }

    /// Maps inaccessible memory.
    fn map_inaccessible(num_bytes: usize) -> Option<*mut c_void> {
        const NO_ACCESS: c_int = 0;
        /// Private and anonymous.
        const FLAGS: c_int = 0x2 | 0x20;
        // SAFETY: a new mapping does not affect existing memory.
        let start = unsafe { mmap(std::ptr::null_mut(), num_bytes, NO_ACCESS, FLAGS, -1, 0) };
        (start.addr() != usize::MAX).then_some(start)
    }

    /// Unmaps a part of memory that [`map_inaccessible`] mapped.
    fn unmap(start: *mut c_void, num_bytes: usize) {
        // SAFETY: the range is inaccessible, so nothing uses it.
        let _is_unmapped = unsafe { munmap(start, num_bytes) };
    }
}

#[cfg(target_env = "gnu")]
fn set<const N: usize>(parameters: [(c_int, c_int); N]) {
    for (parameter, value) in parameters {
        // SAFETY: takes two numbers, at any time, from any thread. A refused value changes nothing.
        let _is_taken = unsafe { mallopt(parameter, value) };
    }
}
