//! Variables, attributes and parameters of one stream.

use std::cell::{Cell, RefCell, RefMut};
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::api::{CApi, RawIo, c_string, check, check_handle, read_handles};
use crate::{Adios, Adios2Error, AdiosEngine, Attribute, DataType, Element, Library, Variable};

/// Held while SST opens a stream to be read, or to be written. SST keeps what it opened in a list of the whole
/// process that it does not lock (seen with 2.12.1), so two opens at once damage the heap. One lock each, because
/// a writer that waits for its reader would keep a reader of the same process out for ever.
static SST_OPENS: [Mutex<()>; 2] = [const { Mutex::new(()) }; 2];

/// What a stream is opened for; the numbers of `adios2_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// A new file or stream.
    Write = 1,
    /// Step by step, as the data comes.
    Read = 2,
    /// All steps of a file at once; there are no steps to begin or end.
    ReadRandomAccess = 6,
}

/// Variables, attributes and parameters of one stream. Becomes an [`AdiosEngine`] by [`Io::open`].
#[derive(Debug)]
pub struct Io {
    adios: Adios,
    raw: *mut RawIo,
    /// Zeroed room for texts whose length cannot be asked for; empty until it is needed.
    text_room: RefCell<Vec<u8>>,
    is_sst: Cell<bool>,
}

// SAFETY: owns the `Adios`, which is `Send` for the reason given there; `raw` points into it.
unsafe impl Send for Io {}

impl Io {
    pub(crate) fn new(adios: Adios, raw: *mut RawIo) -> Self {
        Self {
            adios,
            raw,
            text_room: RefCell::default(),
            is_sst: Cell::new(false),
        }
    }

