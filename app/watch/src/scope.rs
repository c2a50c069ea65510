//! The user's selection in the watched run.

/// A selection; `None` means all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    /// Program and rank.
    pub rank: Option<(u32, u32)>,
    /// Program and function.
    pub func: Option<(u32, u32)>,
    /// First and last step.
    pub steps: Option<(u64, u64)>,
}
