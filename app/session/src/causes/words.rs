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

/// Work of the program that is longer than usual by more than this factor times its usual length: the rank may have been stopped.
const STOP_FACTOR: i64 = 10;
/// Below this a sentence says that it is not sure, in percent.
const SURE_PERCENT: u8 = 80;
/// Below this it says that it is hardly more than a guess.
const LIKELY_PERCENT: u8 = 50;

impl RunCauses {
    /// What happened to an execution on `rank`, beginning with a verb: `waited 31 ms for rank 5, which stalled
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
                "was delayed by {}; the trace does not show by whom",
                cause.waited
            ))],
        }
    }

    /// An incident in one line: `Rank 6 stalled 52.8 ms in MPI_Send; 15 ranks waited 0.78 s in all`.
    pub fn incident_words(&self, incident: &Incident) -> String {
        let root = &incident.root;
        let length = incident.end.since(incident.start);
        let cost = incident.delay;
        let others = match incident.ranks.len().saturating_sub(1) {
            0 => "no rank waited".to_owned(),
            others => format!("{} waited {} in all", ranks(others), root.caused),
        };
        match incident.kind {
            CauseKind::BusyHost => format!(
                "{} busy for {length}: {} slowed by {cost} in all",
                self.host(root),
                ranks(incident.ranks.len())
            ),
            CauseKind::Transfer => format!(
                "Messages between hosts were up to {} late; {} waited {cost} in all",
                root.own_delay,
                ranks(incident.ranks.len())
            ),
            CauseKind::TracerWrite if incident.times > 1 => format!(
                "The tracer wrote its data {} times, {cost} in all; the costliest took {} on rank {}",
                incident.times, root.own_delay, root.rank
            ),
            CauseKind::Serial => format!(
                "By design: rank {} runs {} while {} wait, {}, {cost} in all",
                root.rank,
                self.function(root),
                ranks(incident.ranks.len().saturating_sub(1)),
                times(incident)
            ),
            CauseKind::Imbalance => format!(
                "By design: uneven work in {}, {}; ranks waited {cost} in all, longest for rank {}",
                self.function(root),
                times(incident),
                root.rank
            ),
            CauseKind::Unknown => format!(
                "{} waited {cost} in all, perhaps for rank {} in {}; the trace has no messages to show for which",
                ranks(incident.ranks.len()),
                root.rank,
                self.function(root)
            ),
            CauseKind::Noise => format!(
                "{} short delays that most ranks have, {cost} in all; probably the machine",
                incident.times
            ),
            _ => {
                let doubt = doubt(root);
                let who = if doubt.is_empty() { "Rank" } else { "rank" };
                let sentence = format!(
                    "{doubt}{who} {} {}{}; {others}",
                    root.rank,
                    self.did(root, root.own_delay),
                    alternative(root)
                );
                capitalised(sentence)
            }
        }
    }

    fn waited(&self, rank: RankId, cause: &DelayCause, root: &RootCause) -> Vec<CausePhrase> {
        let waited = cause.waited;
        if root.rank == rank && !cause.hops.iter().any(|hop| hop.peer_rank == rank) {
            // What delays a rank though no other did: its host, the tracer, or another thread.
            return vec![
                CausePhrase::plain(format!("was delayed by {waited}: ")),
                CausePhrase::call(self.did(root, root.own_delay), root.call),
            ];
        }
        let name = self.function(root);
        let which = match root.kind {
            CauseKind::Stalled if root.is_in_library => format!("which stalled in {name}"),
            CauseKind::Stalled | CauseKind::Slow => {
                format!("which took longer than usual in {name}")
            }
            CauseKind::TracerWrite => "where the tracer wrote its data".to_owned(),
            CauseKind::BusyHost => "whose host was busy".to_owned(),
            _ => format!("which was late in {name}"),
        };
        let hop = cause.hops.first();
        let part = |text: String| match hop {
            Some(hop) => CausePhrase::call(text, hop.call),
            None => CausePhrase::plain(text),
        };
        if root.kind == CauseKind::Transfer {
            return vec![part(format!(
                "waited {waited} for messages that were late in the network"
            ))];
        }
        let comma = if doubt(root).is_empty() { "" } else { ", " };
        let mut phrases = vec![
            part(format!("waited {waited}")),
            CausePhrase::plain(
                format!("{comma}{} for ", doubt(root).trim_end()).replace("  ", " "),
            ),
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
        let name = self.function(root);
        let is_long = how_long.0 > root.usual.0.saturating_mul(STOP_FACTOR);
        match root.kind {
            CauseKind::Stalled if root.is_in_library => format!("stalled {how_long} in {name}"),
            // Without events within it the trace cannot tell one from the other.
            CauseKind::Stalled if is_long => {
                format!("computed or was stopped {how_long} longer than usual in {name}")
            }
            CauseKind::Stalled => format!("took {how_long} longer than usual in {name}"),
            CauseKind::Slow => format!("was slow in {name}, {how_long} longer than usual"),
            CauseKind::TracerWrite => format!("lost {how_long} while the tracer wrote its data"),
            CauseKind::BusyHost => format!("lost {how_long} in {name} while its host was busy"),
            _ => format!("was late by {how_long} in {name}"),
        }
    }

    /// The name of a root's function, as people call it.
    fn function(&self, root: &RootCause) -> &str {
        FunctionName::parse(self.trace().names.name(root.func)).short
    }

    /// The host of a root, as a sentence begins with it.
    fn host(&self, root: &RootCause) -> String {
        let clocks = self.found().clocks();
        let host = clocks.hosts().get(clocks.host_of(root.lane));
        match host.map(|it| it.host.as_str()) {
            Some(name) if !name.is_empty() => format!("Host {name}"),
            _ => "The host was".to_owned(),
        }
    }
}

/// How a sentence begins that is not sure.
fn doubt(root: &RootCause) -> &'static str {
    match root.confidence_percent {
        SURE_PERCENT.. => "",
        LIKELY_PERCENT.. => "probably ",
        _ => "perhaps ",
    }
}

/// The other rank that it may have been.
fn alternative(root: &RootCause) -> String {
    let other = root
        .next_best
        .filter(|_| root.confidence_percent < SURE_PERCENT);
    let other = other.filter(|other| *other != root.rank);
    other.map_or(String::new(), |other| format!(" (or rank {other})"))
}

/// `14 times, about every 52.1 ms`.
fn times(incident: &Incident) -> String {
    let every = incident
        .every
        .map_or(String::new(), |it| format!(" every {it}"));
    match incident.times {
        1 => "once".to_owned(),
        times => format!("{times} times{every}"),
    }
}

fn capitalised(sentence: String) -> String {
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => sentence,
    }
}

fn ranks(count: usize) -> String {
    match count {
        1 => "1 rank".to_owned(),
        count => format!("{count} ranks"),
    }
}
