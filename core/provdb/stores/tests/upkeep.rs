//! Backup, compaction, retention and formats of a folder, and the golden database of each format.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use callgrove_provdb::{AccessMode, Collection, Document, Filter, ProvDbError, Query, Store};
use callgrove_provdb_stores::upkeep::{back_up, compact, upgrade};
use callgrove_provdb_stores::{OpenOptions, SqliteStore};

use support::retention::rules_delete_matching_documents;
use support::{execution, one_of_each};

/// A database of format 1; its README describes how it was made.
const FORMAT_1: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../tests/data/provdb-format-1"
);

fn open(folder: &Path, mode: AccessMode) -> Result<SqliteStore, ProvDbError> {
    let options = OpenOptions {
        mode,
        ..OpenOptions::default()
    };
    SqliteStore::open(folder, &options)
}

fn made(folder: &Path, num_shards: u32) -> SqliteStore {
    let options = OpenOptions {
        num_shards: Some(num_shards),
        ..OpenOptions::default()
    };
    SqliteStore::open(folder, &options).expect("made")
}

fn anomaly(rank: u32, index: u64) -> Document {
    Document::execution(Collection::Anomalies, &execution(rank, 1, index)).expect("a record")
}

fn path(folder: &Path) -> &str {
    folder.to_str().expect("UTF-8")
}

/// Returns all documents and the identity of the run, as the text of the golden databases.
fn text(store: &mut dyn Store) -> String {
    let mut text = String::new();
    for collection in Collection::ALL {
        for json in store.find(&Query::all(collection)).expect("found") {
            text += &format!("{collection} {json}\n");
        }
    }
    if let Some(run) = store.state("run").expect("read") {
        text += &format!("run {}\n", String::from_utf8_lossy(&run));
    }
    text
}

fn copy_of_format_1() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(FORMAT_1).expect("the golden database") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_owned();
        if path.extension().is_some_and(|it| it == "sqlite") {
            fs::copy(&path, folder.path().join(name)).expect("copied");
        }
    }
    folder
}

#[test]
fn a_database_of_format_1_reads_and_upgrades() {
    let folder = copy_of_format_1();
    let golden =
        fs::read_to_string(Path::new(FORMAT_1).join("documents.txt")).expect("the golden text");
    for collection in Collection::ALL {
        let prefix = format!("{collection} {{");
        assert!(
            golden.lines().any(|it| it.starts_with(&prefix)),
            "{collection}"
        );
    }
    let read = || text(&mut open(folder.path(), AccessMode::ReadOnly).expect("opened"));
    assert_eq!(read(), golden);
    let summary = upgrade(path(folder.path())).expect("upgraded");
    assert_eq!((summary.from, summary.to, summary.num_made), (1, 1, 0));
    assert_eq!(read(), golden);
    let mut store = open(folder.path(), AccessMode::ReadWrite).expect("opened");
    let run = store.run().expect("read").expect("known");
    store.join_run(&run).expect("the same run");
    store.put(&[anomaly(0, 77)]).expect("stored");
}

#[test]
fn another_format_is_refused_with_its_remedy() {
    let folder = copy_of_format_1();
    let set = |format: u32| {
        let global = rusqlite::Connection::open(folder.path().join("provdb.global.sqlite"));
        let sql = "update meta set value = ?1 where name = 'format'";
        global.expect("opened").execute(sql, [format]).expect("set");
        [AccessMode::ReadOnly, AccessMode::ReadWrite].map(|mode| {
            open(folder.path(), mode)
                .err()
                .expect("refused")
                .to_string()
        })
    };
    let place = path(folder.path());
    for message in set(2) {
        let expected =
            format!("format 2 is newer than 1: use a newer release of this program for {place}");
        assert_eq!(message, expected);
    }
    for message in set(0) {
        let expected = format!("format 0 is older than 1: run `callgrove provdb upgrade` {place}");
        assert_eq!(message, expected);
    }
    let refusal = upgrade(place).expect_err("refused").to_string();
    assert!(refusal.contains("format is 0"), "{refusal}");
    set(9);
    for error in [upgrade(place).err(), compact(place).err()] {
        let error = error.expect("refused").to_string();
        assert!(error.contains("format 9 is newer than 1"), "{error}");
    }
}

#[test]
fn tables_missing_from_an_earlier_release_are_created() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(made(folder.path(), 2));
    for (file, table) in [("global", "trends"), ("1", "trees")] {
        let path = folder.path().join(format!("provdb.{file}.sqlite"));
        let connection = rusqlite::Connection::open(path).expect("opened");
        connection
            .execute_batch(&format!("drop table {table}"))
            .expect("dropped");
    }
    let count = || {
        let mut store = open(folder.path(), AccessMode::ReadOnly).expect("opened");
        store.count(&Query::all(Collection::Trees))
    };
    count().expect_err("a shard has no such table");
    let num_made = || upgrade(path(folder.path())).expect("upgraded").num_made;
    assert_eq!((num_made(), num_made()), (2, 0));
    assert_eq!(count().expect("counted"), 0);
}

