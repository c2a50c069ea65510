//! Ids: newtypes without arithmetic, and the labels that users and other programs see.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a column or list.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id at an index; columns hold fewer than 2^32 rows.
            #[expect(clippy::cast_possible_truncation, reason = "as said above")]
            pub const fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A program of a workflow (index 0 in a run of one program).
    ProgramId
);
id!(
    /// A rank of MPI_COMM_WORLD.
    RankId
);
id!(
    /// A thread of a rank, numbered as the tracing library numbers it.
    ThreadId
);
id!(
    /// An I/O step of one rank's stream; steps of two ranks cover different times.
    StepId
);
id!(
    /// A function (timer) name in a [`crate::NameTable`].
    FuncId
);
id!(
    /// A counter name in a [`crate::NameTable`].
    CounterId
);
id!(
    /// A lane of a [`crate::Trace`]: one thread of one rank of one program.
    LaneIdx
);
id!(
    /// An execution in the columns of its lane, in order of entry.
    ExecIdx
);
id!(
    /// A tree of a [`crate::Forest`].
    TreeIdx
);

/// An execution of a trace: the lane and the row in its columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ExecRef {
    /// The lane.
    pub lane: LaneIdx,
    /// The row in the lane's columns.
    pub exec: ExecIdx,
}

/// Size of a label: three 32-bit numbers and two separators.
const MAX_LABEL_BYTES: usize = 3 * 10 + 2;

/// The event label `rank:step:row` of the Chimbuko schemas, where `row` is that of the ENTRY event in the function
/// events of the step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ExecLabel {
    /// Rank.
    pub rank: RankId,
    /// I/O step of the entry.
    pub step: StepId,
    /// Row of the entry in the step's function events.
    pub row: u32,
}

impl fmt::Display for ExecLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Records hold dozens of labels, and the formatter of the standard library takes ten times as long.
        let mut text = [0_u8; MAX_LABEL_BYTES];
        let mut start = text.len();
        for number in [self.row, self.step.0, self.rank.0] {
            if start < text.len() {
                start -= 1;
                text[start] = b':';
            }
            let mut left = number;
            loop {
                start -= 1;
                text[start] = b'0' + u8::try_from(left % 10).unwrap_or_default();
                left /= 10;
                if left == 0 {
                    break;
                }
            }
        }
        f.write_str(std::str::from_utf8(&text[start..]).unwrap_or_default())
    }
}

impl ExecLabel {
    /// Parses `rank:step:row`; returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':').map(str::trim);
        let label = Self {
            rank: RankId(parts.next()?.parse().ok()?),
            step: StepId(parts.next()?.parse().ok()?),
            row: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(label)
    }
}

/// A tree's code `#rank-index`, as in section 6.1 of the paper: the index-th execution of the root function on the
/// rank, counted from 0 in order of entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TreeCode {
    /// Rank.
    pub rank: RankId,
    /// Invocation number on the rank.
    pub index: u32,
}

impl fmt::Display for TreeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}-{}", self.rank, self.index)
    }
}

/// An [`ExecIdx`] whose `Option` takes four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NonMaxIdx(std::num::NonZeroU32);

impl From<ExecIdx> for NonMaxIdx {
    fn from(exec: ExecIdx) -> Self {
        Self(std::num::NonZeroU32::MIN.saturating_add(exec.0))
    }
}

impl From<NonMaxIdx> for ExecIdx {
    fn from(index: NonMaxIdx) -> Self {
        Self(index.0.get() - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_label_is_its_numbers(
            numbers in prop::array::uniform3(prop_oneof![any::<u32>(), 0..20_u32, Just(u32::MAX)]),
        ) {
            let [rank, step, row] = numbers;
            let label = ExecLabel { rank: RankId(rank), step: StepId(step), row };
            let text = label.to_string();
            prop_assert_eq!(&text, &format!("{rank}:{step}:{row}"));
            prop_assert_eq!(ExecLabel::parse(&text), Some(label));
        }
    }
}
