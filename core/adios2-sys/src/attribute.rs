//! An attribute, valid for one step.

use std::ffi::{c_int, c_void};

use crate::api::{RawAttribute, c_string, check, check_handle, into_text, read_handles, read_text};
use crate::element::{DataType, Element};
use crate::error::Adios2Error;
use crate::io::Io;

/// Size of the buffer for a text whose length cannot be queried (releases before 2.12). Untouched pages cost nothing,
/// and no writer that we know of has a text of this size.
const TEXT_BUFFER_BYTES: usize = 16 << 20;

/// An attribute of an [`Io`], valid for the step in which it was looked up.
#[derive(Debug)]
pub struct Attribute<'io> {
    io: &'io Io,
    raw: *mut RawAttribute,
}

impl Io {
    /// Defines a text attribute.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn define_text_attribute(&self, name: &str, text: &str) -> Result<(), Adios2Error> {
        let (c_name, c_text) = (c_string(name)?, c_string(text)?);
        let text = c_text.as_ptr().cast::<c_void>();
        // SAFETY: `self` keeps the handle alive; a text value is a C string; both are copied.
        let raw = unsafe {
            (self.api().define_attribute)(
                self.raw(),
                c_name.as_ptr(),
                DataType::String.to_raw(),
                text,
            )
        };
        check_handle(raw, "define_attribute", name).map(|_| ())
    }

    /// Defines an attribute that is a list of numbers.
    ///
    /// # Errors
    /// [`Adios2Error::Call`], also for an empty list.
    pub fn define_attribute<T: Element>(
        &self,
        name: &str,
        values: &[T],
    ) -> Result<(), Adios2Error> {
        let c_name = c_string(name)?;
        let data = values.as_ptr().cast::<c_void>();
        // SAFETY: `self` keeps the handle alive; the list has the stated length and type; all is copied.
        let raw = unsafe {
            (self.api().define_attribute_array)(
                self.raw(),
                c_name.as_ptr(),
                T::TYPE.to_raw(),
                data,
                values.len(),
            )
        };
        check_handle(raw, "define_attribute_array", name).map(|_| ())
    }

    /// Returns an attribute by name.
    ///
    /// # Errors
    /// [`Adios2Error::ZeroByte`].
    pub fn attribute(&self, name: &str) -> Result<Option<Attribute<'_>>, Adios2Error> {
        let c_name = c_string(name)?;
        // SAFETY: `self` keeps the handle alive.
        let raw = unsafe { (self.api().inquire_attribute)(self.raw(), c_name.as_ptr()) };
        Ok((!raw.is_null()).then(|| Attribute::new(self, raw)))
    }

    /// Returns all attributes known so far, sorted by name.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn attributes(&self) -> Result<Vec<Attribute<'_>>, Adios2Error> {
        // SAFETY: the function allocates the list with the C allocator and sets both values.
        let handles = unsafe {
            read_handles(self.api(), "inquire_all_attributes", "", |list, length| {
                (self.api().inquire_all_attributes)(list, length, self.raw())
            })
        }?;
        Ok(handles
            .into_iter()
            .map(|raw| Attribute::new(self, raw))
            .collect())
    }
}

impl<'io> Attribute<'io> {
    fn new(io: &'io Io, raw: *mut RawAttribute) -> Self {
        Self { io, raw }
    }

    /// Returns its name.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn name(&self) -> Result<String, Adios2Error> {
        // SAFETY: the name is read by two calls of the form that `read_text` requires.
        unsafe {
            read_text("attribute_name", "", |text, length| {
                (self.io.api().attribute_name)(text, length, self.raw)
            })
        }
    }

    /// Returns the type of its values.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn data_type(&self) -> Result<DataType, Adios2Error> {
        let mut code: c_int = 0;
        // SAFETY: `self.io` keeps the handle alive.
        let status = unsafe { (self.io.api().attribute_type)(&raw mut code, self.raw) };
        self.check(status, "attribute_type")?;
        Ok(DataType::from_raw(code))
    }

    /// Returns the text of an attribute that is one text; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// [`Adios2Error::WrongType`] if it is not a text, [`Adios2Error::WrongLength`] if it is a list.
    pub fn text(&self) -> Result<String, Adios2Error> {
        self.expect_type(DataType::String)?;
        let mut is_value: c_int = 0;
        // SAFETY: `self.io` keeps the handle alive.
        let status = unsafe { (self.io.api().attribute_is_value)(&raw mut is_value, self.raw) };
        self.check(status, "attribute_is_value")?;
        if is_value == 0 {
            return Err(Adios2Error::WrongLength {
                name: self.name()?,
                expected: 1,
                found: self.len()?,
            });
        }
        if let Some(string_data) = self.io.api().attribute_string_data {
            // SAFETY: the attribute is one text, which is read by two calls of the form that `read_text` requires.
            return unsafe {
                read_text("attribute_string_data", "", |text, length| {
                    string_data(self.raw, text, length)
                })
            };
        }
        self.text_of_unknown_length()
    }

    /// Returns the values of an attribute that is a number or a list of numbers.
    ///
    /// # Errors
    /// [`Adios2Error::WrongType`].
    pub fn numbers<T: Element>(&self) -> Result<Vec<T>, Adios2Error> {
        self.expect_type(T::TYPE)?;
        let mut values = vec![T::default(); self.len()?];
        let mut length = 0;
        let data = values.as_mut_ptr().cast::<c_void>();
        // SAFETY: `self.io` keeps the handle alive; the buffer has the attribute's length and type.
        let status = unsafe { (self.io.api().attribute_data)(data, &raw mut length, self.raw) };
        self.check(status, "attribute_data")?;
        Ok(values)
    }

    fn len(&self) -> Result<usize, Adios2Error> {
        let mut length = 0;
        // SAFETY: `self.io` keeps the handle alive.
        let status = unsafe { (self.io.api().attribute_size)(&raw mut length, self.raw) };
        self.check(status, "attribute_size")?;
        Ok(length)
    }

    fn text_of_unknown_length(&self) -> Result<String, Adios2Error> {
        let mut buffer = self.io.text_buffer(TEXT_BUFFER_BYTES);
        let mut length = 0;
        let data = buffer.as_mut_ptr().cast::<c_void>();
        // SAFETY: `self.io` keeps the handle alive; the text is shorter than the buffer, which is zeroed and so
        // terminates it.
        let status = unsafe { (self.io.api().attribute_data)(data, &raw mut length, self.raw) };
        self.check(status, "attribute_data")?;
        let end = buffer
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(TEXT_BUFFER_BYTES);
        let text = into_text(buffer[..end].to_vec());
        buffer[..end].fill(0);
        Ok(text)
    }

    fn expect_type(&self, expected: DataType) -> Result<(), Adios2Error> {
        let found = self.data_type()?;
        if found != expected {
            return Err(Adios2Error::WrongType {
                name: self.name()?,
                expected,
                found,
            });
        }
        Ok(())
    }

    /// Converts a status; reads the name only if it is needed for the error.
    fn check(&self, status: c_int, operation: &'static str) -> Result<(), Adios2Error> {
        if status == 0 {
            return Ok(());
        }
        check(status, operation, &self.name().unwrap_or_default())
    }
}
