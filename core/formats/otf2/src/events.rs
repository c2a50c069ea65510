//! The values of events.
//!
//! Source: OTF2 3.0.2 and 3.2, `src/OTF2_EvtReader_inc.c`.

use crate::bytes::ByteReader;

/// An event, with the ids of its location.
#[derive(Clone, Debug)]
pub(crate) enum Event<'a> {
    Enter(u32),
    Leave(u32),
    /// Enters the region of a calling context.
    EnterContext(u32),
    LeaveContext(u32),
    Send(Envelope, u64),
    Receive(Envelope, u64),
    /// A collective of this communicator ended.
    Collective(u32),
    /// A message was found by its envelope, and gets an id.
    Probe(Envelope, u64),
    /// A message of this id was received.
    ReceiveProbed(u64, u64),
    /// A message of this id is to be received with this request.
    RequestProbed(u64, u64),
    /// The message of this request was received.
    ReceiveRequested(u64, u64),
    /// The tracer wrote its buffer until this tick.
    Flush(u64),
    /// A metric with its values.
    Metric(u32, MetricValues<'a>),
    /// The program, and its arguments.
    Program(u32, Vec<u32>),
    /// An event that is ignored.
    Other,
}

/// The partner of a message as a rank in the communicator, the communicator, and the tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Envelope {
    pub(crate) partner: u32,
    pub(crate) communicator: u32,
    pub(crate) tag: u32,
}

/// The values of a metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricValues<'a> {
    num_values: u8,
    bytes: ByteReader<'a>,
}

impl<'a> MetricValues<'a> {
    /// Returns the type and bits of each value.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u8, u64)> + use<'a> {
        let mut bytes = self.bytes;
        (0..self.num_values).map_while(move |_| Some((bytes.u8()?, bytes.u64()?)))
    }
}

impl<'a> Event<'a> {
    /// Returns the event of a record, or `None` if its values are damaged.
    #[inline]
    pub(crate) fn of(kind: u8, mut values: ByteReader<'a>) -> Option<Self> {
        let it = &mut values;
        Some(match kind {
            12 => Self::Enter(it.u32()?),
            13 => Self::Leave(it.u32()?),
            66 => Self::EnterContext(it.u32()?),
            67 => Self::LeaveContext(it.u32()?),
            14 | 15 => Self::Send(envelope(it)?, it.u64()?),
            18 | 19 => Self::Receive(envelope(it)?, it.u64()?),
            23 => {
                it.u8()?;
                Self::Collective(it.u32()?)
            }
            89 => Self::Probe(envelope(it)?, it.u64()?),
            90 => Self::ReceiveProbed(it.u64()?, it.u64()?),
            91 => Self::RequestProbed(it.u64()?, it.u64()?),
            92 => Self::ReceiveRequested(it.u64()?, it.u64()?),
            10 => Self::Flush(it.full_u64()?),
            31 => {
                let (metric, num_values) = (it.u32()?, it.u8()?);
                let values = MetricValues {
                    num_values,
                    bytes: *it,
                };
                let is_whole = values.iter().count() == usize::from(num_values);
                is_whole.then_some(Self::Metric(metric, values))?
            }
            83 => {
                let (name, num_arguments) = (it.u32()?, it.u32()?);
                let arguments = (0..num_arguments).map(|_| it.u32());
                Self::Program(name, arguments.collect::<Option<_>>()?)
            }
            _ => Self::Other,
        })
    }
}

fn envelope(values: &mut ByteReader<'_>) -> Option<Envelope> {
    Some(Envelope {
        partner: values.u32()?,
        communicator: values.u32()?,
        tag: values.u32()?,
    })
}

/// Returns the value of a metric as a whole number of at least 0; `None` for a negative one.
pub(crate) fn metric_value(value_type: u8, bits: u64) -> Option<u64> {
    /// Types from the shortest to the longest signed integer.
    const SIGNED: std::ops::RangeInclusive<u8> = 5..=8;
    const SINGLE: u8 = 9;
    const DOUBLE: u8 = 10;
    match value_type {
        DOUBLE => whole(f64::from_bits(bits)),
        SINGLE => whole(f32::from_bits(u32::try_from(bits).ok()?).into()),
        kind if SIGNED.contains(&kind) => u64::try_from(bits.cast_signed()).ok(),
        _ => Some(bits),
    }
}

/// Returns a real number without its fraction; `None` if it is negative or not a number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn whole(number: f64) -> Option<u64> {
    (0.0..=2_f64.powi(63))
        .contains(&number)
        .then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_all_types_become_whole_numbers() {
        assert_eq!(metric_value(4, 7), Some(7));
        assert_eq!(metric_value(8, (-7_i64).cast_unsigned()), None);
        assert_eq!(metric_value(10, 2.9_f64.to_bits()), Some(2));
        assert_eq!(metric_value(10, f64::NAN.to_bits()), None);
        assert_eq!(metric_value(9, 2.5_f32.to_bits().into()), Some(2));
    }
}
