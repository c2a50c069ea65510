//! Messages to values and back. Whatever comes from the network is checked here: what passes can be merged without
//! panic, and without numbers that run out of the range of doubles.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::{Bin, FuncModel, Histogram, Moments, Params};
use callgrove_model::{FuncId, ProgramId, RankId, StepId};

use super::proto;
use crate::{
    AnomalySummary, Contribution, Cursor, FunctionRequest, Hello, Metrics, Profile, PserverError,
    RankTotals, Registered, Retention, Statistics, StepSummary, SyncReply, SyncRequest, Welcome,
};

type Result<T> = std::result::Result<T, PserverError>;

/// Values beyond are no times, scores or counters: all are 64-bit integers or small. Their fourth powers, summed over
/// all that can be counted, stay far inside the range of doubles.
const MAX_VALUE: f64 = 1e30;
/// Bound on sums of their powers.
const MAX_MOMENT: f64 = 1e140;

fn damaged(cause: &impl ToString) -> PserverError {
    PserverError::Damaged {
        what: "a message of the parameter server's protocol",
        cause: cause.to_string(),
        remedy: "run the same version of callgrove everywhere",
    }
}

pub(super) fn hello_to_wire(hello: &Hello) -> proto::RegisterRequest {
    proto::RegisterRequest {
        instance: hello.instance.clone(),
        program: hello.program.0,
        ranks: hello.ranks.iter().map(|rank| rank.0).collect(),
    }
}

pub(super) fn hello_from_wire(hello: proto::RegisterRequest) -> Hello {
    Hello {
        instance: hello.instance,
        program: ProgramId(hello.program),
        ranks: hello.ranks.into_iter().map(RankId).collect(),
    }
}

