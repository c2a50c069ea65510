//! The fields of a track event, and of the annotations that conventions of writers need.
//!
//! Source: `protos/perfetto/trace/track_event/track_event.proto` and `debug_annotation.proto` of Perfetto.

use callgrove_source::protobuf::{BadField, FieldValue, FieldWalk, packed, packed_fixed64, signed};

/// A slice begins.
pub(crate) const BEGIN: u64 = 1;
/// A slice ends.
pub(crate) const SLICE_END: u64 = 2;
/// An instant, which has no duration.
pub(crate) const INSTANT: u64 = 3;
/// The value of a counter.
pub(crate) const COUNTER: u64 = 4;

/// The fields of an event, not copied. Repeated ones are read again where they are needed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TrackEvent<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) kind: u64,
    pub(crate) name_id: Option<u64>,
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) category_id: Option<u64>,
    pub(crate) category: Option<&'a [u8]>,
    pub(crate) track: Option<u64>,
    pub(crate) counter: Option<i64>,
    pub(crate) double_counter: Option<f64>,
    pub(crate) legacy: Option<&'a [u8]>,
    pub(crate) delta_us: Option<i64>,
    pub(crate) absolute_us: Option<i64>,
    pub(crate) has_flows: bool,
    pub(crate) has_annotations: bool,
    pub(crate) has_extra_counters: bool,
}

/// The value of an annotation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum AnnotationValue<'a> {
    Integer(i64),
    Double(f64),
    Text(&'a [u8]),
}

/// An annotation of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Annotation<'a> {
    pub(crate) name_id: Option<u64>,
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) value: Option<AnnotationValue<'a>>,
}

impl<'a> TrackEvent<'a> {
    /// Reads an event.
    ///
    /// # Errors
    /// [`BadField`].
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Self, BadField> {
        let mut event = Self {
            bytes,
            ..Self::default()
        };
        for field in FieldWalk::of(bytes) {
            let (number, value) = field?;
            match (number, value) {
                (9, FieldValue::Varint(kind)) => event.kind = kind,
                (11, FieldValue::Varint(track)) => event.track = Some(track),
                (10, FieldValue::Varint(id)) => event.name_id = Some(id),
                (23, FieldValue::Bytes(name)) => event.name = Some(name),
                (3, _) => event.category_id = packed(value).next(),
                (22, FieldValue::Bytes(name)) => event.category = Some(name),
                (4, _) => event.has_annotations = true,
                (36 | 42 | 47 | 48, _) => event.has_flows = true,
                (12 | 46, _) => event.has_extra_counters = true,
                (30, FieldValue::Varint(value)) => event.counter = Some(signed(value)),
                (44, FieldValue::Fixed64(bits)) => {
                    event.double_counter = Some(f64::from_bits(bits));
                }
                (6, FieldValue::Bytes(legacy)) => event.legacy = Some(legacy),
                (1, FieldValue::Varint(time)) => event.delta_us = Some(signed(time)),
                (16, FieldValue::Varint(time)) => event.absolute_us = Some(signed(time)),
                _ => {}
            }
        }
        Ok(event)
    }

    fn fields(&self) -> impl Iterator<Item = (u64, FieldValue<'a>)> + use<'a> {
        FieldWalk::of(self.bytes).map_while(Result::ok)
    }

    /// Returns the flows through the event, and whether each ends here.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (u64, bool)> + use<'a> {
        self.fields().flat_map(|(number, value)| {
            let (old, new) = match number {
                36 | 42 => (Some(packed(value)), None),
                47 | 48 => (None, Some(packed_fixed64(value))),
                _ => (None, None),
            };
            let ends = matches!(number, 42 | 48);
            let ids = old.into_iter().flatten().chain(new.into_iter().flatten());
            ids.map(move |id| (id, ends))
        })
    }

    /// Returns the values of further counters, and the tracks of these if the event states them.
    pub(crate) fn extra_counters(&self) -> (Vec<i64>, Vec<u64>) {
        let (mut values, mut tracks) = (Vec::new(), Vec::new());
        for (number, value) in self.fields() {
            match number {
                12 => values.extend(packed(value).map(signed)),
                31 => tracks.extend(packed(value)),
                _ => {}
            }
        }
        (values, tracks)
    }

    /// Returns the same for counters with decimals.
    pub(crate) fn extra_double_counters(&self) -> (Vec<f64>, Vec<u64>) {
        let (mut values, mut tracks) = (Vec::new(), Vec::new());
        for (number, value) in self.fields() {
            match number {
                46 => values.extend(packed_fixed64(value).map(f64::from_bits)),
                45 => tracks.extend(packed(value)),
                _ => {}
            }
        }
        (values, tracks)
    }

    /// Returns the annotations of the event. Those that are damaged are left out.
    pub(crate) fn annotations(&self) -> impl Iterator<Item = Annotation<'a>> + use<'a> {
        self.fields().filter_map(|field| match field {
            (4, FieldValue::Bytes(bytes)) => Annotation::of(bytes).ok(),
            _ => None,
        })
    }
}

impl<'a> Annotation<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, BadField> {
        let mut annotation = Self {
            name_id: None,
            name: None,
            value: None,
        };
        for field in FieldWalk::of(bytes) {
            match field? {
                (1, FieldValue::Varint(id)) => annotation.name_id = Some(id),
                (10, FieldValue::Bytes(name)) => annotation.name = Some(name),
                (2..=4 | 7, FieldValue::Varint(value)) => {
                    annotation.value = Some(AnnotationValue::Integer(signed(value)));
                }
                (5, FieldValue::Fixed64(bits)) => {
                    annotation.value = Some(AnnotationValue::Double(f64::from_bits(bits)));
                }
                (6, FieldValue::Bytes(text)) => {
                    annotation.value = Some(AnnotationValue::Text(text));
                }
                _ => {}
            }
        }
        Ok(annotation)
    }
}
