//! The conformance suite that every store passes.

use callgrove_model::RunIdentity;
use callgrove_provdb::{
    AccessMode, Collection, Document, Filter, ProvDbError, Query, SortKey, StateChange, Store,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::{document, execution, one_of_each, oracle, tree};

/// Opens the same database repeatedly.
pub(crate) type Open<'o> = &'o dyn Fn(AccessMode) -> Box<dyn Store>;

/// Runs the suite on an initially empty database.
pub(crate) fn conforms(open: Open<'_>) {
    is_of_one_run(open);
    keeps_documents_as_they_are(open);
    replaces_by_key_and_keeps_ids(open);
    refuses_what_is_no_document(open);
    keeps_state(open);
    claims_are_exclusive(open);
    forgets_one_step_of_one_rank(open);
    removes_documents_by_key(open);
    readers_see_what_was_acknowledged(open);
    answers_queries(open);
    answers_plain_sql(open);
    agrees_with_the_oracle(open);
    has_the_same_columns_whether_they_are_read_or_known(open);
}

fn rows(store: &mut dyn Store, query: &Query) -> Vec<Value> {
    let found = store.find(query).expect("the query is answered");
    found
        .iter()
        .map(|json| serde_json::from_str(json).expect("documents are JSON"))
        .collect()
}

fn all(store: &mut dyn Store, collection: Collection) -> Vec<Value> {
    rows(store, &Query::all(collection))
}

fn query(collection: Collection, filter: &str) -> Query {
    Query {
        filter: Some(Filter::parse(filter).expect(filter)),
        ..Query::all(collection)
    }
}

fn is_of_one_run(open: Open<'_>) {
    let first = run(0, 4900);
    assert_eq!(open(AccessMode::ReadWrite).run().expect("read"), None);
    let mut store = open(AccessMode::ReadWrite);
    assert_eq!(store.join_run(&first).expect("the first"), first);
    let both = store.join_run(&run(1, 4901)).expect("another rank of it");
    assert!(both.is_same_run(&first) && both.is_same_run(&run(1, 4901)));
    assert_eq!(store.join_run(&first).expect("once more"), both);
    let error = store.join_run(&run(1, 5200)).expect_err("another run");
    assert!(matches!(error, ProvDbError::OtherRun { .. }), "{error:?}");
    let text = error.to_string();
    for part in ["lmp on vm, started 2026", "4901", "5200", "Name another"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut reader = open(AccessMode::ReadOnly);
    assert_eq!(reader.run().expect("read"), Some(both));
    let refused = reader.join_run(&first);
    assert!(matches!(refused, Err(ProvDbError::ReadOnly(_))));
}

/// Returns what one rank knows about its run.
pub(crate) fn run(rank: u32, pid: u32) -> RunIdentity {
    let process = json!({"host": "vm", "pid": pid, "start": 1_793_787_072_034_000_000_i64});
    let program = json!({"executables": ["/x/lmp"], "command_lines": ["/x/lmp -in a"], "ranks": {rank.to_string(): process}});
    serde_json::from_value(json!({"programs": {"0": program}})).expect("an identity")
}

fn keeps_documents_as_they_are(open: Open<'_>) {
    let documents = one_of_each();
    open(AccessMode::ReadWrite)
        .put(&documents)
        .expect("they are stored");
    let mut store = open(AccessMode::ReadOnly);
    for collection in Collection::ALL {
        let sent: Vec<&Document> = documents
            .iter()
            .filter(|it| it.collection == collection)
            .collect();
        let found = store.find(&Query::all(collection)).expect("found");
        assert_eq!(found.len(), sent.len(), "{collection}");
        let schema: Value = serde_json::from_str(collection.schema()).expect("a schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let mut ids = Vec::new();
        for json in &found {
            let value: Value = serde_json::from_str(json).expect("JSON");
            validator
                .validate(&value)
                .unwrap_or_else(|error| panic!("{collection}: {error}\n{json}"));
            let id = value["__id"].as_u64().expect("an id");
            let text = json.replacen(&format!("{{\"__id\":{id},"), "{", 1);
            assert!(
                sent.iter().any(|it| it.json == text),
                "as it was sent: {json}"
            );
            ids.push(id);
        }
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(ids, sorted, "ids are in order and differ");
    }
}

fn replaces_by_key_and_keeps_ids(open: Open<'_>) {
    let mut store = open(AccessMode::ReadWrite);
    let before = all(&mut *store, Collection::Anomalies);
    let mut again = one_of_each();
    for document in &mut again {
        if document.collection == Collection::Anomalies {
            document.json = document.json.replace("node17", "node18");
        }
    }
    // The same key twice in one call: the last document stays.
    again.push(again[0].clone());
    store.put(&again).expect("stored again");
    let after = all(&mut *store, Collection::Anomalies);
    assert_eq!(before.len(), after.len());
    for (old, new) in before.iter().zip(&after) {
        assert_eq!(old["__id"], new["__id"]);
        assert_eq!(
            (&old["hostname"], &new["hostname"]),
            (&json!("node17"), &json!("node18"))
        );
    }
}

fn has_the_same_columns_whether_they_are_read_or_known(open: Open<'_>) {
    let mut store = open(AccessMode::ReadWrite);
    let records = one_of_each().into_iter().chain([tree(3)]);
    for (number, mut known) in records.enumerate() {
        let (collection, rank) = (known.collection, known.rank);
        let read = Document::from_json(collection, rank, format!("read {number}"), &known.json);
        known.key = format!("known {number}");
        store.put(&[known, read]).expect("stored");
        let sql = format!(
            "select pid, rid, fid, func, event_id, io_step, entry, outlier_score, outlier_severity from {collection} \
             where key in ('known {number}', 'read {number}')"
        );
        let rows = store.find_plain_sql(&sql).expect("read").rows;
        assert!(
            rows.len() == 2 && rows[0] == rows[1],
            "{collection}: {rows:?}"
        );
    }
}

fn refuses_what_is_no_document(open: Open<'_>) {
    let mut store = open(AccessMode::ReadWrite);
    let good = document(Collection::Metadata, 5, "0:5:0:x", &json!({"descr": "x"}));
    let bad = Document::from_json(Collection::Metadata, 5, "bad", "{\"descr\": ");
    let before = store
        .count(&Query::all(Collection::Metadata))
        .expect("counted");
    let error = store
        .put(&[good, bad])
        .expect_err("it is not JSON")
        .to_string();
    assert!(
        error.contains("bad") && error.contains("metadata"),
        "{error}"
    );
    assert_eq!(
        store
            .count(&Query::all(Collection::Metadata))
            .expect("counted"),
        before,
        "nothing was stored"
    );
}

fn forgets_one_step_of_one_rank(open: Open<'_>) {
    let mut store = open(AccessMode::ReadWrite);
    let place = |it: &Value| (it["pid"].clone(), it["rid"].clone(), it["io_step"].clone());
    let before = Collection::JUDGED.map(|collection| all(&mut *store, collection));
    let [program, rank, step] = ["pid", "rid", "io_step"].map(|name| before[0][0][name].as_u64());
    let number = |it: Option<u64>| u32::try_from(it.expect("a number")).expect("a small one");
    let (program, rank, step) = (number(program), number(rank), number(step));
    for (program, rank, step) in [(program + 1, rank, step), (program, rank + 64, step)] {
        store
            .forget_step(program, rank, step)
            .expect("nothing to forget");
    }
    store.forget_step(program, rank, step).expect("forgotten");
    for (collection, before) in Collection::JUDGED.into_iter().zip(before) {
        let kept = before.into_iter();
        let kept = kept.filter(|it| place(it) != (program.into(), rank.into(), step.into()));
        assert_eq!(all(&mut *store, collection), kept.collect::<Vec<_>>());
    }
    // For the following tests.
    store.put(&one_of_each()).expect("stored again");
}

fn removes_documents_by_key(open: Open<'_>) {
    let mut store = open(AccessMode::ReadWrite);
    let documents = one_of_each();
    let anomaly = documents
        .iter()
        .find(|it| it.collection == Collection::Anomalies)
        .expect("one of each");
    let before = Collection::JUDGED.map(|collection| all(&mut *store, collection).len());
    for _ in 0..2 {
        let keys = [anomaly.key.clone(), "unknown".to_owned()];
        store
            .remove(Collection::Anomalies, anomaly.rank, &keys)
            .expect("removed, and not missed");
        let after = Collection::JUDGED.map(|collection| all(&mut *store, collection).len());
        assert_eq!(after, [before[0] - 1, before[1]]);
    }
    let incident = documents
        .iter()
        .find(|it| it.collection == Collection::Incidents)
        .expect("one of each");
    let num_incidents = all(&mut *store, Collection::Incidents).len();
    let keys = [incident.key.clone()];
    // The rank has no meaning in a global collection.
    store
        .remove(Collection::Incidents, 1, &keys)
        .expect("removed");
    let after = all(&mut *store, Collection::Incidents).len();
    assert_eq!(after, num_incidents - 1);
    store.put(&documents).expect("stored again");
}

fn keeps_state(open: Open<'_>) {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let mut store = open(AccessMode::ReadWrite);
    assert_eq!(store.state("pserver").expect("read"), None);
    store.replace_state("pserver", b"old").expect("stored");
    store.replace_state("pserver", &bytes).expect("replaced");
    store.replace_state("other", b"").expect("stored");
    store.replace_state("removed", b"old").expect("stored");
    let change = |name, bytes| StateChange { name, bytes };
    let changes = [
        change("added", Some(&bytes[..])),
        change("removed", None),
        change("never there", None),
        change("empty", Some(&b""[..])),
    ];
    store.change_states(&changes).expect("changed");
    drop(store);
    let mut store = open(AccessMode::ReadOnly);
    assert_eq!(store.state("pserver").expect("read"), Some(bytes.clone()));
    assert_eq!(store.state("added").expect("read"), Some(bytes));
    assert_eq!(store.state("removed").expect("read"), None);
    assert_eq!(store.state("empty").expect("read"), Some(Vec::new()));
    assert_eq!(store.state("other").expect("read"), Some(Vec::new()));
}

fn claims_are_exclusive(open: Open<'_>) {
    let (mut first, mut second) = (open(AccessMode::ReadWrite), open(AccessMode::ReadWrite));
    let claim = first.claim(0, 3, "ad-first").expect("it is free");
    assert_eq!((claim.program(), claim.rank()), (0, 3));
    let error = second
        .claim(0, 3, "ad-second")
        .expect_err("the first has it");
    assert!(
        matches!(
            error,
            ProvDbError::Claimed {
                program: 0,
                rank: 3,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("ad-first"), "{error}");
    let others = [(0, 4), (1, 3)]
        .map(|(program, rank)| second.claim(program, rank, "ad-second").expect("free"));
    let error = first
        .claim(0, 4, "ad-first")
        .expect_err("the second has it");
    assert!(matches!(error, ProvDbError::Claimed { .. }), "{error:?}");
    drop(claim);
    let taken_over = eventually(|| second.claim(0, 3, "ad-second").ok());
    drop((taken_over, others));
    let back = eventually(|| first.claim(0, 3, "ad-first").ok());
    // A claim outlives the store that granted it.
    drop(first);
    let error = second.claim(0, 3, "ad-second").expect_err("still held");
    assert!(matches!(error, ProvDbError::Claimed { .. }), "{error:?}");
    drop(back);
}

/// Retries for at most ten seconds: the release of a claim over a network takes a moment.
pub(crate) fn eventually<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_000 {
        if let Some(value) = attempt() {
            return value;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it did not happen within ten seconds")
}

fn readers_see_what_was_acknowledged(open: Open<'_>) {
    let (mut writer, mut reader) = (open(AccessMode::ReadWrite), open(AccessMode::ReadOnly));
    let everything = Query::all(Collection::NormalExecs);
    let before = reader.count(&everything).expect("counted");
    for index in 0..5 {
        let record = execution(7, 90, index);
        let document = Document::execution(Collection::NormalExecs, &record).expect("a record");
        writer.put(&[document]).expect("stored");
        assert_eq!(
            reader.count(&everything).expect("counted"),
            before + index + 1
        );
    }
    let document = one_of_each().remove(0);
    for refused in [reader.put(&[document]), reader.replace_state("x", b"y")] {
        assert!(
            matches!(refused, Err(ProvDbError::ReadOnly(_))),
            "{refused:?}"
        );
    }
    assert!(matches!(
        reader.claim(0, 99, "reader"),
        Err(ProvDbError::ReadOnly(_))
    ));
}

/// Stores executions of four ranks, steps 10 and 11, in addition to the existing ones.
fn fill(store: &mut dyn Store) -> Vec<String> {
    let mut documents = Vec::new();
    for rank in 0..4 {
        for step in [10, 11] {
            for index in 0..6 {
                let record = execution(rank, step, index);
                documents
                    .push(Document::execution(Collection::Anomalies, &record).expect("a record"));
            }
        }
    }
    store.put(&documents).expect("stored");
    documents.into_iter().map(|it| it.key).collect()
}

fn answers_queries(open: Open<'_>) {
    let mut store = open(AccessMode::ReadWrite);
    let keys = fill(&mut *store);
    let count = |store: &mut dyn Store, filter: &str| {
        let query = query(Collection::Anomalies, filter);
        let (count, found) = (
            store.count(&query).expect(filter),
            rows(store, &query).len() as u64,
        );
        assert_eq!(count, found, "{filter}");
        count
    };
    let cases = [
        ("io_step >= 10", keys.len() as u64),
        ("io_step in (10, 11) and rid in (0, 3)", 24),
        ("io_step = 10 and outlier_score > 4.5", 8),
        ("io_step = 10 and event_id = '2:10:4'", 1),
        ("io_step = 10 and func like 'MPI_*'", 12),
        ("io_step = 10 and func like '*int [[][*]]*'", 0),
        ("io_step = 10 and func like '*int [\\*])'", 12),
        ("io_step = 10 and func like 'mpi*'", 0),
        ("gpu_location is null", keys.len() as u64 + 1),
        ("gpu_location is not null and gpu_location.stream = 3", 2),
        ("is_gpu_event", 2),
        ("not is_gpu_event and io_step = 1", 1),
        ("gpu_parent like 'no CPU*'", 1),
        ("gpu_parent.call_stack[0].fid >= 0", 1),
        ("event_window.comm_window[*].tar = 5 and io_step = 10", 8),
        (
            "event_window.comm_window[*].type = 'RECV' and io_step = 10",
            8,
        ),
        ("event_window.comm_window[1].tar = 5 and io_step = 10", 8),
        ("event_window.comm_window is null", 0),
        (
            "algo_params.histogram.\"Histogram Bin Edges\"[*] = 30.5 and io_step = 11",
            24,
        ),
        (
            "algo_params.histogram.\"Histogram Bin Edges\"[3] > 30 and io_step = 11",
            24,
        ),
        (
            "node_state.data[*].field like 'Memory*(MB)' and node_state.data[*].value < 900 and io_step=10",
            24,
        ),
        (
            "no_such_field = 1 or no_such_field != 1 or no_such_field like '*'",
            0,
        ),
        ("fid = 'x' or func > 0 or hostname > 5", 0),
        ("fid != 'x' and func != 0 and io_step = 10", 24),
    ];
    for (filter, expected) in cases {
        assert_eq!(count(&mut *store, filter), expected, "{filter}");
    }
    let known = all(&mut *store, Collection::Anomalies);
    let id = &known[3]["__id"];
    assert_eq!(
        rows(
            &mut *store,
            &query(Collection::Anomalies, &format!("__id = {id}"))
        ),
        known[3..4]
    );

    for sort in [
        "outlier_score desc",
        "entry",
        "func asc",
        "node_state.data[0].value desc",
        "gpu_parent",
        "__id desc",
    ] {
        let sort = SortKey::parse(sort).expect(sort);
        let mut expected = known.clone();
        expected.sort_by(|left, right| oracle::compare(&sort, left, right));
        let sorted = Query {
            sort: Some(sort.clone()),
            ..Query::all(Collection::Anomalies)
        };
        assert_eq!(rows(&mut *store, &sorted), expected, "{sort}");
        let page = Query {
            limit: Some(7),
            offset: 5,
            ..sorted
        };
        assert_eq!(rows(&mut *store, &page), expected[5..12], "{sort}");
        assert_eq!(store.count(&page).expect("counted"), expected.len() as u64);
    }
}

fn answers_plain_sql(open: Open<'_>) {
    for mode in [AccessMode::ReadOnly, AccessMode::ReadWrite] {
        let mut store = open(mode);
        let table = store
            .find_plain_sql(
                "select rid, count(*) as n, max(outlier_score) as top, 'x' as t, null as void from anomalies \
                 where io_step = 10 group by rid order by rid",
            )
            .expect("answered");
        assert_eq!(table.columns, ["rid", "n", "top", "t", "void"]);
        assert_eq!(table.rows.len(), 4);
        assert_eq!(
            table.rows[1],
            [json!(1), json!(6), json!(7.5), json!("x"), Value::Null]
        );
        for statement in [
            "delete from anomalies",
            "drop table anomalies",
            "select 1; select 2",
            "select no_such_column from anomalies",
            "create table x (y integer)",
            "",
        ] {
            let error = store.find_plain_sql(statement).expect_err(statement);
            assert!(
                matches!(error, ProvDbError::PlainSql(_)),
                "{statement}: {error:?}"
            );
        }
        assert!(
            !store
                .find(&Query::all(Collection::Anomalies))
                .expect("still there")
                .is_empty()
        );
    }
}

/// Compares random filters on random documents with the oracle.
fn agrees_with_the_oracle(open: Open<'_>) {
    let mut store = open(AccessMode::ReadWrite);
    let documents: Vec<Document> = odd_documents()
        .iter()
        .enumerate()
        .map(|(index, json)| {
            document(
                Collection::Metadata,
                index as u32,
                &format!("odd{index}"),
                json,
            )
        })
        .collect();
    store.put(&documents).expect("stored");
    let known = all(&mut *store, Collection::Metadata);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases: 300,
            failure_persistence: None,
            ..Config::default()
        },
        rng,
    );
    let store = std::cell::RefCell::new(store);
    runner
        .run(&(filters(), orders()), |(filter, sort)| {
            let reread = Filter::parse(&filter.to_string()).expect("what is written can be read");
            prop_assert_eq!(&reread, &filter);
            let mut expected: Vec<Value> = known
                .iter()
                .filter(|it| oracle::matches(&filter, it))
                .cloned()
                .collect();
            expected.sort_by(|left, right| oracle::compare(&sort, left, right));
            let asked = Query {
                filter: Some(filter.clone()),
                sort: Some(sort.clone()),
                ..Query::all(Collection::Metadata)
            };
            let found = rows(&mut **store.borrow_mut(), &asked);
            prop_assert_eq!(found, expected, "{} order by {}", filter, sort);
            Ok(())
        })
        .expect("engine and oracle agree");
}

/// Returns values of every type at positions that the queries access.
fn odd_documents() -> Vec<Value> {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-3),
        json!(5),
        json!(2.5),
        json!(1e300),
        json!(""),
        json!("a*b"),
        json!("a%b_c\\"),
        json!("x[1]'; drop table metadata; --"),
        json!("h\u{e4}uschen\u{1f600}"),
        json!([]),
        json!({}),
        json!([1, "a*b", null, true, {"k": 5}, {"k": "a*b"}, {"k": null}, [5, 2.5]]),
        json!([{"k": [{"k": 5}, {"k": []}]}, {"k": 2.5}]),
        json!({"k": {"k": [5]}, "in": 5}),
    ];
    let mut documents = vec![json!({})];
    for value in values {
        documents.push(json!({"a": value, "b": {"k": value}, "odd name": value}));
        documents.push(json!({"a": [value, {"k": value}], "is": value}));
    }
    documents
}

fn paths() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "b.k",
        "\"odd name\"",
        "a[*]",
        "a[*].k",
        "a[0]",
        "a[1].k",
        "a[*].k[*].k",
        "b.k[*]",
        "b.k.k.k[0]",
        "\"is\"",
        "a[*][*]",
        "a[7][1]",
        "no",
        "a.\"in\"",
        "b.k[*].k",
        "fid",
        "__id",
    ])
    .prop_map(str::to_owned)
}

