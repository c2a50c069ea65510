//! All views: their states, and each as a picture. The crates in the folders next to `src` draw them.
//!
//! ```text
//! picture   views as pictures, without a window
//! states    the states of all views
//! ```

pub mod picture;
#[cfg(test)]
mod remote_tests;
mod states;

pub use states::ViewStates;
