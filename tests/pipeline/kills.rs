//! Kills processes of the pipeline at random during a run: no acknowledged data are lost, and nothing counts
//! twice. `CALLGROVE_KILLS=200` kills more often than a normal test run.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use callgrove_provdb::Collection;
use callgrove_tests::numbers::Numbers;
use callgrove_tests::process::Process;
use serde_json::Value;

use crate::support::*;

/// Number of kills in a normal test run.
const DEFAULT_NUM_KILLS: u32 = 6;

/// A process that can be restarted with the same arguments.
struct Member {
    args: Vec<String>,
    process: Process,
    is_server: bool,
}

impl Member {
    fn start(args: &[&str]) -> Self {
        Self {
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            process: start(args),
            is_server: false,
        }
    }

    /// Starts a server; it keeps the address that the system chose.
    fn serve(args: &[&str]) -> (Self, String) {
        let mut member = Self::start(&[args, &["--listen", "127.0.0.1:0"]].concat());
        member.is_server = true;
        let url = member.process.url().unwrap();
        let address = url.strip_prefix("http://").unwrap().to_owned();
        if let Some(last) = member.args.last_mut() {
            *last = address;
        }
        (member, url)
    }

    fn die_and_return(&mut self) {
        self.process.kill().unwrap();
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        self.process = start(&args);
        if self.is_server {
            self.process.url().unwrap();
        }
    }
}

#[test]
fn random_kills_lose_nothing_and_count_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    check_random_kills(&path_in(&folder, "served"), None);
}

#[cfg(unix)]
#[test]
fn random_kills_including_the_database_server_lose_nothing() {
    let server = crate::postgres_server::PostgresServer::start(&[]);
    let die_and_return = || {
        server.crash();
        server.restart();
    };
    check_random_kills(&server.url(), Some(&die_and_return));
}

/// Kills random processes of a live run that is recorded in `store`; `database` kills and restarts the database server.
fn check_random_kills(store: &str, database: Option<&dyn Fn()>) {
    let num_kills =
        std::env::var("CALLGROVE_KILLS").map_or(DEFAULT_NUM_KILLS, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let live = path("live");
    let (provdb, provdb_url) = Member::serve(&["provdb", store]);
    let (pserver, url) = Member::serve(&["pserver", "--provdb", &provdb_url]);
    // Slow enough that all kills happen during the run.
    let replay = growing(&live, "bp5", &format!("{:.3}", 0.2 / f64::from(num_kills)));
    let instance = Member::start(&following(
        &live,
        &["--pserver", &url, "--provdb", &provdb_url],
    ));
    let mut members = [provdb, pserver, instance];
    let mut numbers = Numbers::with_seed(1);
    for _ in 0..num_kills {
        std::thread::sleep(Duration::from_millis(300 + numbers.below(900) as u64));
        let victim = numbers.below(members.len() + usize::from(database.is_some()));
        match members.get_mut(victim) {
            Some(member) => member.die_and_return(),
            None => database
                .into_iter()
                .for_each(|die_and_return| die_and_return()),
        }
    }
    let [provdb, pserver, instance] = members;
    replay.finish().unwrap();
    let summary = lines(&instance.process.finish().unwrap()).remove(0);
    pserver.process.terminate().unwrap();
    provdb.process.terminate().unwrap();

    let undisturbed = path("undisturbed");
    let whole = lines(&stdout(&[
        "run",
        &live,
        "--provdb",
        &undisturbed,
        "--format",
        "json",
    ]));
    let executions = whole[0]["executions"].as_u64();
    assert_eq!(summary["executions"].as_u64(), executions);
    check_counts(store, store, executions);
    let metadata = |provdb: &str| {
        let mut entries: Vec<Value> = documents(provdb, Collection::Metadata);
        for entry in &mut entries {
            entry.as_object_mut().unwrap().remove("__id");
        }
        entries.sort_by_key(ToString::to_string);
        entries
    };
    assert_eq!(metadata(store), metadata(&undisturbed));
}

#[test]
fn random_kills_do_not_change_the_result_of_a_recorded_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let undisturbed = path("undisturbed");
    let trees = ["--trees", "PairEAM::compute"];
    stdout(&[&["run", &example(), "--provdb", &undisturbed][..], &trees].concat());
    let store = path("served");
    let (provdb, provdb_url) = Member::serve(&["provdb", &store]);
    let (pserver, url) = Member::serve(&["pserver", "--provdb", &provdb_url]);
    let instance = |ranks: &str| {
        let streams = format!("{}/bp/*[{ranks}].bp", example());
        let servers = ["--pserver", &url, "--provdb", &provdb_url];
        Member::start(&[&["ad", &streams][..], &servers, &trees].concat())
    };
    let instances = [instance("02"), instance("13")];
    let [first, second] = instances;
    let mut members = [provdb, pserver, first, second];
    let mut numbers = Numbers::with_seed(7);
    for member in [2, 1, 0, 3] {
        std::thread::sleep(Duration::from_millis(numbers.below(1_500) as u64));
        members[member].die_and_return();
    }
    let [provdb, pserver, first, second] = members;
    for instance in [first, second] {
        instance.process.finish().unwrap();
    }
    pserver.process.terminate().unwrap();
    provdb.process.terminate().unwrap();
    assert_same(&found(&store), &found(&undisturbed));
}

