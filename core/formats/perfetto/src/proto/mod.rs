//! Messages of Perfetto's protobuf files, read in place.

mod packet;
mod packet_reader;
mod track_event;

pub(crate) use callgrove_source::protobuf::{BadField, FieldValue, FieldWalk, packed, signed};
pub(crate) use packet::{TracePacket, begins_with_packet};
pub(crate) use packet_reader::{PacketFault, PacketReader};
pub(crate) use track_event::{
    Annotation, AnnotationValue, BEGIN, COUNTER, INSTANT, SLICE_END, TrackEvent,
};
