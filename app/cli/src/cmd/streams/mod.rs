//! Commands that copy the streams of a job.

pub(crate) mod relay;
pub(crate) mod replay;
