//! Conversion of documents, queries and errors to messages, and back.

use callgrove_model::{RunIdentity, RunMismatch};
use callgrove_net::innermost_cause;
use callgrove_provdb::{Collection, Document, Filter, ProvDbError, Query, SortKey, StateChange};
use prost::Message as _;
use tonic::{Code, Status};

use super::proto::failure::Kind;
use super::{MAX_MESSAGE_BYTES, MAX_PUT_BYTES, PART_BYTES, proto};

/// Splits documents into messages of bounded size, at least one message. The first one carries the claims of the
/// client.
pub(super) fn put_requests(
    documents: &[Document],
    claims: Vec<proto::HeldClaim>,
    writer: &str,
) -> Result<Vec<proto::PutRequest>, ProvDbError> {
    let first = proto::PutRequest {
        documents: Vec::new(),
        claims,
        writer: writer.to_owned(),
    };
    let (mut filled_bytes, mut total_bytes) = (first.encoded_len(), 0);
    let mut requests = vec![first];
    for document in documents {
        let document = proto::Document {
            collection: document.collection.to_string(),
            rank: document.rank,
            key: document.key.clone(),
            json: document.json.clone(),
        };
        let bytes = document.encoded_len();
        // The framing takes a few bytes more.
        if bytes > MAX_MESSAGE_BYTES - 64 {
            let what = format!("the document {} of {}", document.key, document.collection);
            return Err(too_large(what, bytes, MAX_MESSAGE_BYTES - 64));
        }
        total_bytes += bytes;
        if filled_bytes > 0 && filled_bytes + bytes > PART_BYTES {
            requests.push(proto::PutRequest::default());
            filled_bytes = 0;
        }
        filled_bytes += bytes;
        if let Some(request) = requests.last_mut() {
            request.documents.push(document);
        }
    }
    if total_bytes > MAX_PUT_BYTES {
        return Err(too_large(
            "the data of one request".to_owned(),
            total_bytes,
            MAX_PUT_BYTES,
        ));
    }
    Ok(requests)
}

/// Returns the documents of one message.
pub(super) fn documents(request: proto::PutRequest) -> Result<Vec<Document>, ProvDbError> {
    let document = |it: proto::Document| {
        let collection = it.collection.parse()?;
        Ok(Document::from_json(collection, it.rank, it.key, it.json))
    };
    request.documents.into_iter().map(document).collect()
}

/// Splits bytes into parts, at least one, each created when it is sent.
pub(super) fn parts(bytes: Vec<u8>) -> impl Iterator<Item = proto::Part> {
    let num_parts = bytes.len().div_ceil(PART_BYTES).max(1);
    (0..num_parts).map(move |part| {
        let rest = bytes.get(part * PART_BYTES..).unwrap_or_default();
        let bytes = rest.get(..PART_BYTES).unwrap_or(rest).to_vec();
        proto::Part { bytes }
    })
}

/// What a state without a name and bytes counts in the size of a request: the memory that it takes.
pub(super) const STATE_BYTES: usize = size_of::<proto::ChangeStatesRequest>();

