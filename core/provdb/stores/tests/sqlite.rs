//! The embedded store with real files, threads and processes.

mod support;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;

use callgrove_provdb::{AccessMode, Collection, Document, ProvDbError, Query, Store};
use callgrove_provdb_stores::{OpenOptions, SqliteStore, open};

use support::conforms::{conforms, run};
use support::{execution, one_of_each};

/// Set for a child process: the folder that it writes to.
const CHILD_FOLDER: &str = "PROVDB_TEST_FOLDER";
/// Set for a child process: its rank.
const CHILD_RANK: &str = "PROVDB_TEST_RANK";

fn options(mode: AccessMode, num_shards: Option<u32>) -> OpenOptions {
    OpenOptions {
        mode,
        num_shards,
        ..OpenOptions::default()
    }
}

fn anomaly(rank: u32, step: u64, index: u64) -> Document {
    Document::execution(Collection::Anomalies, &execution(rank, step, index)).expect("a record")
}

fn write_all(folder: &Path, rank: u32, num_records: u64) {
    let mut store =
        SqliteStore::open(folder, &options(AccessMode::ReadWrite, None)).expect("opened");
    let _claim = store.claim(0, rank, "writer").expect("its own rank");
    for index in 0..num_records {
        store.put(&[anomaly(rank, 1, index)]).expect("stored");
    }
}

fn count(folder: &Path, collection: Collection) -> u64 {
    let mut store =
        SqliteStore::open(folder, &options(AccessMode::ReadOnly, None)).expect("opened");
    store.count(&Query::all(collection)).expect("counted")
}

/// Runs the given test of this binary in another process.
fn child(test: &str, folder: &Path, rank: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the test is a program"));
    command
        .args(["--exact", test, "--nocapture"])
        .env(CHILD_FOLDER, folder)
        .env(CHILD_RANK, rank.to_string());
    command
}

fn child_task() -> Option<(std::path::PathBuf, u32)> {
    let folder = std::env::var_os(CHILD_FOLDER)?;
    let rank = std::env::var(CHILD_RANK).ok()?.parse().ok()?;
    Some((folder.into(), rank))
}

#[test]
fn conforms_with_any_number_of_shards() {
    for num_shards in [1, 3, 64] {
        let folder = tempfile::tempdir().expect("a folder");
        // A name with special characters of SQL and URIs.
        let path = folder.path().join("ru'n? #1%20");
        let url = path.to_str().expect("UTF-8");
        conforms(&|mode| open(url, &options(mode, Some(num_shards))).expect("opened"));
    }
}

