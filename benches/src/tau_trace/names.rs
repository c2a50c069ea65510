//! The names that a rank announces: timers in the order of first use.

use super::program::Program;
use super::spec::TauTraceSpec;

/// Counters, by index. As with TAU, the first one is announced and never has a value.
pub(super) const COUNTERS: [&str; 5] = [
    "TIME",
    "Message size sent to all nodes",
    "Message size received from all nodes",
    "Heap Memory Used (KB) at Exit",
    "Correlation ID",
];
pub(super) const SENT_BYTES: u64 = 1;
pub(super) const RECEIVED_BYTES: u64 = 2;
pub(super) const HEAP_KB: u64 = 3;
pub(super) const CORRELATION_ID: u64 = 4;

/// Number of streams of the GPU.
pub(super) const NUM_STREAMS: u32 = 2;
/// Metadata that identify a virtual thread, with the value for the first stream.
pub(super) const STREAM_METADATA: [(&str, u32); 3] =
    [("CUDA Context", 1), ("CUDA Device", 0), ("CUDA Stream", 7)];

/// Timer indices of one rank.
pub(super) struct TimerIndices<'a> {
    program: &'a Program,
    timers: Vec<Option<u64>>,
    num_timers: u64,
    new: Vec<(String, String)>,
}

impl<'a> TimerIndices<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        Self {
            program,
            timers: vec![None; program.functions.len()],
            num_timers: 0,
            new: Vec::new(),
        }
    }

    pub(super) fn program(&self) -> &'a Program {
        self.program
    }

    /// Returns the timer index of a function; the first request announces it.
    pub(super) fn timer(&mut self, function: usize) -> u64 {
        *self.timers[function].get_or_insert_with(|| {
            let timer = self.num_timers;
            let name = self.program.functions[function].name.clone();
            self.new.push((format!("timer {timer}"), name));
            self.num_timers += 1;
            timer
        })
    }

    pub(super) fn num_timers(&self) -> u64 {
        self.num_timers
    }

    /// Returns the attributes that were not taken before.
    pub(super) fn take_new(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.new)
    }
}

/// Returns what a rank announces in its first step, except the names of timers.
pub(super) fn first_attributes(spec: TauTraceSpec, rank: u32) -> Vec<(String, String)> {
    let mut attributes = vec![("program_name 0".to_owned(), "/opt/synth".to_owned())];
    for (index, name) in COUNTERS.into_iter().enumerate() {
        attributes.push((format!("counter {index}"), name.to_owned()));
    }
    let mut metadata = |thread: u32, key: &str, value: String| {
        attributes.push((format!("MetaData:{rank}:{thread}:{key}"), value));
    };
    metadata(0, "Hostname", format!("node{:04}", rank / 8));
    metadata(0, "Executable", "/opt/synth".to_owned());
    metadata(0, "pid", (4_000 + rank).to_string());
    for thread in 0..spec.num_threads {
        metadata(thread, "tid", (4_000 + rank * 64 + thread).to_string());
    }
    if spec.has_gpu {
        metadata(0, "GPU[0] Device Name", "Synthetic GPU".to_owned());
        for stream in 0..NUM_STREAMS {
            for (key, first) in STREAM_METADATA {
                let is_stream = u32::from(key == "CUDA Stream");
                metadata(
                    spec.num_threads + stream,
                    key,
                    (first + is_stream * stream).to_string(),
                );
            }
        }
    }
    attributes
}
