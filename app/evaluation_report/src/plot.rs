//! A plot of the quality against the number of labels.

use std::error::Error;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use callgrove_evaluate::evaluate::Quality;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::register_font;

use crate::comparison_report::{ComparisonReport, CurveReport};

/// Width and height of the image, in pixels.
const SIZE: (u32, u32) = (1_320, 520);
/// Width of the legend, in pixels.
const LEGEND_WIDTH: u32 = 300;
/// Line height of the legend, in pixels.
const LEGEND_STEP: i32 = 26;
/// The colours of Okabe and Ito without yellow, which is hard to see on white. They can be distinguished with any
/// colour vision.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

/// A plot file; its extension selects the format.
pub struct PlotFile {
    path: PathBuf,
    is_svg: bool,
}

/// A line of the plot.
struct Line {
    name: String,
    colour: RGBColor,
    dash: Dash,
    /// Number of labels, average precision and ROC AUC of each point.
    points: Vec<(f64, [f64; 2])>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dash {
    /// A method that learns from labels.
    Solid,
    /// A method that learns, on the trees without a label only.
    Dotted,
    /// A method that does not learn.
    Dashed,
    /// A method that does not learn, once the colours repeat.
    LongDashed,
}

impl PlotFile {
    /// Checks that the path ends in .svg or .png.
    ///
    /// # Errors
    /// It does not.
    pub fn new(path: &Path) -> Result<Self> {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        let is_svg = ending == "svg";
        if !is_svg && ending != "png" {
            bail!("a plot must end in .svg or .png: {}", path.display());
        }
        Ok(Self {
            path: path.to_owned(),
            is_svg,
        })
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the content of the file.
    ///
    /// # Errors
    /// The plot cannot be drawn or encoded.
    pub fn draw(&self, report: &ComparisonReport<'_>) -> Result<Vec<u8>> {
        // The font is embedded, so the plot is the same on every machine.
        register_font(
            "sans-serif",
            FontStyle::Normal,
            epaint_default_fonts::UBUNTU_LIGHT,
        )
        .ok()
        .context("the font of plots is damaged")?;
        let lines = lines(report);
        if self.is_svg {
            let mut text = String::new();
            let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            draw(&area, report, &lines)
                .map_err(|error| anyhow!("cannot draw the plot: {error}"))?;
            drop(area);
            return Ok(text.into_bytes());
        }
        let mut pixels = vec![255; (SIZE.0 * SIZE.1 * 3) as usize];
        let area = BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area();
        draw(&area, report, &lines).map_err(|error| anyhow!("cannot draw the plot: {error}"))?;
        drop(area);
        encode_png(&pixels).context("cannot encode the plot")
    }
}

fn encode_png(pixels: &[u8]) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

/// Returns a line per method: a curve for those that learn, a level line for the others.
fn lines(report: &ComparisonReport<'_>) -> Vec<Line> {
    let measures = |quality: &Quality| {
        let ranking = quality.ranking;
        [ranking.average_precision, ranking.roc_auc]
    };
    let mut lines = Vec::new();
    let mut index = 0;
    for method in &report.methods {
        let name = method.method.to_string();
        let of_method = |curve: &&CurveReport| curve.method == method.method;
        let curves: Vec<&CurveReport> = report.curves.iter().filter(of_method).collect();
        for curve in &curves {
            let points = |of: fn(&callgrove_evaluate::evaluate::CurvePoint) -> &Option<Quality>| {
                let labelled = curve.points.iter();
                labelled
                    .filter_map(|at| {
                        let quality = of(at).as_ref()?;
                        Some((at.num_labels as f64, measures(quality)))
                    })
                    .collect()
            };
            let name = match curves[..] {
                [_] => name.clone(),
                _ => format!("{name}, {}", curve.query.name()),
            };
            let unlabelled = format!("{name}, unlabelled");
            for (name, dash, points) in [
                (name, Dash::Solid, points(|at| &at.all)),
                (unlabelled, Dash::Dotted, points(|at| &at.unlabelled)),
            ] {
                lines.push(Line::new(name, index, dash, points));
            }
            index += 1;
        }
        if let Some(quality) = method.all.as_ref().filter(|_| curves.is_empty()) {
            let ends = [0.0, most_labels(report)].map(|labels| (labels, measures(quality)));
            let dash = if index < COLOURS.len() {
                Dash::Dashed
            } else {
                Dash::LongDashed
            };
            lines.push(Line::new(name, index, dash, ends.to_vec()));
            index += 1;
        }
    }
    lines
}

/// Returns the end of the axis of labels.
fn most_labels(report: &ComparisonReport<'_>) -> f64 {
    let points = report.curves.iter().flat_map(|curve| &curve.points);
    points.map(|at| at.num_labels).max().unwrap_or(0).max(1) as f64
}

fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    report: &ComparisonReport<'_>,
    lines: &[Line],
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    B::ErrorType: 'static,
{
    area.fill(&WHITE)?;
    let (charts, legend) = area.split_horizontally(SIZE.0 - LEGEND_WIDTH);
    let titles = ["Average precision", "ROC AUC"];
    for (measure, chart) in charts.split_evenly((1, 2)).iter().enumerate() {
        draw_chart(chart, titles[measure], measure, report, lines)?;
    }
    let font = ("sans-serif", 15).into_font();
    for (index, line) in lines.iter().enumerate() {
        let y = 50 + index as i32 * LEGEND_STEP;
        draw_stroke(&legend, line, vec![(5, y + 7), (46, y + 7)])?;
        legend.draw(&Text::new(line.name.clone(), (54, y), font.clone()))?;
    }
    area.present()?;
    Ok(())
}

fn draw_stroke<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    line: &Line,
    points: Vec<(i32, i32)>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    match line.dash.lengths() {
        None => area.draw(&PathElement::new(points, line.style())),
        Some((dash, gap)) => area.draw(&DashedPathElement::new(points, dash, gap, line.style())),
    }
}

fn draw_chart<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    measure: usize,
    report: &ComparisonReport<'_>,
    lines: &[Line],
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    B::ErrorType: 'static,
{
    let values = lines.iter().flat_map(|line| &line.points);
    let lowest = values.map(|point| point.1[measure]).fold(1.0, f64::min);
    // A tenth below the lowest value, so that lines at the top of the scale stay apart.
    let bottom = ((lowest - 0.02) * 10.0).floor().max(0.0) / 10.0;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..most_labels(report), bottom..1.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("Number of labels")
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 15))
        .x_label_formatter(&|labels| format!("{labels:.0}"))
        .y_label_formatter(&|value| format!("{value:.2}"))
        .draw()?;
    for line in lines {
        let points: Vec<(f64, f64)> = line
            .points
            .iter()
            .map(|&(labels, measures)| (labels, measures[measure]))
            .collect();
        match line.dash.lengths() {
            None => {
                let dots = points
                    .iter()
                    .map(|&at| Circle::new(at, 3, line.colour.filled()));
                chart.draw_series(dots)?;
                chart.draw_series(LineSeries::new(points, line.style()))?;
            }
            Some((dash, gap)) => {
                chart.draw_series(DashedLineSeries::new(points, dash, gap, line.style()))?;
            }
        }
    }
    Ok(())
}

impl Line {
    /// A line with an index, which selects its colour; colours repeat.
    fn new(name: String, index: usize, dash: Dash, points: Vec<(f64, [f64; 2])>) -> Self {
        Self {
            name,
            colour: COLOURS[index % COLOURS.len()],
            dash,
            points,
        }
    }

    fn style(&self) -> ShapeStyle {
        let width = if self.dash == Dash::Solid { 3 } else { 2 };
        self.colour.stroke_width(width)
    }
}

impl Dash {
    /// Returns the lengths of a dash and a gap, in pixels.
    fn lengths(self) -> Option<(i32, i32)> {
        match self {
            Self::Solid => None,
            Self::Dotted => Some((2, 4)),
            Self::Dashed => Some((7, 6)),
            Self::LongDashed => Some((18, 5)),
        }
    }
}
