//! Damaged files yield the best result with a warning, or an error that names the file, and never a crash or a hang.
//! The files here would end this process if ADIOS2 read them.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::fs;
use std::path::Path;

use callgrove_adios2_sys::{Adios, DataType, Library, OpenMode, default_candidates};
use callgrove_model::{RankId, WarningKind};
use callgrove_source::SourceError;
use callgrove_tau::TauError;
use support::{
    bp4_run, bp5_run, copy, cut, first_place, read, read_without_adios2, stream, warnings,
};

/// Returns the lengths to which a file of `num_bytes` bytes is cut: near its start and end each byte, between them in
/// strides.
fn lengths(num_bytes: usize) -> Vec<usize> {
    let stride = (num_bytes / 24).max(1);
    let mut lengths: Vec<_> = (0..num_bytes)
        .filter(|&n| n < 10 || n + 10 >= num_bytes || n % stride == 0)
        .collect();
    lengths.extend([63, 64, 65].into_iter().filter(|&n| n < num_bytes));
    lengths
}

fn check_every_cut(run: &Path, files: &[&str], num_steps: u64) {
    let folder = copy(run, [0]);
    let whole = read(folder.path()).unwrap();
    for name in files {
        let file = stream(folder.path(), 0).join(name);
        let bytes = fs::read(&file).unwrap();
        let mut steps_before = 0;
        for length in lengths(bytes.len()) {
            fs::write(&file, &bytes[..length]).unwrap();
            let at = format!("{name} cut at {length} of {}", bytes.len());
            match read(folder.path()) {
                Err(error) => {
                    let text = error.with_causes();
                    assert!(
                        text.contains(stream(folder.path(), 0).to_str().unwrap()),
                        "{at}: {text}"
                    );
                }
                Ok(trace) if trace.num_steps == num_steps => {
                    // BP4 ends data.0 with bytes that are not needed.
                    assert_eq!(trace.num_executions(), whole.num_executions(), "{at}");
                    assert!(*name == "data.0", "{at}");
                }
                Ok(trace) => {
                    assert_eq!(
                        trace.warnings.total(WarningKind::StreamTruncated),
                        1,
                        "{at}"
                    );
                    assert!(
                        trace.num_steps >= steps_before && trace.num_steps > 0,
                        "{at}"
                    );
                    steps_before = trace.num_steps;
                }
            }
        }
        fs::write(&file, &bytes).unwrap();
        // The case of a missing file.
        fs::remove_file(&file).unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(file.to_str().unwrap()), "{error}");
        fs::write(&file, &bytes).unwrap();
    }
}

#[test]
fn a_bp5_file_cut_anywhere_gives_the_steps_before_or_an_error_with_its_name() {
    check_every_cut(&bp5_run(), &["data.0", "md.0", "md.idx", "mmd.0"], 4);
}

#[test]
fn a_bp4_file_cut_anywhere_gives_the_steps_before_or_an_error_with_its_name() {
    check_every_cut(&bp4_run(), &["data.0", "md.0", "md.idx"], 5);
}

#[test]
fn metadata_cut_within_a_step_gives_the_steps_before() {
    for (run, num_steps) in [(bp4_run(), 5), (bp5_run(), 4)] {
        let folder = copy(&run, [0]);
        let file = stream(folder.path(), 0).join("md.0");
        cut(&file, fs::metadata(&file).unwrap().len() as usize - 1);
        let trace = read_without_adios2(folder.path()).unwrap();
        assert_eq!(trace.num_steps, num_steps - 1);
        assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 1);
        let place = first_place(&trace, WarningKind::StreamTruncated);
        assert!(
            place.contains("md.0 of") && place.contains("tau-metrics-lmp_tau-0.bp"),
            "{place}"
        );
    }
}