pub(super) fn registered_to_wire(registered: Registered) -> Result<proto::RegisterReply> {
    let welcome = registered.welcome;
    let params = welcome.params.as_ref().map(serde_json::to_string);
    Ok(proto::RegisterReply {
        epoch: registered.epoch,
        last_sequence: registered.last_sequence,
        retention: match registered.retention {
            Retention::Nothing => proto::Retention::Nothing,
            Retention::Saved => proto::Retention::Saved,
            Retention::Process => proto::Retention::Process,
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
    })
}

pub(super) fn registered_from_wire(reply: &proto::RegisterReply) -> Result<Registered> {
    let params = match reply.params_json.as_str() {
        "" => None,
        json => Some(Params::from_json(json).map_err(|error| damaged(&error))?),
    };
    let last_steps = reply.known_ranks.iter().zip(&reply.last_steps);
    Ok(Registered {
        epoch: reply.epoch,
        last_sequence: reply.last_sequence,
        retention: match reply.retention() {
            proto::Retention::Nothing => Retention::Nothing,
            proto::Retention::Saved => Retention::Saved,
            proto::Retention::Process => Retention::Process,
        },
        welcome: Welcome {
            params,
            frozen: reply.frozen,
            num_shards: (reply.num_shards > 0).then_some(reply.num_shards),
            last_steps: last_steps
                .map(|(&rank, &step)| (RankId(rank), StepId(step)))
                .collect(),
        },
    })
}

pub(super) fn functions_to_wire(
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

pub(super) fn functions_from_wire(names: Vec<proto::FunctionName>) -> Vec<FunctionRequest> {
    let request_of = |name: proto::FunctionName| FunctionRequest {
        name: name.name,
        proposed: name.proposed.map(FuncId),
    };
    names.into_iter().map(request_of).collect()
}

pub(super) fn request_to_wire(request: SyncRequest) -> proto::SyncRequest {
    let is_empty = request.contribution.is_empty();
    proto::SyncRequest {
        instance: request.instance,
        epoch: request.epoch,
        sequence: request.sequence,
        cursor: Some(cursor_to_wire(request.cursor)),
        contribution: (!is_empty).then(|| contribution_to_wire(request.contribution)),
    }
}

pub(super) fn request_from_wire(request: proto::SyncRequest) -> Result<SyncRequest> {
    Ok(SyncRequest {
        instance: request.instance,
        epoch: request.epoch,
        sequence: request.sequence,
        cursor: cursor_from_wire(request.cursor),
        contribution: contribution_from_wire(request.contribution.unwrap_or_default())?,
    })
}

pub(super) fn reply_to_wire(reply: &SyncReply) -> proto::SyncReply {
    let models = reply.models.iter();
    proto::SyncReply {
        version: reply.version,
        included_in: reply.included_in,
        saved_version: reply.saved_version,
        models: models
            .map(|(fid, model)| model_to_wire(*fid, model))
            .collect(),
        cursor: Some(cursor_to_wire(reply.cursor)),
        more: reply.more,
    }
}

pub(super) fn reply_from_wire(reply: proto::SyncReply) -> Result<SyncReply> {
    let models = reply.models.into_iter();
    Ok(SyncReply {
        version: reply.version,
        included_in: reply.included_in,
        saved_version: reply.saved_version,
        models: models
            .map(|model| Ok((FuncId(model.fid), Arc::new(model_from_wire(model)?))))
            .collect::<Result<_>>()?,
        cursor: cursor_from_wire(reply.cursor),
        more: reply.more,
    })
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

fn contribution_to_wire(contribution: Contribution) -> proto::Contribution {
    let statistics = contribution.statistics;
    proto::Contribution {
        models: contribution
            .models
            .iter()
            .map(|(&fid, model)| model_to_wire(fid, model))
            .collect(),
        ranks: statistics
            .ranks
            .iter()
            .map(|(&(program, rank), totals)| proto::RankTotals {
                program: program.0,
                rank: rank.0,
                anomalies: moments_to_wire(&totals.anomalies),
                last_step: totals.last_step.0,
            })
            .collect(),
        functions: statistics
            .functions
            .iter()
            .map(|(&fid, profile)| proto::Profile {
                fid: fid.0,
                exclusive: moments_to_wire(&profile.exclusive),
                inclusive: moments_to_wire(&profile.inclusive),
                anomalies: moments_to_wire(&profile.anomalies),
            })
            .collect(),
        metrics: statistics
            .metrics
            .iter()
            .map(|(&(program, rank, fid), metrics)| proto::Metrics {
                program: program.0,
                rank: rank.0,
                fid: fid.0,
                first_step: metrics.first_step.0,
                last_step: metrics.last_step.0,
                anomalies: anomalies_to_wire(&metrics.anomalies),
                count: moments_to_wire(&metrics.count),
            })
            .collect(),
        counters: statistics
            .counters
            .into_iter()
            .map(|((program, name), values)| proto::Counter {
                program: program.0,
                name,
                values: moments_to_wire(&values),
            })
            .collect(),
        steps: statistics
            .steps
            .iter()
            .map(|step| proto::Step {
                program: step.program.0,
                rank: step.rank.0,
                step: step.step.0,
                anomalies: anomalies_to_wire(&step.anomalies),
            })
            .collect(),
    }
}

fn contribution_from_wire(message: proto::Contribution) -> Result<Contribution> {
    Ok(Contribution {
        models: unique(message.models.into_iter().map(|model| {
            let fid = FuncId(model.fid);
            Ok((fid, model_from_wire(model)?))
        }))?,
        statistics: Statistics {
            ranks: unique(message.ranks.iter().map(rank_from_wire))?,
            functions: unique(message.functions.iter().map(profile_from_wire))?,
            metrics: unique(message.metrics.iter().map(metrics_from_wire))?,
            counters: unique(message.counters.into_iter().map(|counter| {
                let values = moments_from_wire(counter.values.as_ref())?;
                Ok(((ProgramId(counter.program), counter.name), values))
            }))?,
            steps: message
                .steps
                .iter()
                .map(step_from_wire)
                .collect::<Result<_>>()?,
        },
    })
}

fn unique<K: Ord, V>(entries: impl Iterator<Item = Result<(K, V)>>) -> Result<BTreeMap<K, V>> {
    let mut map = BTreeMap::new();
    for entry in entries {
        let (key, value) = entry?;
        if map.insert(key, value).is_some() {
            return Err(damaged(&"a key that occurs twice"));
        }
    }
    Ok(map)
}

fn rank_from_wire(totals: &proto::RankTotals) -> Result<((ProgramId, RankId), RankTotals)> {
    let value = RankTotals {
        anomalies: moments_from_wire(totals.anomalies.as_ref())?,
        last_step: StepId(totals.last_step),
    };
    Ok(((ProgramId(totals.program), RankId(totals.rank)), value))
}

fn profile_from_wire(profile: &proto::Profile) -> Result<(FuncId, Profile)> {
    let value = Profile {
        exclusive: moments_from_wire(profile.exclusive.as_ref())?,
        inclusive: moments_from_wire(profile.inclusive.as_ref())?,
        anomalies: moments_from_wire(profile.anomalies.as_ref())?,
    };
    Ok((FuncId(profile.fid), value))
}

fn metrics_from_wire(metrics: &proto::Metrics) -> Result<((ProgramId, RankId, FuncId), Metrics)> {
    let key = (
        ProgramId(metrics.program),
        RankId(metrics.rank),
        FuncId(metrics.fid),
    );
    let value = Metrics {
        first_step: StepId(metrics.first_step),
        last_step: StepId(metrics.last_step),
        anomalies: anomalies_from_wire(metrics.anomalies.as_ref())?,
        count: moments_from_wire(metrics.count.as_ref())?,
    };
    Ok((key, value))
}

fn step_from_wire(step: &proto::Step) -> Result<StepSummary> {
    Ok(StepSummary {
        program: ProgramId(step.program),
        rank: RankId(step.rank),
        step: StepId(step.step),
        anomalies: anomalies_from_wire(step.anomalies.as_ref())?,
    })
}

fn anomalies_to_wire(anomalies: &AnomalySummary) -> Option<proto::Anomalies> {
    (anomalies.count() > 0).then(|| proto::Anomalies {
        score: moments_to_wire(&anomalies.score),
        severity: moments_to_wire(&anomalies.severity),
        min_timestamp_us: anomalies.min_timestamp_us,
        max_timestamp_us: anomalies.max_timestamp_us,
    })
}

fn anomalies_from_wire(anomalies: Option<&proto::Anomalies>) -> Result<AnomalySummary> {
    let Some(anomalies) = anomalies else {
        return Ok(AnomalySummary::default());
    };
    Ok(AnomalySummary {
        score: moments_from_wire(anomalies.score.as_ref())?,
        severity: moments_from_wire(anomalies.severity.as_ref())?,
        min_timestamp_us: anomalies.min_timestamp_us,
        max_timestamp_us: anomalies.max_timestamp_us,
    })
}

fn model_to_wire(fid: FuncId, model: &FuncModel) -> proto::Model {
    proto::Model {
        fid: fid.0,
        moments: moments_to_wire(model.moments()),
        histogram: model.histogram().map(histogram_to_wire),
        internal_global_threshold: model.internal_global_threshold(),
    }
}

fn model_from_wire(model: proto::Model) -> Result<FuncModel> {
    let threshold = model.internal_global_threshold;
    if threshold > MAX_VALUE {
        return Err(damaged(&"a threshold out of range"));
    }
    let moments = moments_from_wire(model.moments.as_ref())?;
    let histogram = model.histogram.map(histogram_from_wire).transpose()?;
    FuncModel::from_parts(moments, histogram, threshold).map_err(|error| damaged(&error))
}

fn histogram_to_wire(histogram: &Histogram) -> proto::Histogram {
    let bins = histogram.bins();
    let mut before = 0;
    let distance = |bin: &Bin| {
        let distance = bin.index - before;
        before = bin.index;
        distance
    };
    proto::Histogram {
        max_bins: histogram.max_bins() as u32,
        precision: histogram.precision(),
        distances: bins.iter().map(distance).collect(),
        counts: bins.iter().map(|bin| bin.count).collect(),
    }
}

fn histogram_from_wire(histogram: proto::Histogram) -> Result<Histogram> {
    if histogram.distances.len() != histogram.counts.len() {
        return Err(damaged(&"as many bins as counts are wanted"));
    }
    let mut index: u64 = 0;
    let mut bins = Vec::with_capacity(histogram.counts.len());
    for (distance, count) in histogram.distances.into_iter().zip(histogram.counts) {
        index = index
            .checked_add(distance)
            .ok_or_else(|| damaged(&"a bin beyond all bins"))?;
        bins.push(Bin { index, count });
    }
    Histogram::from_parts(histogram.max_bins as usize, histogram.precision, bins)
        .map_err(|error| damaged(&error))
}

fn moments_to_wire(moments: &Moments) -> Option<proto::Moments> {
    let [_, mean, m2, m3, m4, minimum, maximum] = moments.parts();
    (moments.count() > 0).then(|| proto::Moments {
        count: moments.count(),
        mean,
        m2,
        m3,
        m4,
        minimum,
        maximum,
    })
}

fn moments_from_wire(moments: Option<&proto::Moments>) -> Result<Moments> {
    let Some(moments) = moments else {
        return Ok(Moments::default());
    };
    let values = [moments.minimum, moments.maximum];
    let sums = [moments.m2, moments.m3, moments.m4];
    if values.iter().any(|value| value.abs() > MAX_VALUE)
        || sums.iter().any(|sum| sum.abs() > MAX_MOMENT)
        || moments.count > Moments::MAX_COUNT
    {
        return Err(damaged(&"moments out of range"));
    }
    Moments::from_parts([
        moments.count as f64,
        moments.mean,
        moments.m2,
        moments.m3,
        moments.m4,
        moments.minimum,
        moments.maximum,
    ])
    .map_err(|error| damaged(&error))
}
