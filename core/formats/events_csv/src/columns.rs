//! The columns of a file, from its first row.

use csv::ByteRecord;

use crate::timestamp_unit::TimestampUnit;

/// The index of each column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CsvColumns {
    pub(crate) time_column: usize,
    pub(crate) unit: TimestampUnit,
    pub(crate) event_type: usize,
    pub(crate) name: usize,
    pub(crate) process: Option<usize>,
    pub(crate) thread: Option<usize>,
    pub(crate) attributes: Option<usize>,
}

impl CsvColumns {
    /// Returns the columns that a first row names, or `None` if one that is required is missing.
    pub(crate) fn of(header: &ByteRecord) -> Option<Self> {
        let position = |wanted: &str| {
            let mut names = header.iter();
            names.position(|name| name.eq_ignore_ascii_case(wanted.as_bytes()))
        };
        let mut units = TimestampUnit::ALL.into_iter();
        let (timestamp, unit) = units.find_map(|unit| {
            let name = format!("Timestamp ({})", unit.symbol());
            Some((position(&name)?, unit))
        })?;
        Some(Self {
            time_column: timestamp,
            unit,
            event_type: position("Event Type")?,
            name: position("Name")?,
            process: position("Process"),
            thread: position("Thread"),
            attributes: position("Attributes"),
        })
    }
}
