//! A library that is loaded before the C library (`LD_PRELOAD`) and counts the calls by which a process changes anything
//! outside itself: writes to files and sockets, renames, removals, and those that wait for the disk. With
//! `CALLGROVE_INTERRUPT_AT=n` the process is killed before the n-th of them, or, if `CALLGROVE_INTERRUPT_BY=error`, the
//! n-th call of those to files fails as on a broken disk.
//!
//! So tests end a program at every point at which a kill can matter, as those of SQLite do, and the program knows nothing
//! of it. Calls of Rust, of SQLite and of the network go through the same functions.

#![cfg(target_os = "linux")]
#![expect(
    unsafe_code,
    reason = "functions of the C library are replaced by their names"
)]

use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use libc::{
    c_char, c_int, c_void, iovec, mode_t, msghdr, off_t, off64_t, size_t, sockaddr, socklen_t,
    ssize_t,
};

/// What happens at the chosen call.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Its number, from 1; 0 for none.
    at: u64,
    /// True if it fails instead of ending the process.
    fails: bool,
}

/// The number of calls so far.
static NUM_CALLS: AtomicU64 = AtomicU64::new(0);

fn plan() -> Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    *PLAN.get_or_init(|| {
        let at = std::env::var("CALLGROVE_INTERRUPT_AT").ok();
        let by = std::env::var("CALLGROVE_INTERRUPT_BY").ok();
        Plan {
            at: at.and_then(|it| it.parse().ok()).unwrap_or(0),
            fails: by.as_deref() == Some("error"),
        }
    })
}

/// Counts a call. Returns true if it is to fail.
fn is_interrupted(is_of_file: bool) -> bool {
    let plan = plan();
    if plan.at == 0 || (plan.fails && !is_of_file) {
        return false;
    }
    if NUM_CALLS.fetch_add(1, Ordering::Relaxed) + 1 != plan.at {
        return false;
    }
    if !plan.fails {
        // SAFETY: a signal to this process; nothing of Rust runs afterwards.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    true
}

/// Returns the function of the C library with a name.
fn original(known: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let found = known.load(Ordering::Relaxed);
    if !found.is_null() {
        return found;
    }
    // SAFETY: the name is a string that ends with 0.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    known.store(found, Ordering::Relaxed);
    found
}

/// Defines a function that counts its calls and then calls the one of the C library.
macro_rules! counted {
    ($($is_of_file:literal $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {$(
        /// Counts the call.
        ///
        /// # Safety
        /// As the function of the C library with this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $result {
            static ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            if is_interrupted($is_of_file) {
                // SAFETY: the place of this thread's error number.
                unsafe { *libc::__errno_location() = libc::EIO };
                return -1;
            }
            let name = concat!(stringify!($name), "\0");
            let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"");
            let original = original(&ORIGINAL, name);
            // SAFETY: the C library has this function under this name with these types, and the caller keeps its
            // conditions.
            unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(original)($($arg),*)
            }
        }
    )*};
}

counted! {
    true write(file: c_int, bytes: *const c_void, count: size_t) -> ssize_t;
    true pwrite(file: c_int, bytes: *const c_void, count: size_t, at: off_t) -> ssize_t;
    true pwrite64(file: c_int, bytes: *const c_void, count: size_t, at: off64_t) -> ssize_t;
    true writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    true fsync(file: c_int) -> c_int;
    true fdatasync(file: c_int) -> c_int;
    true ftruncate(file: c_int, length: off_t) -> c_int;
    true ftruncate64(file: c_int, length: off64_t) -> c_int;
    true rename(from: *const c_char, to: *const c_char) -> c_int;
    true unlink(path: *const c_char) -> c_int;
    true mkdir(path: *const c_char, mode: mode_t) -> c_int;
    false send(socket: c_int, bytes: *const c_void, count: size_t, flags: c_int) -> ssize_t;
    false sendto(socket: c_int, bytes: *const c_void, count: size_t, flags: c_int, to: *const sockaddr, length: socklen_t) -> ssize_t;
    false sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
}
