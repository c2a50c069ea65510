//! Causes in words.

use callgrove_model::{DurationNs, ExecRef, FunctionName, LaneIdx, RankId};
use callgrove_patterns::cause::{CauseKind, DelayCause, DelayRole, Incident, RootCause};

use super::RunCauses;

/// A part of a sentence about a delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CausePhrase {
    /// The words; the phrases of a sentence follow each other without anything between.
    pub text: String,
    /// What they are about, to be looked at.
    pub evidence: Option<CauseEvidence>,
}

/// What words about a delay are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CauseEvidence {
    /// A call.
    Call(ExecRef),
    /// The rank of a lane.
    Rank(LaneIdx),
}

impl CausePhrase {
    fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            evidence: None,
        }
    }

    fn call(text: impl Into<String>, call: ExecRef) -> Self {
        Self {
            text: text.into(),
            evidence: Some(CauseEvidence::Call(call)),
        }
    }

    /// With the comma behind it, so that no line begins with one.
    fn rank(rank: RankId, lane: LaneIdx) -> Self {
        Self {
            text: format!("rank {rank},"),
            evidence: Some(CauseEvidence::Rank(lane)),
        }
    }
}

impl RunCauses {
    /// What happened to an execution on `rank`, beginning with a verb: `waited 31 ms for rank 5, which stood still
    /// in MPI_Wait`. `None` for one that was on time.
    pub fn words(&self, rank: RankId, cause: &DelayCause) -> Option<String> {
        let phrases = self.phrases(rank, cause);
        let texts = phrases.iter().map(|phrase| phrase.text.as_str());
        (!phrases.is_empty()).then(|| texts.collect())
    }

    /// The same in parts, each with what it is about; none for an execution that was on time.
    pub fn phrases(&self, rank: RankId, cause: &DelayCause) -> Vec<CausePhrase> {
        let root = cause.root.and_then(|root| self.roots().get(root));
        match (cause.role, root) {
            (DelayRole::OnTime, _) => Vec::new(),
            (DelayRole::Root, Some(root)) => {
                vec![CausePhrase::call(self.did(root, root.own_delay), root.call)]
            }
            (DelayRole::Victim, Some(root)) => self.waited(rank, cause, root),
            (_, _) => vec![CausePhrase::plain(format!(
                "was held up {}; the trace does not tell by whom",
                cause.waited
            ))],
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

    fn waited(&self, rank: RankId, cause: &DelayCause, root: &RootCause) -> Vec<CausePhrase> {
        let waited = cause.waited;
        if root.rank == rank {
            // What holds a rank up though no other did: its host, or the tracer.
            return vec![
                CausePhrase::plain(format!("was held up {waited}: ")),
                CausePhrase::call(self.did(root, root.own_delay), root.call),
            ];
        }
        let name = FunctionName::parse(self.trace().names.name(root.func)).short;
        let which = match root.kind {
            CauseKind::StoodStill => format!("which stood still in {name}"),
            CauseKind::OwnWork => format!("which worked longer in {name}"),
            CauseKind::TracerWrite => "where the tracer wrote its data".to_owned(),
            CauseKind::BusyHost => "whose host was busy".to_owned(),
            CauseKind::Untold => format!("which was late in {name}"),
        };
        let waited = format!("waited {waited}");
        let hop = cause.hops.first();
        let mut phrases = vec![
            hop.map_or_else(
                || CausePhrase::plain(&waited),
                |hop| CausePhrase::call(&waited, hop.call),
            ),
            CausePhrase::plain(" for "),
        ];
        if let Some(hop) = hop.filter(|hop| hop.peer_rank != root.rank) {
            phrases.push(CausePhrase::rank(hop.peer_rank, hop.peer));
            phrases.push(CausePhrase::plain(" which waited for "));
        }
        phrases.push(CausePhrase::rank(root.rank, root.lane));
        phrases.push(CausePhrase::plain(" "));
        phrases.push(CausePhrase::call(which, root.call));
        phrases
    }

    /// What a root did, and how long.
    fn did(&self, root: &RootCause, how_long: DurationNs) -> String {
        let name = FunctionName::parse(self.trace().names.name(root.func)).short;
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
