//! A recorded run in which a process is killed before any write, send, rename or removal, or in which one of those to
//! the disk fails, gets the results of an undisturbed run once it is started again. `CALLGROVE_INTERRUPTS=8` tries more
//! calls than a normal test run, and a million tries each of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use callgrove_provdb::Collection;
use callgrove_tau::TauStep;
use callgrove_tests::numbers::Numbers;
use callgrove_tests::process::Process;
use serde_json::Value;

use crate::nats_server::NatsServer;
use crate::postgres_server::PostgresServer;
use crate::support::*;

/// Number of ranks of the run.
const NUM_RANKS: u64 = 4;
/// Number of messages that a rank receives during a stall.
const NUM_MESSAGES: u64 = 2_000;
/// Number of steps of each rank.
const NUM_STEPS: u64 = 8;

/// The library that counts the calls of a process; built by cargo, as the program under test is.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = Command::new(cargo)
        .args(["build", "--package", "callgrove-interrupt"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(build.status.success(), "the library does not compile");
    let messages = lines(&String::from_utf8(build.stdout).unwrap());
    let names = messages.iter().filter_map(|it| it["filenames"].as_array());
    let names = names.flatten().filter_map(Value::as_str);
    let mut libraries = names.filter(|it| it.ends_with("libcallgrove_interrupt.so"));
    libraries.next().unwrap().into()
});

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interrupt {
    Kill,
    DiskError,
}

/// Writes a run in which all ranks stall at the same times, so that it has anomalies and incidents.
fn write_stalling_run(folder: &Path) {
    write_run(folder, NUM_RANKS, NUM_STEPS, |rank, number| {
        let mut numbers = Numbers::with_seed(100 * rank + number);
        let mut step = TauStep::default();
        for call in 0..40 {
            let start_us = RUN_START_US + 1_000_000 * number + 20_000 * call;
            let is_stalled = call == 20 && number % 3 == 2;
            let wait_us = 50 + numbers.below(20) as u64 + if is_stalled { 15_000 } else { 0 };
            // Enough messages in a stall for the reports of two ranks to be sent in parts.
            for number in 0..if is_stalled { NUM_MESSAGES } else { 0 } {
                let source = (rank + 1) % NUM_RANKS;
                let time_us = start_us + 1_000 + 5 * number;
                step.comms.push([0, rank, 0, 3, 7, source, 8, time_us]);
            }
            add_call_with_wait(&mut step, rank, start_us, wait_us);
        }
        if number == 0 {
            step.attributes = named(rank, &["work()", "MPI_Wait()"]);
        }
        step
    });
}

/// Returns the number of the call to interrupt after `last`.
fn next_call(last: u64) -> u64 {
    let density = std::env::var("CALLGROVE_INTERRUPTS").map_or(1, |it| it.parse().unwrap());
    last + 1 + last / density
}

/// Returns the run and its undisturbed result.
fn recorded_run(folder: &tempfile::TempDir) -> (String, Vec<(Collection, Vec<Value>)>) {
    let (run, undisturbed) = (path_in(folder, "run"), path_in(folder, "undisturbed"));
    write_stalling_run(Path::new(&run));
    stdout(&["run", &run, "--provdb", &undisturbed, "--trees", "work()"]);
    let expected = found(&undisturbed);
    for collection in [
        Collection::Anomalies,
        Collection::Incidents,
        Collection::Trees,
    ] {
        assert!(
            !documents(&undisturbed, collection).is_empty(),
            "{collection}"
        );
    }
    (run, expected)
}

/// Returns a command whose process is interrupted at its `call`-th call.
fn interrupted(args: &[&str], interrupt: Interrupt, call: u64) -> Command {
    let mut command = command(args);
    command
        .env("LD_PRELOAD", &*LIBRARY)
        .env("CALLGROVE_INTERRUPT_AT", call.to_string());
    if interrupt == Interrupt::DiskError {
        command.env("CALLGROVE_INTERRUPT_BY", "error");
    }
    command
}

/// Interrupts `callgrove run` at one call after the other, each with a new database. Returns how often it ended without
/// success.
fn interrupt_run(interrupt: Interrupt, new_database: impl Fn(&str) -> String) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let (run, expected) = recorded_run(&folder);
    let (mut call, mut num_failures) = (1, 0);
    loop {
        let store = new_database(&format!("interrupted_{call}"));
        let args = ["run", &run, "--provdb", &store, "--trees", "work()"];
        let ended = interrupted(&args, interrupt, call).output().unwrap();
        if !ended.status.success() {
            let expected_code = (interrupt == Interrupt::DiskError).then_some(1);
            assert_eq!(ended.status.code(), expected_code, "{call}: {ended:?}");
            stdout(&args);
            num_failures += 1;
        }
        assert_same(&found(&store), &expected);
        if ended.status.success() && interrupt == Interrupt::Kill {
            return num_failures;
        }
        call = next_call(call);
        if call > 1 << 14 {
            return num_failures;
        }
    }
}

