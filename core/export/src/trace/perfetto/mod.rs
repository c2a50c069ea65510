//! Perfetto's packets of track events.
//!
//! One sequence of packets has the run: names are stated once and then by number, times count from the start of the run
//! on a clock of the sequence, and the track of events is a default that each lane sets. A second sequence has the
//! findings. Numbers of fields: `protos/perfetto/trace` of Perfetto.
//!
//! Messages are stated as TAU states them, by instants `MPI_Send` and `MPI_Recv` with arguments. The description of a
//! track marks it as a lane of a rank or as one of findings.

mod fields;
mod wire;
mod writer;

pub use writer::write_perfetto;
