//! Records as one cell per column.
//!
//! A record is a flat structure, or a list with one value per column. Lists in a field become their items, separated by
//! spaces; structures in a field have no form in a cell, and are an error.

use std::fmt::{self, Display};

use serde::ser::{self, Impossible, Serialize, Serializer};

use crate::cell::TableCell;
use crate::column::TableColumn;

/// The reason why a record does not fit the columns of its table.
#[derive(Debug)]
pub(crate) struct RecordError(String);

impl Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordError {}

impl ser::Error for RecordError {
    fn custom<M: Display>(message: M) -> Self {
        Self(message.to_string())
    }
}

/// Returns the cells of a record, shape `[n_columns]`.
///
/// # Errors
/// The record has other fields than the columns, or a value that has no form in a cell.
pub(crate) fn cells_of(
    record: &impl Serialize,
    columns: &[TableColumn],
) -> Result<Vec<TableCell>, RecordError> {
    record.serialize(RecordSerializer {
        columns,
        cells: Vec::with_capacity(columns.len()),
    })
}

/// Implements the methods for values that have no form here.
macro_rules! refuse {
    ($($method:ident($kind:ty))*) => {
        $(fn $method(self, _: $kind) -> Result<Self::Ok, RecordError> {
            Err(no_form(stringify!($method)))
        })*
    };
}

/// Implements the methods for structures that no record and no cell consists of.
macro_rules! refuse_compounds {
    () => {
        fn serialize_tuple_struct(
            self,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleStruct, RecordError> {
            Err(no_form("tuple structure"))
        }

        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant, RecordError> {
            Err(no_form("variant"))
        }

        fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, RecordError> {
            Err(no_form("map"))
        }

        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant, RecordError> {
            Err(no_form("variant"))
        }
    };
}

fn no_form(method: &str) -> RecordError {
    let kind = method.trim_start_matches("serialize_");
    RecordError(format!("a {kind} has no form here"))
}

/// Collects the cells of a record, in the order of its fields.
struct RecordSerializer<'a> {
    columns: &'a [TableColumn],
    cells: Vec<TableCell>,
}

impl RecordSerializer<'_> {
    fn push<T: Serialize + ?Sized>(
        &mut self,
        name: Option<&str>,
        value: &T,
    ) -> Result<(), RecordError> {
        let at = self.cells.len();
        let column = self.columns.get(at).map(TableColumn::name);
        match (name, column) {
            (Some(name), Some(column)) if name != column => {
                return Err(RecordError(format!(
                    "field {at} of the record is {name}, and the table's column is {column}"
                )));
            }
            (_, None) => {
                let name = name.unwrap_or("a value");
                return Err(RecordError(format!("{name} has no column in the table")));
            }
            _ => {}
        }
        self.cells.push(value.serialize(CellSerializer)?);
        Ok(())
    }

    fn finish(self) -> Result<Vec<TableCell>, RecordError> {
        match self.columns.get(self.cells.len()) {
            Some(column) => Err(RecordError(format!(
                "the record has no field for the column {}",
                column.name()
            ))),
            None => Ok(self.cells),
        }
    }
}

impl ser::SerializeStruct for RecordSerializer<'_> {
    type Ok = Vec<TableCell>;
    type Error = RecordError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), RecordError> {
        self.push(Some(name), value)
    }

    fn skip_field(&mut self, name: &'static str) -> Result<(), RecordError> {
        self.push(Some(name), &TableCell::Null)
    }

    fn end(self) -> Result<Vec<TableCell>, RecordError> {
        self.finish()
    }
}

impl ser::SerializeSeq for RecordSerializer<'_> {
    type Ok = Vec<TableCell>;
    type Error = RecordError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RecordError> {
        self.push(None, value)
    }

    fn end(self) -> Result<Vec<TableCell>, RecordError> {
        self.finish()
    }
}

impl ser::SerializeTuple for RecordSerializer<'_> {
    type Ok = Vec<TableCell>;
    type Error = RecordError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RecordError> {
        self.push(None, value)
    }

    fn end(self) -> Result<Vec<TableCell>, RecordError> {
        self.finish()
    }
}

impl<'a> Serializer for RecordSerializer<'a> {
    type Ok = Vec<TableCell>;
    type Error = RecordError;
    type SerializeSeq = RecordSerializer<'a>;
    type SerializeTuple = RecordSerializer<'a>;
    type SerializeTupleStruct = Impossible<Vec<TableCell>, RecordError>;
    type SerializeTupleVariant = Impossible<Vec<TableCell>, RecordError>;
    type SerializeMap = Impossible<Vec<TableCell>, RecordError>;
    type SerializeStruct = RecordSerializer<'a>;
    type SerializeStructVariant = Impossible<Vec<TableCell>, RecordError>;

    refuse! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_f32(f32)
        serialize_f64(f64) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_unit_struct(&'static str)
    }

    refuse_compounds! {}

    fn serialize_none(self) -> Result<Vec<TableCell>, RecordError> {
        Err(no_form("none"))
    }

