//! The functions of `adios2_c.h` that Callgrove uses, as a table of pointers, and helpers to call them.

use std::ffi::{CString, c_char, c_float, c_int, c_void};
use std::marker::{PhantomData, PhantomPinned};
use std::ptr;

use crate::error::{Adios2Error, ErrorCode};

macro_rules! opaque {
    ($($name:ident),*) => {
        $(
            /// An opaque C++ object.
            #[repr(C)]
            pub(crate) struct $name {
                _opaque: [u8; 0],
                _no_auto_traits: PhantomData<(*mut u8, PhantomPinned)>,
            }
        )*
    };
}
opaque!(RawAdios, RawIo, RawEngine, RawVariable, RawAttribute);

macro_rules! api {
    ($($name:ident($($arg:ty),*) -> $ret:ty;)*) => {
        /// Pointers to the functions; field `x` is `adios2_x`.
        pub(crate) struct CApi {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> $ret,)*
            /// Since 2.12 only; in older releases the length of a string attribute cannot be queried.
            pub(crate) attribute_string_data:
                Option<unsafe extern "C" fn(*const RawAttribute, *mut c_char, *mut usize) -> c_int>,
            /// The function of the C library that ADIOS2 is linked to, which may differ from that of this program:
            /// lists of handles come from its allocator.
            free: unsafe extern "C" fn(*mut c_void),
        }

        impl CApi {
            /// Looks up every function.
            ///
            /// # Safety
            /// `library` must be ADIOS2's C library, and must never be unloaded.
            pub(crate) unsafe fn look_up(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        $name: {
                            let symbol = concat!("adios2_", stringify!($name));
                            // SAFETY: the caller guarantees the library, and the type is the one that `adios2_c.h` of
                            // releases 2.8 to 2.12 declares for this symbol.
                            unsafe { *library.get::<unsafe extern "C" fn($($arg),*) -> $ret>(symbol)? }
                        },
                    )*
                    // SAFETY: as above, for a symbol that releases before 2.12 do not have.
                    attribute_string_data: unsafe {
                        library.get("adios2_attribute_string_data").ok().map(|symbol| *symbol)
                    },
                    // SAFETY: as above; a library's dependencies are searched after the library itself.
                    free: unsafe { *library.get("free")? },
                })
            }
        }
    };
}

api! {
    init_serial() -> *mut RawAdios;
    declare_io(*mut RawAdios, *const c_char) -> *mut RawIo;
    finalize(*mut RawAdios) -> c_int;

    set_engine(*mut RawIo, *const c_char) -> c_int;
    set_parameter(*mut RawIo, *const c_char, *const c_char) -> c_int;
    add_transport(*mut usize, *mut RawIo, *const c_char) -> c_int;
    set_transport_parameter(*mut RawIo, usize, *const c_char, *const c_char) -> c_int;
    open(*mut RawIo, *const c_char, c_int) -> *mut RawEngine;
    define_variable(
        *mut RawIo, *const c_char, c_int, usize, *const usize, *const usize, *const usize, c_int
    ) -> *mut RawVariable;
    inquire_variable(*mut RawIo, *const c_char) -> *mut RawVariable;
    inquire_all_variables(*mut *mut *mut RawVariable, *mut usize, *mut RawIo) -> c_int;
    define_attribute(*mut RawIo, *const c_char, c_int, *const c_void) -> *mut RawAttribute;
    define_attribute_array(*mut RawIo, *const c_char, c_int, *const c_void, usize) -> *mut RawAttribute;
    inquire_attribute(*mut RawIo, *const c_char) -> *mut RawAttribute;
    inquire_all_attributes(*mut *mut *mut RawAttribute, *mut usize, *mut RawIo) -> c_int;
    remove_all_attributes(*mut RawIo) -> c_int;

    engine_get_type(*mut c_char, *mut usize, *const RawEngine) -> c_int;
    begin_step(*mut RawEngine, c_int, c_float, *mut c_int) -> c_int;
    current_step(*mut usize, *const RawEngine) -> c_int;
    steps(*mut usize, *const RawEngine) -> c_int;
    put(*mut RawEngine, *mut RawVariable, *const c_void, c_int) -> c_int;
    get(*mut RawEngine, *mut RawVariable, *mut c_void, c_int) -> c_int;
    perform_gets(*mut RawEngine) -> c_int;
    end_step(*mut RawEngine) -> c_int;
    close(*mut RawEngine) -> c_int;

    variable_name(*mut c_char, *mut usize, *const RawVariable) -> c_int;
    variable_type(*mut c_int, *const RawVariable) -> c_int;
    variable_ndims(*mut usize, *const RawVariable) -> c_int;
    variable_shape(*mut usize, *const RawVariable) -> c_int;
    variable_steps(*mut usize, *const RawVariable) -> c_int;
    selection_size(*mut usize, *const RawVariable) -> c_int;
    set_shape(*mut RawVariable, usize, *const usize) -> c_int;
    set_selection(*mut RawVariable, usize, *const usize, *const usize) -> c_int;
    set_step_selection(*mut RawVariable, usize, usize) -> c_int;

    attribute_name(*mut c_char, *mut usize, *const RawAttribute) -> c_int;
    attribute_type(*mut c_int, *const RawAttribute) -> c_int;
    attribute_is_value(*mut c_int, *const RawAttribute) -> c_int;
    attribute_size(*mut usize, *const RawAttribute) -> c_int;
    attribute_data(*mut c_void, *mut usize, *const RawAttribute) -> c_int;
}

