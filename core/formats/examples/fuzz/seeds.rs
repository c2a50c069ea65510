//! Valid inputs of each format, from which mutants are made.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use callgrove_formats::page_registry;
use callgrove_model::Progress;
use callgrove_packed::frame;
use callgrove_source::{FileSystem as _, MemoryFiles, OneByOne};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::mutation::InputFiles;
use crate::writers::{
    ArchiveWriter, KinetoText, Message, NSIGHT, NSIGHT_MPI, ROCPD_3, ROCPD_3_ROWS, RPD, small,
    small_planes,
};

/// Any error of this program.
pub(crate) type AnyError = Box<dyn std::error::Error>;

/// A valid input.
#[derive(Clone)]
pub(crate) struct Specimen {
    /// The files to mutate.
    pub(crate) files: InputFiles,
    /// The treatment of mutants that lets them pass a checksum.
    pub(crate) wrapping: Wrapping,
}

/// The treatment of mutated content.
#[derive(Clone, Copy)]
pub(crate) enum Wrapping {
    /// Nothing.
    Plain,
    /// It is compressed.
    Gzip,
    /// The files are the frames of one file, which get their lengths and checksums.
    Frames,
}

impl Specimen {
    /// Returns the files as they are read.
    pub(crate) fn input(&self) -> Result<InputFiles, AnyError> {
        self.wrapping.around(self.files.clone())
    }

    fn plain(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            files: vec![(name.to_owned(), bytes.into())],
            wrapping: Wrapping::Plain,
        }
    }

    fn zipped(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            wrapping: Wrapping::Gzip,
            ..Self::plain(name, bytes)
        }
    }
}

impl Wrapping {
    /// Returns the files to read.
    fn around(self, files: InputFiles) -> Result<InputFiles, AnyError> {
        match self {
            Self::Plain => Ok(files),
            Self::Gzip => files
                .into_iter()
                .map(|(name, bytes)| Ok((name, gzip(&bytes)?)))
                .collect(),
            Self::Frames => {
                let mut all = b"callgrove-trace 1\n".to_vec();
                for (kind, content) in files {
                    let frame = frame::of(kind.parse().unwrap_or(3), &content);
                    all.extend(u64::try_from(frame.len())?.to_le_bytes());
                    all.extend(frame);
                }
                Ok(vec![("run.callgrove".to_owned(), all)])
            }
        }
    }
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>, AnyError> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(bytes)?;
    Ok(writer.finish()?)
}

/// Returns the valid inputs of a format.
pub(crate) fn specimens(format: &str) -> Result<Vec<Specimen>, AnyError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Ok(match format {
        "bp" => ["assets/lammps-4r-small", "tests/data/lammps-4r-small-bp4"]
            .iter()
            .map(|run| {
                folder(
                    &root.join(run).join("bp/tau-metrics-lmp_tau-1.bp"),
                    "tau-1.bp",
                )
            })
            .collect::<Result<_, _>>()?,
        "otf2" => {
            let eztrace = root.join("tests/data/lammps-4r-eztrace-otf2");
            vec![archive(false)?, archive(true)?, folder(&eztrace, "")?]
        }
        "chrome" => chrome(),
        "perfetto" => perfetto()?,
        "xplane" => {
            let file = small_planes().bytes;
            vec![
                Specimen::plain("host.xplane.pb", file.clone()),
                Specimen::zipped("host.xplane.pb.gz", file),
            ]
        }
        "csv" => vec![Specimen::plain("run.csv", CSV)],
        "forest" => {
            let text = fs::read(root.join("assets/lammps-4r-small/pair-eam-compute.jsonl"))?;
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let first = lines.take(3).collect::<Vec<_>>().concat();
            vec![
                Specimen::plain("a.jsonl", FOREST),
                Specimen::plain("a.jsonl", first),
            ]
        }
        "packed" => packed()?,
        "sqlite" => sqlite()?,
        _ => return Err(format!("there is no format `{format}`").into()),
    })
}

/// Returns the files of a folder, with this path before their names.
fn folder(path: &Path, prefix: &str) -> Result<Specimen, AnyError> {
    let mut specimen = Specimen::plain("", "");
    specimen.files.clear();
    let mut entries: Vec<_> = fs::read_dir(path)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}/{name}")
        };
        if entry.file_type()?.is_dir() {
            specimen.files.extend(folder(&entry.path(), &name)?.files);
        } else if !name.ends_with("README.md") {
            specimen.files.push((name, fs::read(entry.path())?));
        }
    }
    Ok(specimen)
}

