//! Errors: a library that is not there, a call that failed, and misuse that is caught before a call.

use std::ffi::c_int;
use std::fmt;
use std::path::PathBuf;

use crate::DataType;

/// One place where the library was looked for, and why it was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Who named the place, such as `CALLGROVE_ADIOS2`.
    pub origin: String,
    /// The file, the folder or the linker name.
    pub place: String,
    /// Why it was not taken.
    pub reason: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.origin, self.reason, self.place)
    }
}

/// What the C API's return codes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// 1: an argument makes no sense to ADIOS2.
    InvalidArgument,
    /// 2: the operating system refused something.
    System,
    /// 3: a failure while running, such as damaged metadata.
    Runtime,
    /// 4: any other exception.
    Exception,
    /// No handle came back; the C API gives no code in this case.
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

/// What can go wrong with ADIOS2.
#[derive(Debug, thiserror::Error)]
pub enum Adios2Error {
    /// The library cannot be loaded a second time in this process.
    #[error(
        "cannot load ADIOS2 a second time in one process ({reason}), which tells writers with the same number apart; \
         read the stream by a process of its own: {}", .path.display()
    )]
    NotTwice {
        /// What the system says.
        reason: String,
        /// The library.
        path: PathBuf,
    },
    /// No candidate could be loaded.
    #[error(
        "no usable ADIOS2 C library (2.8 or newer) was found; install one (`pip install adios2`, your \
         cluster's adios2 module, or Debian's libadios2-serial-c where it exists) or set CALLGROVE_ADIOS2 \
         to libadios2_c.so or its folder; looked at:{}",
        list(.tried)
    )]
    NotFound {
        /// What was tried, in order.
        tried: Vec<Attempt>,
    },
    /// A call failed.
    #[error("ADIOS2 {operation} failed: {code}: {name}")]
    Call {
        /// The function of the C API.
        operation: &'static str,
        /// What it was about: a file, a variable, an attribute or a parameter.
        name: String,
        /// What came back.
        code: ErrorCode,
    },
    /// A name that C cannot hold.
    #[error("a zero byte cannot stand in a name: {name:?}")]
    ZeroByte {
        /// The name.
        name: String,
    },
    /// A path that ADIOS2 cannot be given.
    #[error("the path is not UTF-8: {}", .path.display())]
    PathNotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// A value is of another type than was asked for.
    #[error("expected {expected}, found {found}: {name}")]
    WrongType {
        /// The variable or attribute.
        name: String,
        /// Type asked for.
        expected: DataType,
        /// Type stored.
        found: DataType,
    },
    /// A buffer or a list of dimensions has another length than the variable needs.
    #[error("expected {expected} values, found {found}: {name}")]
    WrongLength {
        /// The variable.
        name: String,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// The engine failed in the middle of a read and cannot be used any more.
    #[error("the stream failed before and is not usable any more: {name}")]
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
