//! Claims of ranks by locks of the operating system, which are released with their process.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use callgrove_provdb::{Claim, ProvDbError};

use super::error::io_at;
use callgrove_local::create_private_folder;

/// Claims a rank: locks its file, and writes the holder's name there for the next instance that tries.
pub(super) fn claim(
    folder: &Path,
    program: u32,
    rank: u32,
    instance: &str,
) -> Result<Claim, ProvDbError> {
    let claims = folder.join("claims");
    create_private_folder(&claims).map_err(io_at(&claims))?;
    let path = claims.join(format!("{program}.{rank}.lock"));
    let fail = io_at(&path);
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(&fail)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder).map_err(&fail)?;
            let holder = if holder.is_empty() {
                "another instance".to_owned()
            } else {
                holder
            };
            return Err(ProvDbError::Claimed {
                holder,
                program,
                rank,
                place: folder.display().to_string(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(fail(error)),
    }
    let note = |file: &mut File| {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(instance.as_bytes())
    };
    note(&mut file).map_err(&fail)?;
    Ok(Claim::new(program, rank, file))
}
