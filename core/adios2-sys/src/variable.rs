//! A variable, valid for one step.

use std::ffi::c_int;
use std::ptr;

use crate::api::{RawVariable, c_string, check, check_handle, read_handles, read_text};
use crate::element::DataType;
use crate::error::Adios2Error;
use crate::io::Io;

/// Maximum number of dimensions of an array: BP4 stores it in one byte.
const MAX_DIMS: usize = 256;

/// A variable of an [`Io`], valid for the step in which it was looked up.
///
/// Its selection belongs to the stream, not to this value: looking it up twice gives the same variable.
#[derive(Debug)]
pub struct Variable<'io> {
    io: &'io Io,
    raw: *mut RawVariable,
    name: String,
}

impl Io {
    /// Defines an array to be written: `shape` is its whole size and `count` the part from `start` that is written
    /// here; all three empty define a single value. Sizes may change from step to step.
    ///
    /// # Errors
    /// [`Adios2Error::Call`]; [`Adios2Error::WrongLength`] if the three lengths differ.
    pub fn define_variable(
        &self,
        name: &str,
        data_type: DataType,
        shape: &[usize],
        start: &[usize],
        count: &[usize],
    ) -> Result<Variable<'_>, Adios2Error> {
        for dims in [start, count] {
            if dims.len() != shape.len() {
                let (expected, found) = (shape.len(), dims.len());
                return Err(Adios2Error::WrongLength {
                    name: name.to_owned(),
                    expected,
                    found,
                });
            }
        }
        let c_name = c_string(name)?;
        let dims = |dims: &[usize]| {
            if dims.is_empty() {
                ptr::null()
            } else {
                dims.as_ptr()
            }
        };
        // SAFETY: `self` keeps the handle alive; the three lists have the stated length; all is copied.
        let raw = unsafe {
            (self.api().define_variable)(
                self.raw(),
                c_name.as_ptr(),
                data_type.to_raw(),
                shape.len(),
                dims(shape),
                dims(start),
                dims(count),
                c_int::from(false),
            )
        };
        Ok(Variable::new(
            self,
            check_handle(raw, "define_variable", name)?,
            name.to_owned(),
        ))
    }

    /// Returns a variable by name; while reading steps, one that this step or an earlier one has.
    ///
    /// # Errors
    /// [`Adios2Error::ZeroByte`].
    pub fn variable(&self, name: &str) -> Result<Option<Variable<'_>>, Adios2Error> {
        let c_name = c_string(name)?;
        // SAFETY: `self` keeps the handle alive.
        let raw = unsafe { (self.api().inquire_variable)(self.raw(), c_name.as_ptr()) };
        Ok((!raw.is_null()).then(|| Variable::new(self, raw, name.to_owned())))
    }

    /// Returns all variables, sorted by name.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn variables(&self) -> Result<Vec<Variable<'_>>, Adios2Error> {
        // SAFETY: the function allocates the list with the C allocator and sets both values.
        let handles = unsafe {
            read_handles(self.api(), "inquire_all_variables", "", |list, length| {
                (self.api().inquire_all_variables)(list, length, self.raw())
            })
        }?;
        handles
            .into_iter()
            .map(|raw| Variable::with_own_name(self, raw))
            .collect()
    }
}

impl<'io> Variable<'io> {
    fn new(io: &'io Io, raw: *mut RawVariable, name: String) -> Self {
        Self { io, raw, name }
    }