/// Returns an archive with messages, collectives, metrics and groups.
fn archive(is_big: bool) -> Result<Specimen, AnyError> {
    let mut archive = ArchiveWriter::new(is_big);
    for (group, location, other) in [(7, 700_000, 1), (8, 3, 0)] {
        let events = archive.process(group, location);
        events.at(100).enter(0).at(110).enter(2);
        for kind in [14, 15, 18, 19] {
            events.values(kind, &[other, 5, 33, 4096, 9]);
        }
        for kind in [16, 17, 20, 22] {
            events.values(kind, &[9]);
        }
        events.record(23, |record| {
            record.byte(11).value(5).value(u64::MAX).value(8).value(8);
        });
        for kind in 24..60 {
            events.values(kind, &[1, 2, 3, 4]);
        }
        events.at(150).leave(2).at(200).leave(0);
    }
    archive.group(1, 4, &[700_000, 3]);
    archive.group(1, 5, &[1, 0]);
    archive.group(2, 4, &[700_000, 3]);
    archive.definitions.values(22, &[4, u64::MAX, 2, u64::MAX]);
    archive.definitions.values(22, &[5, u64::MAX, 1, u64::MAX]);
    let files = archive.files();
    let locations = archive.locations.iter();
    let events = locations.map(|location| format!("traces/{}.evt", location.0));
    let names = ["traces.otf2".to_owned(), "traces.def".to_owned()];
    let mut specimen = Specimen::plain("", "");
    specimen.files.clear();
    for name in names.into_iter().chain(events) {
        let mut bytes = Vec::new();
        let mut file = files.open(&Path::new("run").join(&name))?;
        file.read_to_end(&mut bytes)?;
        specimen.files.push((name, bytes));
    }
    Ok(specimen)
}

