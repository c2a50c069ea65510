//! Conversion between messages and values. Everything from the network is checked here: accepted values can be merged
//! without panics, and without overflow of doubles.

mod contribution;
mod error;
mod fields;
mod log;
mod model;
mod stall_summary;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use callgrove_detect::Params;
use callgrove_model::{FuncId, ProgramId, RankId, RunIdentity, StepId};
use callgrove_pserver::{
    Cursor, FunctionRequest, Hello, PartNumber, PublishedModel, Registered, Retention, SyncReply,
    SyncRequest, TreeModelUpdate, TreePValues, Welcome, tree_p_values_bytes,
};
use prost::bytes::Bytes;

use super::{MAX_MESSAGE_BYTES, proto};
use contribution::{
    contribution_from_wire, contribution_to_wire, tree_p_values_from_wire, tree_p_values_to_wire,
};
use error::{Result, damaged};
pub(crate) use log::{
    LogEntry, block_from_wire, block_to_wire, entry_from_wire, fence_to_wire,
    merger_start_from_wire, merger_start_to_wire, part_to_wire, registration_to_wire,
};
use model::{model_from_wire, put_model};

pub(crate) fn hello_to_wire(hello: &Hello) -> Result<proto::RegisterRequest> {
    Ok(proto::RegisterRequest {
        instance: hello.instance.clone(),
        program: hello.program.0,
        ranks: hello.ranks.iter().map(|rank| rank.0).collect(),
        run_json: serde_json::to_string(&hello.run).map_err(|error| damaged(&error))?,
        recorded_ranks: hello.recorded_ranks,
        group: None,
    })
}

pub(crate) fn hello_from_wire(hello: proto::RegisterRequest) -> Result<Hello> {
    let run = match hello.run_json.as_str() {
        "" => RunIdentity::default(),
        json => serde_json::from_str(json).map_err(|error| damaged(&error))?,
    };
    Ok(Hello {
        instance: hello.instance,
        program: ProgramId(hello.program),
        ranks: hello.ranks.into_iter().map(RankId).collect(),
        run,
        recorded_ranks: hello.recorded_ranks,
    })
}

pub(crate) fn registered_to_wire(registered: Registered) -> Result<proto::RegisterReply> {
    let welcome = registered.welcome;
    let params = welcome.params.as_ref().map(serde_json::to_string);
    Ok(proto::RegisterReply {
        epoch: registered.epoch,
        last_sequence: registered.last_sequence,
        retention: match registered.retention {
            Retention::Nothing | Retention::Process => proto::Retention::Nothing,
            Retention::Saved | Retention::Logged => proto::Retention::Saved,
        }
        .into(),
        params_json: params
            .transpose()
            .map_err(|error| damaged(&error))?
            .unwrap_or_default(),
        frozen: welcome.frozen,
        num_shards: welcome.num_shards.unwrap_or(0),
        known_ranks: welcome.last_steps.iter().map(|(rank, _)| rank.0).collect(),
        last_steps: welcome.last_steps.iter().map(|(_, step)| step.0).collect(),
        learnt_ranks: welcome
            .learnt_steps
            .iter()
            .map(|(rank, _)| rank.0)
            .collect(),
        learnt_steps: welcome
            .learnt_steps
            .iter()
            .map(|(_, step)| step.0)
            .collect(),
        final_ranks: welcome.final_ranks.iter().map(|rank| rank.0).collect(),
        tree_p_values: {
            let mut num_bytes = 0;
            let fits = |(_, of_rank): &&(RankId, TreePValues)| {
                num_bytes += tree_p_values_bytes(of_rank);
                num_bytes <= MAX_MESSAGE_BYTES / 2
            };
            let ranks = welcome.tree_p_values.iter().take_while(fits);
            let to_wire = |(rank, of_rank): &(RankId, TreePValues)| proto::RankTreePValues {
                rank: rank.0,
                models: tree_p_values_to_wire(of_rank),
            };
            ranks.map(to_wire).collect()
        },
    })
}

pub(crate) fn registered_from_wire(reply: &proto::RegisterReply) -> Result<Registered> {
    let params = match reply.params_json.as_str() {
        "" => None,
        json => Some(Params::from_json(json).map_err(|error| damaged(&error))?),
    };
    let steps = |ranks: &[u32], steps: &[u32]| {
        let pairs = ranks.iter().zip(steps);
        pairs
            .map(|(&rank, &step)| (RankId(rank), StepId(step)))
            .collect()
    };
    Ok(Registered {
        epoch: reply.epoch,
        last_sequence: reply.last_sequence,
        retention: match reply.retention() {
            proto::Retention::Nothing => Retention::Nothing,
            proto::Retention::Saved => Retention::Saved,
        },
        welcome: Welcome {
            params,
            frozen: reply.frozen,
            num_shards: (reply.num_shards > 0).then_some(reply.num_shards),
            last_steps: steps(&reply.known_ranks, &reply.last_steps),
            learnt_steps: steps(&reply.learnt_ranks, &reply.learnt_steps),
            tree_p_values: reply
                .tree_p_values
                .iter()
                .map(|of_rank| {
                    let models = tree_p_values_from_wire(&of_rank.models)?;
                    Ok((RankId(of_rank.rank), models))
                })
                .collect::<Result<_>>()?,
            final_ranks: reply.final_ranks.iter().map(|&rank| RankId(rank)).collect(),
        },
    })
}

