//! Reads a file: plain or packed with gzip, with packets that may hold packed packets.

use std::io::Read;

use callgrove_model::{RankId, WarningKind, fraction};
use callgrove_source::{DecodedRun, FileDecoder, Input, SourceError, UnpackedFile};
use flate2::bufread::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::assembly::assemble;
use crate::error::PerfettoError;
use crate::proto::{PacketFault, PacketReader};
use crate::sequence::{PackedPackets, TraceState};

/// Number of bytes of packets that are decoded at once.
const BYTES_AT_ONCE: u64 = 4 << 20;
/// Decodes a file.
pub(crate) struct TraceDecoder {
    input: Input,
    of_file: RankId,
    packets: PacketReader<UnpackedFile>,
    /// Number of bytes that packed packets may still unpack to.
    num_left: u64,
    state: TraceState,
}

impl TraceDecoder {
    /// Opens a file. Its rank is `of_file` unless it states one.
    pub(crate) fn open(input: &Input, of_file: RankId) -> Result<Self, SourceError> {
        let file = UnpackedFile::open(input)?;
        let num_left = file.max_unpacked_bytes();
        let limit = if file.is_packed() {
            num_left
        } else {
            file.num_file_bytes()
        };
        Ok(Self {
            input: input.clone(),
            of_file,
            packets: PacketReader::new(file, limit),
            num_left,
            state: TraceState::default(),
        })
    }

    /// Ends the file with a fault: an error if nothing was read before, else a warning.
    fn end_with(&mut self, fault: PacketFault) -> Result<(), SourceError> {
        let reason = match fault {
            PacketFault::Cut(at) => format!("it is cut in the packet at byte {at}"),
            PacketFault::NoPacket(at) => format!("there is no packet at byte {at}"),
            PacketFault::Expands(at) => {
                format!("it unpacks to more than {at} bytes, which no trace does")
            }
            PacketFault::Io(0, error) => return Err(self.input.io_error()(error)),
            PacketFault::Io(at, error) => format!("it cannot be read from byte {at} on ({error})"),
        };
        if self.state.recorder.num_events == 0 {
            let path = self.input.path().to_owned();
            return Err(SourceError::Damaged { reason, path });
        }
        let path = self.input.path().display();
        let place = || format!("{reason}: {path}");
        let warnings = &mut self.state.recorder.warnings;
        warnings.count(WarningKind::StreamTruncated, None, place);
        Ok(())
    }

    fn check_events(&self) -> Result<(), SourceError> {
        let recorder = &self.state.recorder;
        let (num_events, path) = (recorder.num_events, self.input.path().to_owned());
        let error = match recorder.first {
            Some(_) => return Ok(()),
            None if num_events > 0 => PerfettoError::NoTimes { num_events, path },
            None => PerfettoError::NoTrackEvents {
                num_packets: recorder.num_packets,
                path,
            },
        };
        Err(SourceError::Format(Box::new(error)))
    }
}

impl FileDecoder for TraceDecoder {
    fn read_on(&mut self) -> Result<bool, SourceError> {
        let until = self.packets.num_bytes_read() + BYTES_AT_ONCE;
        while self.packets.num_bytes_read() < until {
            match self.packets.next_packet() {
                Ok(Some((offset, packet))) => {
                    if let Some(inner) = self.state.take_in(packet, offset) {
                        take_packed(inner, offset, &mut self.state, &mut self.num_left);
                    }
                }
                Ok(None) => {
                    self.check_events()?;
                    return Ok(false);
                }
                Err(fault) => {
                    self.end_with(fault)?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn position(&self) -> f32 {
        let file = self.packets.source();
        fraction(file.num_file_bytes_read(), file.num_file_bytes().max(1)).min(1.0)
    }

    fn finish(self: Box<Self>) -> DecodedRun {
        let file = self.input.path().display().to_string();
        assemble(self.state.recorder, self.of_file, &file)
    }
}

/// Processes the packets in the packet at `offset` bytes. Those that these hold in turn are left out.
fn take_packed(inner: PackedPackets<'_>, offset: u64, state: &mut TraceState, num_left: &mut u64) {
    let is_whole = match inner {
        PackedPackets::Deflated(bytes) => {
            take_unpacked(ZlibDecoder::new(bytes), offset, state, num_left)
        }
        PackedPackets::Zstd(bytes) => match StreamingDecoder::new(bytes) {
            Ok(unpacking) => take_unpacked(unpacking, offset, state, num_left),
            Err(_) => false,
        },
    };
    if !is_whole {
        state
            .recorder
            .leave_out(offset, "the packets in it cannot be unpacked");
    }
}

fn take_unpacked(
    unpacking: impl Read,
    offset: u64,
    state: &mut TraceState,
    num_left: &mut u64,
) -> bool {
    let mut packets = PacketReader::new(unpacking, *num_left);
    let is_whole = loop {
        match packets.next_packet() {
            Ok(Some((_, packet))) => {
                if state.take_in(packet, offset).is_some() {
                    state
                        .recorder
                        .leave_out(offset, "packed packets in packed packets");
                }
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    *num_left = num_left.saturating_sub(packets.num_bytes_read());
    is_whole
}
