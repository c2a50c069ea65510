//! Damaged and foreign files: never an end of the work, never a panic, and nothing is written.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::fs;
use std::sync::OnceLock;

use callgrove_gpu_sqlite::{GpuSqliteError, GpuSqliteFormat};
use callgrove_model::WarningKind;
use callgrove_source::{Format, SourceError};
use proptest::prelude::*;
use rusqlite::Connection;
use support::{Fixture, NSIGHT, NSIGHT_MPI, ROCPD_3, ROCPD_3_ROWS, RPD, damage, input, load, tid};

/// Rows of some pages.
fn many_rows(num: u32) -> String {
    let (thread, pid) = (tid(40, 40), tid(40, 0));
    format!(
        "insert into CUPTI_ACTIVITY_KIND_RUNTIME
            with recursive n(i) as (select 0 union all select i + 1 from n where i < {num} - 1)
            select i * 10, i * 10 + 5, 0, {thread}, i, 1, 0, null from n;
        insert into CUPTI_ACTIVITY_KIND_KERNEL select start + 6, end + 6, 0, 1, 7, correlationId, {pid}, 2, 3, 1, null
            from CUPTI_ACTIVITY_KIND_RUNTIME;
        insert into NVTX_EVENTS (start, end, eventType, text, globalTid)
            select start, end, 59 + rowid % 2, 'range ' || rowid, globalTid from CUPTI_ACTIVITY_KIND_RUNTIME limit 50;"
    )
}

fn fault(error: SourceError) -> String {
    match error {
        SourceError::Invalid { source, .. } => source.to_string(),
        error => error.with_causes(),
    }
}

#[test]
fn a_cut_file_gives_what_precedes_the_cut() {
    let fixture = Fixture::new();
    let path = fixture.write("report.sqlite", &[NSIGHT], &many_rows(20_000));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(GpuSqliteFormat.probe(&input(&path)));
    let trace = load(&path).unwrap();
    let num = trace.num_executions();
    assert!((5_000..40_000).contains(&num), "{num}");
    assert!(trace.warnings.total(WarningKind::StreamTruncated) >= 2);
    // Without any row, the error says why.
    fs::write(&path, &bytes[..4096]).unwrap();
    let text = fault(load(&path).unwrap_err());
    assert!(text.contains("damaged") && text.contains("again"), "{text}");
    assert_eq!(fixture.names(), ["report.sqlite"]);
}

#[test]
fn other_databases_are_not_recognized() {
    let fixture = Fixture::new();
    let own = "create table func_stats (id integer primary key, doc text); create table anomalies (id integer, doc text);
        create table incidents (id integer); create table meta (key text, value text); create table state (name text);";
    let nvprof = "create table StringTable (_id_ integer primary key, value text);
        create table CUPTI_ACTIVITY_KIND_KERNEL (start integer, end integer, name integer);";
    for schema in [
        own,
        nvprof,
        "create table MPI_RANKS (a)",
        "create table t (a)",
        "",
    ] {
        let path = fixture.write("other.sqlite", &[schema], "");
        assert!(!GpuSqliteFormat.probe(&input(&path)), "{schema}");
        fs::remove_file(path).unwrap();
    }
    let text = fixture.path("text.sqlite");
    fs::write(&text, "SQLite format 3, they say; rocpd_api").unwrap();
    assert!(!GpuSqliteFormat.probe(&input(&text)));
    assert!(!GpuSqliteFormat.probe(&input(&fixture.path(""))));
}

#[test]
fn files_without_events_say_what_to_record() {
    let fixture = Fixture::new();
    let path = fixture.write("empty.sqlite", &[NSIGHT], "");
    assert_eq!(
        fault(load(&path).unwrap_err()),
        GpuSqliteError::NoEvents.to_string()
    );
    let path = fixture.write("empty.rpd", &[RPD], "");
    assert_eq!(
        fault(load(&path).unwrap_err()),
        GpuSqliteError::NoEvents.to_string()
    );
}

#[test]
fn a_log_that_is_not_merged_is_reported_and_not_touched() {
    let fixture = Fixture::new();
    let path = fixture.write("live.sqlite", &[NSIGHT], &many_rows(10));
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("pragma journal_mode = wal; pragma wal_autocheckpoint = 0;")
        .unwrap();
    // Merged and closed by others, or copied without its log: complete in itself.
    let merged = fixture.path("copy.sqlite");
    fs::copy(&path, &merged).unwrap();
    let trace = load(&merged).unwrap();
    assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 0);
    connection.execute_batch(&many_rows(30)).unwrap();
    let before = fixture.names();
    let trace = load(&path).unwrap();
    let warning = trace
        .warnings
        .iter()
        .find(|it| it.kind == WarningKind::StreamTruncated);
    let place = warning.unwrap().first.since(None);
    assert!(
        place.contains("wal_checkpoint") && place.contains("live.sqlite"),
        "{place}"
    );
    assert_eq!(fixture.names(), before);
    // All of it is in the log.
    let fresh = fixture.path("fresh.sqlite");
    let connection = Connection::open(&fresh).unwrap();
    connection
        .execute_batch("pragma journal_mode = wal; pragma wal_autocheckpoint = 0; vacuum;")
        .unwrap();
    connection.execute_batch(NSIGHT).unwrap();
    assert!(!GpuSqliteFormat.probe(&input(&fresh)));
}

#[cfg(unix)]
#[test]
fn files_in_folders_without_write_permission_are_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let path = fixture.write("r?port #1%20.sqlite", &[NSIGHT, NSIGHT_MPI], &many_rows(10));
    let folder = fixture.path("");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let read = load(&path);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(read.unwrap().num_executions(), 30);
    assert_eq!(fixture.names().len(), 1);
}