pub(crate) fn functions_to_wire(
    program: ProgramId,
    requests: &[FunctionRequest],
) -> proto::FunctionsRequest {
    let name_of = |request: &FunctionRequest| proto::FunctionName {
        name: request.name.clone(),
        proposed: request.proposed.map(|fid| fid.0),
    };
    proto::FunctionsRequest {
        program: program.0,
        names: requests.iter().map(name_of).collect(),
    }
}

pub(crate) fn functions_from_wire(names: Vec<proto::FunctionName>) -> Vec<FunctionRequest> {
    let request_of = |name: proto::FunctionName| FunctionRequest {
        name: name.name,
        proposed: name.proposed.map(FuncId),
    };
    names.into_iter().map(request_of).collect()
}

pub(crate) fn request_to_wire(request: SyncRequest) -> proto::SyncRequest {
    let is_empty = request.contribution.is_empty();
    proto::SyncRequest {
        instance: request.instance,
        epoch: request.epoch,
        sequence: request.part.sequence,
        part: request.part.index,
        parts_left: request.part.num_left,
        cursor: Some(cursor_to_wire(request.cursor)),
        contribution: (!is_empty).then(|| contribution_to_wire(&request.contribution)),
        tree_generation: request.tree_generation,
    }
}

pub(crate) fn request_from_wire(request: proto::SyncRequest) -> Result<SyncRequest> {
    Ok(SyncRequest {
        instance: request.instance,
        epoch: request.epoch,
        part: PartNumber {
            sequence: request.sequence,
            index: request.part,
            num_left: request.parts_left,
        },
        cursor: cursor_from_wire(request.cursor),
        contribution: Arc::new(contribution_from_wire(
            request.contribution.unwrap_or_default(),
        )?),
        tree_generation: request.tree_generation,
    })
}

pub(crate) fn reply_to_wire(reply: &SyncReply) -> proto::SyncReply {
    let models = reply.models.iter();
    proto::SyncReply {
        version: reply.version,
        included_in: reply.included_in,
        saved_version: reply.saved_version,
        models: models.map(published_to_wire).collect(),
        cursor: Some(cursor_to_wire(reply.cursor)),
        more: reply.more,
        tree_models: reply.tree_models.iter().map(tree_model_to_wire).collect(),
        tree_generation: reply.tree_generation,
    }
}

pub(crate) fn reply_from_wire(reply: proto::SyncReply) -> Result<SyncReply> {
    let models = reply.models.into_iter();
    Ok(SyncReply {
        version: reply.version,
        included_in: reply.included_in,
        saved_version: reply.saved_version,
        models: models
            .map(|model| {
                let (fid, model) = model_from_wire(&model)?;
                Ok(PublishedModel::new(fid, Arc::new(model)))
            })
            .collect::<Result<_>>()?,
        cursor: cursor_from_wire(reply.cursor),
        more: reply.more,
        tree_models: reply
            .tree_models
            .into_iter()
            .map(tree_model_from_wire)
            .collect(),
        tree_generation: reply.tree_generation,
    })
}

/// Returns the size of a model on the wire in bytes.
pub(crate) fn published_bytes(published: &PublishedModel) -> usize {
    published_to_wire(published).len()
}

fn published_to_wire(published: &PublishedModel) -> Bytes {
    let make = |fid, model: &_| {
        let mut bytes = Vec::new();
        put_model(&mut bytes, fid, model);
        bytes
    };
    Bytes::from_owner(published.coded(make))
}

fn tree_model_to_wire(update: &TreeModelUpdate) -> proto::TreeModel {
    let model = update.model.as_ref();
    proto::TreeModel {
        name: update.name.clone(),
        version: model.map(|(version, _)| *version),
        model: model
            .map(|(_, bytes)| Bytes::from_owner(Arc::clone(bytes)))
            .unwrap_or_default(),
    }
}

fn tree_model_from_wire(update: proto::TreeModel) -> TreeModelUpdate {
    let model = update.model;
    TreeModelUpdate {
        name: update.name,
        model: update.version.map(|version| (version, Arc::from(&*model))),
    }
}

fn cursor_to_wire(cursor: Cursor) -> proto::Cursor {
    proto::Cursor {
        version: cursor.version,
        fid: cursor.fid.0,
    }
}

fn cursor_from_wire(cursor: Option<proto::Cursor>) -> Cursor {
    let cursor = cursor.unwrap_or_default();
    Cursor {
        version: cursor.version,
        fid: FuncId(cursor.fid),
    }
}
