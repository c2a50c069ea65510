//! The loaded library: its file, its version, and its function table.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use crate::api::CApi;
use crate::error::{Adios2Error, Attempt};
use crate::library_search::{Candidate, LibraryLocation, library_files, version_in_name};
use crate::open_turn::OpenTurn;

/// The function of glibc by which a thread gets its tables of kinds of characters. Threads are started by the first copy
/// of glibc, which does that for itself only, so that `tolower` in another copy reads from address 0 (glibc bug 19341,
/// which releases before 2.42 have).
type PrepareThread = unsafe extern "C" fn();

/// The name of [`PrepareThread`].
const PREPARE_THREAD: &str = "__ctype_init";

/// ADIOS2's C library in this process. Cheap to clone; stays loaded until the process ends.
#[derive(Clone)]
pub struct Library {
    loaded: Arc<Loaded>,
}

struct Loaded {
    api: CApi,
    path: PathBuf,
    version: Option<String>,
    open_turn: &'static OpenTurn,
    prepare_thread: Option<PrepareThread>,
    /// Never unloaded: the C++ libraries that it uses have threads and destructors of their own.
    _library: ManuallyDrop<libloading::Library>,
}

impl Library {
    /// Loads the first candidate that is ADIOS2's C library.
    ///
    /// Loading runs the initialisers of the library and of its dependencies. Candidates are trusted to be the
    /// libraries that they are named as.
    ///
    /// # Errors
    /// [`Adios2Error::NotFound`] with all attempts.
    pub fn load(candidates: &[Candidate]) -> Result<Self, Adios2Error> {
        let mut tried = Vec::new();
        for candidate in candidates {
            let files: Vec<_> = match &candidate.location {
                LibraryLocation::Path(path) => library_files(path)
                    .into_iter()
                    .map(PathBuf::into_os_string)
                    .collect(),
                LibraryLocation::LinkerName(name) => vec![name.into()],
            };
            let mut refused = |place: String, reason: String| {
                tried.push(Attempt {
                    origin: candidate.origin.clone(),
                    place,
                    reason,
                });
            };
            if let (true, LibraryLocation::Path(path)) = (files.is_empty(), &candidate.location) {
                let reason = if path.exists() {
                    "holds no libadios2_c"
                } else {
                    "does not exist"
                };
                refused(path.display().to_string(), reason.to_owned());
            }
            for file in files {
                match Self::load_file(&file) {
                    Ok(library) => return Ok(library),
                    Err(error) => refused(file.display().to_string(), reason(error)),
                }
            }
        }
        Err(Adios2Error::NotFound { tried })
    }

    /// Returns the file that was loaded.
    pub fn path(&self) -> &Path {
        &self.loaded.path
    }

    /// Returns its release, such as `2.12.1`, from its file name (ADIOS2's C API has no call for it); `None` if the
    /// name has no version.
    pub fn version(&self) -> Option<&str> {
        self.loaded.version.as_deref()
    }

    /// Returns whether this copy is opening a stream over SST that waits for its peer, so that it opens no other one.
    pub fn waits_for_peer(&self) -> bool {
        self.open_turn().waits_for_peer()
    }

    /// Returns the functions, which this thread may call now.
    pub(crate) fn api(&self) -> &CApi {
        if let Some(prepare_thread) = self.loaded.prepare_thread {
            // SAFETY: the function of this copy's C library, which takes nothing and sets variables of this thread.
            unsafe { prepare_thread() };
        }
        &self.loaded.api
    }

    /// Returns the turn in which streams over SST are opened.
    pub(crate) fn open_turn(&self) -> &OpenTurn {
        self.loaded.open_turn
    }

    fn load_file(file: &OsStr) -> Result<Self, libloading::Error> {
        // SAFETY: the file is named as ADIOS2's C library; its initialisers only register engines and set up its own
        // tables.
        let library = unsafe { libloading::Library::new(file) }?;
        Self::of_loaded(library, file, None)
    }

    /// Loads the same file once more, with its dependencies and its own variables, so that neither copy shares state
    /// with the other.
    ///
    /// # Errors
    /// [`Adios2Error::NotTwice`]: the system cannot load another copy, or does not support it.
    pub fn load_again(&self) -> Result<Self, Adios2Error> {
        let path = self.path();
        let again = || {
            let library = load_apart(path)?;
            // SAFETY: the type of this internal function has been the same since glibc 2.0.
            let prepare_thread = unsafe { library.get(PREPARE_THREAD).ok().map(|symbol| *symbol) };
            Self::of_loaded(library, path.as_os_str(), prepare_thread).map_err(reason)
        };
        again().map_err(|reason| Adios2Error::NotTwice {
            reason,
            path: path.to_owned(),
        })
    }