/// Returns the trees that a job has recorded, as (event, score, whether it is abnormal), sorted.
fn judged_trees(provdb: &str) -> Vec<(String, Option<u64>, Option<bool>)> {
    let trees = documents(provdb, Collection::Trees);
    let of = |tree: &Value| {
        let score = tree["judged"]["score"].as_f64().map(f64::to_bits);
        let is_anomaly = tree["judged"]["is_anomaly"].as_bool();
        let event_id = tree["event_id"].as_str().unwrap().to_owned();
        (event_id, score, is_anomaly)
    };
    let mut trees: Vec<_> = trees.iter().map(of).collect();
    trees.sort_unstable();
    trees
}

#[test]
fn published_models_and_recorded_trees_survive_random_kills() {
    const ROOT: &str = "PairEAM::compute";
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let (store, live, model) = (path("served"), path("live"), path("model.json"));
    stdout(&["analyze", &example(), "-f", ROOT, "--save-model", &model]);
    let publish = |url: &str| stdout(&["model", "publish", &model, "--server", url]);
    let (provdb, provdb_url) = Member::serve(&["provdb", &store]);
    let (pserver, url) = Member::serve(&["pserver", "--provdb", &provdb_url]);
    publish(&url);
    let replay = growing(&live, "bp5", "0.03");
    let servers = ["--pserver", &url, "--provdb", &provdb_url, "--trees", ROOT];
    let instance = Member::start(&following(&live, &servers));
    let mut members = [provdb, pserver, instance];
    let mut numbers = Numbers::with_seed(14);
    for member in [2, 0, 1, 2] {
        std::thread::sleep(Duration::from_millis(300 + numbers.below(900) as u64));
        members[member].die_and_return();
        // The same model again, so that the step in which it arrives does not matter.
        publish(&url);
    }
    let list = stdout(&["model", "list", "--server", &url, "--format", "json"]);
    let versions = &lines(&list)[0]["models"][0];
    assert_eq!(versions["in_force"], 5);
    assert_eq!(versions["versions"].as_array().map(Vec::len), Some(5));
    let [provdb, pserver, instance] = members;
    replay.finish().unwrap();
    instance.process.finish().unwrap();
    pserver.process.terminate().unwrap();
    provdb.process.terminate().unwrap();

    let undisturbed = path("undisturbed");
    let (server, url) = crate::support::pserver(&undisturbed);
    publish(&url);
    let servers = ["--pserver", &url, "--provdb", &undisturbed, "--trees", ROOT];
    start(&following(&live, &servers)).finish().unwrap();
    server.terminate().unwrap();
    assert_eq!(judged_trees(&store), judged_trees(&undisturbed));
}

