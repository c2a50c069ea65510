//! Contributions as messages of the protocol.

use std::collections::BTreeMap;

use callgrove_detect::{FuncModel, RecentPValues};
use callgrove_model::{FuncId, ProgramId, RankId, StepId};
use callgrove_pserver::{
    AnomalySummary, Contribution, FinalAnomalies, Metrics, Profile, RankKey, RankTotals,
    Statistics, StepSummary, TreePValues,
};
use prost::bytes::Bytes;

use super::error::{Result, damaged};
use super::model::{model_from_wire, moments_from_wire, moments_to_wire, put_model};
use super::stall_summary::{stall_summary_from_wire, stall_summary_to_wire};
use crate::proto;

/// Approximate size of the model of a few calls in bytes.
const MODEL_BYTES: usize = 160;

pub(super) fn contribution_to_wire(contribution: &Contribution) -> proto::Contribution {
    let statistics = &contribution.statistics;
    let stall_summaries = contribution.stall_summaries.iter();
    proto::Contribution {
        models: models_to_wire(&contribution.models),
        ranks: statistics
            .ranks
            .iter()
            .map(|(&(program, rank), totals)| proto::RankTotals {
                program: program.0,
                rank: rank.0,
                anomalies: moments_to_wire(&totals.anomalies),
                last_step: totals.last_step.0,
                tree_p_values: tree_p_values_to_wire(&totals.tree_p_values),
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
            .map(|(&key, metrics)| metrics_to_wire(key, metrics))
            .collect(),
        counters: statistics
            .counters
            .iter()
            .map(|((program, name), values)| proto::Counter {
                program: program.0,
                name: name.clone(),
                values: moments_to_wire(values),
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
        briefs: stall_summaries
            .map(|(&key, summary)| stall_summary_to_wire(key, summary))
            .collect(),
        learnt: contribution
            .learnt
            .iter()
            .map(|(&(program, rank), step)| proto::Learnt {
                program: program.0,
                rank: rank.0,
                step: step.0,
            })
            .collect(),
        ended: contribution
            .ended
            .iter()
            .map(|(program, rank)| proto::Ended {
                program: program.0,
                rank: rank.0,
            })
            .collect(),
        final_anomalies: contribution
            .final_anomalies
            .iter()
            .map(|(&key, of_rank)| final_to_wire(key, of_rank))
            .collect(),
    }
}

/// Encodes models as messages, all in one buffer.
fn models_to_wire(models: &BTreeMap<FuncId, FuncModel>) -> Vec<Bytes> {
    let mut bytes = Vec::with_capacity(MODEL_BYTES * models.len());
    let put = |(&fid, model): (&FuncId, &FuncModel)| {
        put_model(&mut bytes, fid, model);
        bytes.len()
    };
    let ends: Vec<usize> = models.iter().map(put).collect();
    let bytes = Bytes::from(bytes);
    let starts = [0].into_iter().chain(ends.iter().copied());
    let places = starts.zip(&ends);
    places
        .map(|(start, &end)| bytes.slice(start..end))
        .collect()
}

fn metrics_to_wire(
    (program, rank, fid): (ProgramId, RankId, FuncId),
    metrics: &Metrics,
) -> proto::Metrics {
    proto::Metrics {
        program: program.0,
        rank: rank.0,
        fid: fid.0,
        first_step: metrics.first_step.0,
        last_step: metrics.last_step.0,
        anomalies: anomalies_to_wire(&metrics.anomalies),
        count: moments_to_wire(&metrics.count),
    }
}

fn final_to_wire((program, rank): RankKey, of_rank: &FinalAnomalies) -> proto::FinalAnomalies {
    let metrics = of_rank.metrics.iter();
    proto::FinalAnomalies {
        program: program.0,
        rank: rank.0,
        metrics: metrics
            .map(|(&fid, metrics)| metrics_to_wire((program, rank, fid), metrics))
            .collect(),
        count: moments_to_wire(&of_rank.count),
        learnt_in: of_rank.learnt_in,
    }
}

fn final_from_wire(message: &proto::FinalAnomalies) -> Result<(RankKey, FinalAnomalies)> {
    let of_rank = FinalAnomalies {
        metrics: unique(message.metrics.iter().map(|metrics| {
            let ((_, _, fid), metrics) = metrics_from_wire(metrics)?;
            Ok((fid, metrics))
        }))?,
        count: moments_from_wire(message.count.as_ref())?,
        learnt_in: message.learnt_in,
    };
    Ok(((ProgramId(message.program), RankId(message.rank)), of_rank))
}

pub(super) fn contribution_from_wire(message: proto::Contribution) -> Result<Contribution> {
    Ok(Contribution {
        models: unique(message.models.iter().map(|it| model_from_wire(it)))?,
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
        stall_summaries: unique(message.briefs.iter().map(stall_summary_from_wire))?,
        learnt: unique(message.learnt.iter().map(|it| {
            let key = (ProgramId(it.program), RankId(it.rank));
            Ok((key, StepId(it.step)))
        }))?,
        ended: message
            .ended
            .iter()
            .map(|it| (ProgramId(it.program), RankId(it.rank)))
            .collect(),
        final_anomalies: unique(message.final_anomalies.iter().map(final_from_wire))?,
    })
}

pub(super) fn tree_p_values_to_wire(of_rank: &TreePValues) -> Vec<proto::TreePValues> {
    let models = of_rank.iter().map(|(model, recent)| {
        let (places, ln_p) = recent.small().unzip();
        proto::TreePValues {
            model: model.clone(),
            num_seen: recent.num_seen(),
            places,
            ln_p,
        }
    });
    models.collect()
}

pub(super) fn tree_p_values_from_wire(of_rank: &[proto::TreePValues]) -> Result<TreePValues> {
    unique(of_rank.iter().map(|of_model| {
        let small = of_model.places.iter().copied();
        let small = small.zip(of_model.ln_p.iter().copied());
        let recent = RecentPValues::from_parts(of_model.num_seen, small)
            .ok_or_else(|| damaged(&"p-values that no sequence of trees can have"))?;
        Ok((of_model.model.clone(), recent))
    }))
}

fn unique<K: Ord, V>(
    entries: impl ExactSizeIterator<Item = Result<(K, V)>>,
) -> Result<BTreeMap<K, V>> {
    let mut pairs = Vec::with_capacity(entries.len());
    for entry in entries {
        pairs.push(entry?);
    }
    let num_pairs = pairs.len();
    let map = BTreeMap::from_iter(pairs);
    if map.len() < num_pairs {
        return Err(damaged(&"a key that occurs twice"));
    }
    Ok(map)
}

fn rank_from_wire(totals: &proto::RankTotals) -> Result<((ProgramId, RankId), RankTotals)> {
    let value = RankTotals {
        anomalies: moments_from_wire(totals.anomalies.as_ref())?,
        last_step: StepId(totals.last_step),
        tree_p_values: tree_p_values_from_wire(&totals.tree_p_values)?,
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