    fn of_loaded(
        library: libloading::Library,
        file: &OsStr,
        prepare_thread: Option<PrepareThread>,
    ) -> Result<Self, libloading::Error> {
        let library = ManuallyDrop::new(library);
        // SAFETY: the file is named as ADIOS2's C library; `ManuallyDrop` keeps it loaded forever.
        let api = unsafe { CApi::look_up(&library) }?;
        let function = api.init_serial as *const c_void;
        let path = file_of(function).unwrap_or_else(|| file.into());
        // Installations name the file by its full release and link the short names to it.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let version = path
            .file_name()
            .and_then(OsStr::to_str)
            .and_then(version_in_name)
            .map(str::to_owned);
        Ok(Self {
            loaded: Arc::new(Loaded {
                api,
                path,
                version,
                open_turn: OpenTurn::of_copy(function),
                prepare_thread,
                _library: library,
            }),
        })
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library")
            .field("path", &self.path())
            .field("version", &self.version())
            .finish()
    }
}

/// Returns the linker's error message, without its prefix.
fn reason(error: libloading::Error) -> String {
    match error {
        libloading::Error::DlOpen { source } | libloading::Error::DlSym { source } => {
            source.to_string()
        }
        other => other.to_string(),
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    /// Loads a library in a namespace, otherwise like `dlopen` (glibc); returns null on failure.
    fn dlmopen(namespace: std::ffi::c_long, file: *const c_char, flags: c_int) -> *mut c_void;

    /// Returns the last error of the loader on this thread, once (POSIX).
    fn dlerror() -> *const c_char;
}

/// Loads a library in a new namespace, or returns the reason why not.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn load_apart(path: &Path) -> Result<libloading::Library, String> {
    use std::ffi::CString;

    use libloading::os::unix;

    const NEW_NAMESPACE: std::ffi::c_long = -1;
    let file = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|it| it.to_string())?;
    let flags = unix::RTLD_NOW | unix::RTLD_LOCAL;
    // SAFETY: a terminated text; the file was loaded before, so its initialisers may run.
    let handle = unsafe { dlmopen(NEW_NAMESPACE, file.as_ptr(), flags) };
    if handle.is_null() {
        // SAFETY: the text belongs to the loader until its next error on this thread.
        let message = unsafe { dlerror().as_ref().map(|text| CStr::from_ptr(text)) };
        let message = message.map(CStr::to_string_lossy);
        return Err(message.unwrap_or_default().into_owned());
    }
    // SAFETY: the loader's handle has no other owner.
    Ok(unsafe { unix::Library::from_raw(handle) }.into())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn load_apart(_: &Path) -> Result<libloading::Library, String> {
    Err("only glibc on Linux supports this".to_owned())
}

/// The result of `dladdr` for an address.
#[repr(C)]
struct DlInfo {
    file_name: *const c_char,
    base: *mut c_void,
    symbol_name: *const c_char,
    symbol: *mut c_void,
}

unsafe extern "C" {
    /// Finds the loaded file of an address.
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// Returns the file from which the code at `address` was loaded, which is the file that a linker name resolved to.
fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut info = DlInfo {
        file_name: ptr::null(),
        base: ptr::null_mut(),
        symbol_name: ptr::null(),
        symbol: ptr::null_mut(),
    };
    // SAFETY: any address is valid, and `info` is the output.
    let found = unsafe { dladdr(address, &raw mut info) } != 0 && !info.file_name.is_null();
    // SAFETY: the text belongs to the loader and lives as long as the library, which is never unloaded.
    found
        .then(|| unsafe { CStr::from_ptr(info.file_name) })
        .and_then(|name| Some(PathBuf::from(name.to_str().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_with_all_locations_and_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let not_a_library = folder.path().join("libadios2_c.so.2.12.1");
        fs::write(&not_a_library, "text").unwrap();
        let missing = folder.path().join("missing");
        let candidates = [
            Candidate::path("ADIOS2_DIR", &missing),
            Candidate::path("CALLGROVE_ADIOS2", folder.path()),
            Candidate {
                origin: "system linker".into(),
                location: LibraryLocation::LinkerName("libno_such_adios2.so".into()),
            },
        ];
        let Err(error) = Library::load(&candidates) else {
            panic!("loaded a text file")
        };
        let Adios2Error::NotFound { tried } = &error else {
            panic!("{error}")
        };
        let origins: Vec<_> = tried
            .iter()
            .map(|attempt| attempt.origin.as_str())
            .collect();
        assert_eq!(origins, ["ADIOS2_DIR", "CALLGROVE_ADIOS2", "system linker"]);
        let text = error.to_string();
        for part in [
            "pip install adios2",
            "set CALLGROVE_ADIOS2",
            "does not exist",
            "libadios2_c.so.2.12.1",
        ] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
}
