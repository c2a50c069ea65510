//! Installation of Debian packages, as root.

use std::process::Command;

use crate::check;

/// Returns whether packages can be installed: as root, with `apt-get`.
pub(crate) fn is_possible() -> bool {
    let uid = check::output(Command::new("id").arg("-u"));
    uid.is_some_and(|uid| uid.trim() == "0") && check::find_program("apt-get").is_some()
}

/// Installs packages.
///
/// # Errors
/// `apt-get` fails.
pub(crate) fn install(packages: &[&str]) -> Result<(), String> {
    eprintln!("\n== installing {}", packages.join(" "));
    // The package lists are missing (a fresh image) or outdated.
    try_to_install(packages).or_else(|_| {
        apt_get(&["update", "--quiet"], &[])?;
        try_to_install(packages)
    })
}

fn try_to_install(packages: &[&str]) -> Result<(), String> {
    let args = ["install", "--quiet", "--yes", "--no-install-recommends"];
    apt_get(&args, packages)
}

fn apt_get(args: &[&str], packages: &[&str]) -> Result<(), String> {
    let status = Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        // Standard output belongs to the task.
        .stdout(std::io::stderr())
        .args(args)
        .args(packages)
        .status()
        .map_err(|error| format!("cannot start apt-get: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!(
        "apt-get {} {}: {status}",
        args.join(" "),
        packages.join(" ")
    ))
}
