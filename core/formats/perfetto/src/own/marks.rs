//! The marks of tracks.

use callgrove_model::ThreadId;

/// Prefix of the description of a lane, before its number.
const LANE: &[u8] = b"Callgrove: thread ";
/// Prefix of the description of a track of findings.
const FINDINGS: &[u8] = b"Callgrove: findings";

/// The kind of a track in a file that Callgrove wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnTrack {
    /// A thread of a rank.
    Lane(ThreadId),
    /// Findings, which are left out.
    Findings,
}

impl OwnTrack {
    /// Returns the kind that a description states.
    pub(crate) fn of(description: &[u8]) -> Option<Self> {
        if description.starts_with(FINDINGS) {
            return Some(Self::Findings);
        }
        let rest = description.strip_prefix(LANE)?;
        let number = rest.split(|byte| *byte == b' ').next()?;
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        Some(Self::Lane(ThreadId(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_say_what_a_track_is() {
        let of = |text: &str| OwnTrack::of(text.as_bytes());
        let lane = of("Callgrove: thread 12 of rank 3 of program 0");
        assert_eq!(lane, Some(OwnTrack::Lane(ThreadId(12))));
        let findings = of("Callgrove: findings, not part of the run");
        assert_eq!(findings, Some(OwnTrack::Findings));
        assert_eq!(of("Callgrove: thread x"), None);
        assert_eq!(of("the main thread"), None);
    }
}
