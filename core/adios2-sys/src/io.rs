//! Variables, attributes and parameters of one stream.

use std::cell::{Cell, RefCell, RefMut};

use crate::api::{CApi, RawIo, c_string, check, check_handle};
use crate::{Adios, Adios2Error, Library};

/// Variables, attributes and parameters of one stream. Becomes an [`crate::AdiosEngine`] by [`Io::open`].
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

impl Adios {
    /// The one set of variables, attributes and parameters of this instance; `name` shows up in error
    /// texts of ADIOS2.
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

    /// The library in use.
    pub fn library(&self) -> &Library {
        self.adios.library()
    }

    pub(crate) fn raw(&self) -> *mut RawIo {
        self.raw
    }

    /// Whether it reads or writes over SST.
    pub(crate) fn is_sst(&self) -> bool {
        self.is_sst.get()
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