fn literals() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "0",
        "5",
        "-3",
        "2.5",
        "1e300",
        "'a*b'",
        "''",
        "'h\u{e4}'",
        "'x[1]''; drop table metadata; --'",
    ])
}

fn filters() -> impl Strategy<Value = Filter> {
    let op = prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
    let pattern = prop::sample::select(vec![
        "*",
        "a*",
        "a\\*b",
        "?*[1]*",
        "*%b_*",
        "h?u*",
        "",
        "*\u{1f600}",
        "*\\\\",
    ]);
    let test = prop_oneof![
        (op, literals()).prop_map(|(op, literal)| format!("{op} {literal}")),
        prop::sample::select(vec![
            "= true",
            "!= false",
            "in (true, 5)",
            "is null",
            "is not null",
            "not in ('')"
        ])
        .prop_map(str::to_owned),
        prop::collection::vec(literals(), 1..4).prop_map(|it| format!("in ({})", it.join(", "))),
        pattern.prop_map(|it| format!("like '{it}'")),
    ];
    let leaf = (paths(), test).prop_map(|(path, test)| format!("{path} {test}"));
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|it| format!("({})", it.join(" and "))),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|it| format!("({})", it.join(" or "))),
            inner.prop_map(|it| format!("not ({it})")),
        ]
    })
    .prop_map(|text| Filter::parse(&text).expect("the grammar has it"))
}

fn orders() -> impl Strategy<Value = SortKey> {
    let path = paths().prop_filter("one value", |it| !it.contains('*'));
    (path, prop::sample::select(vec!["asc", "desc"])).prop_map(|(path, direction)| {
        SortKey::parse(&format!("{path} {direction}")).expect("an order")
    })
}
