//! Writes XPlane files, field by field.

use std::path::Path;
use std::sync::Arc;

use callgrove_model::{Progress, Trace};
use callgrove_source::{MemoryFiles, OneByOne, Registry, SourceError};
use callgrove_xplane::XplaneFormat;

/// A message that is being written.
#[derive(Clone, Default)]
pub(crate) struct PlaneMessage {
    pub(crate) bytes: Vec<u8>,
}

/// Time in nanoseconds since the epoch at which the profile of [`small_planes`] begins.
pub(crate) const START_NS: u64 = 1_795_859_486_000_000_000;

impl PlaneMessage {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub(crate) fn data(&mut self, field: u64, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.bytes.extend(bytes.as_ref());
        self
    }

    pub(crate) fn message(&mut self, field: u64, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::default();
        fill(&mut inner);
        self.data(field, inner.bytes)
    }

    /// Adds a plane of a file.
    pub(crate) fn plane(&mut self, name: &str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.message(1, |plane| {
            plane.data(2, name);
            fill(plane);
        })
    }

    /// Adds a line of a plane, which begins at a time in nanoseconds.
    pub(crate) fn line(
        &mut self,
        (number, name): (u64, &str),
        start_ns: u64,
        fill: impl FnOnce(&mut Self),
    ) -> &mut Self {
        self.message(3, |line| {
            line.number(1, number).data(2, name).number(3, start_ns);
            fill(line);
        })
    }

    /// Adds an event of a line: the number of its name, begin and duration in picoseconds, and stats of integers.
    pub(crate) fn event(
        &mut self,
        name: u64,
        (offset_ps, duration_ps): (u64, u64),
        stats: &[(u64, u64)],
    ) -> &mut Self {
        self.message(4, |event| {
            event.number(1, name).number(2, offset_ps);
            event.number(3, duration_ps);
            for &(name, value) in stats {
                event.message(4, |stat| {
                    stat.number(1, name).number(4, value);
                });
            }
        })
    }

    /// Adds a name to a table of a plane: 4 for events, 5 for stats.
    pub(crate) fn entry(&mut self, table: u64, number: u64, name: &str) -> &mut Self {
        self.message(table, |entry| {
            entry.number(1, number).message(2, |it| {
                it.number(1, number).data(2, name);
            });
        })
    }

    /// Adds the plane that states when the profile began.
    pub(crate) fn environment(&mut self, start_ns: u64) -> &mut Self {
        self.plane("Task Environment", |plane| {
            plane.entry(5, 1, "profile_start_time");
            plane.message(6, |stat| {
                stat.number(1, 1).number(3, start_ns);
            });
        })
    }
}

/// Returns a file with two steps on a thread, work on a GPU and on a TPU, and facts.
pub(crate) fn small_planes() -> PlaneMessage {
    let mut file = PlaneMessage::default();
    file.plane("/host:metadata", |plane| {
        plane.entry(4, 1, "jit_step(1)").entry(5, 1, "Hlo Proto");
    });
    file.plane("/host:CPU", |plane| {
        plane.number(1, 2);
        plane.line((77, "tf_pool/77"), 1_000, |line| {
            line.event(3, (0, 9_000_000), &[]);
        });
        plane.line((99, "python"), 1_000, |line| {
            line.event(1, (500, 5_000_999), &[(10, 0)]);
            line.event(2, (1_000_000, 2_000_000), &[(11, 5)]);
            line.event(1, (6_000_000, 4_000_000), &[(10, 1)]);
            line.event(2, (7_000_000, 1_000_000), &[(11, 6), (12, 3)]);
        });
        plane.entry(4, 1, "train").entry(4, 2, "cuLaunchKernel");
        plane.entry(4, 3, "all-reduce.2");
        plane
            .entry(5, 10, "step_num")
            .entry(5, 11, "correlation_id");
        plane.entry(5, 12, "run_id").entry(5, 13, "process_id");
        plane.message(6, |stat| {
            stat.number(1, 13).number(4, 4711);
        });
    });
    file.plane("/device:GPU:1", |plane| {
        plane.line((13, "Stream #13(Compute)"), 1_000, |line| {
            line.event(1, (3_500_000, 500_000), &[(1, 5)]);
            line.event(1, (8_500_000, 1_000_000), &[(1, 6)]);
        });
        plane.message(4, |entry| {
            entry.number(1, 1).message(2, |it| {
                it.number(1, 1).data(2, "%fusion.1 = f32[8] fusion()");
                it.data(4, "fusion.1");
            });
        });
        plane.entry(5, 1, "correlation_id");
    });
    file.plane("/device:TPU:0", |plane| {
        plane.line((1, "Steps"), 1_000, |line| {
            line.event(1, (0, 4_000_000), &[])
                .event(2, (5_000_000, 4_000_000), &[]);
        });
        plane.line((2, "XLA Modules"), 1_000, |line| {
            line.event(3, (8_000_000, 500_000), &[(1, 3)]);
        });
        plane.line((3, "XLA Ops"), 1_000, |line| {
            line.event(4, (8_100_000, 100_000), &[]);
        });
        plane
            .entry(4, 1, "0")
            .entry(4, 2, "1")
            .entry(4, 3, "jit_step(1)");
        plane.entry(4, 4, "fusion.7").entry(5, 1, "run_id");
    });
    file.environment(START_NS);
    file.data(4, "worker-3");
    file
}

/// The calls of [`small_planes`], in nanoseconds after its beginning.
pub(crate) const SMALL_PLANES: [&str; 11] = [
    "0.0 0 train 1000-6001",
    "0.0 1 cuLaunchKernel 2000-4000",
    "0.0 0 train 7000-11000",
    "0.0 1 cuLaunchKernel 8000-9000",
    "0.1 0 all-reduce 1000-10000",
    "0.2 0 fusion 9100-9200",
    "0.3 0 fusion 4500-5000",
    "0.3 0 fusion 9500-10500",
    "0.4 0 Step 1000-5000",
    "0.4 0 Step 6000-10000",
    "0.5 0 jit_step(1) 9000-9500",
];

/// Reads a folder of files.
pub(crate) fn read_planes(files: &[(&str, &[u8])]) -> Result<Trace, SourceError> {
    let mut in_memory = MemoryFiles::default();
    for (name, bytes) in files {
        in_memory.put(&format!("run/{name}"), bytes);
    }
    let registry = Registry::new(Arc::new(in_memory), vec![Box::new(XplaneFormat)]);
    registry.load(Path::new("run"), &OneByOne, Progress::none())
}
