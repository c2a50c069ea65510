//! Reads a file: the tables of all planes, and then the lines of those that have calls.

use callgrove_model::{RankId, WarningKind, fraction};
use callgrove_source::{DecodedRun, FileDecoder, Input, SourceError, UnpackedFile};

use crate::error::XplaneError;
use crate::line_recorder::LineRecorder;
use crate::plane_table::FileTables;
use crate::process_recorder::ProcessRecorder;
use crate::proto::{FieldHead, HeadValue, MessageStream, PlaneEvent, StreamFault};

/// Number of bytes that are decoded at once.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// Decodes a file.
pub(crate) struct PlaneDecoder {
    input: Input,
    rank: RankId,
    /// Of the second pass.
    stream: MessageStream,
    tables: FileTables,
    recorder: ProcessRecorder,
    /// Number of planes that have begun.
    num_planes: usize,
    /// The end of the plane that is being read.
    plane_end: Option<u64>,
    /// The line that is being read, and its end.
    line: Option<(LineRecorder, u64)>,
}

impl PlaneDecoder {
    /// Opens a file, which is this rank, and reads its tables.
    pub(crate) fn open(input: &Input, rank: RankId) -> Result<Self, SourceError> {
        let mut recorder = ProcessRecorder::default();
        let mut first_pass = MessageStream::new(UnpackedFile::open(input)?);
        let tables = FileTables::read(&mut first_pass, &mut recorder.warnings);
        let tables = tables.map_err(|fault| error_of(fault, input))?;
        Ok(Self {
            input: input.clone(),
            rank,
            stream: MessageStream::new(UnpackedFile::open(input)?),
            tables,
            recorder,
            num_planes: 0,
            plane_end: None,
            line: None,
        })
    }

    /// Reads the next field, wherever it is; returns false at the end of the file.
    fn read_field(&mut self) -> Result<bool, StreamFault> {
        if let Some(end) = self.line.as_ref().map(|it| it.1) {
            self.read_line_field(end)?;
        } else if let Some(end) = self.plane_end {
            self.read_plane_field(end)?;
        } else {
            let Some(FieldHead { number, value }) = self.stream.field(u64::MAX)? else {
                return Ok(false);
            };
            match (number, value) {
                (1, HeadValue::Until(end)) => {
                    self.plane_end = Some(end);
                    self.num_planes += 1;
                }
                (_, HeadValue::Until(end)) => self.stream.skip_to(end)?,
                _ => {}
            }
        }
        Ok(true)
    }

    fn read_plane_field(&mut self, end: u64) -> Result<(), StreamFault> {
        let plane = self.tables.planes.get(self.num_planes.saturating_sub(1));
        let has_calls = plane.is_some_and(|it| it.kind.has_calls());
        if !has_calls {
            self.plane_end = None;
            return self.stream.skip_to(end);
        }
        match self.stream.field(end)? {
            Some(FieldHead {
                number: 3,
                value: HeadValue::Until(end),
            }) => self.line = Some((LineRecorder::default(), end)),
            Some(FieldHead {
                value: HeadValue::Until(end),
                ..
            }) => self.stream.skip_to(end)?,
            Some(_) => {}
            None => self.plane_end = None,
        }
        Ok(())
    }

    fn read_line_field(&mut self, end: u64) -> Result<(), StreamFault> {
        let Some(FieldHead { number, value }) = self.stream.field(end)? else {
            self.end_line();
            return Ok(());
        };
        let Some((line, _)) = &mut self.line else {
            return Ok(());
        };
        let recorder = &mut self.recorder;
        match (number, value) {
            (4, HeadValue::Until(end)) => {
                let at = self.stream.position();
                let plane = self.num_planes.saturating_sub(1);
                let event = self.stream.bytes(end)?.map(PlaneEvent::of);
                if let (Some(Ok(event)), Some(plane)) = (event, self.tables.planes.get_mut(plane)) {
                    line.add(&event, plane, &mut recorder.names, &mut recorder.warnings);
                } else {
                    let place = || format!("event at byte {at}");
                    recorder.warnings.count(WarningKind::BadRow, None, place);
                }
            }
            (2 | 11, HeadValue::Until(end)) => {
                if let Some(bytes) = self.stream.bytes(end)? {
                    line.set_name(number, bytes, &mut recorder.warnings);
                }
            }
            (_, HeadValue::Until(end)) => self.stream.skip_to(end)?,
            (_, HeadValue::Varint(value)) => line.set_number(number, value),
            (_, HeadValue::Fixed) => {}
        }
        Ok(())
    }

    fn end_line(&mut self) {
        if let Some((line, _)) = self.line.take() {
            let plane = self.num_planes.saturating_sub(1);
            self.recorder.add(line, plane, &self.tables);
        }
    }

    /// Leaves the message that is damaged, whose end is known. Without one, the file ends here.
    fn leave(&mut self, at: u64) -> Result<(), StreamFault> {
        let Some(end) = self.line.as_ref().map(|it| it.1).or(self.plane_end) else {
            return Err(StreamFault::NoField(at));
        };
        let place = || format!("the rest of the line or plane from byte {at} on");
        let warnings = &mut self.recorder.warnings;
        warnings.count(WarningKind::BadRow, None, place);
        if self.line.is_some() {
            self.end_line();
        } else {
            self.plane_end = None;
        }
        self.stream.skip_to(end)
    }

    /// Ends the file with a fault: an error if nothing was read before, else a warning.
    fn end_with(&mut self, fault: StreamFault) -> Result<(), SourceError> {
        self.end_line();
        if self.recorder.num_events == 0 {
            return Err(error_of(fault, &self.input));
        }
        let path = self.input.path().display();
        let place = || format!("{}: {path}", reason_of(&fault));
        let warnings = &mut self.recorder.warnings;
        warnings.count(WarningKind::StreamTruncated, None, place);
        Ok(())
    }
}

impl FileDecoder for PlaneDecoder {
    fn read_on(&mut self) -> Result<bool, SourceError> {
        let until = self.stream.position() + BYTES_AT_ONCE;
        while self.stream.position() < until {
            let read = match self.read_field() {
                Err(StreamFault::NoField(at)) => self.leave(at).map(|()| true),
                read => read,
            };
            match read {
                Ok(true) => {}
                Ok(false) if self.recorder.num_events > 0 => return Ok(false),
                Ok(false) => {
                    return Err(SourceError::Format(Box::new(XplaneError::NoEvents {
                        num_planes: self.num_planes,
                        path: self.input.path().to_owned(),
                    })));
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
        let file = self.stream.file();
        fraction(file.num_file_bytes_read(), file.num_file_bytes().max(1)).min(1.0)
    }

    fn only_rank(&self) -> Option<RankId> {
        Some(self.rank)
    }

    fn finish(self: Box<Self>) -> DecodedRun {
        let file = self.input.path().display().to_string();
        self.recorder.finish(&self.tables, self.rank, &file)
    }
}

fn error_of(fault: StreamFault, input: &Input) -> SourceError {
    if let StreamFault::Io(_, error) = fault {
        return input.io_error()(error);
    }
    SourceError::Damaged {
        reason: reason_of(&fault),
        path: input.path().to_owned(),
    }
}

fn reason_of(fault: &StreamFault) -> String {
    match fault {
        StreamFault::Cut(at) => format!("it is cut in the message at byte {at}"),
        StreamFault::NoField(at) => format!("there is no field at byte {at}"),
        StreamFault::Expands(at) => {
            format!("it unpacks to more than {at} bytes, which no trace does")
        }
        StreamFault::Io(at, error) => format!("it cannot be read from byte {at} on ({error})"),
    }
}
