//! Folders that only their user can enter.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Permissions of a new folder.
const OF_USER: u32 = 0o700;
/// The permission of all users to write.
const OTHERS_WRITE: u32 = 0o002;
/// User id of root.
const ROOT: u32 = 0;

/// Creates a folder that only its user can enter, if it does not exist; its parents get the usual permissions. An
/// existing folder keeps its permissions.
///
/// # Errors
/// [`ErrorKind::PermissionDenied`] if the folder, or a link to it, belongs to another user, or if every user can write
/// into it, since they could read or replace what is written; those of the operating system. Root may use the folders of
/// all users.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(OF_USER).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {
            check_owner(folder, rustix::process::geteuid().as_raw())
        }
        made => made,
    }
}

fn check_owner(folder: &Path, user: u32) -> io::Result<()> {
    let (link, target) = (fs::symlink_metadata(folder)?, fs::metadata(folder)?);
    let mut owners = [&link, &target].into_iter().map(MetadataExt::uid);
    let foreign = owners.find(|owner| user != ROOT && ![user, ROOT].contains(owner));
    let reason = if let Some(owner) = foreign {
        format!(
            "it belongs to user {owner}, who could replace what is written: name a folder of your own"
        )
    } else if target.mode() & OTHERS_WRITE != 0 {
        "every user can write into it: name a new folder in it".to_owned()
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn a_new_folder_is_for_its_user_alone_and_an_existing_one_keeps_its_permissions() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        create_private_folder(&folder).unwrap();
        let mode = || fs::metadata(&folder).unwrap().mode() & 0o777;
        assert_eq!(mode(), OF_USER);
        fs::set_permissions(&folder, Permissions::from_mode(0o750)).unwrap();
        create_private_folder(&folder).unwrap();
        assert_eq!(mode(), 0o750);
    }

    #[test]
    fn folders_of_others_and_for_all_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, link) = (parent.path().join("folder"), parent.path().join("link"));
        create_private_folder(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        let mut owner = fs::metadata(&folder).unwrap().uid();
        if owner == ROOT {
            owner = 4321;
            chown(&folder, Some(owner), None).unwrap();
        }
        for path in [&folder, &link] {
            assert!(check_owner(path, owner).is_ok());
            let refused = check_owner(path, owner + 1).unwrap_err();
            assert!(refused.to_string().contains("belongs to user"), "{refused}");
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let refused = check_owner(&folder, owner).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    }
}