#[test]
fn a_flipped_bit_anywhere_in_an_index_is_harmless() {
    for run in [bp4_run(), bp5_run()] {
        let folder = copy(&run, [0]);
        let file = stream(folder.path(), 0).join("md.idx");
        let bytes = fs::read(&file).unwrap();
        let whole = read(folder.path()).unwrap();
        let mut refused = 0;
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << (place % 8);
            fs::write(&file, &damaged).unwrap();
            match read(folder.path()) {
                Ok(trace) => assert!(
                    trace.num_executions() <= whole.num_executions(),
                    "byte {place}"
                ),
                Err(_) => refused += 1,
            }
        }
        assert!(
            refused > bytes.len() / 3,
            "{refused} of {} refused",
            bytes.len()
        );
    }
}

#[test]
fn a_flipped_bit_anywhere_in_a_description_is_reported() {
    let folder = copy(&bp5_run(), [0]);
    let file = stream(folder.path(), 0).join("mmd.0");
    let bytes = fs::read(&file).unwrap();
    // After the two lengths and the version of the first id. Its description is 1,120 bytes long, the next one 564 of
    // 568.
    let (first, second) = (18..16 + 12 + 1120, 1148 + 18..1148 + 16 + 12 + 564);
    for at in first.chain(second).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&file, damaged).unwrap();
        let error = read(folder.path()).unwrap_err().with_causes();
        assert!(
            error.contains("mmd.0") && error.contains("checksum"),
            "{at}: {error}"
        );
    }
}

#[test]
fn a_flipped_bit_in_metadata_is_harmless_without_adios2() {
    for run in [bp4_run(), bp5_run()] {
        let folder = copy(&run, [0]);
        let whole = read_without_adios2(folder.path()).unwrap();
        let file = stream(folder.path(), 0).join("md.0");
        let bytes = fs::read(&file).unwrap();
        let (mut num_read, mut num_left) = (0, 0);
        for place in (0..bytes.len()).step_by(41) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << (place % 8);
            fs::write(&file, damaged).unwrap();
            match read_without_adios2(folder.path()) {
                Ok(trace) => {
                    let num_rows = 2 * whole.num_executions();
                    assert!(trace.num_executions() <= num_rows, "byte {place}");
                    num_read += 1;
                }
                Err(error) if matches!(error.of_format(), Some(TauError::Adios2(_))) => {
                    num_left += 1;
                }
                Err(error) => {
                    let path = stream(folder.path(), 0);
                    let text = error.with_causes();
                    assert!(text.contains(path.to_str().unwrap()), "{place}: {text}");
                }
            }
        }
        assert!(num_read > 100 && num_left > 20, "{num_read} {num_left}");
    }
}

#[test]
fn one_damaged_rank_leaves_the_others_complete() {
    let folder = copy(&bp5_run(), 0..4);
    cut(&stream(folder.path(), 2).join("md.0"), 1000);
    let data = stream(folder.path(), 1).join("data.0");
    cut(&data, fs::metadata(&data).unwrap().len() as usize / 2);
    let trace = read(folder.path()).unwrap();

    let ranks: Vec<_> = trace.lanes.iter().map(|lane| lane.rank.0).collect();
    assert_eq!(ranks, [0, 1, 3]);
    assert_eq!(trace.num_steps, 4 + 2 + 4);
    let warnings = warnings(&trace);
    assert!(
        warnings.contains(&"RankUnreadable 2 x1".to_owned()),
        "{warnings:?}"
    );
    assert!(
        warnings.contains(&"StreamTruncated 1 x1".to_owned()),
        "{warnings:?}"
    );
    assert_eq!(
        trace.warnings.total(WarningKind::MissingRank),
        0,
        "an unreadable rank is not missing as well"
    );
    assert!(
        trace.warnings.total(WarningKind::PartnerMissing) > 0,
        "rank 2 was a partner"
    );
    assert!(
        first_place(&trace, WarningKind::RankUnreadable).contains("tau-metrics-lmp_tau-2.bp/md.0")
    );
    assert!(
        first_place(&trace, WarningKind::StreamTruncated)
            .contains("tau-metrics-lmp_tau-1.bp/data.0")
    );
    assert_eq!(trace.lanes[0].rank, RankId(0));
}

