//! The parts of a document: its keys and its events.
//!
//! ```text
//! {"schemaVersion": 1, …, "traceEvents": [ event, event, … ], "traceName": …}    an object
//! [ event, event, …                                                              an array, which may lack its end
//! event⏎ event⏎ …                                                                lines
//! ```

use callgrove_model::WarningKind;
use memchr::memmem;

use crate::events::{FileFacts, TraceEvent};
use crate::json::{JsonCursor, JsonFault, JsonValue, TextWindow, ValueSkipper};
use crate::recorder::EventRecorder;

/// The key of the events.
const EVENTS_KEY: &[u8] = b"traceEvents";
/// The same with its quotes. In a text it would have escapes.
const QUOTED_EVENTS_KEY: &[u8] = b"\"traceEvents\"";

/// The position of the reader in a document.
#[derive(Clone, Copy, Debug)]
enum DocumentPlace {
    Start,
    /// Among the keys of the object.
    Keys,
    /// In the value of a key that is not needed.
    Value(ValueSkipper),
    /// Among the events; whether they are in an object.
    Events(bool),
    /// After a damaged event: before the next one.
    NextEvent(bool),
    /// After damage before the events: before their key.
    EventsKey,
    End,
}

/// The reason why reading a part of the document ended.
enum PieceEnd {
    /// The place has changed.
    Moved(DocumentPlace),
    /// More text is needed.
    NeedsMore,
    /// The text is damaged where the window begins.
    Damaged,
}

/// A document that is being read.
pub(crate) struct ChromeDocument {
    window: TextWindow,
    place: DocumentPlace,
    has_found_events: bool,
    /// The first damage, as a byte of the text.
    pub(crate) first_damage: Option<u64>,
    /// Number of places where the text is damaged.
    pub(crate) num_damaged: u64,
    /// True if the text ended before the document did.
    pub(crate) is_cut: bool,
}

impl ChromeDocument {
    pub(crate) fn new(window: TextWindow) -> Self {
        Self {
            window,
            place: DocumentPlace::Start,
            has_found_events: false,
            first_damage: None,
            num_damaged: 0,
            is_cut: false,
        }
    }

    /// Returns the error that ended the text.
    pub(crate) fn fault(&self) -> Option<&std::io::Error> {
        self.window.fault.as_ref()
    }

    /// Returns the number of bytes of text before the place.
    pub(crate) fn num_passed(&self) -> u64 {
        self.window.place()
    }

    /// Reads about as many bytes of text as are asked for; returns false at the end.
    pub(crate) fn read_on(
        &mut self,
        num_bytes: u64,
        facts: &mut FileFacts,
        recorder: &mut EventRecorder,
    ) -> bool {
        let until = self.window.place().saturating_add(num_bytes);
        while self.window.place() < until {
            if matches!(self.place, DocumentPlace::End) {
                return false;
            }
            match self.read_piece(facts, recorder) {
                PieceEnd::Moved(place) => {
                    self.has_found_events |= matches!(place, DocumentPlace::Events(_));
                    self.place = place;
                    if matches!(place, DocumentPlace::End) {
                        self.check_rest();
                    }
                }
                PieceEnd::NeedsMore if self.window.fill() => {}
                PieceEnd::NeedsMore if self.window.is_full() || self.hides_events() => {
                    self.damage();
                }
                PieceEnd::NeedsMore => self.finish(),
                PieceEnd::Damaged => self.damage(),
            }
        }
        true
    }

    /// Returns whether the text has ended in the value of a key that seems to hold the events: a
    /// bracket or a quote before them is damaged.
    fn hides_events(&self) -> bool {
        !self.has_found_events
            && matches!(self.place, DocumentPlace::Keys)
            && memmem::find(self.window.bytes(), QUOTED_EVENTS_KEY).is_some()
    }

