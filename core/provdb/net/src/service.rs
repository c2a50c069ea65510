//! The server's side: any store as a gRPC service.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgrove_provdb::{Collection, ProvDbError, StateChange, Store, parse_run};
use tokio::time::timeout;
use tonic::{Request, Response, Status, Streaming};

use super::last_writes::LastWrites;
use super::lease_server::{self, Leases};
use super::proto::prov_db_server::{ProvDb, ProvDbServer};
use super::reply_stream::{Replies, ReplySender, replies, replies_holding, reply_stream};
use super::served_monitor::{self, ServedMonitor};
use super::served_readers::{ReadPolicy, ServedReaders};
use super::store_thread::StoreThread;
use super::{MAX_MESSAGE_BYTES, MAX_PUT_BYTES, PART_BYTES, proto, wire};
use wire::STATE_BYTES;

/// Number of documents that are read together and sent before the next ones are read.
const DOCUMENTS_PER_READ: usize = 16;

/// Timeout between two parts of one request.
const PART_TIMEOUT: Duration = Duration::from_secs(30);

/// The gRPC service of a store.
#[derive(Clone)]
pub struct ProvDbService {
    readers: ServedReaders,
    writers: Writers,
    monitor: ServedMonitor,
}

/// The writers of a server.
#[derive(Clone)]
struct Writers {
    leases: Leases,
    last_writes: Arc<Mutex<LastWrites>>,
}

impl Writers {
    fn last_writes(&self) -> MutexGuard<'_, LastWrites> {
        self.last_writes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A database behind a service, for the program that runs the server.
pub struct ServedStore {
    writers: Writers,
    writer: StoreThread,
    readers: ServedReaders,
    monitor: ServedMonitor,
}

impl ServedStore {
    /// Returns the monitor for the operator.
    pub fn monitor(&self) -> ServedMonitor {
        self.monitor.clone()
    }

    /// Returns true if no rank is claimed, and each writer has left or has written nothing for `silence`.
    pub fn is_idle(&self, silence: Duration) -> bool {
        self.writers.leases.is_empty() && self.writers.last_writes().are_older_than(silence)
    }

    /// Returns true if a panic has ended the store or a read.
    pub fn has_fault(&self) -> bool {
        self.writer.has_ended() || self.readers.has_panicked()
    }

    /// Ends all reads and refuses new ones, so that the server can stop quickly. Writes continue.
    pub fn stop_reading(&self) {
        self.readers.close();
    }

    /// Waits until the database is closed, after its server has ended.
    pub fn close(self) {
        // Read-only connections would keep SQLite from checkpointing the files.
        self.readers.finish();
        drop((self.writers, self.readers, self.monitor));
        StoreThread::finish([self.writer]);
    }
}

impl ProvDbService {
    /// Returns the gRPC service of a store, to be mounted on a server that handles tokens and TLS. It reads through
    /// other stores on the same database, which `open_reader` opens on demand, so that reads never delay the writes of
    /// AD instances.
    ///
    /// # Errors
    /// [`ProvDbError::Thread`].
    pub fn serve(
        store: Box<dyn Store>,
        open_reader: impl Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync + 'static,
        policy: ReadPolicy,
    ) -> Result<(ProvDbServer<Self>, ServedStore), ProvDbError> {
        let writer = StoreThread::start("provdb-store", store).map_err(ProvDbError::Thread)?;
        let readers = ServedReaders::new(policy, open_reader);
        let writers = Writers {
            leases: Leases::new(writer.clone()),
            last_writes: Arc::default(),
        };
        let monitor = ServedMonitor::new(writer.clone());
        let served = ServedStore {
            writers: writers.clone(),
            writer,
            readers: readers.clone(),
            monitor: monitor.clone(),
        };
        let service = Self {
            readers,
            writers,
            monitor,
        };
        let server = ProvDbServer::new(service)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        Ok((server, served))
    }
}

/// Returns the next message of a streamed request. A client that stops in the middle is cut off, since the server holds
/// the former parts in memory.
async fn next_part<T>(messages: &mut Streaming<T>) -> Result<Option<T>, Status> {
    let next = timeout(PART_TIMEOUT, messages.message()).await;
    let stalled = |_elapsed| Status::deadline_exceeded("the request stalled: send it again");
    next.map_err(stalled)?
}

/// Adds to the size of a streamed request.
fn grow(total_bytes: &mut usize, bytes: usize) -> Result<(), Status> {
    *total_bytes += bytes;
    if *total_bytes > MAX_PUT_BYTES {
        let what = "the data of one request".to_owned();
        return Err(wire::status(wire::too_large(
            what,
            *total_bytes,
            MAX_PUT_BYTES,
        )));
    }
    Ok(())
}

#[tonic::async_trait]
impl ProvDb for ProvDbService {
    type StateStream = Replies<proto::Part>;
    type FindIdsStream = Replies<proto::IdsReply>;
    type DocumentsStream = Replies<proto::DocumentsReply>;
    type FindPlainSqlStream = Replies<proto::Part>;
    type ClaimStream = Replies<proto::ClaimReply>;

