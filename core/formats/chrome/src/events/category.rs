//! The kind of a call by its category, with the names that Kineto uses for NVIDIA, AMD, Intel, MTIA and others.

/// The kind of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum ChromeCallKind {
    /// A call on a thread.
    Host,
    /// A call of the GPU's programming interface on a thread, which may launch work.
    Runtime,
    /// Work on a stream of a GPU.
    Device,
    /// A range on a stream, which overlaps the work on it.
    DeviceRange,
    /// A synchronisation, which mirrors a wait of the host for a GPU, or of a stream for another.
    DeviceWait,
    /// A range of the profiler that is on no thread.
    Span,
}

/// Categories that only Kineto has for calls on threads.
const HOST: &[&[u8]] = &[
    b"cpu_op",
    b"user_annotation",
    b"python_function",
    b"Operator",
];
/// Categories of the calls of programming interfaces, in addition to those that end in `_runtime` and `_driver`.
const RUNTIME: &[&[u8]] = &[b"Runtime"];
/// Categories of work on GPUs, in addition to those that end in `_memcpy`, `_memset` and `_kernel`.
const DEVICE: &[&[u8]] = &[
    b"kernel",
    b"Kernel",
    b"Memcpy",
    b"Memset",
    b"cuda_profiler_range",
    b"mtia_ccp_events",
    b"hpu_op",
];
/// Categories of ranges on GPUs.
const DEVICE_RANGE: &[&[u8]] = &[
    b"gpu_user_annotation",
    b"cuda_event",
    b"collective_comm",
    b"mtia_insight",
];
/// Categories of synchronisations.
const DEVICE_WAIT: &[&[u8]] = &[b"cuda_sync"];
/// Categories of ranges of the profiler.
const SPAN: &[&[u8]] = &[b"Trace", b"overhead"];
/// Categories that other programs use, too.
const COMMON: &[&[u8]] = &[b"kernel", b"Trace", b"overhead"];

impl ChromeCallKind {
    /// Returns the kind of calls of a category, and whether only Kineto has this category.
    pub(crate) fn of(category: &[u8]) -> (Self, bool) {
        let is_in = |list: &[&[u8]]| list.contains(&category);
        let ends_in = |ends: &[&str]| ends.iter().any(|it| category.ends_with(it.as_bytes()));
        let kind = if is_in(HOST) {
            Self::Host
        } else if is_in(RUNTIME) || ends_in(&["_runtime", "_driver"]) {
            Self::Runtime
        } else if is_in(DEVICE) || ends_in(&["_memcpy", "_memset", "_kernel"]) {
            Self::Device
        } else if is_in(DEVICE_RANGE) {
            Self::DeviceRange
        } else if is_in(DEVICE_WAIT) {
            Self::DeviceWait
        } else if is_in(SPAN) {
            Self::Span
        } else {
            return (Self::Host, false);
        };
        (kind, !is_in(COMMON))
    }
}

/// Returns whether a category is that of flows from launches to work on GPUs.
pub(crate) fn is_launch_flow(category: &[u8]) -> bool {
    matches!(category, b"ac2g" | b"async_gpu" | b"cpu_to_cuda")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_of_all_vendors_are_known() {
        let check = |category: &str, kind, is_of_kineto| {
            let found = ChromeCallKind::of(category.as_bytes());
            assert_eq!(found, (kind, is_of_kineto), "{category}");
        };
        check("cuda_runtime", ChromeCallKind::Runtime, true);
        check("mtia_runtime", ChromeCallKind::Runtime, true);
        check("privateuse1_driver", ChromeCallKind::Runtime, true);
        check("kernel", ChromeCallKind::Device, false);
        check("gpu_memcpy", ChromeCallKind::Device, true);
        check("gpu_user_annotation", ChromeCallKind::DeviceRange, true);
        check("cuda_sync", ChromeCallKind::DeviceWait, true);
        check("toplevel", ChromeCallKind::Host, false);
    }
}
