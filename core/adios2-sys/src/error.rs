//! Errors: a missing library, a failed call, and misuse that is caught before a call.

use std::ffi::c_int;
use std::fmt;
use std::path::PathBuf;

use crate::element::DataType;

/// One location in which the library was searched, and the reason why it was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The origin of the location, such as `CALLGROVE_ADIOS2`.
    pub origin: String,
    /// The file, the folder or the linker name.
    pub place: String,
    /// The reason why it was not used.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.origin, self.reason, self.place)
    }
}

/// The meanings of the C API's return codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// 1: an invalid argument.
    InvalidArgument,
    /// 2: an error of the operating system.
    System,
    /// 3: a failure while running, such as damaged metadata.
    Runtime,
    /// 4: any other exception.
    Exception,
    /// No handle was returned; the C API gives no code in this case.
    NullHandle,
    /// A code that the C API does not name.
    Other(c_int),
}

impl ErrorCode {
    pub(crate) fn from_raw(code: c_int) -> Option<Self> {
        match code {
            0 => None,
            1 => Some(Self::InvalidArgument),
            2 => Some(Self::System),
            3 => Some(Self::Runtime),
            4 => Some(Self::Exception),
            other => Some(Self::Other(other)),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidArgument => f.write_str("invalid argument"),
            Self::System => f.write_str("system error"),
            Self::Runtime => f.write_str("runtime error"),
            Self::Exception => f.write_str("exception"),
            Self::NullHandle => f.write_str("refused"),
            Self::Other(code) => write!(f, "error {code}"),
        }
    }
}

/// Errors of ADIOS2.
#[derive(Debug, thiserror::Error)]
pub enum Adios2Error {
    /// Another stream over SST is being opened in this process and waits for its peer.
    #[error(
        "ADIOS2 opens one stream of a process at a time, and {other} still waits for the other side; open this one in a \
         separate process: {name}"
    )]
    Busy {
        /// The stream that is being opened.
        other: String,
        /// The stream.
        name: String,
    },
    /// The library cannot be loaded a second time in this process.
    #[error(
        "cannot load ADIOS2 a second time in one process ({reason}), which would distinguish writers with the same number; \
         read the stream in a separate process: {}", .path.display()
    )]
    NotTwice {
        /// The reason given by the system.
        reason: String,
        /// The library.
        path: PathBuf,
    },
    /// No candidate could be loaded.
    #[error(
        "no usable ADIOS2 C library (2.8 or newer) was found; install one (`pip install adios2`, your \
         cluster's adios2 module, or Debian's libadios2-serial-c where it exists) or set CALLGROVE_ADIOS2 \
         to libadios2_c.so or its folder; tried:{}",
        list(.tried)
    )]
    NotFound {
        /// The attempts, in order.
        tried: Vec<Attempt>,
    },
    /// A call failed.
    #[error("ADIOS2 {operation} failed: {code}: {name}")]
    Call {
        /// The function of the C API.
        operation: &'static str,
        /// The object of the call: a file, a variable, an attribute or a parameter.
        name: String,
        /// The code that was returned.
        code: ErrorCode,
    },
    /// A name that is not a valid C string.
    #[error("a name must not contain a zero byte: {name:?}")]
    ZeroByte {
        /// The name.
        name: String,
    },
    /// A path that cannot be passed to ADIOS2.
    #[error("the path is not UTF-8: {}", .path.display())]
    PathNotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// A value does not have the requested type.
    #[error("expected {expected}, found {found}: {name}")]
    WrongType {
        /// The variable or attribute.
        name: String,
        /// The requested type.
        expected: DataType,
        /// The stored type.
        found: DataType,
    },
    /// A buffer or a list of dimensions does not have the length that the variable needs.
    #[error("expected {expected} values, found {found}: {name}")]
    WrongLength {
        /// The variable.
        name: String,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// The engine failed in the middle of a read and is unusable.
    #[error("the stream is unusable after an earlier failure: {name}")]
    Poisoned {
        /// The file or stream.
        name: String,
    },
}

fn list(tried: &[Attempt]) -> String {
    tried.iter().fold(String::new(), |list, attempt| {
        format!(
            "{list}
  {attempt}"
        )
    })
}
