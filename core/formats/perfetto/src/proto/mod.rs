//! Messages of Perfetto's protobuf files, read in place.

mod packet;
mod packet_reader;
mod track_event;
mod wire;

pub(crate) use packet::{TracePacket, begins_with_packet};
pub(crate) use packet_reader::{PacketFault, PacketReader, count};
pub(crate) use track_event::{
    Annotation, AnnotationValue, BEGIN, COUNTER, INSTANT, SLICE_END, TrackEvent,
};
pub(crate) use wire::{BadField, FieldValue, FieldWalk, packed, signed};
