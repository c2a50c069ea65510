//! Causes of delays as text.

use callgrove_causes::{
    CauseKind, DelayCause, DelayRole, Incident, MissingState, RootCause, Unentered,
};
use callgrove_model::{DurationNs, ExecRef, FunctionName, LaneIdx, RankId, communication_kernel};
use callgrove_trends::rank_ranges;

use super::RunCauses;

/// A part of a sentence about a delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CausePhrase {
    /// Text; the phrases of a sentence are concatenated without separators.
    pub text: String,
    /// Call or rank that the text describes, to be opened by a click.
    pub evidence: Option<CauseEvidence>,
}

/// The call or rank that a phrase describes.
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

    /// Includes the comma after the rank, so that no line begins with one.
    fn rank(rank: RankId, lane: LaneIdx) -> Self {
        Self {
            text: format!("rank {rank},"),
            evidence: Some(CauseEvidence::Rank(lane)),
        }
    }
}

/// Factor over the usual length of a computation above which the rank may have been stopped by the system.
const STOP_FACTOR: i64 = 10;
/// Confidence in percent below which a sentence says "probably".
const SURE_PERCENT: u8 = 80;
/// Confidence in percent below which a sentence says "perhaps".
const LIKELY_PERCENT: u8 = 50;

impl RunCauses {
    /// Returns a description of an execution on `rank`, beginning with a verb: `waited 31 ms for rank 5, which stalled
    /// in MPI_Wait`. `None` for one that was on time.
    pub fn sentence(&self, rank: RankId, cause: &DelayCause) -> Option<String> {
        let phrases = self.phrases(rank, cause);
        let texts = phrases.iter().map(|phrase| phrase.text.as_str());
        (!phrases.is_empty()).then(|| texts.collect())
    }

    /// Returns the same text in phrases, each with the call or rank that it describes; empty for an execution on time.
    pub fn phrases(&self, rank: RankId, cause: &DelayCause) -> Vec<CausePhrase> {
        let root = cause.root.and_then(|root| self.roots().get(root));
        match (cause.role, root) {
            (DelayRole::OnTime, _) => Vec::new(),
            (DelayRole::Root, Some(root)) => {
                vec![CausePhrase::call(self.facts(root).action(), root.call)]
            }
            (DelayRole::Victim, Some(root)) => self.waited(rank, cause, root),
            (_, _) => vec![CausePhrase::plain(format!(
                "was delayed by {}; the trace does not show by whom",
                cause.waited
            ))],
        }
    }

    /// Returns an incident in one line: `Rank 6 stalled 52.8 ms in MPI_Send; 15 ranks waited 0.78 s in all`.
    pub fn incident_sentence(&self, incident: &Incident) -> String {
        let root = &incident.root;
        if let Some(unentered) = &incident.unentered {
            return self.unentered_sentence(incident, unentered);
        }
        let facts = IncidentFacts {
            kind: incident.kind,
            root: self.facts(root),
            confidence_percent: root.confidence_percent,
            is_clock_unsure: root.is_clock_unsure,
            next_best: root.next_best,
            host: self.host(root),
            length: incident.end.since(incident.start),
            caused: root.caused,
            cost: incident.delay,
            num_ranks: incident.ranks.len(),
            times: incident.times,
            every: incident.every,
        };
        facts.sentence()
    }

    /// Returns a collective that not all ranks entered in one line: `Rank 2 did not enter AllReduce 41 of ranks 0 to 3;
    /// it has been in enumerate(DataLoader)#next for 10 s; 3 ranks waited 30 s in all`.
    fn unentered_sentence(&self, incident: &Incident, it: &Unentered) -> String {
        let root = &incident.root;
        let rank = format!("rank {}", root.rank);
        let (name, length) = (self.function(root), root.end.since(root.start));
        let instead = match it.state {
            MissingState::Inside => format!("{rank} has been in {name} for {length}"),
            MissingState::Left => format!("{rank} was in {name} for {length}"),
            MissingState::Silent => {
                format!("the last call of {rank}, {name}, ended {length} before the end")
            }
        };
        let sentence = format!(
            "{}{} did not enter {} {} of {}; {}; {} waited {} in all",
            doubt(root.confidence_percent),
            rank_ranges(&it.missing),
            operation_name(self.trace().names.name(it.func)),
            it.number,
            rank_ranges(&it.group),
            instead,
            ranks(it.num_waiting),
            root.caused
        );
        capitalised(sentence)
    }