    async fn health(
        &self,
        _: Request<proto::HealthRequest>,
    ) -> Result<Response<proto::HealthReply>, Status> {
        Ok(Response::new(proto::HealthReply {}))
    }

    async fn put(
        &self,
        request: Request<Streaming<proto::PutRequest>>,
    ) -> Result<Response<proto::PutReply>, Status> {
        self.monitor.count_request("put");
        let mut messages = request.into_inner();
        let (mut documents, mut claims, mut total_bytes) = (Vec::new(), Vec::new(), 0);
        let mut writer = String::new();
        while let Some(mut message) = next_part(&mut messages).await? {
            grow(&mut total_bytes, prost::Message::encoded_len(&message))?;
            claims.append(&mut message.claims);
            writer += &message.writer;
            documents.extend(wire::documents(message).map_err(wire::status)?);
        }
        self.writers.last_writes().note(writer);
        let counts = served_monitor::counts(&documents);
        let put = move |store: &mut dyn Store| store.put(&documents);
        let stored = self.writers.leases.write(claims, put).await;
        self.monitor.note_outcome(&stored);
        stored.map_err(wire::status)?;
        self.monitor.count_documents(counts);
        Ok(Response::new(proto::PutReply {}))
    }

    async fn forget_step(
        &self,
        request: Request<proto::ForgetStepRequest>,
    ) -> Result<Response<proto::ForgetStepReply>, Status> {
        self.monitor.count_request("forget_step");
        let proto::ForgetStepRequest {
            program,
            rank,
            step,
            claims,
        } = request.into_inner();
        let forget = move |store: &mut dyn Store| store.forget_step(program, rank, step);
        let forgotten = self.writers.leases.write(claims, forget).await;
        forgotten.map_err(wire::status)?;
        Ok(Response::new(proto::ForgetStepReply {}))
    }

    async fn remove(
        &self,
        request: Request<proto::RemoveRequest>,
    ) -> Result<Response<proto::RemoveReply>, Status> {
        self.monitor.count_request("remove");
        let proto::RemoveRequest {
            collection,
            rank,
            keys,
            claims,
        } = request.into_inner();
        let collection = collection.parse::<Collection>();
        let collection = collection.map_err(|it| wire::status(it.into()))?;
        let remove = move |store: &mut dyn Store| store.remove(collection, rank, &keys);
        let removed = self.writers.leases.write(claims, remove).await;
        removed.map_err(wire::status)?;
        Ok(Response::new(proto::RemoveReply {}))
    }

    async fn change_states(
        &self,
        request: Request<Streaming<proto::ChangeStatesRequest>>,
    ) -> Result<Response<proto::ChangeStatesReply>, Status> {
        self.monitor.count_request("change_states");
        let mut messages = request.into_inner();
        let Some(mut first) = next_part(&mut messages).await? else {
            return Err(Status::invalid_argument("no state was sent: name one"));
        };
        let claims = std::mem::take(&mut first.claims);
        let writer = std::mem::take(&mut first.writer);
        let mut total_bytes = STATE_BYTES + first.name.len() + first.bytes.len();
        let mut states = vec![first];
        while let Some(message) = next_part(&mut messages).await? {
            grow(&mut total_bytes, message.name.len() + message.bytes.len())?;
            match states.last_mut() {
                Some(last) if message.name.is_empty() => last.bytes.extend(message.bytes),
                _ => {
                    grow(&mut total_bytes, STATE_BYTES)?;
                    states.push(message);
                }
            }
        }
        self.writers.last_writes().note(writer);
        let write = move |store: &mut dyn Store| {
            let changes = states.iter().map(|state| StateChange {
                name: &state.name,
                bytes: (!state.removed).then_some(&state.bytes[..]),
            });
            store.change_states(&changes.collect::<Vec<_>>())
        };
        let written = self.writers.leases.write(claims, write).await;
        self.monitor.note_outcome(&written);
        written.map_err(wire::status)?;
        Ok(Response::new(proto::ChangeStatesReply {}))
    }

