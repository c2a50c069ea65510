//! The kinds of planes and lines, by their names.
//!
//! Names: `xplane_schema.cc` of OpenXLA.

/// The kind of a plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PlaneKind {
    /// Threads of the process.
    Host,
    /// A device, with its number. A device that is part of another, such as a sparse core, states no number of its own.
    Device(Option<u64>),
    /// Facts about the profile: when it began and ended.
    Environment,
    /// Facts about the process, such as programs that it compiled.
    Facts,
    /// Events of another kind, such as threads on the processors of the host.
    Other,
}

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineKind {
    /// A thread.
    Thread,
    /// Work on a device, as it was done.
    Stream,
    /// The steps of a device, which span the work in them.
    Steps,
    /// Ranges that span the work of a device or repeat it under other names.
    Ranges,
    /// Samples of counters, which are no calls.
    Counters,
}

/// Planes of threads. Two lines of the same number in them are of one thread.
const HOST: &[&str] = &[
    "/host:CPU",
    "/host:python-tracer",
    "/host:CUPTI",
    "/host:NVTX-CUPTI",
    "/host:ROCTRACER",
    "/host:TPU-runtime",
];
/// Planes of facts, without events of threads.
const FACTS: &[&str] = &[
    "/host:metadata",
    "/host:tfstreamz",
    "/host:__ScopeRangeCallStack__",
];
/// The plane that states when the profile began.
const ENVIRONMENT: &str = "Task Environment";
/// Beginnings of the names of devices.
const DEVICES: &[&str] = &["/device:", "/virtualdevice:", "#Chip"];
/// Lines of steps of devices.
const STEPS: &[&str] = &["Steps", "Sparse Core Steps"];
/// Lines of ranges of devices.
const RANGES: &[&str] = &[
    "XLA Modules",
    "Sparse Core Modules",
    "XLA TraceMe",
    "Framework Name Scope",
    "Framework Ops",
    "Source code",
    "Launch Stats",
];
/// Lines of counters.
const COUNTERS: &[&str] = &["_counters_", "counters_"];

impl PlaneKind {
    pub(crate) fn of(name: &str) -> Self {
        if HOST.contains(&name) {
            Self::Host
        } else if name == ENVIRONMENT {
            Self::Environment
        } else if FACTS.contains(&name) {
            Self::Facts
        } else if DEVICES.iter().any(|it| name.starts_with(it)) {
            let number = name.rsplit_once(':').map_or("", |(_, number)| number);
            Self::Device(number.parse().ok())
        } else {
            Self::Other
        }
    }

    /// Returns whether its lines are read.
    pub(crate) fn has_calls(self) -> bool {
        matches!(self, Self::Host | Self::Device(_) | Self::Other)
    }
}

impl LineKind {
    pub(crate) fn of(plane: PlaneKind, line: &str) -> Self {
        let is_of_device = matches!(plane, PlaneKind::Device(_));
        if COUNTERS.iter().any(|it| line.starts_with(it)) {
            Self::Counters
        } else if is_of_device && STEPS.contains(&line) {
            Self::Steps
        } else if is_of_device && RANGES.contains(&line) {
            Self::Ranges
        } else if is_of_device {
            Self::Stream
        } else if plane == PlaneKind::Host {
            Self::Thread
        } else {
            Self::Ranges
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_and_lines_have_kinds_by_their_names() {
        for (name, expected) in [
            ("/host:CPU", PlaneKind::Host),
            ("/host:metadata", PlaneKind::Facts),
            ("Task Environment", PlaneKind::Environment),
            ("/device:GPU:3", PlaneKind::Device(Some(3))),
            ("/device:TPU:0 SparseCore 1", PlaneKind::Device(None)),
            ("Host CPUs", PlaneKind::Other),
        ] {
            assert_eq!(PlaneKind::of(name), expected, "{name}");
        }
        let device = PlaneKind::Device(Some(0));
        for (plane, line, expected) in [
            (PlaneKind::Host, "Steps", LineKind::Thread),
            (device, "Steps", LineKind::Steps),
            (device, "XLA Modules", LineKind::Ranges),
            (device, "XLA Ops", LineKind::Stream),
            (device, "Stream #13(Compute)", LineKind::Stream),
            (device, "_counters_", LineKind::Counters),
            (PlaneKind::Other, "CPU 3", LineKind::Ranges),
        ] {
            assert_eq!(LineKind::of(plane, line), expected, "{line}");
        }
    }
}