    /// Returns the facts about a root.
    fn facts(&self, root: &RootCause) -> RootFacts<'_> {
        RootFacts {
            kind: root.kind,
            rank: Some(root.rank),
            function: self.function(root),
            own_delay: root.own_delay,
            usual: Some(root.usual),
            is_in_library: root.is_in_library,
            late_sender: root.late_sender,
        }
    }

    fn waited(&self, rank: RankId, cause: &DelayCause, root: &RootCause) -> Vec<CausePhrase> {
        let waited = cause.waited;
        if root.rank == rank && !cause.hops.iter().any(|hop| hop.peer_rank == rank) {
            // The delay comes from the host, the tracer or another thread of the rank, not from another rank.
            return vec![
                CausePhrase::plain(format!("was delayed by {waited}: ")),
                CausePhrase::call(self.facts(root).action(), root.call),
            ];
        }
        let name = self.function(root);
        let which = match root.kind {
            CauseKind::Stalled if root.late_sender.is_some() => {
                format!("which received a message late or was stopped in {name}")
            }
            CauseKind::Stalled if root.is_in_library => format!("which stalled in {name}"),
            CauseKind::Stalled | CauseKind::Slow => {
                format!("which took longer than usual in {name}")
            }
            CauseKind::TracerWrite => "where the tracer wrote its data".to_owned(),
            CauseKind::NotEntered => format!("which was in {name} and never entered"),
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
        // The sentence itself says what is undecided.
        let doubt = match root.late_sender {
            Some(_) => "",
            None => doubt(root.confidence_percent),
        };
        let comma = if doubt.is_empty() { "" } else { ", " };
        let mut phrases = vec![
            part(format!("waited {waited}")),
            CausePhrase::plain(format!("{comma}{} for ", doubt.trim_end()).replace("  ", " ")),
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

    /// Returns the short name of a root's function.
    fn function(&self, root: &RootCause) -> &str {
        FunctionName::parse(self.trace().names.name(root.func)).short
    }

    /// Returns the host name of a root; empty if unknown.
    fn host(&self, root: &RootCause) -> &str {
        let clocks = self.found().clocks();
        let host = clocks.hosts().get(clocks.host_of(root.lane));
        host.map_or("", |it| it.host.as_str())
    }
}

/// The facts about the root of a delay that a sentence contains.
pub struct RootFacts<'a> {
    /// Kind of cause.
    pub kind: CauseKind,
    /// Rank; `None` if unknown.
    pub rank: Option<RankId>,
    /// Short name of the function; empty if unknown.
    pub function: &'a str,
    /// Excess over the usual duration.
    pub own_delay: DurationNs,
    /// Usual duration; `None` if too little of the run is known.
    pub usual: Option<DurationNs>,
    /// True if it was in a call of the communication library, of threads or of devices.
    pub is_in_library: bool,
    /// The rank of which a message may have been late in the network instead.
    pub late_sender: Option<RankId>,
}

impl RootFacts<'_> {
    /// Returns what the root did, and for how long.
    fn action(&self) -> String {
        let how_long = self.own_delay;
        let usual = self.usual.unwrap_or_default();
        let is_long = how_long.0 > usual.0.saturating_mul(STOP_FACTOR);
        let within = self.within();
        let more = if self.usual.is_some() {
            " longer than usual"
        } else {
            ""
        };
        match self.kind {
            CauseKind::Stalled if let Some(sender) = self.late_sender => {
                format!(
                    "received a message from rank {sender} {how_long} late, or was stopped{within}"
                )
            }
            CauseKind::Stalled if self.is_in_library => format!("stalled {how_long}{within}"),
            // Without events inside the call, the trace cannot distinguish computing from being stopped.
            CauseKind::Stalled if is_long => {
                format!("computed or was stopped {how_long}{more}{within}")
            }
            CauseKind::Stalled => format!("took {how_long}{more}{within}"),
            CauseKind::Slow if self.usual.is_some() => {
                format!("was slow{within}, {how_long} longer than usual")
            }
            CauseKind::TracerWrite => format!("lost {how_long} while the tracer wrote its data"),
            CauseKind::NotEntered => {
                format!(
                    "never entered a collective that others waited in for {how_long}, and was{within}"
                )
            }
            CauseKind::BusyHost => format!("lost {how_long}{within} while its host was busy"),
            _ => format!("was late by {how_long}{within}"),
        }
    }

    /// Returns ` in MPI_Wait`; empty if the function is unknown.
    fn within(&self) -> String {
        match self.function {
            "" => String::new(),
            name => format!(" in {name}"),
        }
    }

    fn rank(&self) -> String {
        self.rank
            .map_or_else(|| "a rank".to_owned(), |rank| format!("rank {rank}"))
    }
}