    /// Counts text after the end of the document as damage, such as that of another document. Zeros fill files.
    fn check_rest(&mut self) {
        self.window
            .pass(usize::from(self.window.bytes().starts_with(b"}")));
        let is_text = |it: &u8| !it.is_ascii_whitespace() && *it != 0;
        loop {
            if let Some(at) = self.window.bytes().iter().position(is_text) {
                self.window.pass(at);
                self.num_damaged += 1;
                self.first_damage = self.first_damage.or(Some(self.window.place()));
                return;
            }
            self.window.pass(usize::MAX);
            if !self.window.fill() {
                return;
            }
        }
    }

    fn finish(&mut self) {
        // An array may lack its end, and lines have none.
        let rest = self.window.bytes();
        let is_open = match self.place {
            DocumentPlace::Events(is_in_object) => {
                is_in_object
                    || rest
                        .iter()
                        .any(|it| !it.is_ascii_whitespace() && *it != b',')
            }
            DocumentPlace::Keys => rest.trim_ascii() != b"}",
            _ => true,
        };
        self.is_cut = is_open || self.window.fault.is_some();
        self.place = DocumentPlace::End;
    }

    fn damage(&mut self) {
        self.num_damaged += 1;
        self.first_damage = self.first_damage.or(Some(self.window.place()));
        self.place = match self.place {
            DocumentPlace::Events(is_in_object) | DocumentPlace::NextEvent(is_in_object) => {
                // A value that is longer than allowed is skipped as a whole.
                let is_too_long = self.window.is_full();
                self.window.pass(if is_too_long { usize::MAX } else { 1 });
                DocumentPlace::NextEvent(is_in_object)
            }
            _ if self.has_found_events => DocumentPlace::End,
            DocumentPlace::EventsKey => {
                self.window.pass(1);
                DocumentPlace::EventsKey
            }
            _ => DocumentPlace::EventsKey,
        };
    }

    fn read_piece(&mut self, facts: &mut FileFacts, recorder: &mut EventRecorder) -> PieceEnd {
        let bytes = self.window.bytes();
        let (num_passed, end) = match &mut self.place {
            DocumentPlace::Start => start(bytes),
            DocumentPlace::Keys => key(bytes, facts, self.has_found_events),
            DocumentPlace::Value(skipper) => value(bytes, skipper, self.has_found_events),
            DocumentPlace::Events(is_in_object) => {
                if facts.is_own {
                    recorder.own.get_or_insert_default();
                }
                events(bytes, *is_in_object, recorder)
            }
            DocumentPlace::NextEvent(is_in_object) => next_event(bytes, *is_in_object),
            DocumentPlace::EventsKey => events_key(bytes),
            DocumentPlace::End => (0, PieceEnd::NeedsMore),
        };
        self.window.pass(num_passed);
        end
    }
}

fn fault_end(fault: JsonFault) -> PieceEnd {
    match fault {
        JsonFault::Incomplete => PieceEnd::NeedsMore,
        JsonFault::Invalid => PieceEnd::Damaged,
    }
}

fn start(bytes: &[u8]) -> (usize, PieceEnd) {
    let mark = if bytes.starts_with(b"\xEF\xBB\xBF") {
        3
    } else {
        0
    };
    let text = bytes.get(mark..).unwrap_or_default();
    let mut cursor = JsonCursor::new(text);
    match cursor.peek() {
        Ok(b'[') => {
            cursor.pass();
            let place = DocumentPlace::Events(false);
            (mark + cursor.num_passed(), PieceEnd::Moved(place))
        }
        Ok(b'{') => {
            let before = cursor.num_passed();
            // Lines of events have no array around them.
            let first = TraceEvent::parse(&mut cursor.clone());
            if first.is_ok_and(|event| event.phase != 0) {
                let place = DocumentPlace::Events(false);
                return (mark + before, PieceEnd::Moved(place));
            }
            (mark + before + 1, PieceEnd::Moved(DocumentPlace::Keys))
        }
        Ok(_) => (0, PieceEnd::Damaged),
        Err(fault) => (0, fault_end(fault)),
    }
}

