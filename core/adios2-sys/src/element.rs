//! Types of values in files and in Rust.

use std::ffi::c_int;
use std::fmt;

/// Type of a variable or attribute, as `adios2_type` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataType {
    /// Text.
    String,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// Signed 8-bit.
    I8,
    /// Signed 16-bit.
    I16,
    /// Signed 32-bit.
    I32,
    /// Signed 64-bit.
    I64,
    /// Unsigned 8-bit.
    U8,
    /// Unsigned 16-bit.
    U16,
    /// Unsigned 32-bit.
    U32,
    /// Unsigned 64-bit.
    U64,
    /// A type that Callgrove does not use (complex numbers, `long double`, structs).
    Other,
}

/// The code and the C++ name of each type.
const CODES: [(DataType, c_int, &str); 11] = [
    (DataType::String, 0, "string"),
    (DataType::F32, 1, "float"),
    (DataType::F64, 2, "double"),
    (DataType::I8, 5, "int8"),
    (DataType::I16, 6, "int16"),
    (DataType::I32, 7, "int32"),
    (DataType::I64, 8, "int64"),
    (DataType::U8, 9, "uint8"),
    (DataType::U16, 10, "uint16"),
    (DataType::U32, 11, "uint32"),
    (DataType::U64, 12, "uint64"),
];

impl DataType {
    pub(crate) fn from_raw(code: c_int) -> Self {
        CODES
            .iter()
            .find(|entry| entry.1 == code)
            .map_or(Self::Other, |entry| entry.0)
    }

    /// Returns the code; `adios2_type_unknown` for [`Self::Other`], which the C API refuses.
    pub(crate) fn to_raw(self) -> c_int {
        CODES
            .iter()
            .find(|entry| entry.0 == self)
            .map_or(-1, |entry| entry.1)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            CODES
                .iter()
                .find(|entry| entry.0 == *self)
                .map_or("another type", |entry| entry.2),
        )
    }
}

/// A Rust number that ADIOS2 stores as it is.
pub trait Element: sealed::Sealed + Copy + Default {
    /// The type in files.
    const TYPE: DataType;
}

mod sealed {
    /// Restricts [`super::Element`] to the types whose layout is known to be equal.
    pub trait Sealed {}
}

macro_rules! element {
    ($($rust:ty => $data:ident),*) => {
        $(
            impl sealed::Sealed for $rust {}
            impl Element for $rust {
                const TYPE: DataType = DataType::$data;
            }
        )*
    };
}
element!(f32 => F32, f64 => F64, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64);
