//! Instances that send their data over a message bus, which is a real nats-server.

use std::fs;
use std::time::Duration;

use callgrove_provdb::Collection;
use callgrove_tests::process::Process;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::*;

/// The servers of a job with a message bus, each with the arguments that start it again.
struct BusJob {
    folder: TempDir,
    bus: Process,
    pserver: Process,
    provdb: Process,
}

impl BusJob {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| path_in(&folder, name);
        let provdb = start(&[
            "provdb",
            &path("found"),
            "--announce",
            &path("job/provdb.address"),
        ]);
        provdb.line_with("is announced").unwrap();
        let bus = start_bus(&folder);
        let pserver = start_pserver(&folder);
        Self {
            folder,
            bus,
            pserver,
            provdb,
        }
    }

    fn path(&self, name: &str) -> String {
        path_in(&self.folder, name)
    }

    /// Starts an instance for each stream of the example.
    fn instances(&self) -> Vec<Process> {
        self.instances_of(0)
    }

    /// Starts an instance for each stream of the example, in this number of groups.
    fn instances_of(&self, num_groups: usize) -> Vec<Process> {
        let (bus, provdb) = (
            self.path("job/bus.address"),
            self.path("job/provdb.address"),
        );
        let streams = streams(example().as_ref());
        let streams = streams.iter().map(|it| it.to_string_lossy().into_owned());
        let args = |(index, stream): (usize, String)| {
            let args = ["ad", &stream, "--bus", &bus, "--provdb", &provdb];
            match index.checked_rem(num_groups) {
                Some(group) => start(&[&args[..], &["--group", &group.to_string()]].concat()),
                None => start(&args),
            }
        };
        streams.enumerate().map(args).collect()
    }

    fn merger(&self, group: usize) -> Process {
        let bus = self.path("job/bus.address");
        start(&["merger", "--bus", &bus, "--group", &group.to_string()])
    }

    /// Ends the servers in order; returns what the database has.
    fn end(self) -> Vec<(Collection, Vec<Value>)> {
        self.pserver.terminate().unwrap();
        self.bus.ask_to_end().unwrap();
        self.provdb.terminate().unwrap();
        found(&path_in(&self.folder, "found"))
    }
}

fn start_bus(folder: &TempDir) -> Process {
    let (data, file) = (path_in(folder, "bus"), path_in(folder, "job/bus.address"));
    start(&["bus", &data, "--announce", &file])
}

fn start_pserver(folder: &TempDir) -> Process {
    start(&[
        "pserver",
        "--provdb",
        &path_in(folder, "job/provdb.address"),
        "--bus",
        &path_in(folder, "job/bus.address"),
        "--announce",
        &path_in(folder, "job/pserver.address"),
    ])
}

fn found_by_one_process() -> Vec<(Collection, Vec<Value>)> {
    let folder = tempfile::tempdir().unwrap();
    let alone = path_in(&folder, "alone");
    stdout(&["run", &example(), "--provdb", &alone]);
    found(&alone)
}

#[test]
fn instances_on_a_bus_find_the_same_as_one_process() {
    let job = BusJob::start();
    for instance in job.instances() {
        instance.finish().unwrap();
    }
    assert_same(&job.end(), &found_by_one_process());
}

#[test]
fn instances_in_groups_find_the_same_while_any_part_is_killed() {
    let mut job = BusJob::start();
    let mut mergers = [0, 1].map(|group| job.merger(group));
    let instances = job.instances_of(2);
    for round in 0..6_usize {
        std::thread::sleep(Duration::from_millis(200));
        match round % 3 {
            0 => {
                mergers[round % 2].kill().unwrap();
                mergers[round % 2] = job.merger(round % 2);
            }
            1 => {
                job.pserver.kill().unwrap();
                job.pserver = start_pserver(&job.folder);
            }
            _ => {
                job.bus.kill().unwrap();
                job.bus = start_bus(&job.folder);
            }
        }
    }
    let ended = instances.into_iter().map(Process::finish);
    let failures: Vec<_> = ended.filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_same(&job.end(), &found_by_one_process());
    // The parameter server has said that the job is over.
    for merger in mergers {
        merger.finish().unwrap();
    }
}

#[test]
fn an_instance_of_a_group_without_a_merger_says_what_is_missing() {
    let job = BusJob::start();
    let refused = job.instances_of(1).remove(0).finish().unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("callgrove merger --group 0"), "{text}");
}

#[test]
fn kills_of_bus_and_parameter_server_change_no_document() {
    let mut job = BusJob::start();
    let instances = job.instances();
    for round in 0..6 {
        std::thread::sleep(Duration::from_millis(150 + 130 * round));
        if round % 2 == 0 {
            job.pserver.kill().unwrap();
            job.pserver = start_pserver(&job.folder);
        } else {
            job.bus.kill().unwrap();
            job.bus = start_bus(&job.folder);
        }
    }
    // All of them end before one fails the test, so that each states what it met.
    let ended = instances.into_iter().map(Process::finish);
    let failures: Vec<_> = ended.filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_same(&job.end(), &found_by_one_process());
}

#[test]
fn a_bus_keeps_what_instances_send_before_the_parameter_server_is_back() {
    let mut job = BusJob::start();
    // Both are known to the server before it is away.
    let instances = job.instances();
    job.pserver.line_with("listens at").unwrap();
    job.pserver.pause().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    job.pserver.kill().unwrap();
    job.pserver = start_pserver(&job.folder);
    for instance in instances {
        instance.finish().unwrap();
    }
    assert_same(&job.end(), &found_by_one_process());
}

#[cfg(unix)]
#[test]
fn a_bus_keeps_port_and_certificate_and_its_files_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let file = path_in(&folder, "job/bus.address");
    let mut bus = start_bus(&folder);
    bus.line_with("Server is ready").unwrap();
    let before = fs::read_to_string(&file).unwrap();
    for name in [
        "bus/nats-server.json",
        "bus/certificate.pem",
        "job/bus.address",
    ] {
        let mode = fs::metadata(path_in(&folder, name)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
    bus.kill().unwrap();
    let bus = start_bus(&folder);
    bus.line_with("Server is ready").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    // Other servers are no bus, and a bus is no parameter server.
    let refused = command(&["ad", &example(), "--pserver", &file])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("--bus"), "{text}");
    bus.ask_to_end().unwrap();
}

#[test]
fn a_program_that_is_no_recent_nats_server_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for program in ["true", "no-such-program"] {
        let mut refused = command(&[
            "bus",
            &path_in(&folder, "bus"),
            "--announce",
            &path_in(&folder, "bus.address"),
            "--nats-server",
            program,
        ]);
        let refused = refused.output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(text.contains("nats-server 2.12"), "{text}");
    }
}
