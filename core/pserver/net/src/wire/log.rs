//! The entries of a log on a message bus, and the models that a server publishes there.

use std::sync::Arc;

use callgrove_model::{FuncId, ProgramId};
use callgrove_pserver::{
    Contribution, Hello, LoggedPart, MergerStart, PartNumber, PublishedModel, SumOrigin,
};
use prost::Message as _;
use prost::bytes::Bytes;

use super::contribution::{contribution_from_wire, contribution_to_wire};
use super::error::{Result, damaged};
use super::model::model_from_wire;
use super::{hello_from_wire, published_to_wire};
use crate::proto;

/// An entry of the log.
pub(crate) enum LogEntry {
    /// A part of a contribution.
    Part(Box<LoggedPart>),
    /// A registration, and the group of the instance.
    Registration(Hello, Option<u32>),
    /// The end of an instance whose ranks others have taken.
    Fence(String),
}

/// Returns the entry of a part, whose functions `name` knows.
pub(crate) fn part_to_wire<'a>(
    instance: &str,
    number: PartNumber,
    contribution: &Contribution,
    sum: Option<&SumOrigin>,
    name: impl Fn(FuncId) -> Option<(ProgramId, &'a str)>,
) -> Vec<u8> {
    let mut fids: Vec<FuncId> = contribution.fids().collect();
    fids.sort_unstable();
    fids.dedup();
    let function = |fid: FuncId| {
        let (program, name) = name(fid)?;
        Some(proto::LoggedFunction {
            fid: fid.0,
            program: program.0,
            name: name.to_owned(),
        })
    };
    let part = proto::LoggedPart {
        instance: instance.to_owned(),
        sequence: number.sequence,
        part: number.index,
        parts_left: number.num_left,
        functions: fids.into_iter().filter_map(function).collect(),
        contribution: Some(contribution_to_wire(contribution)),
        sum: sum.map(|it| proto::SumOrigin {
            group: it.group,
            log: it.log.clone(),
            after: it.after,
            members: members_to_wire(it.members.iter().map(|(name, last)| (name, *last))),
        }),
    };
    let entry = proto::log_entry::Entry::Part(part);
    proto::LogEntry { entry: Some(entry) }.encode_to_vec()
}

/// Returns the entry of a registration.
pub(crate) fn registration_to_wire(request: proto::RegisterRequest) -> Vec<u8> {
    let entry = proto::log_entry::Entry::Registration(request);
    proto::LogEntry { entry: Some(entry) }.encode_to_vec()
}

/// Returns the entry that ends an instance.
pub(crate) fn fence_to_wire(instance: &str) -> Vec<u8> {
    let entry = proto::log_entry::Entry::Fence(instance.to_owned());
    proto::LogEntry { entry: Some(entry) }.encode_to_vec()
}

pub(crate) fn entry_from_wire(bytes: Bytes) -> Result<LogEntry> {
    let entry = proto::LogEntry::decode(bytes).map_err(|error| damaged(&error))?;
    let part = match entry.entry {
        Some(proto::log_entry::Entry::Part(part)) => part,
        Some(proto::log_entry::Entry::Registration(request)) => {
            let group = request.group;
            return Ok(LogEntry::Registration(hello_from_wire(request)?, group));
        }
        Some(proto::log_entry::Entry::Fence(instance)) => return Ok(LogEntry::Fence(instance)),
        None => return Err(damaged(&"an entry of the log is empty")),
    };
    let functions = part.functions.into_iter();
    Ok(LogEntry::Part(Box::new(LoggedPart {
        instance: part.instance,
        number: PartNumber {
            sequence: part.sequence,
            index: part.part,
            num_left: part.parts_left,
        },
        functions: functions
            .map(|it| (FuncId(it.fid), ProgramId(it.program), it.name))
            .collect(),
        contribution: contribution_from_wire(part.contribution.unwrap_or_default())?,
        sum: part.sum.map(|it| SumOrigin {
            group: it.group,
            log: it.log,
            after: it.after,
            members: members_from_wire(it.members).collect(),
        }),
    })))
}

/// Returns the answer to a merger.
pub(crate) fn merger_start_to_wire(start: &MergerStart) -> proto::MergeReply {
    proto::MergeReply {
        position: start.position,
        members: members_to_wire(start.members.iter().map(|(name, &last)| (name, last))),
    }
}

pub(crate) fn merger_start_from_wire(reply: proto::MergeReply) -> MergerStart {
    MergerStart {
        position: reply.position,
        members: members_from_wire(reply.members).collect(),
    }
}

fn members_to_wire<'a>(members: impl Iterator<Item = (&'a String, u64)>) -> Vec<proto::Member> {
    let member = |(instance, sequence): (&String, u64)| proto::Member {
        instance: instance.clone(),
        sequence,
    };
    members.map(member).collect()
}

fn members_from_wire(members: Vec<proto::Member>) -> impl Iterator<Item = (String, u64)> {
    members.into_iter().map(|it| (it.instance, it.sequence))
}

/// Returns a block of models.
pub(crate) fn block_to_wire<'a>(models: impl Iterator<Item = &'a PublishedModel>) -> Vec<u8> {
    let models = models.map(published_to_wire).collect();
    proto::ModelBlock { models }.encode_to_vec()
}

pub(crate) fn block_from_wire(bytes: Bytes) -> Result<Vec<PublishedModel>> {
    let block = proto::ModelBlock::decode(bytes).map_err(|error| damaged(&error))?;
    let models = block.models.iter();
    models
        .map(|model| {
            let (fid, model) = model_from_wire(model)?;
            Ok(PublishedModel::new(fid, Arc::new(model)))
        })
        .collect()
}
