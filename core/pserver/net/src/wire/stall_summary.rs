//! Stall summaries as messages of the protocol.

use callgrove_incidents::{MessageEntry, OwnTimeEntry, StallEntry, StallSummary, StallSummaryKey};
use callgrove_model::{
    CommKind, DurationNs, ExecLabel, FuncId, ProgramId, RankId, StepId, ThreadId, TimeNs,
};
use callgrove_trends::TimeWindow;

use super::error::{Result, damaged};
use crate::proto;

pub(super) fn stall_summary_to_wire(
    key: StallSummaryKey,
    summary: &StallSummary,
) -> proto::StallSummary {
    let (program, step, rank) = key;
    proto::StallSummary {
        program: program.0,
        rank: rank.0,
        step: step.0,
        stalls: summary.stalls.iter().map(stall_to_wire).collect(),
        messages: summary.messages.iter().map(message_to_wire).collect(),
        own_times: summary.own_times.iter().map(own_time_to_wire).collect(),
        host: summary.host.clone(),
    }
}

pub(super) fn stall_summary_from_wire(
    summary: &proto::StallSummary,
) -> Result<(StallSummaryKey, StallSummary)> {
    let rank = RankId(summary.rank);
    let stalls = summary.stalls.iter();
    let messages = summary.messages.iter();
    let reported = StallSummary {
        stalls: stalls
            .map(|stall| stall_from_wire(rank, stall))
            .collect::<Result<_>>()?,
        messages: messages
            .map(|message| message_from_wire(rank, message))
            .collect(),
        own_times: summary.own_times.iter().map(own_time_from_wire).collect(),
        host: summary.host.clone(),
    };
    Ok((
        (ProgramId(summary.program), StepId(summary.step), rank),
        reported,
    ))
}

fn own_time_to_wire(own: &OwnTimeEntry) -> proto::OwnTimeEntry {
    let window = own.window;
    proto::OwnTimeEntry {
        fid: own.fid.0,
        caller: own.caller.map(|caller| caller.0),
        start_ns: window.start.0,
        num_calls: window.num_calls,
        usual_ns: window.usual.0,
        total_ns: window.total.0,
    }
}

fn own_time_from_wire(own: &proto::OwnTimeEntry) -> OwnTimeEntry {
    OwnTimeEntry {
        fid: FuncId(own.fid),
        caller: own.caller.map(FuncId),
        window: TimeWindow {
            start: TimeNs(own.start_ns),
            num_calls: own.num_calls,
            usual: DurationNs(own.usual_ns.max(0)),
            total: DurationNs(own.total_ns.max(0)),
        },
    }
}

fn stall_to_wire(stall: &StallEntry) -> proto::StallEntry {
    proto::StallEntry {
        label: Some(call_to_wire(stall.label)),
        fid: stall.fid.0,
        thread: stall.thread.0,
        from_us: stall.from_us,
        to_us: stall.to_us,
        is_anomaly: stall.is_anomaly,
        entry_us: stall.entry_us,
        exit_us: stall.exit_us,
    }
}

fn stall_from_wire(rank: RankId, stall: &proto::StallEntry) -> Result<StallEntry> {
    let Some(label) = stall.label else {
        return Err(damaged(&"an execution without a label"));
    };
    Ok(StallEntry {
        label: call_from_wire(rank, label),
        fid: FuncId(stall.fid),
        thread: ThreadId(stall.thread),
        from_us: stall.from_us,
        to_us: stall.to_us,
        is_anomaly: stall.is_anomaly,
        entry_us: stall.entry_us,
        exit_us: stall.exit_us,
    })
}

fn message_to_wire(message: &MessageEntry) -> proto::MessageEntry {
    proto::MessageEntry {
        is_recv: message.kind == CommKind::Recv,
        partner: message.partner.0,
        tag: message.tag,
        number: message.number,
        time_us: message.time_us,
        call: message.call.map(call_to_wire),
        called_us: message.called_us,
        thread: message.thread.0,
    }
}

fn message_from_wire(rank: RankId, message: &proto::MessageEntry) -> MessageEntry {
    MessageEntry {
        kind: if message.is_recv {
            CommKind::Recv
        } else {
            CommKind::Send
        },
        partner: RankId(message.partner),
        tag: message.tag,
        number: message.number,
        time_us: message.time_us,
        call: message.call.map(|call| call_from_wire(rank, call)),
        called_us: message.called_us,
        thread: ThreadId(message.thread),
    }
}

fn call_to_wire(label: ExecLabel) -> proto::CallKey {
    proto::CallKey {
        step: label.step.0,
        row: label.row,
    }
}

fn call_from_wire(rank: RankId, call: proto::CallKey) -> ExecLabel {
    ExecLabel {
        rank,
        step: StepId(call.step),
        row: call.row,
    }
}
