//! Settings of the relabelling.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_param};

/// The effect of repeated children on a subtree's label.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signature {
    /// As in the paper: a loop of 2,427 calls and one of 2,428 calls make two different subtrees.
    Exact,
    /// Repeats up to 8 count exactly, more by the next power of two: loops whose length varies from
    /// step to step stay one subtree, while small fixed numbers (neighbours, directions) keep theirs.
    BucketedCounts,
}

/// The meaning of the order of children.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Siblings {
    /// None, as in the paper: children are a multiset.
    #[default]
    Unordered,
    /// Section 6.6 of the paper: children are a list in order of entry, as if edges led from each to the next.
    ///
    /// With [`Signature::Exact`] two lists are equal if all their members are. With [`Signature::BucketedCounts`],
    /// repeats in a row are counted by buckets: first of one child, then of a block of up to 16 such runs (`pack send
    /// wait pack send wait` is one block twice). Blocks are found from the left; if several begin at one item, the
    /// one that covers most, and of those the shortest.
    Ordered,
}

/// Settings of the relabelling.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WlParams {
    /// The effect of repeated children.
    pub signature: Signature,
    /// The meaning of the order of children.
    #[serde(default)]
    pub siblings: Siblings,
    /// Largest degree (the paper's iteration cap N); `None` goes to the height of each tree, which is the paper's
    /// default: maximum depth − 1. The number of subtrees grows with the square of the depth, so very deep trees need
    /// a cap.
    pub max_degree: Option<u16>,
}

impl Default for WlParams {
    /// Returns bucketed counts, no order, and a cap that call stacks do not reach.
    fn default() -> Self {
        Self {
            signature: Signature::BucketedCounts,
            siblings: Siblings::Unordered,
            max_degree: Some(64),
        }
    }
}

/// Checked [`WlParams`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValidWlParams(WlParams);

impl WlParams {
    /// Returns the paper's settings.
    pub fn paper() -> Self {
        Self {
            signature: Signature::Exact,
            siblings: Siblings::Unordered,
            max_degree: None,
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// [`crate::MlError::InvalidParam`] if the largest degree is the largest that a `u16` holds.
    pub fn check(self) -> Result<ValidWlParams> {
        let cap = self.max_degree.unwrap_or(0);
        check_param(
            "max_degree",
            f64::from(cap),
            cap < u16::MAX,
            "less than 65535",
        )?;
        Ok(ValidWlParams(self))
    }
}

impl ValidWlParams {
    /// Returns how repeated children count.
    pub fn signature(self) -> Signature {
        self.0.signature
    }

    /// Returns the meaning of the order of children.
    pub fn siblings(self) -> Siblings {
        self.0.siblings
    }

    /// Returns the largest degree of any subtree, if there is a cap.
    pub fn max_degree(self) -> Option<u16> {
        self.0.max_degree
    }

    /// Returns the settings with a lower cap.
    pub(super) fn capped(self, max_degree: u16) -> Self {
        Self(WlParams {
            max_degree: Some(max_degree),
            ..self.0
        })
    }

    /// Returns the largest degree that a vertex of this height is relabelled to.
    pub(crate) fn top_degree(self, height: u16) -> u16 {
        self.0.max_degree.map_or(height, |cap| cap.min(height))
    }
}

impl Signature {
    /// Returns a repeat count as it enters the label.
    pub(crate) fn bucket(self, count: u64) -> u64 {
        const EXACT_UP_TO: u64 = 8;
        match self {
            Self::BucketedCounts if count > EXACT_UP_TO => {
                count.checked_next_power_of_two().unwrap_or(u64::MAX)
            }
            _ => count,
        }
    }
}
