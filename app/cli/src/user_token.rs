//! The user's token, which is created once and shared by all commands of the user.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use callgrove_server::Token;

use callgrove_headless::{config_folder, create_secret_file};

/// The remedy if the token cannot be stored.
const REMEDY: &str = "pass --token-file, set CALLGROVE_TOKEN, or require no token with --no-token";

/// Returns the user's token, if it exists.
///
/// # Errors
/// If other users can read its file, or its content is invalid.
pub(crate) fn find() -> Result<Option<Token>> {
    match path() {
        Some(path) if path.exists() => Ok(Some(Token::from_file(&path)?)),
        _ => Ok(None),
    }
}

/// Returns the user's token as text, if it exists and is valid.
pub(crate) fn secret() -> Option<String> {
    let token = find().ok().flatten()?;
    Some(token.secret().to_owned())
}

/// Returns the user's token, and creates one if necessary.
///
/// # Errors
/// As [`find`], and if there is no folder for it.
pub(crate) fn find_or_create() -> Result<Token> {
    let path = path().with_context(|| {
        format!(
            "neither XDG_CONFIG_HOME nor HOME is set, so there is no folder for the token; {REMEDY}"
        )
    })?;
    if !path.exists() {
        let make = || Ok(Token::random()?.secret().to_owned());
        create_secret_file(&path, make)
            .with_context(|| format!("cannot store a token in {}; {REMEDY}", path.display()))?;
    }
    Ok(Token::from_file(&path)?)
}

fn path() -> Option<PathBuf> {
    Some(config_folder()?.join("token"))
}