#[test]
fn shards_hold_the_ranks_in_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store =
        SqliteStore::open(folder.path(), &options(AccessMode::ReadWrite, Some(3))).expect("made");
    let documents: Vec<Document> = (0..7).map(|rank| anomaly(rank, 1, 1)).collect();
    store.put(&documents).expect("stored");
    for shard in 0..3 {
        let path = folder.path().join(format!("provdb.{shard}.sqlite"));
        let file = rusqlite::Connection::open(path).expect("a file of SQLite");
        let mut statement = file
            .prepare("select rid from anomalies order by rid")
            .expect("a table");
        let ranks: Vec<u32> = statement
            .query_map((), |row| row.get(0))
            .expect("read")
            .collect::<Result<_, _>>()
            .expect("ranks");
        assert_eq!(
            ranks,
            (0..7).filter(|rank| rank % 3 == shard).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_different_number_of_shards_is_refused_and_no_number_takes_the_existing_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let reopen = |mode, asked| SqliteStore::open(folder.path(), &options(mode, asked));
    for mode in [AccessMode::ReadOnly, AccessMode::ReadWrite] {
        for asked in [0, 65] {
            let error = reopen(mode, Some(asked)).err().expect("no such number");
            assert!(matches!(error, ProvDbError::BadNumShards(_)), "{error:?}");
        }
    }
    assert!(matches!(
        reopen(AccessMode::ReadOnly, None),
        Err(ProvDbError::Missing(_))
    ));
    assert_eq!(
        reopen(AccessMode::ReadWrite, Some(4))
            .expect("made")
            .num_shards(),
        4
    );
    for mode in [AccessMode::ReadOnly, AccessMode::ReadWrite] {
        assert_eq!(reopen(mode, None).expect("adopted").num_shards(), 4);
        assert_eq!(reopen(mode, Some(4)).expect("the same").num_shards(), 4);
        let error = reopen(mode, Some(5)).err().expect("another one");
        assert!(
            matches!(
                error,
                ProvDbError::NumShards {
                    found: 4,
                    asked: 5,
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

#[test]
fn a_newer_format_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(SqliteStore::open(folder.path(), &OpenOptions::default()).expect("made"));
    let file =
        rusqlite::Connection::open(folder.path().join("provdb.global.sqlite")).expect("a file");
    file.execute("update meta set value = 99 where name = 'format'", ())
        .expect("changed");
    drop(file);
    for mode in [AccessMode::ReadOnly, AccessMode::ReadWrite] {
        let error = SqliteStore::open(folder.path(), &options(mode, None))
            .err()
            .expect("too new");
        assert!(
            matches!(error, ProvDbError::NewerFormat { found: 99, .. }),
            "{error:?}"
        );
    }
}

/// A database with two shards and a record in each, after `damage` was applied to the file of shard 1.
fn damaged(damage: impl Fn(&Path)) -> (tempfile::TempDir, SqliteStore, SqliteStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut made =
        SqliteStore::open(folder.path(), &options(AccessMode::ReadWrite, Some(2))).expect("made");
    let records: Vec<Document> = (0..200)
        .map(|index| anomaly(index % 2, 1, u64::from(index)))
        .collect();
    made.put(&records).expect("stored");
    drop(made);
    damage(&folder.path().join("provdb.1.sqlite"));
    let open =
        |mode| SqliteStore::open(folder.path(), &options(mode, None)).expect("the rest is sound");
    let (writer, reader) = (open(AccessMode::ReadWrite), open(AccessMode::ReadOnly));
    (folder, writer, reader)
}

#[test]
fn a_damaged_file_is_reported_with_its_remedy_as_a_final_error() {
    let is_reported = |error: ProvDbError, how: &str| {
        assert!(error.is_final(), "{how}: {error:?}");
        let error = error.to_string();
        for word in ["provdb.1.sqlite", "damaged", ".recover"] {
            assert!(error.contains(word), "{how}: {error}");
        }
    };
    let overwritten = |path: &Path| std::fs::write(path, vec![b'x'; 8192]).expect("damaged");
    let emptied = |path: &Path| std::fs::write(path, "").expect("damaged");
    // Only its first page is intact.
    let torn = |path: &Path| {
        let mut bytes = std::fs::read(path).expect("read");
        bytes[4096..].fill(0xa5);
        std::fs::write(path, bytes).expect("damaged");
    };
    let ways: [fn(&Path); 3] = [overwritten, emptied, torn];
    for (how, damage) in ["overwritten", "emptied", "torn"].into_iter().zip(ways) {
        let (_folder, mut writer, mut reader) = damaged(damage);
        writer.put(&[anomaly(0, 1, 1)]).expect("shard 0 is sound");
        let stored = writer.put(&[anomaly(1, 1, 1)]);
        is_reported(stored.expect_err("shard 1 is not"), how);
        let all = Query::all(Collection::Anomalies);
        is_reported(reader.find(&all).expect_err("shard 1 is not"), how);
        let by_json = Query {
            filter: Some(callgrove_provdb::Filter::parse("exit > 3").expect("a filter")),
            ..all
        };
        is_reported(reader.count(&by_json).expect_err("shard 1 is not"), how);
    }
}

#[test]
fn a_missing_file_is_not_recreated() {
    let (folder, mut writer, mut reader) =
        damaged(|path| std::fs::remove_file(path).expect("gone"));
    let all = Query::all(Collection::Anomalies);
    let read = reader.find(&all).expect_err("it is gone").to_string();
    let written = writer
        .put(&[anomaly(1, 1, 1)])
        .expect_err("it is gone")
        .to_string();
    for error in [read, written] {
        assert!(error.contains("provdb.1.sqlite"), "{error}");
    }
    assert!(!folder.path().join("provdb.1.sqlite").exists());
}

#[test]
fn threads_write_the_same_shard_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    thread::scope(|scope| {
        for rank in 0..8 {
            let path = folder.path();
            scope.spawn(move || write_all(path, rank, 25));
        }
    });
    assert_eq!(count(folder.path(), Collection::Anomalies), 8 * 25);
}

#[test]
fn many_processes_create_a_folder_at_once() {
    for _ in 0..40 {
        let folder = tempfile::tempdir().expect("a folder");
        let start = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let options = options(AccessMode::ReadWrite, None);
                    SqliteStore::open(folder.path(), &options).expect("opened");
                });
            }
        });
    }
}

