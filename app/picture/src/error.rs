//! The errors of painting.

/// A frame that cannot be written as a picture.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum PaintError {
    /// A shape is drawn by a callback of the window's renderer.
    #[error("a shape is drawn by the renderer of the window: draw it as a mesh")]
    Callback,
    /// A mesh has a texture other than that of the fonts.
    #[error("a mesh has a texture: draw it in plain colours")]
    Texture,
    /// The pixels could not be written as PNG.
    #[error("cannot write the pixels as PNG: {cause}")]
    Png {
        /// The error of the encoder.
        cause: String,
    },
    /// A side of the picture is 0 or larger than [`PaintError::MAX_SIDE`] pixels.
    #[error(
        "a picture of {width} x {height} pixels: each side must be from 1 to {} pixels",
        PaintError::MAX_SIDE
    )]
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
}

impl PaintError {
    /// Largest side of a picture, in pixels.
    pub const MAX_SIDE: u32 = 16_384;
}
