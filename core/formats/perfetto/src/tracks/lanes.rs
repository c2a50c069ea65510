//! The lane of a track, by its descriptor or by the names that writers give to tracks of GPUs.
//!
//! Source of the names: `TracerPerfetto.cpp` of TAU (`CUDA [0:1:7]`, `GPU0 Queue1`, `GPU dev0:que1`),
//! `generatePerfetto.cpp` of rocprofiler-sdk (`COMPUTE … [0] QUEUE [1] GPU`, `STREAM [" 3 "]`, `COPY to AGENT [1]
//! THREAD [0] (GPU)`, `THREAD 1 (4711)`), `perfetto_processor.cpp` of rocprofiler-systems (`GPU Kernel Dispatch [0]
//! Queue 1`, `HIP Activity Stream 3`).

use callgrove_source::LaneIdentity;

use super::track::Track;

/// Prefixes of the names of tracks with the work of a GPU.
const GPU_NAMES: [&str; 8] = [
    "CUDA [",
    "CUDA[",
    "COMPUTE ",
    "STREAM [",
    "HIP ACTIVITY ",
    "GPU KERNEL DISPATCH",
    "GPU THREAD ",
    "GPU DEV",
];
/// Prefixes of the names of tracks whose numbers are not those of a stream: copies have the thread that began them.
const COPY_NAMES: [&str; 2] = ["COPY TO AGENT", "GPU MEMORY COPY"];

/// The lane of a track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TrackLane {
    pub(crate) key: LaneIdentity,
    /// True if its slices run on a GPU.
    pub(crate) is_gpu: bool,
}

impl TrackLane {
    /// Returns the lane of the track with this index.
    pub(crate) fn of(track: &Track, index: usize) -> Self {
        if let Some(thread) = track.own_thread() {
            return Self {
                key: LaneIdentity::Thread(thread.0.into()),
                is_gpu: false,
            };
        }
        let index = u64::try_from(index).unwrap_or(u64::MAX);
        let name = track.label().unwrap_or_default().to_ascii_uppercase();
        let is_any = |names: &[&str]| names.iter().any(|it| name.starts_with(it));
        if is_any(&COPY_NAMES) {
            return Self {
                key: LaneIdentity::Track(index),
                is_gpu: true,
            };
        }
        // TAU numbers a device without a space.
        let is_numbered = name
            .strip_prefix("GPU")
            .is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()));
        if (is_numbered || is_any(&GPU_NAMES))
            && let Some((device, stream)) = device_and_stream(&name)
        {
            return Self {
                key: LaneIdentity::Stream { device, stream },
                is_gpu: true,
            };
        }
        let thread = track.thread.as_ref().map(|it| it.tid.cast_unsigned());
        let key = thread
            .or_else(|| stated_thread(&name))
            .map(LaneIdentity::Thread);
        Self {
            key: key.unwrap_or(LaneIdentity::Track(index)),
            is_gpu: false,
        }
    }
}

/// Returns the numbers of device and stream in a name. A single number is that of a stream or thread where the name
/// says so, else that of the device.
fn device_and_stream(name: &str) -> Option<(u64, u64)> {
    let numbers: Vec<u64> = name
        .split(|it: char| !it.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    match *numbers.as_slice() {
        [] => None,
        [one] if name.contains("STREAM") || name.contains("THREAD") => Some((0, one)),
        [device] => Some((device, 0)),
        [device, .., stream] => Some((device, stream)),
    }
}

/// Returns the thread in a name such as `THREAD 1 (4711)`.
fn stated_thread(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("THREAD ")?;
    let (_, rest) = rest.split_once('(')?;
    rest.strip_suffix(')')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_threads_are_recognized_by_their_names() {
        let stream = |device, stream| LaneIdentity::Stream { device, stream };
        for (name, expected) in [
            ("CUDA [0:1:7]", stream(0, 7)),
            ("GPU1 Queue3", stream(1, 3)),
            ("GPU dev1:que3", stream(1, 3)),
            ("GPU thread 5", stream(0, 5)),
            ("COMPUTE Agent [2] QUEUE [1] GPU", stream(2, 1)),
            ("STREAM [\" 3 \"] ", stream(0, 3)),
            ("GPU Kernel Dispatch [1] Queue 4", stream(1, 4)),
            ("HIP Activity Stream 3", stream(0, 3)),
            ("HIP Activity Device 2, Queue 1", stream(2, 1)),
            ("HIP Activity Device 2", stream(2, 0)),
            ("COPY to AGENT [1] THREAD [0] (GPU)", LaneIdentity::Track(9)),
            (
                "GPU Memory Allocation to Agent [1] Thread 0",
                LaneIdentity::Track(9),
            ),
            ("THREAD 1 (4711)", LaneIdentity::Thread(4711)),
            ("GPU worker 3", LaneIdentity::Track(9)),
            ("CUDA worker 3", LaneIdentity::Track(9)),
            ("load", LaneIdentity::Track(9)),
        ] {
            let track = Track {
                name: Some(name.to_owned()),
                ..Track::default()
            };
            assert_eq!(TrackLane::of(&track, 9).key, expected, "{name}");
        }
    }
}