#[test]
fn processes_write_the_same_folder_at_once() {
    if let Some((folder, rank)) = child_task() {
        return write_all(&folder, rank, 25);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let children: Vec<_> = (0..6)
        .map(|rank| {
            child(
                "processes_write_the_same_folder_at_once",
                folder.path(),
                rank,
            )
            .stdout(Stdio::null())
            .spawn()
            .expect("started")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("ended").success());
    }
    assert_eq!(count(folder.path(), Collection::Anomalies), 6 * 25);
}

#[test]
fn acknowledged_data_survive_a_kill() {
    if let Some((folder, rank)) = child_task() {
        let mut store =
            SqliteStore::open(&folder, &options(AccessMode::ReadWrite, None)).expect("opened");
        let _claim = store.claim(0, rank, "the child").expect("free");
        for index in 0.. {
            store
                .put(&[anomaly(rank, 1, index), anomaly(rank, 2, index)])
                .expect("stored");
            println!("\nacknowledged {index}");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = child("acknowledged_data_survive_a_kill", folder.path(), 0)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut last = 0;
    for line in lines.by_ref() {
        if let Some(index) = line.expect("text").strip_prefix("acknowledged ") {
            last = index.parse().expect("a number");
        }
        if last == 40 {
            let mut store =
                SqliteStore::open(folder.path(), &OpenOptions::default()).expect("opened");
            let error = store
                .claim(0, 0, "the parent")
                .expect_err("the child has it");
            assert!(error.to_string().contains("the child"), "{error}");
            child.kill().expect("killed");
            break;
        }
    }
    for line in lines {
        // Lines in the pipe at the time of the kill were acknowledged too.
        if let Some(index) = line.expect("text").strip_prefix("acknowledged ") {
            last = index.parse().expect("a number");
        }
    }
    child.wait().expect("ended");
    let mut store = SqliteStore::open(folder.path(), &OpenOptions::default()).expect("opened");
    let _claim = store
        .claim(0, 0, "the parent")
        .expect("a dead process holds no rank");
    let found = store
        .find(&Query::all(Collection::Anomalies))
        .expect("found");
    assert!(
        found.len() as u64 >= 2 * (last + 1),
        "{} records, {last} acknowledged",
        found.len()
    );
    assert_eq!(
        found.len() % 2,
        0,
        "a put is stored as a whole or not at all"
    );
    for index in 0..=last {
        for step in [1, 2] {
            let label = format!("\"event_id\":\"0:{step}:{index}\"");
            assert!(found.iter().any(|json| json.contains(&label)), "{label}");
        }
    }
}

/// Root may write everywhere, so as root the reader runs as another user.
#[cfg(unix)]
#[test]
fn a_read_only_folder_can_be_read_after_the_run() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if let Some((folder, _)) = child_task() {
        assert!(
            std::fs::write(folder.join("x"), "").is_err(),
            "the folder may not be written"
        );
        assert_eq!(count(&folder, Collection::Anomalies), 3);
        let mut store =
            SqliteStore::open(&folder, &options(AccessMode::ReadOnly, None)).expect("opened");
        let table = store
            .find_plain_sql("select count(*) from anomalies")
            .expect("read");
        assert_eq!(table.rows, [[serde_json::json!(3)]]);
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    write_all(folder.path(), 0, 3);
    let permit_at = |path: &Path, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, permissions).expect("permitted");
    };
    // Files are private until their user lets others read them.
    for file in std::fs::read_dir(folder.path()).expect("it is there") {
        let file = file.expect("it can be listed");
        assert_eq!(file.metadata().expect("it is there").mode() & 0o077, 0);
        permit_at(&file.path(), 0o755);
    }
    let permit = |mode| permit_at(folder.path(), mode);
    permit(0o555);
    let test = "a_read_only_folder_can_be_read_after_the_run";
    let mut command = child(test, folder.path(), 0);
    if folder.path().metadata().expect("it is there").uid() == 0 {
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        other.arg(command.get_program()).args(command.get_args());
        other.envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command = other;
    }
    let output = command.output().expect("started");
    permit(0o755);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
    );
}