#[test]
fn a_copy_made_while_others_write_is_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let [from, to] = ["from", "to"].map(|it| folder.path().join(it));
    let mut store = made(&from, 3);
    store.put(&one_of_each()).expect("stored");
    store.replace_state("run", b"{}").expect("stored");
    let [has_begun, is_done] = [false; 2].map(AtomicBool::new);
    let summary = thread::scope(|scope| {
        scope.spawn(|| {
            let pairs = (0_u32..).map(|index| {
                // Both are in one shard and stored together.
                [
                    anomaly(1, 1_000 + u64::from(index)),
                    anomaly(4, 1_000 + u64::from(index)),
                ]
            });
            for pair in pairs.take_while(|_| !is_done.load(Ordering::Relaxed)) {
                store.put(&pair).expect("stored");
                has_begun.store(true, Ordering::Relaxed);
            }
        });
        while !has_begun.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let summary = back_up(path(&from), &to);
        is_done.store(true, Ordering::Relaxed);
        summary.expect("copied")
    });
    let mut copy = open(&to, AccessMode::ReadOnly).expect("opened");
    for (collection, number) in summary.documents {
        assert_eq!(
            copy.count(&Query::all(collection)).expect("counted"),
            number,
            "{collection}"
        );
    }
    let of_rank = |rank: u32| {
        let filter = format!("rid = {rank} and entry >= 2000");
        let filter = Filter::parse(&filter).expect("a filter");
        Query {
            filter: Some(filter),
            ..Query::all(Collection::Anomalies)
        }
    };
    assert_eq!(
        copy.count(&of_rank(1)).expect("counted"),
        copy.count(&of_rank(4)).expect("counted")
    );
    assert!(copy.count(&of_rank(1)).expect("counted") > 0);
    assert_eq!(copy.state("run").expect("read"), Some(b"{}".to_vec()));
    assert!(summary.size_bytes > 0);
    let left: Vec<PathBuf> = fs::read_dir(folder.path())
        .expect("read")
        .map(|it| it.expect("an entry").path())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_copy_overwrites_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("from");
    let refused = |to: &Path| back_up(path(&from), to).expect_err("refused").to_string();
    assert!(refused(&folder.path().join("to")).contains("no provenance database yet"));
    drop(made(&from, 1));
    for name in ["empty", "other.part"] {
        fs::create_dir(folder.path().join(name)).expect("made");
    }
    for (to, named) in [
        ("from", "from"),
        ("empty", "empty"),
        ("other", "other.part"),
    ] {
        let refusal = refused(&folder.path().join(to));
        assert!(
            refusal.contains("the target already exists") && refusal.ends_with(named),
            "{refusal}"
        );
    }
    fs::write(folder.path().join("a file"), "x").expect("written");
    assert!(refused(&folder.path().join("a file")).contains("the target already exists"));
    for (place, remedy) in [
        ("postgres://me:secret@db/run", "pg_dump"),
        ("http://head:5560", "the folder that the server serves"),
    ] {
        let refusal = back_up(place, &folder.path().join("to"))
            .expect_err("refused")
            .to_string();
        assert!(
            refusal.contains(remedy) && !refusal.contains("secret"),
            "{refusal}"
        );
    }
}

#[test]
fn a_damaged_file_gives_no_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let [from, to] = ["from", "to"].map(|it| folder.path().join(it));
    let mut store = made(&from, 1);
    store
        .put(&(0..200).map(|index| anomaly(0, index)).collect::<Vec<_>>())
        .expect("stored");
    drop(store);
    let shard = from.join("provdb.0.sqlite");
    let mut bytes = fs::read(&shard).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40_000].fill(0xa5);
    fs::write(&shard, bytes).expect("written");
    let refusal = back_up(path(&from), &to).expect_err("refused").to_string();
    assert!(refusal.contains("damaged"), "{refusal}");
    let left = fs::read_dir(folder.path()).expect("read").count();
    assert_eq!(left, 1, "a part is left");
}

#[test]
fn free_space_is_returned_unless_another_process_has_the_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = made(folder.path(), 2);
    let keys: Vec<String> = (0..300).map(|index| format!("0:0:1:{index}")).collect();
    let documents: Vec<Document> = (0..300).map(|index| anomaly(0, index)).collect();
    store.put(&documents).expect("stored");
    store.put(&one_of_each()).expect("stored");
    store
        .remove(Collection::Anomalies, 0, &keys)
        .expect("removed");
    let before = text(&mut store);
    let refusals = || {
        [
            compact(path(folder.path())).err(),
            upgrade(path(folder.path())).err(),
        ]
    };
    for refusal in refusals() {
        assert!(
            matches!(refusal, Some(ProvDbError::InUse(_))),
            "{refusal:?}"
        );
    }
    drop(store);
    let mut reader = open(folder.path(), AccessMode::ReadOnly).expect("opened");
    assert_eq!(text(&mut reader), before);
    for refusal in refusals() {
        assert!(
            matches!(refusal, Some(ProvDbError::InUse(_))),
            "{refusal:?}"
        );
    }
    drop(reader);
    let summary = compact(path(folder.path())).expect("compacted");
    assert!(
        summary.after_bytes * 2 < summary.before_bytes,
        "{summary:?}"
    );
    let mut store = open(folder.path(), AccessMode::ReadWrite).expect("opened");
    assert_eq!(text(&mut store), before);
    store.put(&[anomaly(1, 5)]).expect("stored");
}

#[test]
fn retention_rules_delete_documents_from_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    rules_delete_matching_documents(path(folder.path()));
}