    fn serialize_some<T: Serialize + ?Sized>(
        self,
        value: &T,
    ) -> Result<Vec<TableCell>, RecordError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Vec<TableCell>, RecordError> {
        Err(no_form("unit"))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<Vec<TableCell>, RecordError> {
        Err(no_form("variant"))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Vec<TableCell>, RecordError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Vec<TableCell>, RecordError> {
        Err(no_form("variant"))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, RecordError> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, RecordError> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, RecordError> {
        Ok(self)
    }
}

/// Turns a value into a cell.
struct CellSerializer;

/// Collects the items of a list.
#[derive(Default)]
struct ListSerializer(Vec<String>);

impl ListSerializer {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RecordError> {
        self.0.push(value.serialize(CellSerializer)?.to_string());
        Ok(())
    }
}

impl ser::SerializeSeq for ListSerializer {
    type Ok = TableCell;
    type Error = RecordError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RecordError> {
        self.push(value)
    }

    fn end(self) -> Result<TableCell, RecordError> {
        Ok(TableCell::Text(self.0.join(" ")))
    }
}

impl ser::SerializeTuple for ListSerializer {
    type Ok = TableCell;
    type Error = RecordError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RecordError> {
        self.push(value)
    }

    fn end(self) -> Result<TableCell, RecordError> {
        Ok(TableCell::Text(self.0.join(" ")))
    }
}

/// Implements the methods for numbers, by a wider type.
macro_rules! numbers {
    ($($method:ident($kind:ty) => $wide:ty)*) => {
        $(fn $method(self, value: $kind) -> Result<TableCell, RecordError> {
            Ok(TableCell::from(<$wide>::from(value)))
        })*
    };
}

impl Serializer for CellSerializer {
    type Ok = TableCell;
    type Error = RecordError;
    type SerializeSeq = ListSerializer;
    type SerializeTuple = ListSerializer;
    type SerializeTupleStruct = Impossible<TableCell, RecordError>;
    type SerializeTupleVariant = Impossible<TableCell, RecordError>;
    type SerializeMap = Impossible<TableCell, RecordError>;
    type SerializeStruct = Impossible<TableCell, RecordError>;
    type SerializeStructVariant = Impossible<TableCell, RecordError>;

    numbers! {
        serialize_bool(bool) => bool
        serialize_i8(i8) => i64
        serialize_i16(i16) => i64
        serialize_i32(i32) => i64
        serialize_i64(i64) => i64
        serialize_u8(u8) => u64
        serialize_u16(u16) => u64
        serialize_u32(u32) => u64
        serialize_u64(u64) => u64
        serialize_f32(f32) => f64
        serialize_f64(f64) => f64
    }

    refuse! { serialize_bytes(&[u8]) }

    refuse_compounds! {}

    fn serialize_char(self, value: char) -> Result<TableCell, RecordError> {
        Ok(TableCell::Text(value.to_string()))
    }

    fn serialize_str(self, value: &str) -> Result<TableCell, RecordError> {
        Ok(TableCell::from(value))
    }

    fn serialize_none(self) -> Result<TableCell, RecordError> {
        Ok(TableCell::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<TableCell, RecordError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<TableCell, RecordError> {
        Ok(TableCell::Null)
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<TableCell, RecordError> {
        Ok(TableCell::from(name))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
    ) -> Result<TableCell, RecordError> {
        Ok(TableCell::from(name))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<TableCell, RecordError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<TableCell, RecordError> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ListSerializer, RecordError> {
        Ok(ListSerializer::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<ListSerializer, RecordError> {
        Ok(ListSerializer::default())
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, RecordError> {
        Err(no_form("structure"))
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        LateSender,
    }

    #[derive(Serialize)]
    struct Wait {
        kind: Kind,
        peers: [u16; 2],
        cost_us: Option<f32>,
        num: u64,
    }

    const WAIT: Wait = Wait {
        kind: Kind::LateSender,
        peers: [3, 4],
        cost_us: None,
        num: u64::MAX,
    };

    fn columns(names: &[&str]) -> Vec<TableColumn> {
        names.iter().map(|name| TableColumn::text(*name)).collect()
    }

    #[test]
    fn a_record_has_a_cell_per_column() {
        let columns = columns(&["kind", "peers", "cost_us", "num"]);
        let cells = cells_of(&WAIT, &columns).unwrap();
        let expected = [
            TableCell::from("late_sender"),
            TableCell::from("3 4"),
            TableCell::Null,
            TableCell::UInt(u64::MAX),
        ];
        assert_eq!(cells, expected);
    }

    #[test]
    fn a_record_with_other_fields_is_an_error() {
        for (names, words) in [
            (&["kind", "peers"][..], "cost_us has no column"),
            (&["kind", "ranks", "cost_us", "num"], "column is ranks"),
            (
                &["kind", "peers", "cost_us", "num", "more"],
                "no field for the column more",
            ),
        ] {
            let error = cells_of(&WAIT, &columns(names)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let nested = cells_of(&[WAIT], &columns(&["wait"])).unwrap_err();
        assert!(nested.to_string().contains("structure"), "{nested}");
    }
}