#[test]
fn a_million_strings_and_one_long_name_are_no_burden() {
    let thread = tid(40, 40);
    let rows = format!(
        "insert into NVTX_EVENTS (start, end, eventType, text, globalTid)
            values (1, 2, 59, printf('%.*c', 3000000, 'x'), {thread}), (3, 4, 59, cast(x'6180ff' as text), {thread});
        insert into StringIds values (1000000000000, 'far'), (-5, 'below');
        insert into NVTX_EVENTS (start, end, eventType, textId, globalTid)
            values (5, 6, 59, 1000000000000, {thread}), (7, 8, 59, -5, {thread}),
            (9, 10, 59, 9223372036854775807, {thread}), (11, 12, 59, -9223372036854775808, {thread});"
    );
    let trace = support::trace_of(&[NSIGHT], &rows);
    assert_eq!(trace.num_executions(), 6);
    assert_eq!(trace.warnings.total(WarningKind::UnknownName), 2);
    assert!(trace.warnings.total(WarningKind::TextChanged) >= 1);
}

/// Returns small good files of each profiler.
fn good_files() -> &'static [Vec<u8>] {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    FILES.get_or_init(|| {
        let fixture = Fixture::new();
        let rpd_rows = "insert into rocpd_api values (1, 30, 31, 100, 110, 2, 1);
            insert into rocpd_op values (1, 2, 0, 0, '', 112, 118, 6, 4); insert into rocpd_api_ops values (1, 1, 1);";
        let paths = [
            fixture.write("nsight", &["pragma page_size = 512", NSIGHT, NSIGHT_MPI], &many_rows(100)),
            fixture.write("rocpd", &[ROCPD_3, ROCPD_3_ROWS], ""),
            fixture.write("rpd", &[RPD], rpd_rows),
        ];
        paths.iter().map(|path| fs::read(path).unwrap()).collect()
    })
}

fn read_bytes(bytes: &[u8]) -> Result<usize, SourceError> {
    let fixture = Fixture::new();
    let path = fixture.path("report.sqlite");
    fs::write(&path, bytes).unwrap();
    load(&path).map(|trace| trace.num_executions())
}

#[test]
fn the_good_files_are_read() {
    let counts: Vec<usize> = good_files()
        .iter()
        .map(|it| read_bytes(it).unwrap())
        .collect();
    assert_eq!(counts, [250, 5, 2]);
}

proptest! {
    #[test]
    fn a_cut_anywhere_is_never_fatal(file in 0..3_usize, at in 0.0..1.0) {
        let bytes = &good_files()[file];
        let at = (bytes.len() as f64 * at) as usize;
        if let Ok(num) = read_bytes(&bytes[..at]) {
            prop_assert!(num <= 250);
        }
    }

    #[test]
    fn changed_bytes_anywhere_are_never_fatal(
        file in 0..3_usize,
        changes in prop::collection::vec((0.0..1.0, any::<u8>()), 1..6),
    ) {
        let mut bytes = good_files()[file].clone();
        let length = bytes.len() as f64;
        for (at, byte) in changes {
            bytes[(length * at) as usize] = byte;
        }
        if let Ok(num) = read_bytes(&bytes) {
            prop_assert!(num <= bytes.len() / 8);
        }
    }

    #[test]
    fn any_bytes_after_the_magic_are_never_fatal(noise in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let mut bytes = b"SQLite format 3\0".to_vec();
        bytes.extend(noise);
        prop_assert!(read_bytes(&bytes).is_err());
    }

    /// The header is kept, so that SQLite looks at the pages.
    #[test]
    fn any_page_is_never_fatal(
        file in 0..3_usize,
        page in 0..30_usize,
        noise in prop::collection::vec(any::<u8>(), 500),
    ) {
        let mut bytes = good_files()[file].clone();
        let first = (page * 512 + 100).min(bytes.len() - noise.len());
        bytes[first..first + noise.len()].copy_from_slice(&noise);
        drop(read_bytes(&bytes));
    }
}

/// Compresses a file as `gzip` does.
fn compressed(path: &std::path::Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    let file = fs::File::create(&name).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &fs::read(path).unwrap()).unwrap();
    encoder.finish().unwrap();
    fs::remove_file(path).unwrap();
    name.into()
}

#[test]
fn compressed_files_are_read_whole_or_until_the_damage() {
    let fixture = Fixture::new();
    let rows = "insert into rocpd_api select id + 10, 30, 30, id, id, 2, 1 from
        (with recursive n(id) as (select 1 union all select id + 1 from n where id < 20000) select id from n);";
    let path = compressed(&fixture.write("trace.rpd", &[RPD], rows));
    let trace = load(&path).unwrap();
    assert_eq!(trace.num_executions(), 20_000);
    assert_eq!(damage(&trace), []);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let cut = load(&path).unwrap();
    assert!(
        (1_000..20_000).contains(&cut.num_executions()),
        "{}",
        cut.num_executions()
    );
    assert!(cut.warnings.total(WarningKind::StreamTruncated) > 0);
}

#[test]
fn a_compressed_file_that_grows_without_bounds_is_refused() {
    let fixture = Fixture::new();
    let path = fixture.path("bomb.sqlite");
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(32 << 20, 0);
    fs::write(&path, bytes).unwrap();
    let error = load(&compressed(&path)).unwrap_err();
    let SourceError::Invalid { source, .. } = error else {
        panic!("{error}");
    };
    assert!(
        source
            .to_string()
            .starts_with("decompressed it has more than")
    );
}