    async fn join_run(
        &self,
        request: Request<proto::JoinRunRequest>,
    ) -> Result<Response<proto::JoinRunReply>, Status> {
        self.monitor.count_request("join_run");
        let proto::JoinRunRequest { run_json, claims } = request.into_inner();
        let run = parse_run(run_json.as_bytes(), "the request").map_err(wire::status)?;
        let join = move |store: &mut dyn Store| store.join_run(&run);
        let joined = self.writers.leases.write(claims, join).await;
        let joined = joined.map_err(wire::status)?;
        let reply = wire::join_run_reply(&joined).map_err(wire::status)?;
        Ok(Response::new(reply))
    }

    async fn state(
        &self,
        request: Request<proto::StateRequest>,
    ) -> Result<Response<Self::StateStream>, Status> {
        self.monitor.count_request("state");
        let name = request.into_inner().name;
        let read = move |store: &mut dyn Store| store.state(&name);
        let state = self.readers.lookups.read(read).await;
        match state.map_err(wire::status)? {
            Some(bytes) => Ok(replies(wire::parts(bytes))),
            None => Err(Status::not_found(
                "no state with that name: store one first",
            )),
        }
    }

    async fn find_ids(
        &self,
        request: Request<proto::QueryRequest>,
    ) -> Result<Response<Self::FindIdsStream>, Status> {
        self.monitor.count_request("find_ids");
        let query = wire::query(request.get_ref()).map_err(wire::status)?;
        let permit = self.readers.large_answer().await.map_err(wire::status)?;
        let find = move |store: &mut dyn Store| store.find_ids(&query);
        let ids = self.readers.queries.read(find).await;
        let ids = ids.map_err(wire::status)?;
        let permit = (size_of_val(ids.as_slice()) > PART_BYTES).then_some(permit);
        Ok(replies_holding(wire::ids_replies(ids), permit))
    }

    async fn documents(
        &self,
        request: Request<proto::DocumentsRequest>,
    ) -> Result<Response<Self::DocumentsStream>, Status> {
        self.monitor.count_request("documents");
        let proto::DocumentsRequest { collection, ids } = request.into_inner();
        let collection = collection.parse::<Collection>();
        let collection = collection.map_err(|it| wire::status(it.into()))?;
        let lookups = self.readers.lookups.clone();
        let write = |out: ReplySender<proto::DocumentsReply>| async move {
            for ids in ids.chunks(DOCUMENTS_PER_READ) {
                let ids = ids.to_vec();
                let read = move |store: &mut dyn Store| store.documents(collection, &ids);
                let messages = match lookups.read(read).await {
                    Ok(found) => wire::documents_replies(found),
                    Err(error) => {
                        out.send(Err(error)).await;
                        return;
                    }
                };
                for message in messages {
                    if !out.send(Ok(message)).await {
                        return;
                    }
                }
            }
        };
        Ok(reply_stream(write))
    }

    async fn count(
        &self,
        request: Request<proto::QueryRequest>,
    ) -> Result<Response<proto::CountReply>, Status> {
        self.monitor.count_request("count");
        let query = wire::query(request.get_ref()).map_err(wire::status)?;
        let count = move |store: &mut dyn Store| store.count(&query);
        let count = self.readers.queries.read(count).await;
        let count = count.map_err(wire::status)?;
        Ok(Response::new(proto::CountReply { count }))
    }

    async fn find_plain_sql(
        &self,
        request: Request<proto::PlainSqlRequest>,
    ) -> Result<Response<Self::FindPlainSqlStream>, Status> {
        self.monitor.count_request("find_plain_sql");
        let statements = self.readers.statements().map_err(wire::status)?;
        let sql = request.into_inner().sql;
        let permit = self.readers.large_table().await.map_err(wire::status)?;
        let answer = move |store: &mut dyn Store| {
            let table = store.find_plain_sql(&sql)?;
            serde_json::to_vec(&table).map_err(|error| ProvDbError::PlainSql(error.to_string()))
        };
        let json = statements.read(answer).await.map_err(wire::status)?;
        let permit = (json.len() > PART_BYTES).then_some(permit);
        Ok(replies_holding(wire::parts(json), permit))
    }

    async fn claim(
        &self,
        request: Request<Streaming<proto::ClaimRequest>>,
    ) -> Result<Response<Self::ClaimStream>, Status> {
        self.monitor.count_request("claim");
        let replies =
            lease_server::grant(self.writers.leases.clone(), request.into_inner()).await?;
        Ok(Response::new(Box::pin(replies)))
    }

    async fn goodbye(
        &self,
        request: Request<proto::GoodbyeRequest>,
    ) -> Result<Response<proto::GoodbyeReply>, Status> {
        self.monitor.count_request("goodbye");
        self.writers
            .last_writes()
            .forget(&request.into_inner().writer);
        Ok(Response::new(proto::GoodbyeReply {}))
    }
}
