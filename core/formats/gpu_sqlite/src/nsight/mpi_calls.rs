//! Rows of MPI: calls, the messages that they send or receive, and collectives.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{CommKind, FuncId, RankId, TimeNs};

use crate::nsight::global_id::process_of;
use crate::nsight::mpi_ranks::MpiRanks;
use crate::process::CallSpan;
use crate::profiled_run::{LanePlace, ProfiledRun};
use crate::scan::Cells;

/// A table of MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MpiTable {
    PointToPoint,
    StartWait,
    Collectives,
}

impl MpiTable {
    /// Returns its columns.
    pub(crate) fn columns(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::PointToPoint => &[
                &["start"],
                &["end"],
                &["globalTid"],
                &["textId"],
                &["requestHandle"],
                &["remoteRank"],
                &["tag"],
                &["size"],
            ],
            Self::StartWait => &[
                &["start"],
                &["end"],
                &["globalTid"],
                &["textId"],
                &["requestHandle"],
            ],
            Self::Collectives => &[
                &["start"],
                &["end"],
                &["globalTid"],
                &["textId"],
                &["commHandle"],
            ],
        }
    }
}

/// The other side of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Envelope {
    partner: RankId,
    tag: u64,
    num_bytes: u64,
}

/// A request of a process.
type RequestKey = (usize, i64);

/// A receive that a later wait completes.
#[derive(Clone, Copy, Debug)]
struct PendingReceive {
    place: LanePlace,
    request: i64,
    envelope: Envelope,
    started: TimeNs,
    /// Time at which the call ended that started it.
    returned: TimeNs,
}

/// The operation of a function of MPI on a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PointToPoint {
    Send,
    Receive,
    StartedReceive,
    Both,
    /// Prepares a request; `MPI_Start` sends or receives.
    SendRequest,
    ReceiveRequest,
    /// Probes have no message.
    Other,
}

/// The calls of the rows that have been read.
#[derive(Default)]
pub(crate) struct MpiCalls {
    pending: Vec<PendingReceive>,
    /// Times at which waits for a request began and ended.
    waits: BTreeMap<RequestKey, BTreeSet<(TimeNs, TimeNs)>>,
    /// Persistent requests by the time at which they were prepared.
    prepared: BTreeMap<(usize, i64, TimeNs), (PointToPoint, Envelope)>,
    /// The rows of calls that send and receive: one if both sides are alike, else the one for sending comes first.
    exchanges: BTreeMap<(LanePlaceKey, TimeNs), (CallSpan, Vec<Envelope>)>,
    /// Calls that have a row for each of their requests.
    known: BTreeSet<(LanePlaceKey, TimeNs)>,
}

/// A sort key of lanes.
type LanePlaceKey = (usize, callgrove_source::LaneNumber);

fn place_key(place: LanePlace) -> LanePlaceKey {
    (place.process, place.lane)
}

impl MpiCalls {
    pub(crate) fn take(
        &mut self,
        table: MpiTable,
        (place, span, func): (LanePlace, CallSpan, FuncId),
        cells: &Cells<'_>,
        ranks: &MpiRanks,
        run: &mut ProfiledRun,
    ) {
        let name = run.names.table.name(func).to_owned();
        let has_rows_for_parts = table == MpiTable::StartWait || name.contains("Sendrecv");
        let is_first = !has_rows_for_parts || self.known.insert((place_key(place), span.start));
        if is_first {
            run.call(place, func, span);
        }
        match table {
            MpiTable::PointToPoint => self.take_message(&name, (place, span), cells, run),
            MpiTable::StartWait => {
                if let Some(request) = cells.integer(4) {
                    self.take_request(&name, (place, span), request, run);
                }
            }
            MpiTable::Collectives => {
                let process = cells.id(2).map(process_of).unwrap_or_default();
                let time_ns = cells.integer(0).unwrap_or_default();
                let communicator = cells
                    .integer(4)
                    .and_then(|handle| ranks.communicator(process, handle, time_ns));
                if let (Some(number), Some(process)) = (communicator, run.process(place.process)) {
                    process.mpi_collective(number, span.start, place.lane);
                }
            }
        }
    }

