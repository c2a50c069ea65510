//! The exchange over a real message bus.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_pserver::{
    Link, ModelExchange, PserverError, Retention, ServerState, StateOptions, SyncReply,
};
use callgrove_pserver_net::{BusExchange, BusServer, ExchangeOptions, connect_to_bus};
use tempfile::TempDir;

use crate::support::{PROGRAM, Saved, global_model, hello, model, names, new_state, report};

/// A nats-server that keeps its port and its data when it starts again.
struct Bus {
    folder: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Bus {
    fn start() -> Self {
        Self::with_settings("max_payload: 8MB")
    }

    fn with_settings(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("there is space");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let data = folder.path().join("data");
        let config = format!(
            "listen: 127.0.0.1:{port}\n{settings}\njetstream {{ store_dir: {data:?} }}\n"
        );
        fs::write(folder.path().join("nats.conf"), config).expect("there is space");
        let mut bus = Self {
            folder,
            port,
            child: None,
        };
        bus.start_again();
        bus
    }

    fn start_again(&mut self) {
        let program = std::env::var_os("CALLGROVE_NATS_SERVER");
        let program = program.unwrap_or_else(|| "nats-server".into());
        let mut command = Command::new(&program);
        command.arg("-c").arg(self.folder.path().join("nats.conf"));
        command.stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap_or_else(|error| {
            let program = Path::new(&program).display();
            panic!("{error}: {program}; `cargo xtask test` installs it")
        }));
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it was started here");
        }
    }

    fn options(&self) -> ExchangeOptions {
        ExchangeOptions {
            deadline: Duration::from_secs(2),
            startup_wait: Duration::from_secs(10),
            ..ExchangeOptions::new(format!("nats://127.0.0.1:{}/lammps", self.port))
        }
    }

    fn client(&self) -> BusExchange {
        connect_to_bus(self.options()).expect("threads can be started")
    }

    fn server(&self, state: &Arc<ServerState>) -> BusServer {
        BusServer::start(&self.options(), Arc::clone(state)).expect("the bus runs")
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Polls until a condition holds for the newest models.
fn wait_for(state: &ServerState, what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        state.fold();
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_instances_write_into_the_log_comes_back_merged() {
    let bus = Bus::start();
    let state = new_state(StateOptions::default());
    let server = bus.server(&state);
    let (mut one, mut other) = (bus.client(), bus.client());
    one.register(&hello(0)).expect("the rank is free");
    other.register(&hello(1)).expect("the rank is free");
    let fids = one.functions(PROGRAM, &names(&["f", "g"])).expect("short");
    assert_eq!(other.functions(PROGRAM, &names(&["g"])), Ok(vec![fids[1]]));
    let values: Vec<u64> = (0..3000).map(|i| i * i).collect();
    let deltas = vec![(fids[0], model(&[1])), (fids[1], model(&values))];
    one.sync_and_report(deltas, &[report(0, 0, fids[1], &values)])
        .expect("the bus is there");
    assert_eq!(one.unsettled(), Ok(None), "the log has it");
    let mut whole = model(&values);
    whole.extend(&[77]);
    let mut deltas = vec![(fids[1], model(&[77]))];
    wait_for(&state, "both instances are in the models", || {
        let synced = other.sync_and_report(std::mem::take(&mut deltas), &[]);
        assert_eq!(synced.expect("the bus is there").link, Link::Up);
        let asked = vec![(fids[1], model(&[]))];
        let synced = other.sync_and_report(asked, &[]).expect("the bus is there");
        synced.models[0].1.distribution() == whole.distribution()
    });
    one.goodbye().expect("the server is there");
    other.goodbye().expect("the server is there");
    assert!(state.is_abandoned(0));
    assert_eq!(server.finish(), None);
    assert_eq!(state.documents().func_stats[0].fid, fids[1].0);
}
