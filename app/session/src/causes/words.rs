//! Causes in words.

use callgrove_model::{DurationNs, RankId};
use callgrove_patterns::cause::{CauseKind, DelayCause, DelayRole, Incident, RootCause};

use super::RunCauses;

impl RunCauses {
    /// What happened to an execution on `rank`, beginning with a verb: `waited 31 ms for rank 5, which stood still
    /// in MPI_Wait`. `None` for one that was on time.
    pub fn words(&self, rank: RankId, cause: &DelayCause) -> Option<String> {
        let root = cause.root.and_then(|root| self.roots().get(root));
        match (cause.role, root) {
            (DelayRole::OnTime, _) => None,
            (DelayRole::Root, Some(root)) => Some(self.did(root, root.own_delay)),
            (DelayRole::Victim, Some(root)) => Some(self.waited(rank, cause, root)),
            (_, _) => Some(format!(
                "was held up {}; the trace does not tell by whom",
                cause.waited
            )),
        }
    }

    /// An incident in one line: `rank 6 stood still 52.8 ms in MPI_Send; 15 ranks waited`.
    pub fn incident_words(&self, incident: &Incident) -> String {
        let root = &incident.root;
        let did = self.did(root, root.own_delay);
        match (root.kind, incident.ranks.len().saturating_sub(1)) {
            (CauseKind::BusyHost, others) => format!(
                "{} on one host were late at once, rank {} by {}",
                ranks(others + 1),
                root.rank,
                root.own_delay
            ),
            (_, 0) => format!("rank {} {did}; nobody waited", root.rank),
            (_, others) => format!("rank {} {did}; {} waited", root.rank, ranks(others)),
        }
    }

    fn waited(&self, rank: RankId, cause: &DelayCause, root: &RootCause) -> String {
        let waited = cause.waited;
        if root.rank == rank {
            // What holds a rank up though no other did: its host, or the tracer.
            return format!("was held up {waited}: {}", self.did(root, root.own_delay));
        }
        let name = self.short_name(root.call);
        let which = match root.kind {
            CauseKind::StoodStill => format!("which stood still in {name}"),
            CauseKind::OwnWork => format!("which worked longer in {name}"),
            CauseKind::TracerWrite => "where the tracer wrote its data".to_owned(),
            CauseKind::BusyHost => "whose host was busy".to_owned(),
            CauseKind::Untold => format!("which was late in {name}"),
        };
        let by_way_of = match cause.hops.first() {
            Some(hop) if hop.peer_rank != root.rank => {
                format!(
                    "rank {}, which waited for rank {}",
                    hop.peer_rank, root.rank
                )
            }
            _ => format!("rank {}", root.rank),
        };
        format!("waited {waited} for {by_way_of}, {which}")
    }

    /// What a root did, and how long.
    fn did(&self, root: &RootCause, how_long: DurationNs) -> String {
        let name = self.short_name(root.call);
        match root.kind {
            CauseKind::StoodStill => format!("stood still {how_long} in {name}"),
            CauseKind::OwnWork => format!("worked {how_long} longer than usual in {name}"),
            CauseKind::TracerWrite => format!("lost {how_long} while the tracer wrote its data"),
            CauseKind::BusyHost => format!("lost {how_long} in {name} while its host was busy"),
            CauseKind::Untold => format!("was late by {how_long} in {name}"),
        }
    }
}

fn ranks(count: usize) -> String {
    match count {
        1 => "1 rank".to_owned(),
        count => format!("{count} ranks"),
    }
}