    fn take_message(
        &mut self,
        name: &str,
        (place, span): (LanePlace, CallSpan),
        cells: &Cells<'_>,
        run: &mut ProfiledRun,
    ) {
        // Any source, and no process, are below zero.
        let partner = cells.integer(5).and_then(|it| u32::try_from(it).ok());
        let Some(partner) = partner else {
            return;
        };
        let envelope = Envelope {
            partner: RankId(partner),
            tag: cells.integer(6).unwrap_or_default().cast_unsigned() & 0xFFFF_FFFF,
            num_bytes: u64::try_from(cells.integer(7).unwrap_or_default()).unwrap_or_default(),
        };
        let request = cells.integer(4).unwrap_or_default();
        let end = span.end.unwrap_or(span.start);
        let kind = PointToPoint::of(name);
        match kind {
            PointToPoint::Send => message(run, place, CommKind::Send, span.start, envelope),
            PointToPoint::Receive => message(run, place, CommKind::Recv, end, envelope),
            PointToPoint::StartedReceive => self.pending.push(PendingReceive {
                place,
                request,
                envelope,
                started: span.start,
                returned: end,
            }),
            PointToPoint::Both => {
                let key = (place_key(place), span.start);
                let (_, envelopes) = self.exchanges.entry(key).or_insert((span, Vec::new()));
                envelopes.push(envelope);
            }
            PointToPoint::SendRequest | PointToPoint::ReceiveRequest => {
                let key = (place.process, request, span.start);
                self.prepared.insert(key, (kind, envelope));
            }
            PointToPoint::Other => {}
        }
    }

    /// Processes a row of a call that starts a request, or waits for it.
    fn take_request(
        &mut self,
        name: &str,
        (place, span): (LanePlace, CallSpan),
        request: i64,
        run: &mut ProfiledRun,
    ) {
        let end = span.end.unwrap_or(span.start);
        if !name.contains("Start") {
            let waits = self.waits.entry((place.process, request)).or_default();
            waits.insert((span.start, end));
            return;
        }
        let first = (place.process, request, TimeNs(i64::MIN));
        let last = (place.process, request, span.start);
        match self.prepared.range(first..=last).next_back() {
            Some((_, (PointToPoint::SendRequest, envelope))) => {
                message(run, place, CommKind::Send, span.start, *envelope);
            }
            Some((_, (_, envelope))) => self.pending.push(PendingReceive {
                place,
                request,
                envelope: *envelope,
                started: span.start,
                returned: end,
            }),
            None => {}
        }
    }

    /// Adds the messages that need all rows.
    pub(crate) fn finish(&mut self, run: &mut ProfiledRun) {
        for (((process, lane), start), (span, envelopes)) in std::mem::take(&mut self.exchanges) {
            let place = LanePlace { process, lane };
            if let (Some(sent), Some(received)) = (envelopes.first(), envelopes.last()) {
                message(run, place, CommKind::Send, start, *sent);
                let end = span.end.unwrap_or(start);
                message(run, place, CommKind::Recv, end, *received);
            }
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_by_key(|it| it.started);
        for receive in pending {
            let key = (receive.place.process, receive.request);
            let waits = self.waits.get_mut(&key);
            // A handle may be used again, so each wait completes one request.
            let completed = waits.and_then(|waits| {
                let from = (receive.started, TimeNs(i64::MIN));
                let wait = *waits.range(from..).next()?;
                waits.remove(&wait);
                Some(wait.1)
            });
            // Without a wait a test completed it.
            let time = completed.unwrap_or(receive.returned);
            message(run, receive.place, CommKind::Recv, time, receive.envelope);
        }
    }
}

impl PointToPoint {
    /// Returns the operation of a function, by its name in C or Fortran.
    fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let name = name
            .strip_prefix("mpi_")
            .unwrap_or(&name)
            .trim_end_matches('_');
        let is_request = name.ends_with("_init");
        match name {
            _ if name.contains("probe") => Self::Other,
            _ if name.contains("sendrecv") => Self::Both,
            _ if name.contains("send") && is_request => Self::SendRequest,
            _ if name.contains("recv") && is_request => Self::ReceiveRequest,
            _ if name.contains("send") => Self::Send,
            _ if name.starts_with('i') && name.contains("recv") => Self::StartedReceive,
            _ if name.contains("recv") => Self::Receive,
            _ => Self::Other,
        }
    }
}

fn message(
    run: &mut ProfiledRun,
    place: LanePlace,
    kind: CommKind,
    time: TimeNs,
    envelope: Envelope,
) {
    let Envelope {
        partner,
        tag,
        num_bytes,
    } = envelope;
    if let Some(process) = run.process(place.process) {
        let events = &mut process.events;
        events.message(place.lane, time, kind, partner, tag, num_bytes);
    }
}
