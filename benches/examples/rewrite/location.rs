//! The events of a lane in order of time, as a location of an OTF2 archive.

use callgrove_model::{CommKind, ExecIdx, Lane, TimeNs};

use crate::archive::{ChunkedFile, push_record, push_value, values};

/// Records of events, by their numbers in OTF2.
mod record_kind {
    pub(super) const TIMESTAMP: u8 = 5;
    pub(super) const ENTER: u8 = 12;
    pub(super) const LEAVE: u8 = 13;
    pub(super) const MPI_SEND: u8 = 14;
    pub(super) const MPI_RECV: u8 = 18;
    pub(super) const METRIC: u8 = 31;
}
/// The type of the values of a metric: unsigned integers of 64 bits.
const UINT64: u8 = 4;
/// Size of a time with its kind, in bytes.
const TIME_BYTES: usize = 9;

/// The events of a lane: the time of each, and its record.
pub(crate) struct Points(Vec<(TimeNs, Vec<u8>)>);

impl Points {
    /// Returns the events of a lane in order of time. At equal times messages and counters come after an entry and
    /// before an exit.
    pub(crate) fn of(lane: &Lane) -> Self {
        let mut calls: Vec<(TimeNs, bool, u64)> = Vec::new();
        let executions = &lane.executions;
        let mut open: Vec<ExecIdx> = Vec::new();
        let all = (0..executions.len()).map(ExecIdx::from_index);
        for exec in all.map(Some).chain([None]) {
            let ended = |it: &ExecIdx| {
                exec.is_none_or(|next| executions.subtree_end[it.index()].0 <= next.0)
            };
            while let Some(it) = open.pop_if(|it| ended(it)) {
                let func = executions.func[it.index()].0;
                calls.push((executions.exit(it), false, func.into()));
            }
            if let Some(exec) = exec {
                let (entry, func) = (
                    executions.entry[exec.index()],
                    executions.func[exec.index()],
                );
                calls.push((entry, true, func.0.into()));
                open.push(exec);
            }
        }
        let calls = calls.into_iter().map(|(time, is_entry, func)| {
            let mut record = vec![if is_entry {
                record_kind::ENTER
            } else {
                record_kind::LEAVE
            }];
            push_value(&mut record, func);
            (time, record)
        });
        let (comms, counters) = (&lane.comms, &lane.counters);
        let messages = (0..comms.time.len()).map(|row| {
            let kind = match comms.kind[row] {
                CommKind::Send => record_kind::MPI_SEND,
                CommKind::Recv => record_kind::MPI_RECV,
            };
            let tag = comms.tag[row] & u64::from(u32::MAX);
            let partner = comms.partner[row].0;
            let fields = values(&[partner.into(), 0, tag, comms.size_bytes[row]]);
            let mut record = Vec::new();
            push_record(&mut record, kind, &fields);
            (comms.time[row], record)
        });
        let samples = (0..counters.time.len()).map(|row| {
            let mut fields = values(&[counters.counter[row].0.into()]);
            fields.extend([1, UINT64]);
            fields.extend(values(&[counters.value[row]]));
            let mut record = Vec::new();
            push_record(&mut record, record_kind::METRIC, &fields);
            (counters.time[row], record)
        });
        let mut others: Vec<_> = messages.chain(samples).collect();
        others.sort_by_key(|it| it.0);
        let mut others = others.into_iter().peekable();
        let mut points = Vec::new();
        for (time, record) in calls {
            let is_exit = record.first() == Some(&record_kind::LEAVE);
            let is_before = |it: &(TimeNs, Vec<u8>)| it.0 < time || (is_exit && it.0 == time);
            while let Some((at, record)) = others.next_if(is_before) {
                points.push((at, record));
            }
            points.push((time, record));
        }
        points.extend(others);
        Self(points)
    }
}

/// Returns the file of events, and their number.
pub(crate) fn events_of(points: Points) -> (Vec<u8>, u64) {
    let mut file = ChunkedFile::of_events();
    let num = points.0.len() as u64;
    let mut last = None;
    for (time, record) in points.0 {
        if !file.fits(record.len() + TIME_BYTES) {
            file.begin_chunk();
            last = None;
        }
        if last != Some(time) {
            file.bytes.push(record_kind::TIMESTAMP);
            file.bytes.extend(time.0.to_le_bytes());
            last = Some(time);
        }
        file.bytes.extend(record);
    }
    (file.end(), num)
}
