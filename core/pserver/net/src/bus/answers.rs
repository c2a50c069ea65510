//! The answers of a server to the requests of instances.

use async_nats::Message as Request;
use callgrove_model::ProgramId;
use callgrove_pserver::{Hello, PserverError, ServerState};
use prost::Message as _;
use prost::bytes::Bytes;
use tonic::Code;

use crate::service::{code_of, progress_to_wire};
use crate::{proto, wire};

/// Returns the answer of the state to a request, or the refusal with its code.
pub(super) fn answer(
    state: &ServerState,
    request: &Request,
    now_ms: u64,
) -> Result<Vec<u8>, (Code, String)> {
    let refused = |error: PserverError| (code_of(&error), error.to_string());
    let payload = request.payload.clone();
    match method_of(request) {
        "register" => {
            let request: proto::RegisterRequest = decoded(payload)?;
            let group = request.group;
            let hello = wire::hello_from_wire(request).map_err(refused)?;
            let registered = state.register(&hello, now_ms).map_err(refused)?;
            if let Some(group) = group {
                state.join_group(&hello.instance, group);
            }
            let reply = wire::registered_to_wire(registered).map_err(refused)?;
            Ok(reply.encode_to_vec())
        }
        "functions" => {
            let request: proto::FunctionsRequest = decoded(payload)?;
            let names = wire::functions_from_wire(request.names);
            let fids = state.functions(ProgramId(request.program), &names);
            let fids = fids.map_err(refused)?.into_iter().map(|fid| fid.0);
            let fids = fids.collect();
            Ok(proto::FunctionsReply { fids }.encode_to_vec())
        }
        "sync" => {
            let request = wire::request_from_wire(decoded(payload)?).map_err(refused)?;
            let reply = state.sync(request, now_ms).map_err(refused)?;
            Ok(wire::reply_to_wire(&reply).encode_to_vec())
        }
        "heartbeat" => {
            let request: proto::HeartbeatRequest = decoded(payload)?;
            state
                .heartbeat(&request.instance, now_ms)
                .map_err(refused)?;
            Ok(proto::HeartbeatReply {}.encode_to_vec())
        }
        "progress" => {
            let request: proto::ProgressRequest = decoded(payload)?;
            let program = ProgramId(request.program);
            let progress = state.progress(program, request.num_ranks, now_ms);
            Ok(progress_to_wire(progress).encode_to_vec())
        }
        "goodbye" => {
            let request: proto::GoodbyeRequest = decoded(payload)?;
            state.goodbye(&request.instance);
            Ok(proto::GoodbyeReply {}.encode_to_vec())
        }
        other => Err((Code::Unimplemented, format!("there is no request {other}"))),
    }
}

/// Returns the registration that a request is, if it is one, with the group.
pub(super) fn registration_of(request: &Request) -> Option<(Hello, Option<u32>)> {
    let is_one = method_of(request) == "register";
    let request = is_one.then(|| proto::RegisterRequest::decode(request.payload.clone()));
    let request = request?.ok()?;
    let group = request.group;
    Some((wire::hello_from_wire(request).ok()?, group))
}

/// Returns the instance that signs off by a request, if it is a sign-off.
pub(super) fn goodbye_of(request: &Request) -> Option<String> {
    let is_one = method_of(request) == "goodbye";
    let request = is_one.then(|| proto::GoodbyeRequest::decode(request.payload.clone()));
    Some(request?.ok()?.instance)
}

/// Returns the method that a request calls.
pub(super) fn method_of(request: &Request) -> &str {
    let subject = request.subject.as_str();
    subject
        .rsplit_once('.')
        .map_or(subject, |(_, method)| method)
}

pub(super) fn decoded<M: prost::Message + Default>(payload: Bytes) -> Result<M, (Code, String)> {
    M::decode(payload).map_err(|error| (Code::InvalidArgument, error.to_string()))
}