/// Returns a file of PyTorch, and one with each kind of event.
fn chrome() -> Vec<Specimen> {
    let mut file = KinetoText::of_rank(1);
    file.head
        .push(r#""deviceProperties": [{"id": 0, "name": "GPU \"0\""}]"#.to_owned());
    for at in ["100", "200.25"] {
        let args = format!(
            r#""External id": {at}, "correlation": {at}, "device": 0, "stream": 7, "Input Dims": [[2], []],
            "Collective name": "allreduce", "Process Group Name": "0", "Seq": 1"#
        );
        let (thread, stream) = (("41", "41"), ("0", "7"));
        file.call("cpu_op", "aten::add", thread, (at, "90"), &args);
        file.call("cuda_runtime", "cudaLaunchKernel", thread, (at, "4"), &args);
        file.call(
            "kernel",
            "ncclDevKernel_AllReduce",
            stream,
            (at, "20"),
            &args,
        );
        file.call("user_annotation", "ProfilerStep#5", thread, (at, "95"), "");
    }
    file.tail.push(r#""baseTimeNanoseconds": 1000"#.to_owned());
    let kineto = file.text();
    vec![
        Specimen::plain("rank0.json", kineto.clone()),
        Specimen::plain("rank0.json", CHROME),
        Specimen::zipped("rank0.json.gz", kineto),
        Specimen::zipped("rank0.json.gz", CHROME),
    ]
}

/// Returns a trace with clocks, names, defaults, flows, counters, annotations, older events and compressed packets.
fn perfetto() -> Result<Vec<Specimen>, AnyError> {
    let mut trace = small();
    trace.track((4, 1), "lane").packet(2, |packet| {
        packet
            .number(13, 1)
            .interned(2, 1, "named")
            .interned(1, 1, "tau_mpi")
            .interned(3, 1, "dst");
        packet.message(6, |clocks| {
            clocks
                .reading((6, 1_000), (1, false))
                .reading((1, 50_000), (1, false));
            clocks.reading((64, 1_000), (1, true));
        });
        packet.message(59, |defaults| {
            defaults.number(58, 64).message(11, |it| {
                it.number(11, 2);
            });
        });
    });
    for kind in [1, 2, 3, 4] {
        trace.packet(2, |packet| {
            packet.number(8, 7).number(13, 2).message(11, |event| {
                event
                    .number(9, kind)
                    .number(10, 1)
                    .number(3, 1)
                    .fixed(47, 3)
                    .fixed(48, 3);
                event
                    .data(23, "MPI_Send")
                    .number(12, 4)
                    .number(31, 30)
                    .number(30, 9);
                event.message(4, |it| {
                    it.data(10, "dst").number(4, 1).number(1, 1).data(6, "text");
                });
            });
        });
    }
    for phase in [
        b'X', b'b', b'e', b's', b't', b'f', b'n', b'B', b'E', b'C', b'i',
    ] {
        trace.packet(3, |packet| {
            packet.number(8, 4_000).message(11, |event| {
                event.data(23, "older").message(6, |legacy| {
                    legacy
                        .number(2, phase.into())
                        .number(3, 2)
                        .number(6, 1)
                        .number(18, 3)
                        .number(19, 4);
                });
            });
        });
    }
    // Its time has as many bytes as the largest.
    trace.begin(3, i64::MAX.cast_unsigned() / 4, "late");
    let plain = trace.bytes.clone();
    let mut writer = ZlibEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(&plain)?;
    let deflated = writer.finish()?;
    let mut compressed = Message::default();
    compressed.packet(0, |packet| {
        packet.data(50, deflated);
    });
    Ok(vec![
        Specimen::plain("a.pftrace", plain.clone()),
        Specimen::plain("a.pftrace", compressed.bytes),
        Specimen::zipped("a.pftrace.gz", plain),
    ])
}

/// Returns the files of small runs in other formats, as `callgrove export` writes them, by frames and as they are.
fn packed() -> Result<Vec<Specimen>, AnyError> {
    let mut specimens = Vec::new();
    for format in ["csv", "chrome", "forest", "otf2"] {
        let Some(first) = specimens_of_memory(format)? else {
            continue;
        };
        let file = first.input()?;
        let mut files = MemoryFiles::default();
        for (name, bytes) in &file {
            files.put(&format!("run/{name}"), bytes);
        }
        let registry = page_registry(Arc::new(files));
        let trace = registry.load(Path::new("run"), &OneByOne, Progress::none())?;
        let mut bytes = Vec::new();
        callgrove_packed::write_trace_file(&trace, &mut bytes, Progress::none())?;
        let mut frames = Vec::new();
        let mut rest = bytes.get("callgrove-trace 1\n".len()..).unwrap_or_default();
        while let Some((length, after)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u64::from_le_bytes(*length))?;
            let (frame, others) = after.split_at_checked(length).unwrap_or((after, &[]));
            let (kind, content) = frame::open(frame)?;
            frames.push((kind.to_string(), content.to_vec()));
            rest = others;
        }
        let wrapping = Wrapping::Frames;
        specimens.push(Specimen {
            files: frames,
            wrapping,
        });
        specimens.push(Specimen::plain("run.callgrove", bytes));
    }
    Ok(specimens)
}

fn specimens_of_memory(format: &str) -> Result<Option<Specimen>, AnyError> {
    Ok(specimens(format)?.into_iter().next())
}

/// Returns a file of each profiler.
fn sqlite() -> Result<Vec<Specimen>, AnyError> {
    let folder = tempfile::tempdir()?;
    let mut specimens = Vec::new();
    let nsight = [NSIGHT, NSIGHT_MPI, NSIGHT_ROWS];
    for texts in [&nsight[..], &[ROCPD_3, ROCPD_3_ROWS], &[RPD, RPD_ROWS]] {
        let path = folder.path().join(format!("{}.db", specimens.len()));
        let connection = rusqlite::Connection::open(&path)?;
        connection.execute_batch("pragma page_size = 512; begin")?;
        for text in texts {
            connection.execute_batch(text)?;
        }
        connection.execute_batch("commit")?;
        drop(connection);
        specimens.push(Specimen::plain("report.sqlite", fs::read(path)?));
    }
    Ok(specimens)
}

const CSV: &str = "Timestamp (ns),Event Type,Name,Thread,Process,Attributes
0,Enter,main,0,0,
1500,Enter,\"MPI_Send, \"\"x\"\"\",0,0,
1600,Instant,MpiSend,0,0,\"{'receiver': 1, 'msg_tag': 7, 'msg_length': 4096}\"
1700,Leave,\"MPI_Send, \"\"x\"\"\",0,0,
100.5,Enter,main,0,1,
2000,Instant,MpiRecv,0,1,\"{'sender': 0, 'msg_tag': 7, 'msg_length': 4096}\"
3000,Leave,main,0,1,
9000,Leave,main,0,0,
";

const FOREST: &str = r#"{"format":"callgrove-forest","version":1,"unit":"ns","functions":["compute","send"],"weights":"own"}
{"id":0,"rank":0,"entry":10,"parent":[-1,0,0],"fn":[0,1,1],"w":[90,20,30],"label":"normal"}
{"id":1,"parent":[-1,0],"names":["compute","send"],"w":[70,25],"label":-1}
"#;

const CHROME: &str = r#"[{"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"rank 1"}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"a\u00e9\ud83d\ude00"}},
{"ph":"B","name":"f","cat":"c","pid":1,"tid":1,"ts":1.5,"args":{"x":[1,{"y":null}]}},
{"ph":"B","name":"g","pid":1,"tid":1,"ts":2},{"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":"4"},
{"ph":"X","name":"h","pid":"p","tid":"t","ts":1e1,"dur":5,"tts":1,"id":"0x10"},
{"ph":"b","cat":"c","name":"a","id":1,"pid":1,"tid":1,"ts":5},{"ph":"n","cat":"c","name":"a","id":1,"pid":1,"tid":1,"ts":6},
{"ph":"e","cat":"c","name":"a","id2":{"local":"1"},"pid":1,"tid":1,"ts":7},{"ph":"e","cat":"c","name":"a","id":1,"pid":1,"tid":1,"ts":8},
{"ph":"S","cat":"c","name":"o","id":2,"pid":1,"tid":1,"ts":5},{"ph":"F","cat":"c","name":"o","id":2,"pid":1,"tid":1,"ts":6},
{"ph":"s","cat":"c","name":"w","id":3,"pid":1,"tid":1,"ts":2},{"ph":"t","cat":"c","name":"w","id":3,"pid":1,"tid":1,"ts":3},
{"ph":"f","cat":"c","name":"w","id":3,"pid":"p","tid":"t","ts":11,"bp":"e"},
{"ph":"C","name":"mem","pid":1,"tid":1,"ts":3,"args":{"a":1,"b":2.5}},{"ph":"i","s":"g","name":"mark","pid":1,"tid":1,"ts":9}
"#;

const NSIGHT_ROWS: &str = "
insert into CUPTI_ACTIVITY_KIND_RUNTIME values (10, 20, 0, 671088680, 1, 1, 0, null),
    (40, 50, 0, 671088680, 3, 4, 0, null);
insert into CUPTI_ACTIVITY_KIND_KERNEL values (22, 30, 0, 1, 7, 1, 671088640, 2, 3, 1, null),
    (60, 70, 0, 1, 8, 3, 671088640, 6, 6, 1, null);
insert into NVTX_EVENTS (start, end, eventType, text, globalTid, textId) values (5, 90, 59, null, 671088680, 9),
    (10, 50, 60, 'async', 671088680, null), (95, null, 59, 'last', 671088680, null);
insert into MPI_RANKS values (671088680, 0), (687865907, 1);
insert into MPI_P2P_EVENTS values (10, 20, 671088680, 20, 1, 5, 1, 100, null), (12, 30, 687865907, 21, 1, 5, 0, 100, null),
    (40, 41, 687865907, 22, 1, 6, 0, 200, 900), (44, 45, 671088680, 30, 1, 6, 1, 200, 800);
insert into MPI_START_WAIT_EVENTS values (50, 70, 687865907, 23, 900), (51, 60, 671088680, 23, 800);
insert into MPI_OTHER_EVENTS values (1, 3, 671088680, 29);
insert into MPI_COMMUNICATORS (rank, timestamp, commHandle, groupRoot, groupRootUid) values (0, 0, 111, 0, 1), (1, 0, 222, 0, 1);
insert into MPI_COLLECTIVES_EVENTS (start, end, globalTid, textId, commHandle) values (80, 85, 671088680, 28, 111),
    (82, 85, 687865907, 28, 222);
";

const RPD_ROWS: &str = "
insert into rocpd_api values (1, 30, 31, 100, 110, 2, 1), (2, 30, 30, 120, 150, 3, 1), (4, 30, 30, 90, 200, 7, 8);
insert into rocpd_op values (1, 2, 0, 0, '', 112, 118, 6, 4), (2, 2, 1, 0, '', 125, 145, 1, 5);
insert into rocpd_api_ops values (1, 1, 1), (2, 2, 2);
";
