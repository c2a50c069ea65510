//! A recorded run is judged the same by any number of processes, at any speed.

use std::path::Path;

use callgrove_provdb::Collection;
use callgrove_tests::process::Process;
use serde_json::Value;

use crate::support::*;

/// What so many AD instances find together, each with its share of the ranks.
fn found_by(num_instances: usize) -> Vec<(Collection, Vec<Value>)> {
    let folder = tempfile::tempdir().unwrap();
    let store = place(&folder, "served");
    let provdb = start(&["provdb", &store, "--listen", "127.0.0.1:0"]);
    let provdb_url = provdb.url().unwrap();
    let (pserver, url) = pserver(&provdb_url);
    let streams = streams(Path::new(&example()));
    let shares = streams.chunks(streams.len() / num_instances);
    let instances: Vec<Process> = shares
        .map(|share| {
            let names = share.iter().map(|it| rank_of(it));
            let pattern = format!(
                "{}/*[{}].bp",
                share[0].parent().unwrap().display(),
                names.collect::<String>()
            );
            start(&["ad", &pattern, "--pserver", &url, "--provdb", &provdb_url])
        })
        .collect();
    for instance in instances {
        instance.finish().unwrap();
    }
    pserver.terminate().unwrap();
    provdb.terminate().unwrap();
    found(&store)
}

/// The one digit of a rank in the name of its stream.
fn rank_of(stream: &Path) -> char {
    let name = stream.file_stem().unwrap().to_string_lossy();
    name.chars().last().unwrap()
}

#[test]
fn a_recorded_run_is_judged_the_same_by_any_number_of_processes() {
    let folder = tempfile::tempdir().unwrap();
    let alone = place(&folder, "alone");
    stdout(&["run", &example(), "--provdb", &alone]);
    let expected = found(&alone);
    for num_instances in [1, 2, 4] {
        assert_same(&found_by(num_instances), &expected);
    }
}
