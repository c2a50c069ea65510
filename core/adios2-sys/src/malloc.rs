//! Memory that ADIOS2 gives back is kept for its next step.
//!
//! ADIOS2 takes a buffer of the size of a step for each, fills it with zeros and gives it back. The C library's
//! allocator hands so much back to the system, and takes it anew, page by page: half of all page faults of a detector, and a
//! tenth of its time (glibc 2.36). The C library is shared with ADIOS2, so this is the one place that can tell it.

#[cfg(target_env = "gnu")]
use std::ffi::c_int;

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    /// The C library's own: not 0 if it takes the value.
    fn mallopt(parameter: c_int, value: c_int) -> c_int;
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
        for (parameter, value) in [
            (M_TRIM_THRESHOLD, KEPT_BYTES),
            (M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES),
        ] {
            // SAFETY: takes two numbers, at any time, from any thread. What is refused stays as it was.
            let _is_taken = unsafe { mallopt(parameter, value) };
        }
    }
}