    /// Selects the engine, such as `BP5` or `SST`; without it, files are opened as what they are.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn set_engine(&self, engine: &str) -> Result<(), Adios2Error> {
        let c_engine = c_string(engine)?;
        // SAFETY: `self` keeps the handle alive; ADIOS2 copies the text.
        let code = unsafe { (self.api().set_engine)(self.raw, c_engine.as_ptr()) };
        self.is_sst.set(engine.eq_ignore_ascii_case("SST"));
        check(code, "set_engine", engine)
    }

    /// Sets a parameter of the engine.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn set_parameter(&self, key: &str, value: &str) -> Result<(), Adios2Error> {
        let (c_key, c_value) = (c_string(key)?, c_string(value)?);
        // SAFETY: `self` keeps the handle alive; ADIOS2 copies the texts.
        let code =
            unsafe { (self.api().set_parameter)(self.raw, c_key.as_ptr(), c_value.as_ptr()) };
        check(code, "set_parameter", key)
    }

    /// Sets several parameters of the engine.
    ///
    /// # Errors
    /// [`Adios2Error::Call`] for the first that fails.
    pub fn set_parameters<'a>(
        &self,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Adios2Error> {
        parameters
            .into_iter()
            .try_for_each(|(key, value)| self.set_parameter(key, value))
    }

    /// Adds a way to reach the files, such as `File`, with its parameters.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn add_transport<'a>(
        &self,
        kind: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Adios2Error> {
        let c_kind = c_string(kind)?;
        let mut index = 0;
        // SAFETY: `self` keeps the handle alive; ADIOS2 copies the text.
        let code = unsafe { (self.api().add_transport)(&raw mut index, self.raw, c_kind.as_ptr()) };
        check(code, "add_transport", kind)?;
        for (key, value) in parameters {
            let (c_key, c_value) = (c_string(key)?, c_string(value)?);
            // SAFETY: as above, and `index` is the transport just added.
            let code = unsafe {
                (self.api().set_transport_parameter)(
                    self.raw,
                    index,
                    c_key.as_ptr(),
                    c_value.as_ptr(),
                )
            };
            check(code, "set_transport_parameter", key)?;
        }
        Ok(())
    }

    /// Opens a file, or a stream by its contact name.
    ///
    /// With [`OpenMode::Read`], file engines wait an hour for a file that is not there yet, unless the
    /// parameter `OpenTimeoutSecs` says otherwise.
    ///
    /// Streams over SST are opened one after another: those to be read, and, beside them, those to be written.
    /// Where a process does both at the same time, ADIOS2 is not safe.
    ///
    /// # Errors
    /// [`Adios2Error::Call`]; [`Adios2Error::PathNotUtf8`].
    pub fn open(self, path: &Path, mode: OpenMode) -> Result<AdiosEngine, Adios2Error> {
        let name = path.to_str().ok_or_else(|| Adios2Error::PathNotUtf8 {
            path: path.to_owned(),
        })?;
        let c_name = c_string(name)?;
        let turn = self
            .is_sst
            .get()
            .then(|| &SST_OPENS[usize::from(mode == OpenMode::Write)]);
        let turn = turn.map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: `self` keeps the handle alive; ADIOS2 copies the text.
        let raw = unsafe { (self.api().open)(self.raw, c_name.as_ptr(), mode as c_int) };
        drop(turn);
        let raw = check_handle(raw, "open", name)?;
        Ok(AdiosEngine::new(self, raw, name.to_owned(), mode))
    }

    /// Defines an array to be written: `shape` is its whole size and `count` the part from `start`
    /// that is put here; all three empty define a single value. Sizes may change from step to step.
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
                self.raw,
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
                self.raw,
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
                self.raw,
                c_name.as_ptr(),
                T::TYPE.to_raw(),
                data,
                values.len(),
            )
        };
        check_handle(raw, "define_attribute_array", name).map(|_| ())
    }

    /// A variable by name; while reading steps, one that this step or an earlier one has.
    ///
    /// # Errors
    /// [`Adios2Error::ZeroByte`].
    pub fn variable(&self, name: &str) -> Result<Option<Variable<'_>>, Adios2Error> {
        let c_name = c_string(name)?;
        // SAFETY: `self` keeps the handle alive.
        let raw = unsafe { (self.api().inquire_variable)(self.raw, c_name.as_ptr()) };
        Ok((!raw.is_null()).then(|| Variable::new(self, raw, name.to_owned())))
    }

    /// All variables, sorted by name.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn variables(&self) -> Result<Vec<Variable<'_>>, Adios2Error> {
        // SAFETY: the function allocates the list with the C allocator and sets both values.
        let handles = unsafe {
            read_handles("inquire_all_variables", "", |list, length| {
                (self.api().inquire_all_variables)(list, length, self.raw)
            })
        }?;
        handles
            .into_iter()
            .map(|raw| Variable::with_own_name(self, raw))
            .collect()
    }

    /// An attribute by name.
    ///
    /// # Errors
    /// [`Adios2Error::ZeroByte`].
    pub fn attribute(&self, name: &str) -> Result<Option<Attribute<'_>>, Adios2Error> {
        let c_name = c_string(name)?;
        // SAFETY: `self` keeps the handle alive.
        let raw = unsafe { (self.api().inquire_attribute)(self.raw, c_name.as_ptr()) };
        Ok((!raw.is_null()).then(|| Attribute::new(self, raw)))
    }

    /// All attributes known so far, sorted by name.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn attributes(&self) -> Result<Vec<Attribute<'_>>, Adios2Error> {
        // SAFETY: the function allocates the list with the C allocator and sets both values.
        let handles = unsafe {
            read_handles("inquire_all_attributes", "", |list, length| {
                (self.api().inquire_all_attributes)(list, length, self.raw)
            })
        }?;
        Ok(handles
            .into_iter()
            .map(|raw| Attribute::new(self, raw))
            .collect())
    }

    /// The library in use.
    pub fn library(&self) -> &Library {
        self.adios.library()
    }

    pub(crate) fn api(&self) -> &CApi {
        self.adios.library().api()
    }

    /// At least `room_bytes` zeros; who writes there zeroes it again.
    pub(crate) fn text_room(&self, room_bytes: usize) -> RefMut<'_, Vec<u8>> {
        let mut room = self.text_room.borrow_mut();
        if room.len() < room_bytes {
            *room = vec![0; room_bytes];
        }
        room
    }

    pub(crate) fn adios(&self) -> &Adios {
        &self.adios
    }
}
