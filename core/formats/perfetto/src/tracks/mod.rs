//! Tracks, and their processes, threads and lanes.

mod lanes;
mod processes;
mod track;

pub(crate) use lanes::TrackLane;
pub(crate) use processes::Processes;
pub(crate) use track::{
    CompleteSlice, END, EventList, NO_EVENT, ProcessFacts, SliceEvent, ThreadFacts, Track,
    TrackNumber, TrackTable,
};
