//! Briefs of anomalies as messages.

use callgrove_model::{CommKind, ExecLabel, FuncId, ProgramId, RankId, StepId, ThreadId};

use super::error::{Result, damaged};
use crate::incident::BriefKey;
use crate::net::proto;
use crate::{AnomalyBrief, MessageBrief, StepBrief};

pub(super) fn brief_to_wire(key: BriefKey, brief: &StepBrief) -> proto::Brief {
    let (program, step, rank) = key;
    proto::Brief {
        program: program.0,
        rank: rank.0,
        step: step.0,
        anomalies: brief.anomalies.iter().map(anomaly_to_wire).collect(),
        messages: brief.messages.iter().map(message_to_wire).collect(),
    }
}

pub(super) fn brief_from_wire(brief: &proto::Brief) -> Result<(BriefKey, StepBrief)> {
    let rank = RankId(brief.rank);
    let anomalies = brief.anomalies.iter();
    let messages = brief.messages.iter();
    let told = StepBrief {
        anomalies: anomalies
            .map(|anomaly| anomaly_from_wire(rank, anomaly))
            .collect::<Result<_>>()?,
        messages: messages
            .map(|message| message_from_wire(rank, message))
            .collect(),
    };
    Ok(((ProgramId(brief.program), StepId(brief.step), rank), told))
}

fn anomaly_to_wire(anomaly: &AnomalyBrief) -> proto::BriefAnomaly {
    proto::BriefAnomaly {
        label: Some(call_to_wire(anomaly.label)),
        fid: anomaly.fid.0,
        thread: anomaly.thread.0,
        entry_us: anomaly.entry_us,
        exit_us: anomaly.exit_us,
        severity_us: anomaly.severity_us,
        stood_from_us: anomaly.stood_from_us,
        stood_to_us: anomaly.stood_to_us,
    }
}

fn anomaly_from_wire(rank: RankId, anomaly: &proto::BriefAnomaly) -> Result<AnomalyBrief> {
    let Some(label) = &anomaly.label else {
        return Err(damaged(&"an anomaly without a label"));
    };
    Ok(AnomalyBrief {
        label: call_from_wire(rank, label),
        fid: FuncId(anomaly.fid),
        thread: ThreadId(anomaly.thread),
        entry_us: anomaly.entry_us,
        exit_us: anomaly.exit_us,
        severity_us: anomaly.severity_us,
        stood_from_us: anomaly.stood_from_us,
        stood_to_us: anomaly.stood_to_us,
    })
}

fn message_to_wire(message: &MessageBrief) -> proto::BriefMessage {
    proto::BriefMessage {
        is_recv: message.kind == CommKind::Recv,
        partner: message.partner.0,
        tag: message.tag,
        number: message.number,
        time_us: message.time_us,
        call: message.call.map(call_to_wire),
        called_us: message.called_us,
    }
}

fn message_from_wire(rank: RankId, message: &proto::BriefMessage) -> MessageBrief {
    MessageBrief {
        kind: if message.is_recv {
            CommKind::Recv
        } else {
            CommKind::Send
        },
        partner: RankId(message.partner),
        tag: message.tag,
        number: message.number,
        time_us: message.time_us,
        call: message.call.as_ref().map(|call| call_from_wire(rank, call)),
        called_us: message.called_us,
    }
}

fn call_to_wire(label: ExecLabel) -> proto::BriefCall {
    proto::BriefCall {
        step: label.step.0,
        row: label.row,
    }
}

fn call_from_wire(rank: RankId, call: &proto::BriefCall) -> ExecLabel {
    ExecLabel {
        rank,
        step: StepId(call.step),
        row: call.row,
    }
}