#[test]
fn a_run_that_is_killed_at_any_call_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let num_kills = interrupt_run(Interrupt::Kill, |name| path_in(&folder, name));
    assert!(num_kills > 5, "{num_kills}");
}

#[test]
fn a_run_with_postgresql_that_is_killed_at_any_call_goes_on_where_it_ended() {
    let server = PostgresServer::start(&[]);
    let num_kills = interrupt_run(Interrupt::Kill, |name| server.new_database(name));
    assert!(num_kills > 5, "{num_kills}");
}

#[test]
fn a_run_whose_disk_fails_once_has_all_results_or_fails_and_gets_them_when_repeated() {
    let folder = tempfile::tempdir().unwrap();
    interrupt_run(Interrupt::DiskError, |name| path_in(&folder, name));
}

/// The processes of a distributed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Database,
    ParameterServer,
    Instance,
    Merger,
}

/// How instances send their data to the parameter server.
#[derive(Clone, Copy)]
enum Exchange<'a> {
    /// To its port.
    Direct,
    /// Over a message bus.
    Bus(&'a NatsServer),
    /// Over a message bus, in two groups.
    Groups(&'a NatsServer),
}

/// A process that is started again once it was killed.
struct Restarted {
    args: Vec<String>,
    /// `None` after it has ended without being killed.
    process: Option<Process>,
    was_killed: bool,
}

impl Restarted {
    /// Starts the process, which is killed at a call if there is one.
    fn start(args: &[&str], call: Option<u64>) -> Self {
        let mut command = match call {
            Some(call) => interrupted(args, Interrupt::Kill, call),
            None => command(args),
        };
        Self {
            args: args.iter().map(|&it| it.to_owned()).collect(),
            process: Some(Process::start(&mut command).unwrap()),
            was_killed: false,
        }
    }

    /// Starts it again if it was killed. Returns whether it goes on.
    fn goes_on(&mut self) -> bool {
        let Some(mut process) = self.process.take() else {
            return false;
        };
        if process.is_running().unwrap() {
            self.process = Some(process);
        } else if process.code().unwrap() != Some(0) {
            assert!(!self.was_killed, "it fails: {:?}", self.args);
            self.was_killed = true;
            self.process = Some(self.again());
        }
        self.process.is_some()
    }

    /// Ends a server, also if it is killed meanwhile.
    fn end(&mut self) {
        if self.goes_on()
            && let Some(server) = self.process.take()
        {
            server.ask_to_end().unwrap();
            if server.code().unwrap() != Some(0) {
                assert!(!self.was_killed, "it fails: {:?}", self.args);
                self.was_killed = true;
                let successor = self.again();
                successor.url().unwrap();
                successor.terminate().unwrap();
            }
        }
    }

    /// Waits for the end of a merger, which comes with that of the server. One that has started since knows no server.
    fn end_with_server(&mut self) {
        let mut process = self.process.take().unwrap();
        let start = Instant::now();
        while process.is_running().unwrap() {
            if start.elapsed() > Duration::from_secs(10) {
                assert!(self.was_killed, "it goes on: {:?}", self.args);
                process.kill().unwrap();
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        if process.code().unwrap() != Some(0) {
            assert!(!self.was_killed, "it fails: {:?}", self.args);
            self.was_killed = true;
        }
    }

    fn again(&self) -> Process {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        start(&args)
    }
}

/// Judges a run by two instances, a parameter server and a database, of which one is killed at a call and started
/// again. Returns whether it was.
fn was_killed(victim: Part, call: u64, run: &str, store: &str, exchange: Exchange<'_>) -> bool {
    let [provdb, pserver] = [free_address(), free_address()];
    let (provdb_url, pserver_url) = (format!("http://{provdb}"), format!("http://{pserver}"));
    let call_of = |part: Part| (part == victim).then_some(call);
    let database = ["provdb", store, "--listen", &provdb];
    let mut database = Restarted::start(&database, call_of(Part::Database));
    let job = Path::new(store).file_name().unwrap().to_str().unwrap();
    let bus = match exchange {
        Exchange::Direct => None,
        Exchange::Bus(bus) | Exchange::Groups(bus) => Some(bus.url(job)),
    };
    let to_bus = bus.as_ref().map(|url| ["--bus", url]);
    let to_bus = to_bus.as_ref();
    let server = ["pserver", "--provdb", &provdb_url, "--listen", &pserver];
    let server = [&server[..], to_bus.map_or(&[], |it| &it[..])].concat();
    let mut server = Restarted::start(&server, call_of(Part::ParameterServer));
    let groups = match exchange {
        Exchange::Groups(_) => vec!["0", "1"],
        Exchange::Direct | Exchange::Bus(_) => Vec::new(),
    };
    let start_merger = |group: &&str| {
        let args = [&["merger", "--group", group][..], &to_bus.unwrap()[..]].concat();
        let call = call_of(Part::Merger).filter(|_| *group == "0");
        Restarted::start(&args, call)
    };
    let mut mergers: Vec<Restarted> = groups.iter().map(start_merger).collect();
    let of_instances = [("02", call_of(Part::Instance), "0"), ("13", None, "1")];
    let mut instances = of_instances.map(|(ranks, call, group)| {
        let in_group = ["--group", group];
        let in_group = &in_group[..if groups.is_empty() { 0 } else { 2 }];
        let streams = format!("{run}/*[{ranks}].bp");
        let to_server = ["--pserver", &pserver_url];
        let servers = [
            &to_bus.unwrap_or(&to_server)[..],
            &["--provdb", &provdb_url],
            in_group,
        ]
        .concat();
        let args = [&["ad", &streams, "--trees", "work()"][..], &servers].concat();
        Restarted::start(&args, call)
    });
    while instances.each_mut().map(Restarted::goes_on) != [false; 2] {
        assert!(database.goes_on() && server.goes_on());
        assert!(mergers.iter_mut().all(Restarted::goes_on));
        std::thread::sleep(Duration::from_millis(10));
    }
    server.end();
    for merger in &mut mergers {
        merger.end_with_server();
    }
    database.end();
    let mut all = instances.iter().chain(&mergers).chain([&server, &database]);
    all.any(|it| it.was_killed)
}

/// Kills a part of a distributed run at one call after the other.
fn kill_part(victim: Part, exchange: Exchange<'_>) {
    let folder = tempfile::tempdir().unwrap();
    let (run, expected) = recorded_run(&folder);
    let (mut call, mut num_kills) = (1, 0);
    loop {
        let job = format!("killed-{call}");
        let store = path_in(&folder, &job);
        let was_killed = was_killed(victim, call, &run, &store, exchange);
        assert_same(&found(&store), &expected);
        if !was_killed {
            break;
        }
        num_kills += 1;
        call = next_call(call);
        // Fewer than of a run alone, since others wait for leases and for connections after each; a merger makes few calls.
        if victim != Part::Merger {
            call = next_call(call);
        }
    }
    assert!(num_kills > 2, "{num_kills}");
}

#[test]
fn a_database_that_is_killed_at_any_call_goes_on_where_it_ended() {
    kill_part(Part::Database, Exchange::Direct);
}

#[test]
fn a_parameter_server_that_is_killed_at_any_call_goes_on_where_it_ended() {
    kill_part(Part::ParameterServer, Exchange::Direct);
}

#[test]
fn an_instance_that_is_killed_at_any_call_goes_on_where_it_ended() {
    kill_part(Part::Instance, Exchange::Direct);
}

#[test]
fn a_parameter_server_on_a_bus_that_is_killed_at_any_call_goes_on_where_it_ended() {
    kill_part(Part::ParameterServer, Exchange::Bus(&NatsServer::start()));
}

#[test]
fn an_instance_on_a_bus_that_is_killed_at_any_call_goes_on_where_it_ended() {
    kill_part(Part::Instance, Exchange::Bus(&NatsServer::start()));
}

#[test]
fn a_merger_that_is_killed_at_any_call_goes_on_where_it_ended() {
    kill_part(Part::Merger, Exchange::Groups(&NatsServer::start()));
}

#[test]
fn a_parameter_server_of_groups_that_is_killed_at_any_call_goes_on_where_it_ended() {
    kill_part(
        Part::ParameterServer,
        Exchange::Groups(&NatsServer::start()),
    );
}

#[test]
fn an_instance_of_a_group_that_is_killed_at_any_call_goes_on_where_it_ended() {
    kill_part(Part::Instance, Exchange::Groups(&NatsServer::start()));
}
