//! The lines that a replay and the process that publishes a stream for it exchange.

use std::fmt;

/// The word before each message, as the process may print other lines too.
const MARK: &str = "callgrove-replay";
/// The word for a step without events.
const NO_TIME: &str = "-";

/// A message of the process. Those with a time and [`FromPublisher::Opened`] are requests, which wait for
/// [`ToPublisher::Go`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FromPublisher {
    /// The recorded stream with this number of steps is open, and the other one can be opened.
    Opened(usize),
    /// The readers are there. The time is that of the newest event of the first step, in µs.
    Ready(Option<u64>),
    /// A step can be published whose newest event has this time, in µs.
    Step(Option<u64>),
    /// The step was published.
    Published,
    /// The recorded stream ends early, for this reason.
    Truncated(String),
    /// The stream is closed.
    Closed,
    /// The stream could not be published, for this reason.
    Failed(String),
}

/// A message to the process. The end of its input without [`ToPublisher::Stop`] is the end of the replay's process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ToPublisher {
    /// The requested action is due.
    Go,
    /// Close the stream and end.
    Stop,
}

impl fmt::Display for FromPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time_us: Option<u64>| time_us.map_or(NO_TIME.to_owned(), |it| it.to_string());
        match self {
            Self::Opened(num_steps) => write!(f, "{MARK} opened {num_steps}"),
            Self::Ready(first_us) => write!(f, "{MARK} ready {}", time(*first_us)),
            Self::Step(newest_us) => write!(f, "{MARK} step {}", time(*newest_us)),
            Self::Published => write!(f, "{MARK} published"),
            Self::Truncated(reason) => write!(f, "{MARK} truncated {}", one_line(reason)),
            Self::Closed => write!(f, "{MARK} closed"),
            Self::Failed(reason) => write!(f, "{MARK} failed {}", one_line(reason)),
        }
    }
}

impl FromPublisher {
    /// Returns the message of a line; `None` for any other line.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let text = line.strip_prefix(MARK)?.strip_prefix(' ')?;
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let time = || match rest {
            NO_TIME => Some(None),
            time => time.parse().ok().map(Some),
        };
        Some(match word {
            "opened" => Self::Opened(rest.parse().ok()?),
            "ready" => Self::Ready(time()?),
            "step" => Self::Step(time()?),
            "published" => Self::Published,
            "truncated" => Self::Truncated(rest.to_owned()),
            "closed" => Self::Closed,
            "failed" => Self::Failed(rest.to_owned()),
            _ => return None,
        })
    }
}

impl fmt::Display for ToPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Go => "go",
            Self::Stop => "stop",
        })
    }
}

impl ToPublisher {
    /// Returns the message of a line; `None` for any other line.
    pub(super) fn parse(line: &str) -> Option<Self> {
        [Self::Go, Self::Stop]
            .into_iter()
            .find(|it| it.to_string() == line)
    }
}

/// Returns a text without line breaks.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for message in [
            FromPublisher::Opened(7),
            FromPublisher::Ready(None),
            FromPublisher::Ready(Some(1_795_231_715_000_000)),
            FromPublisher::Step(None),
            FromPublisher::Step(Some(0)),
            FromPublisher::Published,
            FromPublisher::Truncated("the file ends: a b.bp".to_owned()),
            FromPublisher::Closed,
            FromPublisher::Failed(String::new()),
        ] {
            assert_eq!(FromPublisher::parse(&message.to_string()), Some(message));
        }
        for message in [ToPublisher::Go, ToPublisher::Stop] {
            assert_eq!(ToPublisher::parse(&message.to_string()), Some(message));
        }
    }

    #[test]
    fn a_reason_of_several_lines_is_one_message() {
        let message = FromPublisher::Failed("tried:\n  here\n  there".to_owned()).to_string();
        assert_eq!(message, "callgrove-replay failed tried: here there");
    }

    #[test]
    fn other_lines_are_no_messages() {
        for line in [
            "",
            "running 1 test",
            MARK,
            "callgrove-replay step",
            "callgrove-replay opened x",
            "closed",
        ] {
            assert_eq!(FromPublisher::parse(line), None, "{line}");
        }
        assert_eq!(ToPublisher::parse("going"), None);
    }
}
