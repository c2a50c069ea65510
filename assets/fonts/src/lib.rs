//! The fonts of egui without hints and tables that Callgrove does not use, in the place of egui's own package.
//!
//! The README of this folder says what is left out. The names of all items are those that egui uses.

/// The font of code.
pub const HACK_REGULAR: &[u8] = include_bytes!("../fonts/Hack-Regular.ttf");

/// The font of all other text.
pub const UBUNTU_LIGHT: &[u8] = include_bytes!("../fonts/Ubuntu-Light.ttf");

/// The icons of [`special_emojis`].
pub const EGUI_ICONS: &[u8] = include_bytes!("../fonts/egui-icons.ttf");

/// Icons that no font of a system has.
pub mod special_emojis {
    /// Tux, a normal emoji.
    pub const OS_LINUX: char = '🐧';
    /// The Windows logo.
    pub const OS_WINDOWS: char = '\u{E61F}';
    /// The Android logo.
    pub const OS_ANDROID: char = '\u{E618}';
    /// The Apple logo.
    pub const OS_APPLE: char = '\u{F8FF}';
    /// The GitHub logo.
    pub const GITHUB: char = '\u{E624}';
    /// The word `git`.
    pub const GIT: char = '\u{E625}';
}