    fn with_own_name(io: &'io Io, raw: *mut RawVariable) -> Result<Self, Adios2Error> {
        // SAFETY: the name is read by two calls of the form that `read_text` requires.
        let name = unsafe {
            read_text("variable_name", "", |text, length| {
                (io.api().variable_name)(text, length, raw)
            })
        }?;
        Ok(Self { io, raw, name })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of its values.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn data_type(&self) -> Result<DataType, Adios2Error> {
        let mut code: c_int = 0;
        // SAFETY: `self.io` keeps the handle alive.
        let status = unsafe { (self.io.api().variable_type)(&raw mut code, self.raw) };
        check(status, "variable_type", &self.name)?;
        Ok(DataType::from_raw(code))
    }

    /// Returns the size of the whole array in this step, slowest dimension first; empty for a single value.
    ///
    /// # Errors
    /// [`Adios2Error::Call`]; [`Adios2Error::WrongLength`] for more dimensions than ADIOS2 can have.
    pub fn shape(&self) -> Result<Vec<usize>, Adios2Error> {
        let length = self.num_dimensions()?;
        if length > MAX_DIMS {
            return Err(Adios2Error::WrongLength {
                name: self.name.clone(),
                expected: MAX_DIMS,
                found: length,
            });
        }
        // The number of dimensions may be that of the selection, so the buffer holds the maximum.
        let mut shape = [0; MAX_DIMS];
        // SAFETY: `self.io` keeps the handle alive, and no shape has more than `MAX_DIMS` entries.
        let code = unsafe { (self.io.api().variable_shape)(shape.as_mut_ptr(), self.raw) };
        check(code, "variable_shape", &self.name)?;
        Ok(shape[..length].to_vec())
    }

    /// Returns the number of dimensions as the stream states it; ADIOS2 does not check it.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn num_dimensions(&self) -> Result<usize, Adios2Error> {
        let mut length = 0;
        // SAFETY: `self.io` keeps the handle alive.
        let code = unsafe { (self.io.api().variable_ndims)(&raw mut length, self.raw) };
        check(code, "variable_ndims", &self.name)?;
        Ok(length)
    }

    /// Returns the number of steps that have it, for [`crate::OpenMode::ReadRandomAccess`].
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn steps(&self) -> Result<usize, Adios2Error> {
        let mut steps = 0;
        // SAFETY: `self.io` keeps the handle alive.
        let code = unsafe { (self.io.api().variable_steps)(&raw mut steps, self.raw) };
        check(code, "variable_steps", &self.name)?;
        Ok(steps)
    }

    /// Returns the number of values in the selection, which is the length of the buffer for a read.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn selection_len(&self) -> Result<usize, Adios2Error> {
        let mut size = 0;
        // SAFETY: `self.io` keeps the handle alive.
        let code = unsafe { (self.io.api().selection_size)(&raw mut size, self.raw) };
        check(code, "selection_size", &self.name)?;
        Ok(size)
    }

    /// Selects `count` values from `start` in each dimension. Selections outlast a step: set one in every step whose
    /// shape differs.
    ///
    /// # Errors
    /// [`Adios2Error::Call`]; [`Adios2Error::WrongLength`] if the lengths differ.
    pub fn set_selection(&self, start: &[usize], count: &[usize]) -> Result<(), Adios2Error> {
        if start.len() != count.len() {
            let (expected, found) = (start.len(), count.len());
            return Err(Adios2Error::WrongLength {
                name: self.name.clone(),
                expected,
                found,
            });
        }
        // SAFETY: `self.io` keeps the handle alive; both lists have the stated length and are copied.
        let code = unsafe {
            (self.io.api().set_selection)(self.raw, count.len(), start.as_ptr(), count.as_ptr())
        };
        check(code, "set_selection", &self.name)
    }

    /// Selects `count` steps from the `start`-th that has this variable, for
    /// [`crate::OpenMode::ReadRandomAccess`].
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn set_step_selection(&self, start: usize, count: usize) -> Result<(), Adios2Error> {
        // SAFETY: `self.io` keeps the handle alive.
        let code = unsafe { (self.io.api().set_step_selection)(self.raw, start, count) };
        check(code, "set_step_selection", &self.name)
    }

    /// Changes the size of the whole array, before it is put.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn set_shape(&self, shape: &[usize]) -> Result<(), Adios2Error> {
        // SAFETY: `self.io` keeps the handle alive; the list has the stated length and is copied.
        let code = unsafe { (self.io.api().set_shape)(self.raw, shape.len(), shape.as_ptr()) };
        check(code, "set_shape", &self.name)
    }

    pub(crate) fn raw(&self) -> *mut RawVariable {
        self.raw
    }

    pub(crate) fn io(&self) -> &'io Io {
        self.io
    }
}
