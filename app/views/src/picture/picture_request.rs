//! The picture that is wanted: of which view, what it shows, and how it looks.

use callgrove_actions::PictureView;
use callgrove_model::{ExecLabel, ProgramId, TreeIdx};
use callgrove_session::{PatternId, TimeRange};

/// A picture of a view.
#[derive(Clone, PartialEq, Debug)]
pub struct ViewPicture {
    /// The view.
    pub view: PictureView,
    /// Its subject.
    pub subject: PictureSubject,
    /// The time range of a timeline or an incident; `None` fits it to the subject.
    pub time: Option<TimeRange>,
    /// Width and height, in points.
    pub size: [f32; 2],
    /// Pixels per point of a PNG file.
    pub scale: f32,
    /// True if the background is dark.
    pub is_dark: bool,
    /// The title; `None` for a description of the subject.
    pub title: Option<String>,
    /// Prefix of the ids in an SVG document, so that several can be in one page.
    pub id_prefix: String,
}

/// The subject of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PictureSubject {
    /// The run; a tree is then that of the most abnormal execution, and an incident the most expensive one.
    Run,
    /// An incident, an index into [`callgrove_session::RunCauses::incidents`].
    Incident(usize),
    /// An execution of the root function.
    Tree(TreeIdx),
    /// The execution with an event label, and the tree that contains it.
    Execution {
        /// Program.
        program: ProgramId,
        /// Event label.
        label: ExecLabel,
    },
    /// A pattern.
    Pattern(PatternId),
}

impl ViewPicture {
    /// Smallest width and height, in points.
    pub const MIN_SIZE: [f32; 2] = [320.0, 240.0];
    /// Largest width and height, in points.
    pub const MAX_SIZE: [f32; 2] = [8_192.0, 8_192.0];

    /// Returns a light picture of the whole run by a view.
    pub fn new(view: PictureView, size: [f32; 2]) -> Self {
        Self {
            view,
            subject: PictureSubject::Run,
            time: None,
            size,
            scale: 1.0,
            is_dark: false,
            title: None,
            id_prefix: "callgrove".to_owned(),
        }
    }
}
