//! The server's side of the protocol: forwards calls to a [`ServerState`].

use std::sync::Arc;
use std::time::Instant;

use callgrove_model::ProgramId;
use callgrove_pserver::{MonotonicClock, PserverError, RunProgress, ServerState};
use tonic::{Code, Request, Response, Status};

use super::proto::pserver_server::{Pserver, PserverServer};
use super::{MAX_MESSAGE_BYTES, proto, wire};

/// The gRPC service. Calls run on the thread that received them: they only wait for short locks.
#[derive(Clone, Debug)]
pub struct PserverService {
    state: Arc<ServerState>,
    clock: MonotonicClock,
}

/// Returns the gRPC service of a state, to be mounted on a server. It neither folds nor makes packets: the caller does
/// so about once a second.
pub fn service(state: Arc<ServerState>) -> PserverServer<PserverService> {
    let clock = MonotonicClock::new();
    PserverServer::new(PserverService { state, clock })
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// Returns the status code of an error, as documented in `proto/pserver.proto`.
pub(crate) fn code_of(error: &PserverError) -> Code {
    match error {
        PserverError::RankTaken { .. } => Code::AlreadyExists,
        PserverError::NotRegistered { .. } => Code::FailedPrecondition,
        PserverError::Limit { .. } => Code::ResourceExhausted,
        _ => Code::InvalidArgument,
    }
}

fn status(error: &PserverError) -> Status {
    Status::new(code_of(error), error.to_string())
}

pub(crate) fn progress_to_wire(progress: RunProgress) -> proto::ProgressReply {
    proto::ProgressReply {
        num_learning: progress.num_learning,
        absent: progress.absent.into_iter().map(|rank| rank.0).collect(),
        learnt_in: progress.learnt_in,
    }
}

fn reply<T>(result: Result<T, PserverError>) -> Result<Response<T>, Status> {
    match result {
        Ok(message) => Ok(Response::new(message)),
        Err(error) => Err(status(&error)),
    }
}

#[tonic::async_trait]
impl Pserver for PserverService {
    async fn health(
        &self,
        _: Request<proto::HealthRequest>,
    ) -> Result<Response<proto::HealthReply>, Status> {
        let epoch = self.state.options().epoch;
        Ok(Response::new(proto::HealthReply { epoch }))
    }

    async fn register(
        &self,
        request: Request<proto::RegisterRequest>,
    ) -> Result<Response<proto::RegisterReply>, Status> {
        let registered = wire::hello_from_wire(request.into_inner())
            .and_then(|hello| self.state.register(&hello, self.clock.now_ms()));
        reply(registered.and_then(wire::registered_to_wire))
    }

    async fn functions(
        &self,
        request: Request<proto::FunctionsRequest>,
    ) -> Result<Response<proto::FunctionsReply>, Status> {
        let request = request.into_inner();
        let requests = wire::functions_from_wire(request.names);
        let fids = self.state.functions(ProgramId(request.program), &requests);
        reply(fids.map(|fids| proto::FunctionsReply {
            fids: fids.into_iter().map(|fid| fid.0).collect(),
        }))
    }

    async fn sync(
        &self,
        request: Request<proto::SyncRequest>,
    ) -> Result<Response<proto::SyncReply>, Status> {
        let start = Instant::now();
        let synced = wire::request_from_wire(request.into_inner())
            .and_then(|request| self.state.sync(request, self.clock.now_ms()));
        let reply = reply(synced.map(|synced| wire::reply_to_wire(&synced)));
        self.state.count_exchange(start.elapsed());
        reply
    }

    async fn heartbeat(
        &self,
        request: Request<proto::HeartbeatRequest>,
    ) -> Result<Response<proto::HeartbeatReply>, Status> {
        let instance = request.into_inner().instance;
        let beat = self.state.heartbeat(&instance, self.clock.now_ms());
        reply(beat.map(|()| proto::HeartbeatReply {}))
    }

    async fn progress(
        &self,
        request: Request<proto::ProgressRequest>,
    ) -> Result<Response<proto::ProgressReply>, Status> {
        let proto::ProgressRequest { program, num_ranks } = request.into_inner();
        let now_ms = self.clock.now_ms();
        let progress = self.state.progress(ProgramId(program), num_ranks, now_ms);
        Ok(Response::new(progress_to_wire(progress)))
    }

    async fn goodbye(
        &self,
        request: Request<proto::GoodbyeRequest>,
    ) -> Result<Response<proto::GoodbyeReply>, Status> {
        self.state.goodbye(&request.into_inner().instance);
        Ok(Response::new(proto::GoodbyeReply {}))
    }
}