/// Reads a key of the object, and its value if that is needed.
fn key(bytes: &[u8], facts: &mut FileFacts, has_found_events: bool) -> (usize, PieceEnd) {
    let mut cursor = JsonCursor::new(bytes);
    match key_at(&mut cursor, facts, has_found_events) {
        Ok(place) => (cursor.num_passed(), PieceEnd::Moved(place)),
        Err(fault) => (0, fault_end(fault)),
    }
}

fn key_at(
    cursor: &mut JsonCursor<'_>,
    facts: &mut FileFacts,
    has_found_events: bool,
) -> Result<DocumentPlace, JsonFault> {
    while cursor.peek()? == b',' {
        cursor.pass();
    }
    if cursor.peek()? == b'}' {
        if has_found_events {
            return Ok(DocumentPlace::End);
        }
        // An object without events ends the text, or its bracket is damage.
        cursor.pass();
        cursor.peek()?;
        return Err(JsonFault::Invalid);
    }
    let key = cursor.text()?.raw();
    cursor.take(b':')?;
    if FileFacts::needs(key) {
        let value = cursor.value()?;
        // A damaged bracket before the events makes them a part of the value.
        if let JsonValue::Nested(nested) = value
            && !has_found_events
            && find_events_key(nested).is_some()
        {
            return Err(JsonFault::Invalid);
        }
        facts.add(key, value);
        return Ok(DocumentPlace::Keys);
    }
    let is_array = cursor.peek()? == b'[';
    if key == EVENTS_KEY && !is_array {
        return Err(JsonFault::Invalid);
    }
    // The key of the events may be damaged.
    if is_array && (key == EVENTS_KEY || begins_with_event(*cursor)?) {
        cursor.pass();
        return Ok(DocumentPlace::Events(true));
    }
    Ok(DocumentPlace::Value(ValueSkipper::default()))
}

/// Returns whether the first value of an array is an event.
fn begins_with_event(mut cursor: JsonCursor<'_>) -> Result<bool, JsonFault> {
    cursor.pass();
    if cursor.peek()? != b'{' {
        return Ok(false);
    }
    match TraceEvent::parse(&mut cursor) {
        Ok(event) => Ok(event.phase != 0),
        Err(JsonFault::Incomplete) => Err(JsonFault::Incomplete),
        Err(JsonFault::Invalid) => Ok(false),
    }
}

/// Skips a value that is not needed. If a quote is lost in it, the text that follows seems to belong to it. So the key
/// of the events ends it too.
fn value(bytes: &[u8], skipper: &mut ValueSkipper, has_found_events: bool) -> (usize, PieceEnd) {
    let (length, has_ended) = skipper.pass(bytes);
    let passed = bytes.get(..length).unwrap_or_default();
    let found = (!has_found_events).then(|| find_events_key(passed));
    match found.flatten() {
        Some(at) => (at, PieceEnd::Damaged),
        None if has_ended => (length, PieceEnd::Moved(DocumentPlace::Keys)),
        None => (length, PieceEnd::NeedsMore),
    }
}

/// Returns where the key of the events is. A value may have the same key, with something else.
fn find_events_key(bytes: &[u8]) -> Option<usize> {
    let has_events = |at: &usize| {
        let after = at + QUOTED_EVENTS_KEY.len();
        let mut cursor = JsonCursor::new(bytes.get(after..).unwrap_or_default());
        match cursor.take(b':').and_then(|()| cursor.peek()) {
            Ok(b'[') => begins_with_event(cursor) != Ok(false),
            Ok(_) => false,
            Err(fault) => fault == JsonFault::Incomplete,
        }
    };
    memmem::find_iter(bytes, QUOTED_EVENTS_KEY).find(has_events)
}