/// Converts a return code into an error with the operation and its object.
pub(crate) fn check(code: c_int, operation: &'static str, name: &str) -> Result<(), Adios2Error> {
    match ErrorCode::from_raw(code) {
        None => Ok(()),
        Some(code) => Err(Adios2Error::Call {
            operation,
            name: name.to_owned(),
            code,
        }),
    }
}

/// Converts a null handle into an error with the operation and its object.
pub(crate) fn check_handle<T>(
    handle: *mut T,
    operation: &'static str,
    name: &str,
) -> Result<*mut T, Adios2Error> {
    if handle.is_null() {
        return Err(Adios2Error::Call {
            operation,
            name: name.to_owned(),
            code: ErrorCode::NullHandle,
        });
    }
    Ok(handle)
}

/// Returns a name as a C string.
pub(crate) fn c_string(name: &str) -> Result<CString, Adios2Error> {
    CString::new(name).map_err(|error| Adios2Error::ZeroByte {
        name: String::from_utf8_lossy(&error.into_vec()).into_owned(),
    })
}

/// Reads a text by two calls, as the C API requires: one for its length, one for its bytes. Bytes that are not UTF-8
/// are replaced.
///
/// # Safety
/// `ask` with a null pointer must set the length; with a pointer it must write at most as many bytes
/// as it stated before.
pub(crate) unsafe fn read_text(
    operation: &'static str,
    name: &str,
    ask: impl Fn(*mut c_char, *mut usize) -> c_int,
) -> Result<String, Adios2Error> {
    let mut length = 0;
    check(ask(ptr::null_mut(), &raw mut length), operation, name)?;
    let mut bytes = vec![0_u8; length];
    check(
        ask(bytes.as_mut_ptr().cast(), &raw mut length),
        operation,
        name,
    )?;
    bytes.truncate(length);
    Ok(into_text(bytes))
}

/// Returns bytes as text; invalid UTF-8 is replaced.
pub(crate) fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Fetches a list of handles and frees the C list.
///
/// # Safety
/// `ask` must set a list from the allocator of ADIOS2, or null, and the number of its entries.
pub(crate) unsafe fn read_handles<T>(
    api: &CApi,
    operation: &'static str,
    name: &str,
    ask: impl Fn(*mut *mut *mut T, *mut usize) -> c_int,
) -> Result<Vec<*mut T>, Adios2Error> {
    let mut list = ptr::null_mut();
    let mut length = 0;
    check(ask(&raw mut list, &raw mut length), operation, name)?;
    if list.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the caller guarantees the list; it is copied before it is freed, once.
    let handles = unsafe {
        let handles = std::slice::from_raw_parts(list, length).to_vec();
        (api.free)(list.cast());
        handles
    };
    // A variable of a type that the C API does not know has no handle.
    Ok(handles
        .into_iter()
        .filter(|handle| !handle.is_null())
        .collect())
}