/// The facts about an incident of a recorded run or of a running job that its sentence contains.
pub struct IncidentFacts<'a> {
    /// Kind of cause.
    pub kind: CauseKind,
    /// Root of the delay.
    pub root: RootFacts<'a>,
    /// Number of a hundred such cases in which the rank of the root is the right one.
    pub confidence_percent: u8,
    /// True if the rank follows from clocks that messages bound from one side only.
    pub is_clock_unsure: bool,
    /// The second most likely rank, if there is a choice.
    pub next_best: Option<RankId>,
    /// Host of the root; empty if unknown.
    pub host: &'a str,
    /// Time from its start to its end.
    pub length: DurationNs,
    /// Time that other ranks waited for the root.
    pub caused: DurationNs,
    /// Time that all ranks lost.
    pub cost: DurationNs,
    /// Number of ranks, including the root's.
    pub num_ranks: usize,
    /// Number of occurrences, if recurrences are one incident.
    pub times: u32,
    /// Period of the occurrences, if it hardly varies.
    pub every: Option<DurationNs>,
}

impl IncidentFacts<'_> {
    /// Returns the incident in one line.
    pub fn sentence(&self) -> String {
        let (root, length, cost) = (&self.root, self.length, self.cost);
        let all = ranks(self.num_ranks);
        let num_others = self.num_ranks.saturating_sub(1);
        match self.kind {
            CauseKind::BusyHost => {
                let host = match self.host {
                    "" => "Ranks were late at once".to_owned(),
                    name => format!("Host {name} busy"),
                };
                format!("{host} for {length}: {all} slowed by {cost} in all")
            }
            CauseKind::Transfer => format!(
                "Messages between hosts were up to {} late; {all} waited {cost} in all",
                root.own_delay
            ),
            CauseKind::TracerWrite if self.times > 1 => format!(
                "Writes of the tracer delayed ranks {} times, {cost} in all; the costliest took {} on {}",
                self.times,
                root.own_delay,
                root.rank()
            ),
            CauseKind::Serial => format!(
                "By design: {} runs {} while {} wait, {}, {cost} in all",
                root.rank(),
                root.function,
                ranks(num_others),
                self.times()
            ),
            CauseKind::Imbalance => format!(
                "By design: uneven work in {}, {}; ranks waited {cost} in all, longest for {}",
                root.function,
                self.times(),
                root.rank()
            ),
            CauseKind::Unknown if root.rank.is_none() => {
                format!("{all} waited {cost} in all; no message shows for which")
            }
            CauseKind::Unknown if num_others == 0 => self.unknown_wait(),
            CauseKind::Unknown => format!(
                "{all} waited {cost} in all, perhaps for {}{}; the trace has no messages to show for which",
                root.rank(),
                root.within()
            ),
            CauseKind::Stalled if let Some(sender) = root.late_sender => {
                let rank = root.rank();
                format!(
                    "A message from rank {sender} to {rank} came {} late, or {rank} was stopped{}; {}",
                    root.own_delay,
                    root.within(),
                    self.others()
                )
            }
            CauseKind::Noise => format!(
                "{} short delays, such as this run has all the time, {cost} in all",
                self.times
            ),
            _ => {
                let others = self.others();
                let clocks = if self.is_clock_unsure {
                    " (clocks are compared by one-way messages only)"
                } else {
                    ""
                };
                let sentence = format!(
                    "{}{} {}{}{clocks}; {others}",
                    doubt(self.confidence_percent),
                    root.rank(),
                    root.action(),
                    self.alternative()
                );
                capitalised(sentence)
            }
        }
    }

    /// Returns that a rank waited, where the trace does not show for which other one.
    fn unknown_wait(&self) -> String {
        let (root, cost) = (&self.root, self.cost);
        let waits = match self.times {
            0 | 1 => String::new(),
            times => format!(" in the longest of {times} such waits, {cost} in all"),
        };
        capitalised(format!(
            "{} waited {} longer than usual{}{waits}; the trace does not show for which rank",
            root.rank(),
            root.own_delay,
            root.within()
        ))
    }

    /// Returns how many other ranks waited, and for how long.
    fn others(&self) -> String {
        match self.num_ranks.saturating_sub(1) {
            0 => "no rank waited".to_owned(),
            others => format!("{} waited {} in all", ranks(others), self.caused),
        }
    }

    /// Returns the second most likely rank in parentheses, if the confidence is low.
    fn alternative(&self) -> String {
        let is_sure = self.confidence_percent >= SURE_PERCENT;
        let other = self.next_best.filter(|_| !is_sure);
        let other = other.filter(|other| Some(*other) != self.root.rank);
        other.map_or(String::new(), |other| format!(" (or rank {other})"))
    }

    /// Returns the repetition: `14 times, about every 52.1 ms`.
    fn times(&self) -> String {
        let every = self
            .every
            .map_or(String::new(), |it| format!(" every {it}"));
        match self.times {
            1 => "once".to_owned(),
            times => format!("{times} times{every}"),
        }
    }
}

