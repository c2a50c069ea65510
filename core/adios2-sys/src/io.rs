//! Variables, attributes and parameters of one stream.

use std::cell::{Cell, RefCell, RefMut};

use crate::adios::Adios;
use crate::api::{CApi, RawIo, c_string, check, check_handle};
use crate::error::Adios2Error;
use crate::library::Library;

/// Variables, attributes and parameters of one stream. Becomes an [`crate::AdiosEngine`] by [`Io::open`].
#[derive(Debug)]
pub struct Io {
    adios: Adios,
    raw: *mut RawIo,
    /// A zeroed buffer for texts whose length cannot be queried; empty until it is needed.
    text_buffer: RefCell<Vec<u8>>,
    is_sst: Cell<bool>,
}

// SAFETY: owns the `Adios`, which is `Send` for the reason given there; `raw` points into it.
unsafe impl Send for Io {}

impl Adios {
    /// Creates the one set of variables, attributes and parameters of this instance; `name` appears in error messages
    /// of ADIOS2.
    ///
    /// # Errors
    /// [`Adios2Error::Call`].
    pub fn declare_io(self, name: &str) -> Result<Io, Adios2Error> {
        let c_name = c_string(name)?;
        // SAFETY: the instance is alive and the name is a C string.
        let raw = unsafe { (self.library().api().declare_io)(self.raw(), c_name.as_ptr()) };
        let raw = check_handle(raw, "declare_io", name)?;
        Ok(Io::new(self, raw))
    }
}

impl Io {
    pub(crate) fn new(adios: Adios, raw: *mut RawIo) -> Self {
        Self {
            adios,
            raw,
            text_buffer: RefCell::default(),
            is_sst: Cell::new(false),
        }
    }

    /// Selects the engine, such as `BP5` or `SST`; by default, ADIOS2 detects the engine from the file.
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

    /// Adds a transport to the files, such as `File`, with its parameters.
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

    /// Returns the library in use.
    pub fn library(&self) -> &Library {
        self.adios.library()
    }

    pub(crate) fn raw(&self) -> *mut RawIo {
        self.raw
    }

    /// Returns whether it reads or writes over SST.
    pub(crate) fn is_sst(&self) -> bool {
        self.is_sst.get()
    }

    pub(crate) fn api(&self) -> &CApi {
        self.adios.library().api()
    }

    /// Returns a buffer of at least `num_bytes` zeros; a caller that writes to it must zero it again.
    pub(crate) fn text_buffer(&self, num_bytes: usize) -> RefMut<'_, Vec<u8>> {
        let mut buffer = self.text_buffer.borrow_mut();
        if buffer.len() < num_bytes {
            *buffer = vec![0; num_bytes];
        }
        buffer
    }

    pub(crate) fn adios(&self) -> &Adios {
        &self.adios
    }
}
