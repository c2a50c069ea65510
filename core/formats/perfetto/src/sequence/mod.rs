//! Packets of a sequence, read with the names and defaults that the sequence stated before.

mod conventions;
mod event_reader;
mod legacy;
mod packets;
mod sequence_state;

pub(crate) use packets::{PackedPackets, TraceState};
