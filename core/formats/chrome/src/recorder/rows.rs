//! The calls of each row of a file, before it is known which rank has the row.

use std::collections::HashMap;

use callgrove_model::{FuncId, TimeNs};
use callgrove_source::ListedCalls;

use crate::events::ChromeCallKind;
use crate::json::JsonValue;

/// The name or number of a process or thread in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum RowName {
    Missing,
    Number(i64),
    /// An index into [`ChromeRows::texts`].
    Text(usize),
}

/// A process and a thread of it, an index into [`ChromeRows::places`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RowPlace(pub(crate) usize);

/// A row, an index into [`ChromeRows::list`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RowNumber(pub(crate) u32);

/// The contents of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum ChromeRowKind {
    /// Calls of this kind.
    Calls(ChromeCallKind),
    /// Asynchronous calls of a category, an index into [`ChromeRows::texts`].
    Asynchronous(usize),
}

/// A complete call. Times are in nanoseconds since the time that the file states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowCall {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) func: FuncId,
}

impl RowNumber {
    /// Returns the index of the row in the list.
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Returns the number of the row with an index.
    pub(crate) fn of_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// A row.
#[derive(Debug)]
pub(crate) struct ChromeRow {
    pub(crate) place: RowPlace,
    pub(crate) kind: ChromeRowKind,
    /// Times are in nanoseconds since the time that the file states.
    pub(crate) calls: ListedCalls,
    /// Number of iterations of a training among the calls.
    pub(crate) num_steps: u64,
    /// True if the file states that it is a thread, with or without calls.
    pub(crate) is_stated: bool,
}

impl ChromeRow {
    /// Returns whether the row is a lane.
    pub(crate) fn is_lane(&self) -> bool {
        self.is_stated || !self.calls.is_empty()
    }
}

/// The rows of a file, in the order in which they were first named.
#[derive(Debug, Default)]
pub(crate) struct ChromeRows {
    /// Names that are not numbers.
    pub(crate) texts: Vec<String>,
    pub(crate) places: Vec<(RowName, RowName)>,
    pub(crate) list: Vec<ChromeRow>,
    by_text: HashMap<Vec<u8>, usize>,
    by_place: HashMap<(RowName, RowName), RowPlace>,
    by_kind: HashMap<(RowPlace, ChromeRowKind), RowNumber>,
    last_place: Option<((RowName, RowName), RowPlace)>,
    last_row: Option<((RowPlace, ChromeRowKind), RowNumber)>,
}

impl ChromeRows {
    /// Returns the number of a text.
    pub(crate) fn text(&mut self, raw: &[u8]) -> usize {
        if let Some(&number) = self.by_text.get(raw) {
            return number;
        }
        let number = self.texts.len();
        self.texts.push(String::from_utf8_lossy(raw).into_owned());
        self.by_text.insert(raw.to_owned(), number);
        number
    }

    /// Returns the name or number of a process or thread. A text that consists of digits is a number.
    pub(crate) fn name(&mut self, value: JsonValue<'_>) -> RowName {
        let raw = match value {
            JsonValue::Word(raw) => raw,
            JsonValue::Text(text) => text.raw(),
            JsonValue::Missing | JsonValue::Nested(_) => return RowName::Missing,
        };
        match std::str::from_utf8(raw).ok().and_then(|it| it.parse().ok()) {
            Some(number) => RowName::Number(number),
            None => RowName::Text(self.text(raw)),
        }
    }

    /// Returns the place of a process and thread.
    pub(crate) fn place(&mut self, process: JsonValue<'_>, thread: JsonValue<'_>) -> RowPlace {
        let key = (self.name(process), self.name(thread));
        if let Some((_, place)) = self.last_place.filter(|last| last.0 == key) {
            return place;
        }
        let places = &mut self.places;
        let place = *self.by_place.entry(key).or_insert_with(|| {
            places.push(key);
            RowPlace(places.len() - 1)
        });
        self.last_place = Some((key, place));
        place
    }

    /// Returns the row of calls of a kind at a place.
    pub(crate) fn row(&mut self, place: RowPlace, kind: ChromeRowKind) -> RowNumber {
        // Calls of programming interfaces are among those that make them.
        let kind = match kind {
            ChromeRowKind::Calls(ChromeCallKind::Runtime) => {
                ChromeRowKind::Calls(ChromeCallKind::Host)
            }
            other => other,
        };
        let key = (place, kind);
        if let Some((_, row)) = self.last_row.filter(|last| last.0 == key) {
            return row;
        }
        let rows = &mut self.list;
        let row = *self.by_kind.entry(key).or_insert_with(|| {
            rows.push(ChromeRow {
                place,
                kind,
                calls: ListedCalls::default(),
                num_steps: 0,
                is_stated: false,
            });
            RowNumber::of_index(rows.len() - 1)
        });
        self.last_row = Some((key, row));
        row
    }

    /// Returns the row of a kind at a place if it has been named.
    pub(crate) fn find(&self, place: RowPlace, kind: ChromeCallKind) -> Option<RowNumber> {
        self.by_kind
            .get(&(place, ChromeRowKind::Calls(kind)))
            .copied()
    }

    /// Returns the calls of a row.
    #[inline]
    pub(crate) fn calls_mut(&mut self, row: RowNumber) -> Option<&mut ListedCalls> {
        Some(&mut self.list.get_mut(row.index())?.calls)
    }

    /// Adds a complete call to a row.
    #[inline]
    pub(crate) fn push(&mut self, row: RowNumber, call: &RowCall) {
        if let Some(calls) = self.calls_mut(row) {
            calls.call(call.func, TimeNs(call.start_ns), TimeNs(call.end_ns));
        }
    }

    /// Returns whether a process or thread has this text instead of a number.
    pub(crate) fn is_named(&self, name: RowName, expected: &str) -> bool {
        let RowName::Text(index) = name else {
            return false;
        };
        self.texts.get(index).is_some_and(|it| it == expected)
    }

    /// Returns the process and thread of a place.
    pub(crate) fn names(&self, place: RowPlace) -> (RowName, RowName) {
        let missing = (RowName::Missing, RowName::Missing);
        self.places.get(place.0).copied().unwrap_or(missing)
    }
}