#[test]
fn a_missing_rank_is_counted() {
    let folder = copy(&bp5_run(), [0, 3]);
    let trace = read(folder.path()).unwrap();
    assert_eq!(trace.lanes.len(), 2);
    assert_eq!(warnings(&trace)[0], "MissingRank - x2");
    assert_eq!(first_place(&trace, WarningKind::MissingRank), "rank 1 of 4");
}

#[test]
fn streams_of_two_runs_are_refused() {
    let folder = copy(&bp5_run(), [0, 1]);
    let other = copy(&bp4_run(), [1]);
    fs::rename(stream(other.path(), 1), folder.path().join("bp/other-1.bp")).unwrap();
    let error = read(folder.path()).unwrap_err();
    assert!(
        matches!(
            error,
            SourceError::DuplicateRank {
                rank: RankId(1),
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("one run only"), "{error}");
}

#[test]
fn an_invalid_bp_folder_is_an_error() {
    let folder = copy(&bp5_run(), [0]);
    fs::write(stream(folder.path(), 0).join("md.idx"), "text ".repeat(100)).unwrap();
    let error = read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("md.idx is not an index of ADIOS2"),
        "{error}"
    );

    let file = folder.path().join("x.bp");
    fs::write(&file, "text").unwrap();
    let error = read(&file).unwrap_err().to_string();
    assert!(
        error.contains("a file, not a folder") && error.contains("x.bp"),
        "{error}"
    );
}

#[test]
fn a_file_of_adios_1_is_named_with_how_to_convert_it() {
    let folder = tempfile::tempdir().unwrap();
    let places = [100_u64, 200, 300].map(u64::to_le_bytes);
    let bytes = [
        vec![7; 400],
        places.as_flattened().to_vec(),
        vec![0, 0, 0, 3],
    ]
    .concat();
    for name in ["tau-metrics-0.bp", "trace"] {
        let file = folder.path().join(name);
        fs::write(&file, &bytes).unwrap();
        let error = read_without_adios2(&file).unwrap_err().to_string();
        assert!(
            error.contains("BP3") && error.contains("adios2_reorganize"),
            "{error}"
        );
    }
}

#[test]
fn a_bp_folder_of_another_program_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.bp");
    let library = Library::load(&default_candidates()).unwrap();
    let io = Adios::new(&library).unwrap().declare_io("other").unwrap();
    io.define_variable("temperature", DataType::F64, &[], &[], &[])
        .unwrap();
    let mut writer = io.open(&path, OpenMode::Write).unwrap();
    writer.begin_step_to_write().unwrap();
    let temperature = writer.io().variable("temperature").unwrap().unwrap();
    writer.put(&temperature, &[300.0]).unwrap();
    writer.end_step().unwrap();
    writer.close().unwrap();

    let error = read(&path).unwrap_err();
    assert!(
        matches!(
            error.of_format(),
            Some(TauError::NotTau {
                variable: "timer_event_count",
                ..
            })
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains("TAU's ADIOS2 trace plugin"),
        "{error}"
    );
}

#[test]
fn a_stream_without_a_step_is_an_error() {
    let folder = copy(&bp5_run(), [0]);
    cut(&stream(folder.path(), 0).join("md.idx"), 64);
    assert!(matches!(
        read(folder.path()),
        Err(SourceError::NoSteps { .. })
    ));
}

#[test]
fn a_text_of_bp4_that_states_a_wrong_length_is_refused() {
    let folder = copy(&bp4_run(), [0]);
    let file = stream(folder.path(), 0).join("md.0");
    let bytes = fs::read(&file).unwrap();
    let name = b"MetaData:0:0:Hostname";
    let place = bytes.windows(name.len()).position(|it| it == name).unwrap();
    // The length of the name, and that of the empty path after it.
    for length in [place - 2, place + name.len()] {
        let mut damaged = bytes.clone();
        damaged[length + 1] ^= 0x80;
        fs::write(&file, &damaged).unwrap();
        let error = read(folder.path()).unwrap_err().with_causes();
        assert!(error.contains("md.0"), "{error}");
    }
}
