//! Why a picture cannot be drawn.

use callgrove_model::ExecLabel;
use callgrove_picture::PaintError;

/// A picture that cannot be drawn; messages name the remedy.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
pub enum PictureError {
    /// Width or height is too small or too large.
    #[error("a picture of {width} x {height} points: choose a size from 320x240 to 8192x8192")]
    Size {
        /// Width in points.
        width: f32,
        /// Height in points.
        height: f32,
    },
    /// The session has no trace.
    #[error("there is no trace: open one first")]
    NoTrace,
    /// The trace has no executions of a root function.
    #[error(
        "there are no executions of a root function: name one with --function, `callgrove info` lists all"
    )]
    NoForest,
    /// The trace has no incidents, or its incidents are not known.
    #[error("there are no incidents in this run: draw the timeline instead")]
    NoIncidents,
    /// An incident with this number does not exist.
    #[error("there is no incident {number}: the run has {count}, `callgrove incidents` lists them")]
    UnknownIncident {
        /// The number, from 1.
        number: usize,
        /// Number of incidents.
        count: usize,
    },
    /// The run has no patterns, or they are not known.
    #[error("there are no patterns in this run: no sequence of calls occurs twice on a rank")]
    NoPatterns,
    /// The run is not compared with an earlier one.
    #[error(
        "the run is not compared with an earlier one: name that one (`callgrove draw --against`)"
    )]
    NoComparison,
    /// No call is selected.
    #[error("details are those of one call: name an execution (`callgrove draw --execution`)")]
    NoCall,
    /// A pattern with this number does not exist.
    #[error("there is no pattern {number}: `callgrove patterns` lists them")]
    UnknownPattern {
        /// The number.
        number: u32,
    },
    /// An execution with this label does not exist.
    #[error(
        "there is no execution {label}: `callgrove analyze --format csv` lists the executions in the column event_id"
    )]
    UnknownExecution {
        /// The label.
        label: ExecLabel,
    },
    /// No tree of the forest contains the execution.
    #[error("execution {label} is in no tree: name its root function with --function")]
    NotInTree {
        /// The label.
        label: ExecLabel,
    },
    /// The session reported an error.
    #[error("{text}")]
    Session {
        /// Its message.
        text: String,
    },
    /// The caller stopped waiting.
    #[error("the picture was cancelled before its data arrived")]
    Cancelled,
    /// The picture still changed after many frames.
    #[error("the picture did not come to rest: choose a smaller size or a shorter time range")]
    Unsettled,
    /// The name of the file does not say which format is wanted.
    #[error("{name} needs another extension: name it .svg{}", if cfg!(feature = "png") { " or .png" } else { "" })]
    Extension {
        /// The name.
        name: String,
    },
    /// The shapes cannot be written.
    #[error(transparent)]
    Paint(#[from] PaintError),
}
