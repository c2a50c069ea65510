//! A client that has lost a rank without knowing it writes nothing.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::*;
use crate::{ProvDbService, ReadPolicy};

/// A store that grants claims and counts writes. Clones are the same store.
#[derive(Clone, Default)]
struct CountingStore(Arc<Mutex<Counted>>);

#[derive(Default)]
struct Counted {
    claimed: BTreeSet<(u32, u32)>,
    num_writes: usize,
}

/// Releases a claim of the store.
struct Held(CountingStore, (u32, u32));

impl CountingStore {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) {
        self.counted().num_writes += 1;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.counted().claimed.remove(&self.1);
    }
}

impl Store for CountingStore {
    fn put(&mut self, _: &[Document]) -> Result<(), ProvDbError> {
        self.write();
        Ok(())
    }

    fn forget_step(&mut self, _: u32, _: u32, _: u32) -> Result<(), ProvDbError> {
        self.write();
        Ok(())
    }

    fn remove(&mut self, _: Collection, _: u32, _: &[String]) -> Result<(), ProvDbError> {
        self.write();
        Ok(())
    }

    fn change_states(&mut self, _: &[StateChange<'_>]) -> Result<(), ProvDbError> {
        self.write();
        Ok(())
    }

    fn state(&mut self, _: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        Ok(None)
    }

    fn find_ids(&mut self, _: &Query) -> Result<Vec<i64>, ProvDbError> {
        Ok(Vec::new())
    }

    fn documents(&mut self, _: Collection, _: &[i64]) -> Result<Vec<String>, ProvDbError> {
        Ok(Vec::new())
    }

    fn count(&mut self, _: &Query) -> Result<u64, ProvDbError> {
        Ok(0)
    }

    fn find_plain_sql(&mut self, _: &str) -> Result<SqlTable, ProvDbError> {
        Ok(SqlTable::default())
    }

    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError> {
        self.write();
        Ok(run.clone())
    }

    fn claim(&mut self, program: u32, rank: u32, instance: &str) -> Result<Claim, ProvDbError> {
        if !self.counted().claimed.insert((program, rank)) {
            return Err(ProvDbError::Claimed {
                holder: instance.to_owned(),
                program,
                rank,
                place: "the test".to_owned(),
            });
        }
        Ok(Claim::new(
            program,
            rank,
            Held(self.clone(), (program, rank)),
        ))
    }
}

/// Serves a store until the test ends; returns its URL.
fn serve(store: &CountingStore) -> String {
    let (ready, address) = std::sync::mpsc::sync_channel(1);
    let store = store.clone();
    let serve = async move {
        let any_port: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let incoming = TcpIncoming::bind(any_port).expect("a port");
        let reader = store.clone();
        let open_reader = move || Ok(Box::new(reader.clone()) as Box<dyn Store>);
        let (service, _served) =
            ProvDbService::serve(Box::new(store), open_reader, ReadPolicy::PlainSql)
                .expect("a thread");
        ready
            .send(incoming.local_addr().expect("bound"))
            .expect("the test waits");
        let router = Server::builder().add_service(service);
        router.serve_with_incoming(incoming).await.expect("served");
    };
    let run = move || Runtime::new().expect("a runtime").block_on(serve);
    thread::Builder::new()
        .name("server".to_owned())
        .spawn(run)
        .expect("a thread");
    let address: SocketAddr = address.recv().expect("it listens");
    format!("http://{address}")
}

fn client(url: &str) -> RemoteStore {
    RemoteStore::open(url, AccessMode::ReadWrite, &RemoteOptions::default()).expect("opened")
}

/// Claims a rank as soon as the server has noticed that its former claim ended.
fn claim_soon(store: &mut RemoteStore, rank: u32) -> Claim {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match store.claim(0, rank, "next") {
            Ok(claim) => return claim,
            Err(error) if Instant::now() > deadline => panic!("{error}"),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Makes every kind of write; returns their results.
fn write_all(store: &mut RemoteStore) -> [Result<(), ProvDbError>; 5] {
    let document = Document::from_json(Collection::Anomalies, 5, "a", "{}");
    [
        store.put(&[document]),
        store.forget_step(0, 5, 1),
        store.remove(Collection::Anomalies, 5, &["a".to_owned()]),
        store.replace_state("a", b"state"),
        store.join_run(&RunIdentity::default()).map(|_| ()),
    ]
}

fn assert_lost(result: &Result<(), ProvDbError>) {
    assert!(
        matches!(
            result,
            Err(ProvDbError::ClaimLost {
                program: 0,
                rank: 5,
                ..
            })
        ),
        "{result:?}"
    );
}

#[test]
fn the_server_refuses_a_client_whose_rank_another_one_has() {
    let counting = CountingStore::default();
    let url = serve(&counting);
    let (mut first, mut second) = (client(&url), client(&url));
    let (request, stream) = first.request_claim(0, 5, "first").expect("free");
    for written in write_all(&mut first) {
        written.expect("it holds the rank");
    }
    let num_writes = counting.counted().num_writes;
    // The claim ends at the server. No task renews it, as if the client were stopped.
    drop(stream);
    let claim = claim_soon(&mut second, 5);
    for refused in write_all(&mut first) {
        assert_lost(&refused);
    }
    assert_eq!(counting.counted().num_writes, num_writes);
    for written in write_all(&mut second) {
        written.expect("it holds the rank");
    }
    // The second client is done with the rank; what it wrote must stay.
    drop(claim);
    let renewal = proto::ClaimRequest {
        is_renewal: true,
        ..request
    };
    let renewed = first.call(RETRY_TIMEOUT, async |client: RemoteClient| {
        lease_client::ask(client, renewal.clone()).await.map(|_| ())
    });
    assert_lost(&renewed);
    for refused in write_all(&mut first) {
        assert_lost(&refused);
    }
}

#[test]
fn a_client_that_released_its_rank_still_writes() {
    let url = serve(&CountingStore::default());
    let (mut first, mut second) = (client(&url), client(&url));
    drop(first.claim(0, 5, "first").expect("free"));
    let _claim = claim_soon(&mut second, 5);
    for written in write_all(&mut first) {
        written.expect("it has no rank any more");
    }
    let _other = first.claim(0, 6, "first").expect("free");
    for written in write_all(&mut first) {
        written.expect("it holds rank 6");
    }
}
