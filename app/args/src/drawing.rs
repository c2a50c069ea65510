//! The command line of `callgrove draw`.

use std::path::PathBuf;
use std::str::FromStr;

use callgrove_actions::PictureView;
use callgrove_export::SinkFormat;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::common::{TableArgs, TraceArgs};
use super::part::PartOfRun;

#[derive(Args, Debug)]
pub struct DrawArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// The view to draw
    #[arg(long, value_parser = view_parser())]
    pub view: PictureView,
    /// File to write: SVG or PNG, by its extension; of the map also its points, as a table (.csv, .json, .jsonl,
    /// .parquet)
    #[arg(long, short, value_name = "FILE.svg|FILE.png")]
    pub out: PathBuf,
    /// Root function of map and tree, as for analyze
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    /// Number of the incident to show, as `callgrove incidents` prints it. An incident view without it shows the most
    /// expensive one
    #[arg(long, value_name = "N", conflicts_with = "execution")]
    pub incident: Option<usize>,
    /// Execution to show, by its event label. A tree view without it shows the most abnormal one
    #[arg(long, value_name = "RANK:STEP:INDEX")]
    pub execution: Option<String>,
    /// Number of the pattern to show, as `callgrove patterns` prints it. A patterns view without it shows the one whose
    /// slow occurrences cost most
    #[arg(long, value_name = "N", conflicts_with_all = ["incident", "execution"])]
    pub pattern: Option<u32>,
    /// Earlier run whose changes to this one are drawn; needs `--view changes`
    #[arg(long, value_name = "BEFORE")]
    pub against: Option<String>,
    /// Time range of the timeline, in percent of the run or in seconds from its beginning: 30%..60%, 0..1.5
    #[arg(long, value_name = "FROM..TO")]
    pub time: Option<PartOfRun>,
    /// Width and height: points of an SVG file, pixels of a PNG file
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1200x720")]
    pub size: PictureSize,
    /// Draw everything larger by this factor, from 0.5 to 8; the size stays
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = scale)]
    pub scale: f32,
    /// Draw on a dark background
    #[arg(long)]
    pub dark: bool,
    /// Title, instead of a description of what is shown
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

impl DrawArgs {
    /// Returns where the points of the map are written as a table; `None` for a picture.
    pub fn table_of_map(&self) -> Option<TableArgs> {
        self.out.to_str().and_then(SinkFormat::of_name)?;
        (self.view == PictureView::Map).then(|| TableArgs {
            format: None,
            out: Some(self.out.clone()),
        })
    }
}

/// Returns the parser of the names of views, which the help lists.
fn view_parser() -> impl TypedValueParser<Value = PictureView> {
    let named =
        PictureView::OF_TRACE.map(|it| PossibleValue::new(it.name()).help(it.description()));
    PossibleValuesParser::new(named)
        .try_map(|name| PictureView::of_trace(&name).ok_or("no view has this name"))
}

/// Width and height of a picture, in points or pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PictureSize {
    pub width: u16,
    pub height: u16,
}

impl FromStr for PictureSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = text.split_once('x').and_then(|(width, height)| {
            let side = |text: &str| text.trim().parse().ok();
            Some(Self {
                width: side(width)?,
                height: side(height)?,
            })
        });
        let is_possible = |size: &Self| size.width > 0 && size.height > 0;
        size.filter(is_possible)
            .ok_or_else(|| "expected WIDTHxHEIGHT, such as 1200x720".to_owned())
    }
}

fn scale(text: &str) -> Result<f32, String> {
    let factor = text
        .parse()
        .ok()
        .filter(|factor| (0.5..=8.0).contains(factor));
    factor.ok_or_else(|| "expected a factor from 0.5 to 8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_two_numbers() {
        let size = |text: &str| text.parse::<PictureSize>().ok();
        let expected = PictureSize {
            width: 800,
            height: 600,
        };
        assert_eq!(size("800x600"), Some(expected));
        for text in ["", "800", "800x", "0x600", "800x-6", "8e2x600", "99999x600"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn factors_are_bounded() {
        assert_eq!(scale("2"), Ok(2.0));
        for text in ["0", "9", "nan", "x"] {
            assert!(scale(text).is_err(), "{text}");
        }
    }
}