/// The system refuses to let files grow, as on a full disk or beyond a quota.
#[cfg(unix)]
#[test]
fn data_acknowledged_before_the_disk_was_full_are_kept() {
    if let Some((folder, rank)) = child_task() {
        let mut store =
            SqliteStore::open(&folder, &options(AccessMode::ReadWrite, None)).expect("opened");
        for index in 0.. {
            if let Err(error) = store.put(&[anomaly(rank, 1, index)]) {
                assert!(matches!(error, ProvDbError::DiskFull { .. }), "{error:?}");
                println!("\nfull after {index}");
                return;
            }
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let test = "data_acknowledged_before_the_disk_was_full_are_kept";
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 1000; exec \"$0\" --exact \"$1\" --nocapture",
        ])
        .arg(std::env::current_exe().expect("the test is a program"))
        .arg(test)
        .env(CHILD_FOLDER, folder.path())
        .env(CHILD_RANK, "0")
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    let full = text
        .lines()
        .find_map(|line| line.strip_prefix("full after "));
    let num_acknowledged: u64 = full
        .unwrap_or_else(|| panic!("{text}"))
        .parse()
        .expect("a number");
    assert!(num_acknowledged > 10, "{num_acknowledged}");
    assert_eq!(
        count(folder.path(), Collection::Anomalies),
        num_acknowledged
    );
    write_all(folder.path(), 0, num_acknowledged + 1);
    assert_eq!(
        count(folder.path(), Collection::Anomalies),
        num_acknowledged + 1
    );
}

#[test]
fn plain_sql_reaches_no_other_file_and_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("other.sqlite");
    rusqlite::Connection::open(&other)
        .and_then(|it| it.execute_batch("create table secret (x); insert into secret values (1)"))
        .expect("made");
    let mut store =
        SqliteStore::open(&folder.path().join("db"), &OpenOptions::default()).expect("made");
    store.put(&one_of_each()).expect("stored");
    let attach = format!("attach '{}' as other", other.display());
    let statements = [
        attach.as_str(),
        "pragma writable_schema = 1",
        "select load_extension('x')",
        "select fts3_tokenizer('simple')",
        "update anomalies set rid = 1",
        "insert into meta values ('x', 1)",
        "select ?1",
        "vacuum into 'x'",
    ];
    for statement in statements {
        let error = store.find_plain_sql(statement).expect_err(statement);
        assert!(
            matches!(error, ProvDbError::PlainSql(_)),
            "{statement}: {error:?}"
        );
    }
    let sql = "select json_extract(doc, '$.stats.mean') from counter_stats";
    assert_eq!(
        store.find_plain_sql(sql).expect("read").rows,
        [[serde_json::json!(4.0)]]
    );
}

#[test]
fn records_of_an_earlier_release_are_read_and_not_mixed_with_a_new_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = folder.path().to_str().expect("UTF-8");
    let mut store = open(url, &OpenOptions::default()).expect("made");
    store.put(&one_of_each()).expect("stored");
    let refused = store.join_run(&run(0, 4900)).expect_err("of which run?");
    assert!(matches!(refused, ProvDbError::UnknownRun(_)), "{refused:?}");
    let mut reader = open(url, &options(AccessMode::ReadOnly, None)).expect("opened");
    assert_eq!(reader.run().expect("read"), None);
    let found = reader.find(&Query::all(Collection::Anomalies));
    assert!(!found.expect("found").is_empty());
}

#[test]
fn a_folder_without_the_newest_collection_reads_it_as_empty_and_creates_it_on_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = folder.path().to_str().expect("UTF-8");
    open(url, &OpenOptions::default()).expect("made");
    rusqlite::Connection::open(folder.path().join("provdb.global.sqlite"))
        .and_then(|it| it.execute_batch("drop table incidents"))
        .expect("dropped");
    let all = Query::all(Collection::Incidents);
    let mut reader = open(url, &options(AccessMode::ReadOnly, None)).expect("opened");
    assert!(reader.find(&all).expect("read").is_empty());
    assert_eq!(reader.count(&all).expect("read"), 0);
    let sql = "select count(*) from incidents where rid = 1";
    assert_eq!(
        reader.find_plain_sql(sql).expect("read").rows,
        [[serde_json::json!(0)]]
    );
    let mut writer = open(url, &OpenOptions::default()).expect("opened");
    writer.put(&one_of_each()).expect("stored");
    assert_eq!(writer.count(&all).expect("read"), 2);
}