/// Reads the events in the window.
fn events(bytes: &[u8], is_in_object: bool, recorder: &mut EventRecorder) -> (usize, PieceEnd) {
    let mut cursor = JsonCursor::new(bytes);
    loop {
        let byte = match cursor.peek() {
            Ok(byte) => byte,
            Err(fault) => return (cursor.num_passed(), fault_end(fault)),
        };
        let before = cursor.num_passed();
        match byte {
            b',' => cursor.pass(),
            b'{' => match TraceEvent::parse(&mut cursor) {
                Ok(event) => recorder.add(&event),
                Err(fault) => return (before, fault_end(fault)),
            },
            b']' => {
                cursor.pass();
                return match cursor.peek() {
                    Ok(b',' | b'}') if is_in_object => {
                        (before + 1, PieceEnd::Moved(DocumentPlace::Keys))
                    }
                    // A damaged comma, or a damaged bracket of an event.
                    Ok(_) => (before, PieceEnd::Damaged),
                    Err(fault) if is_in_object => (before, fault_end(fault)),
                    Err(_) => (before + 1, PieceEnd::Moved(DocumentPlace::End)),
                };
            }
            _ => match is_element(&mut cursor) {
                Ok(true) => {
                    recorder.num_events += 1;
                    recorder.count(WarningKind::BadRow);
                }
                Ok(false) => return (before, PieceEnd::Damaged),
                Err(fault) => return (before, fault_end(fault)),
            },
        }
    }
}

/// Skips a text or a word; returns whether it is an element of a list. A damaged event is not.
fn is_element(cursor: &mut JsonCursor<'_>) -> Result<bool, JsonFault> {
    let is_word = matches!(cursor.value()?, JsonValue::Text(_) | JsonValue::Word(_));
    Ok(is_word && matches!(cursor.peek()?, b',' | b']'))
}

/// Skips the text after a damaged event, until a bracket opens after one that closes and a comma or a line end.
fn next_event(bytes: &[u8], is_in_object: bool) -> (usize, PieceEnd) {
    let is_start = |at: &usize| {
        let before = bytes.get(..*at).unwrap_or_default();
        let rest = before.trim_ascii_end();
        let rest = rest.strip_suffix(b",").map_or(rest, <[u8]>::trim_ascii_end);
        rest.len() < before.len() && rest.ends_with(b"}")
    };
    match memchr::memchr_iter(b'{', bytes).find(is_start) {
        Some(at) => (at, PieceEnd::Moved(DocumentPlace::Events(is_in_object))),
        None => (end_to_keep(bytes), PieceEnd::NeedsMore),
    }
}

/// Number of bytes before a position that decide whether an event begins there.
const NUM_BYTES_BEFORE: usize = 64;

/// Returns the number of bytes that can be skipped when the sought text was not found in them.
fn end_to_keep(bytes: &[u8]) -> usize {
    bytes.len().saturating_sub(NUM_BYTES_BEFORE)
}

/// Skips the text before the events: until their key, or if that is damaged, until an array that begins with one.
fn events_key(bytes: &[u8]) -> (usize, PieceEnd) {
    let key = memmem::find(bytes, QUOTED_EVENTS_KEY);
    let before_key = bytes.get(..key.unwrap_or(bytes.len()));
    if let Some(at) = first_event(before_key.unwrap_or_default()) {
        return (at, PieceEnd::Moved(DocumentPlace::Events(true)));
    }
    let Some(found) = key else {
        return (end_to_keep(bytes), PieceEnd::NeedsMore);
    };
    let after = found + QUOTED_EVENTS_KEY.len();
    let mut cursor = JsonCursor::new(bytes.get(after..).unwrap_or_default());
    match cursor.take(b':').and_then(|()| cursor.take(b'[')) {
        Ok(()) => {
            let place = DocumentPlace::Events(true);
            (after + cursor.num_passed(), PieceEnd::Moved(place))
        }
        Err(JsonFault::Incomplete) => (found, PieceEnd::NeedsMore),
        Err(JsonFault::Invalid) => (after, PieceEnd::Moved(DocumentPlace::NextEvent(true))),
    }
}

/// Returns where an array begins with an event.
fn first_event(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'{', bytes).find(|&at| {
        let (before, rest) = bytes.split_at(at);
        let event = || TraceEvent::parse(&mut JsonCursor::new(rest));
        before.trim_ascii_end().ends_with(b"[") && event().is_ok_and(|it| it.phase != 0)
    })
}
