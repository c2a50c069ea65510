//! A trace as one file: it survives unchanged, and damaged files are refused.

use callgrove_model::{Progress, Trace};
use callgrove_packed::{TraceFileError, read_trace_file, write_trace_file};
use proptest::prelude::*;

use callgrove_app_tests::small_session::*;

/// Returns a trace and its file.
fn written() -> &'static (Trace, Vec<u8>) {
    static WRITTEN: std::sync::OnceLock<(Trace, Vec<u8>)> = std::sync::OnceLock::new();
    WRITTEN.get_or_init(|| {
        let session = SmallSession::opened(&Disk::default());
        let trace = Trace::clone(session.seen().trace().unwrap());
        let mut file = Vec::new();
        write_trace_file(&trace, &mut file, Progress::none()).unwrap();
        (trace, file)
    })
}

fn read(file: &[u8]) -> Result<Trace, TraceFileError> {
    read_trace_file(file, file.len() as u64, Progress::none())
}

#[test]
fn a_trace_survives_its_file() {
    let (trace, file) = written();
    let picture = |trace: &Trace| {
        let names: Vec<_> = trace
            .names
            .iter()
            .map(|(_, name)| name.to_owned())
            .collect();
        let run = (&trace.identity, &trace.metadata, trace.num_steps);
        format!("{names:?} {:?} {:?} {run:?}", trace.lanes, trace.messages)
    };
    assert!(picture(&read(file).unwrap()) == picture(trace));
}

#[test]
fn invalid_files_are_refused_with_a_reason() {
    let (_, file) = written();
    let first_line = file.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let newer = [b"callgrove-trace 2\n", &file[first_line..]].concat();
    let longer = [&file[..], b"x"].concat();
    let another_lane = [&file[..], &file[first_line..]].concat();
    for (file, expected) in [
        (&b""[..], "not a file of `callgrove export`"),
        (b"{\"format\":\"callgrove-forest\"}\n", "not a file of"),
        (&vec![b'x'; 1 << 16][..], "not a file of"),
        (&newer[..], "by a newer Callgrove (version 2"),
        (&file[..file.len() / 2], "cut short"),
        (&longer, "extra data"),
        (&another_lane, "extra data"),
    ] {
        let error = read(file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} for {expected}");
    }
}

proptest! {
    #[test]
    fn a_file_that_is_cut_or_damaged_is_refused(at in any::<prop::sample::Index>(), mask in 1..=u8::MAX) {
        let (_, file) = written();
        let at = at.index(file.len());
        prop_assert!(read(&file[..at]).is_err());
        let mut damaged = file.clone();
        damaged[at] ^= mask;
        prop_assert!(read(&damaged).is_err());
    }
}