/// Returns the name of a collective: without prefix and protocol for a kernel, whose name differs between ranks.
fn operation_name(name: &str) -> &str {
    match communication_kernel(name) {
        Some(operation) => operation.split('_').next().unwrap_or(operation),
        None => FunctionName::parse(name).short,
    }
}

/// Returns the word with which a sentence expresses its confidence.
fn doubt(confidence_percent: u8) -> &'static str {
    match confidence_percent {
        SURE_PERCENT.. => "",
        LIKELY_PERCENT.. => "probably ",
        _ => "perhaps ",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_message_is_the_network_or_its_receiver() {
        let facts = IncidentFacts {
            kind: CauseKind::Stalled,
            root: RootFacts {
                kind: CauseKind::Stalled,
                rank: Some(RankId(8)),
                function: "MPI_Waitall",
                own_delay: DurationNs::from_us(28_600),
                usual: Some(DurationNs::ZERO),
                is_in_library: true,
                late_sender: Some(RankId(7)),
            },
            confidence_percent: 50,
            is_clock_unsure: false,
            next_best: None,
            host: "",
            length: DurationNs::from_us(30_000),
            caused: DurationNs::from_us(300_000),
            cost: DurationNs::from_us(328_600),
            num_ranks: 12,
            times: 1,
            every: None,
        };
        assert_eq!(
            facts.sentence(),
            "A message from rank 7 to rank 8 came 28.6 ms late, or rank 8 was stopped in MPI_Waitall; 11 ranks waited \
             300 ms in all"
        );
    }
}