/// Splits states into messages. The first one carries the claims of the client.
pub(super) fn state_requests(
    changes: &[StateChange<'_>],
    claims: Vec<proto::HeldClaim>,
    writer: &str,
) -> Result<Vec<proto::ChangeStatesRequest>, ProvDbError> {
    let mut requests = Vec::new();
    let mut total_bytes = 0;
    for StateChange { name, bytes } in changes {
        total_bytes += STATE_BYTES + name.len() + bytes.map_or(0, <[u8]>::len);
        if total_bytes > MAX_PUT_BYTES {
            let what = format!("the state {name}");
            return Err(too_large(what, total_bytes, MAX_PUT_BYTES));
        }
        let first = requests.len();
        let parts = parts(bytes.unwrap_or_default().to_vec());
        requests.extend(parts.map(|part| proto::ChangeStatesRequest {
            bytes: part.bytes,
            ..proto::ChangeStatesRequest::default()
        }));
        (*name).clone_into(&mut requests[first].name);
        requests[first].removed = bytes.is_none();
    }
    if let Some(first) = requests.first_mut() {
        first.claims = claims;
        writer.clone_into(&mut first.writer);
    }
    Ok(requests)
}

pub(super) fn join_run_request(
    run: &RunIdentity,
    claims: Vec<proto::HeldClaim>,
) -> Result<proto::JoinRunRequest, ProvDbError> {
    let run_json = run_json(run)?;
    Ok(proto::JoinRunRequest { run_json, claims })
}

pub(super) fn join_run_reply(run: &RunIdentity) -> Result<proto::JoinRunReply, ProvDbError> {
    let run_json = run_json(run)?;
    Ok(proto::JoinRunReply { run_json })
}

fn run_json(run: &RunIdentity) -> Result<String, ProvDbError> {
    serde_json::to_string(run).map_err(|error| ProvDbError::Database {
        cause: error.to_string(),
        place: "the identity of a run".to_owned(),
    })
}

/// Splits ids into messages, each created when it is sent.
pub(super) fn ids_replies(ids: Vec<i64>) -> impl Iterator<Item = proto::IdsReply> {
    const NUM_IDS: usize = PART_BYTES / size_of::<i64>();
    let num_replies = ids.len().div_ceil(NUM_IDS);
    (0..num_replies).map(move |reply| {
        let ids = ids.iter().skip(reply * NUM_IDS).take(NUM_IDS);
        proto::IdsReply {
            ids: ids.copied().collect(),
        }
    })
}

/// Splits documents into messages.
pub(super) fn documents_replies(documents: Vec<String>) -> Vec<proto::DocumentsReply> {
    let mut replies: Vec<proto::DocumentsReply> = Vec::new();
    let mut filled_bytes = 0;
    for document in documents {
        let bytes = document.len();
        match replies.last_mut() {
            Some(reply) if filled_bytes + bytes <= PART_BYTES => reply.documents.push(document),
            _ => {
                replies.push(proto::DocumentsReply {
                    documents: vec![document],
                });
                filled_bytes = 0;
            }
        }
        filled_bytes += bytes;
    }
    replies
}

pub(super) fn query_request(query: &Query) -> proto::QueryRequest {
    proto::QueryRequest {
        collection: query.collection.to_string(),
        filter: query.filter.as_ref().map(ToString::to_string),
        sort: query.sort.as_ref().map(ToString::to_string),
        limit: query.limit,
        offset: query.offset,
    }
}

pub(super) fn query(request: &proto::QueryRequest) -> Result<Query, ProvDbError> {
    Ok(Query {
        collection: request.collection.parse()?,
        filter: request.filter.as_deref().map(Filter::parse).transpose()?,
        sort: request.sort.as_deref().map(SortKey::parse).transpose()?,
        limit: request.limit,
        offset: request.offset,
    })
}

pub(super) fn too_large(what: String, found_bytes: usize, most_bytes: usize) -> ProvDbError {
    ProvDbError::TooLarge {
        what,
        found_bytes: found_bytes as u64,
        most_bytes: most_bytes as u64,
        remedy: SEND_LESS,
    }
}

const SEND_LESS: &str = "send less in one request";

/// Converts an error to a status for a client.
pub(super) fn status(error: ProvDbError) -> Status {
    let message = error.to_string();
    let (code, kind) = match error {
        ProvDbError::Claimed {
            holder,
            program,
            rank,
            ..
        } => (
            Code::AlreadyExists,
            Kind::Claimed(proto::Claimed {
                holder,
                program,
                rank,
            }),
        ),
        ProvDbError::ClaimLost { program, rank, .. } => (
            Code::AlreadyExists,
            Kind::ClaimLost(proto::ClaimLost { program, rank }),
        ),
        ProvDbError::BadDocument {
            cause,
            collection,
            key,
        } => {
            let collection = collection.to_string();
            (
                Code::InvalidArgument,
                Kind::BadDocument(proto::BadDocument {
                    cause,
                    collection,
                    key,
                }),
            )
        }
        ProvDbError::TooLarge {
            what,
            found_bytes,
            most_bytes,
            ..
        } => (
            Code::OutOfRange,
            Kind::TooLarge(proto::TooLarge {
                what,
                found_bytes,
                most_bytes,
            }),
        ),
        ProvDbError::PlainSql(cause) => (Code::InvalidArgument, Kind::PlainSql(cause)),
        ProvDbError::DiskFull { cause, .. } => (Code::ResourceExhausted, Kind::DiskFull(cause)),
        ProvDbError::ReadOnly(_) => (Code::FailedPrecondition, Kind::ReadOnly(true)),
        ProvDbError::Busy(_) => (Code::Aborted, Kind::Busy(true)),
        ProvDbError::OtherRun { mismatch, .. } => (
            Code::FailedPrecondition,
            Kind::OtherRun(proto::OtherRun {
                known: mismatch.known,
                other: mismatch.other,
                reason: mismatch.reason,
            }),
        ),
        ProvDbError::UnknownRun(_) => (Code::FailedPrecondition, Kind::UnknownRun(true)),
        ProvDbError::Damaged { cause, place } => (
            Code::DataLoss,
            Kind::Damaged(proto::Damaged { cause, place }),
        ),
        ProvDbError::SqlNotAllowed(_) => (Code::PermissionDenied, Kind::SqlNotAllowed(true)),
        ProvDbError::TooSlow { limit_s } => (Code::DeadlineExceeded, Kind::TooSlowLimitS(limit_s)),
        ProvDbError::AnswerTooLarge { what, found, most } => (
            Code::OutOfRange,
            Kind::AnswerTooLarge(proto::AnswerTooLarge { what, found, most }),
        ),
        ProvDbError::Interrupted => (Code::Cancelled, Kind::Interrupted(true)),
        ProvDbError::UnknownCollection(_) | ProvDbError::Filter(_) => {
            (Code::InvalidArgument, Kind::Other(message.clone()))
        }
        _ => (Code::Internal, Kind::Other(message.clone())),
    };
    let details = proto::Failure { kind: Some(kind) }.encode_to_vec();
    Status::with_details(code, message, details.into())
}

/// Converts a server's status to an error, with its address as the place.
pub(super) fn error(status: &Status, place: &str) -> ProvDbError {
    let place = place.to_owned();
    let kind = proto::Failure::decode(status.details())
        .ok()
        .and_then(|it| it.kind);
    match kind {
        Some(Kind::Claimed(proto::Claimed {
            holder,
            program,
            rank,
        })) => ProvDbError::Claimed {
            holder,
            program,
            rank,
            place,
        },
        Some(Kind::ClaimLost(proto::ClaimLost { program, rank })) => ProvDbError::ClaimLost {
            program,
            rank,
            place,
        },
        Some(Kind::BadDocument(it)) => match it.collection.parse::<Collection>() {
            Ok(collection) => ProvDbError::BadDocument {
                cause: it.cause,
                collection,
                key: it.key,
            },
            Err(error) => error.into(),
        },
        Some(Kind::TooLarge(proto::TooLarge {
            what,
            found_bytes,
            most_bytes,
        })) => ProvDbError::TooLarge {
            what,
            found_bytes,
            most_bytes,
            remedy: "request or send less at a time",
        },
        Some(Kind::PlainSql(cause)) => ProvDbError::PlainSql(cause),
        Some(Kind::DiskFull(cause)) => ProvDbError::DiskFull { cause, place },
        Some(Kind::ReadOnly(_)) => ProvDbError::ReadOnly(place),
        Some(Kind::Busy(_)) => ProvDbError::Busy(place),
        Some(Kind::OtherRun(proto::OtherRun {
            known,
            other,
            reason,
        })) => ProvDbError::OtherRun {
            mismatch: RunMismatch {
                known,
                other,
                reason,
            },
            place,
        },
        Some(Kind::UnknownRun(_)) => ProvDbError::UnknownRun(place),
        // A file on the server's machine.
        Some(Kind::Damaged(it)) => ProvDbError::Damaged {
            cause: it.cause,
            place: it.place,
        },
        Some(Kind::SqlNotAllowed(_)) => ProvDbError::SqlNotAllowed(place),
        Some(Kind::TooSlowLimitS(limit_s)) => ProvDbError::TooSlow { limit_s },
        Some(Kind::AnswerTooLarge(proto::AnswerTooLarge { what, found, most })) => {
            ProvDbError::AnswerTooLarge { what, found, most }
        }
        Some(Kind::Interrupted(_)) => ProvDbError::Interrupted,
        Some(Kind::Other(cause)) => ProvDbError::Database { cause, place },
        None => match status.code() {
            Code::Unauthenticated => ProvDbError::Database {
                cause: format!("{}: use the server's token", status.message()),
                place,
            },
            _ => ProvDbError::Database {
                cause: innermost_cause(status),
                place,
            },
        },
    }
}

/// Returns true if it is unknown whether the server received the request, so that it must be sent again.
pub(super) fn is_break(status: &Status) -> bool {
    status.details().is_empty() && callgrove_net::is_connection_failure(status)
}