/// Asserts that the records of two runs agree on the executions that both have.
fn assert_judged_alike(store: &str, undisturbed: &str) {
    let records = |provdb: &str| -> BTreeMap<String, Value> {
        let both = Collection::JUDGED.map(|collection| documents(provdb, collection));
        let of = |mut record: Value| {
            record.as_object_mut().unwrap().remove("__id");
            (record["event_id"].as_str().unwrap().to_owned(), record)
        };
        both.into_iter().flatten().map(of).collect()
    };
    let (found, expected) = (records(store), records(undisturbed));
    let num_in_both = found.keys().filter(|it| expected.contains_key(*it)).count();
    assert!(num_in_both > 20, "{num_in_both}");
    for (event_id, record) in &found {
        if let Some(expected) = expected.get(event_id) {
            assert_eq!(record["algo_params"], expected["algo_params"], "{event_id}");
            assert_eq!(
                record["outlier_score"], expected["outlier_score"],
                "{event_id}"
            );
        }
    }
}

/// Runs four live ranks, each with its own instance. The parameter server may be killed shortly before the end.
fn run_to_the_end(live: &str, store: &str, is_killed: bool) -> Vec<Option<i32>> {
    let (provdb, provdb_url) = Member::serve(&["provdb", store]);
    let (mut pserver, url) = Member::serve(&["pserver", "--provdb", &provdb_url]);
    let replay = growing(live, "bp5", "0.04");
    let instances = streams(Path::new(live)).into_iter().map(|stream| {
        let stream = stream.to_string_lossy().into_owned();
        let servers = ["--pserver", &url, "--provdb", &provdb_url];
        start(&following(&stream, &servers))
    });
    let instances: Vec<Process> = instances.collect();
    if is_killed {
        std::thread::sleep(Duration::from_millis(2_500));
        pserver.process.kill().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        pserver.die_and_return();
    }
    replay.finish().unwrap();
    let codes = instances.into_iter().map(|it| it.code().unwrap()).collect();
    pserver.process.terminate().unwrap();
    provdb.process.terminate().unwrap();
    codes
}

/// Returns the database of the same run without a kill.
fn undisturbed_run(folder: &tempfile::TempDir) -> String {
    let (live, store) = (path_in(folder, "first"), path_in(folder, "undisturbed"));
    assert_eq!(run_to_the_end(&live, &store, false), [Some(0); 4]);
    store
}

#[test]
fn a_server_killed_at_the_end_waits_for_all_its_ranks_before_they_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let (undisturbed, store) = (undisturbed_run(&folder), path("served"));
    assert_eq!(run_to_the_end(&path("second"), &store, true), [Some(0); 4]);
    assert_judged_alike(&store, &undisturbed);
}

#[test]
fn results_of_an_incomplete_model_are_judged_again_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let (undisturbed, store) = (undisturbed_run(&folder), path("served"));
    let (pserver, url) = crate::support::pserver(&store);
    let (slow, fast) = (path("slow"), path("fast"));
    let servers = ["--pserver", &url, "--provdb", &store];
    let replay = growing(&slow, "bp5", "0.02");
    let late = start(&following(&format!("{slow}/*[23].bp"), &servers));
    wait_for_records(&store, "metadata");
    growing(&fast, "bp5", "100").finish().unwrap();
    let early = start(&following(&format!("{fast}/*[01].bp"), &servers));
    early.line_with("ranks are still learning").unwrap();
    early.ask_to_end().unwrap();
    early.line_with("--rejudge").unwrap();
    assert_eq!(early.code().unwrap(), Some(3));
    replay.finish().unwrap();
    assert_eq!(late.code().unwrap(), Some(0));
    pserver.terminate().unwrap();
    stdout(&["run", "--rejudge", &store]);
    assert_judged_alike(&store, &undisturbed);
}
