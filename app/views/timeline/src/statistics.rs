//! The panel of the selected time range: its duration, the totals of functions in it, and the durations of the calls of
//! one of them.

use std::sync::Arc;

use callgrove_canvas::time::{LaneCanvas, Window, relative_time};
use callgrove_model::count_of;
use callgrove_model::{DurationNs, ExecRef, FuncId, FunctionName, Trace, thousands};
use callgrove_session::{
    CallsOfFunction, DurationHistogram, FoundCalls, FunctionTotals, SpanIndex, TimeRange, TotalsOf,
};
use callgrove_widgets::theme::Theme;
use callgrove_widgets::view_header;
use egui::{Grid, Mesh, Pos2, Rangef, Rect, Role, ScrollArea, Sense, Shape, Ui, Vec2, WidgetInfo};

/// Number of bins of the histogram.
const NUM_BINS: usize = 40;
/// Height of the histogram, in points.
const HISTOGRAM_HEIGHT: f32 = 72.0;

/// The totals of a time range.
pub(crate) struct StatisticsState {
    wanted: TotalsOf,
    /// The totals, once they are known.
    totals: Option<Arc<Vec<FunctionTotals>>>,
    function: Option<FunctionDurations>,
}

/// The durations of the calls of one function.
struct FunctionDurations {
    func: FuncId,
    /// The calls, once they are known.
    found: Option<Arc<FoundCalls>>,
    histogram: DurationHistogram,
    /// The first and last brushed bin.
    brushed: Option<(usize, usize)>,
    /// The calls in these bins.
    spans: SpanIndex,
}

/// A request of the user.
pub(crate) enum RangeRequest {
    /// To show a call.
    Call(ExecRef),
    /// To clear the range.
    Close,
}

impl StatisticsState {
    /// Returns the calls in the brushed bins of the histogram.
    pub(crate) fn spans(&self) -> Option<&SpanIndex> {
        self.function.as_ref().map(|function| &function.spans)
    }
}

/// Draws the statistics of `range` over the rows.
pub(crate) fn statistics_ui(
    theme: &Theme,
    (canvas, state): (&mut LaneCanvas, &mut Option<StatisticsState>),
    range: TimeRange,
    ui: &mut Ui,
) -> Option<RangeRequest> {
    prepare(canvas, state, range, ui);
    let origin = canvas.origin();
    let length = range.to.since(range.from);
    let mut request = None;
    view_header(ui, &format!("{length} selected"), |ui| {
        if ui
            .button("Close")
            .on_hover_text("Clear the range (Shift+click)")
            .clicked()
        {
            request = Some(RangeRequest::Close);
        }
        if ui
            .button("Zoom")
            .on_hover_text("Zoom to the range")
            .clicked()
        {
            canvas.view.jump(Window::around(range.from, range.to, 0.02));
        }
    });
    let time = |time| relative_time(time, origin, 1.0);
    ui.weak(format!("From {} to {}", time(range.from), time(range.to)));
    let trace = Arc::clone(canvas.trace());
    let state = state.as_mut()?;
    let Some(totals) = state.totals.clone() else {
        ui.weak("Computing totals…");
        return request;
    };
    if let Some(function) = &mut state.function {
        histogram_ui(theme, function, trace.names.name(function.func), ui);
    }
    let chosen = state.function.as_ref().map(|function| function.func);
    let (func, call) = totals_ui(&trace, &totals, chosen, ui);
    if let Some(func) = func {
        state.function = Some(FunctionDurations {
            func,
            found: None,
            histogram: DurationHistogram::default(),
            brushed: None,
            spans: SpanIndex::default(),
        });
    }
    request.or(call.map(RangeRequest::Call))
}

/// Draws the table of functions. Returns the chosen function, and a call to show.
fn totals_ui(
    trace: &Trace,
    all: &[FunctionTotals],
    known: Option<FuncId>,
    ui: &mut Ui,
) -> (Option<FuncId>, Option<ExecRef>) {
    let mut call = None;
    let mut chosen = None;
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        Grid::new("functions")
            .num_columns(5)
            .striped(true)
            .show(ui, |ui| {
                for name in ["Function", "Calls", "Inclusive", "Exclusive", "Longest"] {
                    ui.weak(name);
                }
                ui.end_row();
                for totals in all {
                    let name = FunctionName::parse(trace.names.name(totals.func)).short;
                    let is_chosen = known == Some(totals.func);
                    if ui
                        .selectable_label(is_chosen, name)
                        .on_hover_text("Show the durations of its calls")
                        .clicked()
                    {
                        chosen = Some(totals.func);
                    }
                    ui.label(thousands(totals.num_calls));
                    ui.label(totals.inclusive.to_string());
                    ui.label(totals.exclusive.to_string());
                    let longest = ui.link(totals.longest.0.to_string());
                    if longest.on_hover_text("Show this call").clicked() {
                        call = Some(totals.longest.1);
                    }
                    ui.end_row();
                }
            });
    });
    (chosen, call)
}

/// Starts again if the range is another one, and queries what is unknown.
fn prepare(canvas: &LaneCanvas, state: &mut Option<StatisticsState>, range: TimeRange, ui: &Ui) {
    let known = state.take().filter(|state| state.wanted.range == range);
    let state = state.insert(known.unwrap_or_else(|| {
        let lanes = canvas.rows().iter().map(|row| row.lane.lane).collect();
        StatisticsState {
            wanted: TotalsOf { range, lanes },
            totals: None,
            function: None,
        }
    }));
    if state.totals.is_none() {
        state.totals = canvas.calls().ask(&state.wanted);
    }
    if let Some(function) = state.function.as_mut().filter(|it| it.found.is_none()) {
        let func = function.func;
        function.found = canvas.calls().ask(&CallsOfFunction { func, range });
        if let Some(found) = &function.found {
            function.histogram = DurationHistogram::new(&found.hits, NUM_BINS);
        }
    }
    let is_known = state.function.as_ref().is_none_or(|it| it.found.is_some());
    if (state.totals.is_none() || !is_known) && canvas.calls().is_working() {
        ui.ctx().request_repaint();
    }
}

/// Draws a histogram of durations; a click or a drag picks bins, whose calls are underlined.
fn histogram_ui(theme: &Theme, function: &mut FunctionDurations, name: &str, ui: &mut Ui) {
    let FunctionDurations {
        histogram,
        found: Some(found),
        brushed,
        spans,
        ..
    } = function
    else {
        return;
    };
    let num_bins = histogram.counts.len();
    let Some((least, most)) = histogram.edges.first().zip(histogram.edges.last()) else {
        return;
    };
    let short = FunctionName::parse(name).short;
    ui.label(format!(
        "{short}: {} began here, {least} to {most}",
        count_of(found.num_hits, "call")
    ));
    let size = Vec2::new(ui.available_width(), HISTOGRAM_HEIGHT);
    let (area, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    response
        .widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("Durations of {short}")));
    let bin_at = |at: Pos2| {
        let share = ((at.x - area.left()) / area.width().max(1.0)).clamp(0.0, 1.0);
        ((share * num_bins as f32) as usize).min(num_bins - 1)
    };
    let before = *brushed;
    if let Some(pointer) = response.interact_pointer_pos() {
        let from = ui
            .input(|input| input.pointer.press_origin())
            .unwrap_or(pointer);
        let (first, last) = (bin_at(from), bin_at(pointer));
        *brushed = Some((first.min(last), first.max(last)));
    }
    paint_histogram(theme, histogram, *brushed, area, ui);
    if let Some((first, last)) = *brushed {
        let (least, most) = (histogram.edges[first], histogram.edges[last + 1]);
        let num: usize = histogram.counts[first..=last].iter().sum();
        ui.horizontal(|ui| {
            ui.weak(format!("{} took {least} to {most}", count_of(num, "call")));
            if ui
                .small_button("All")
                .on_hover_text("Clear the picked bars")
                .clicked()
            {
                *brushed = None;
            }
        });
    }
    if *brushed != before {
        *spans = brushed.map_or_else(SpanIndex::default, |(first, last)| {
            let edges = &histogram.edges;
            // The upper edge belongs to the next bin, except for the last.
            let is_last = last + 1 == histogram.counts.len();
            let most = DurationNs(edges[last + 1].0 - i64::from(!is_last));
            found.spans(edges[first], most)
        });
    }
    if let Some(pointer) = response.hover_pos() {
        let bin = bin_at(pointer);
        let text = format!(
            "{} took {} to {}",
            count_of(histogram.counts[bin], "call"),
            histogram.edges[bin],
            histogram.edges[bin + 1]
        );
        response.on_hover_text_at_pointer(text);
    }
}

fn paint_histogram(
    theme: &Theme,
    histogram: &DurationHistogram,
    brushed: Option<(usize, usize)>,
    area: Rect,
    ui: &Ui,
) {
    ui.painter().rect_filled(area, 2.0, theme.canvas());
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let width = area.width() / histogram.counts.len() as f32;
    let mut mesh = Mesh::default();
    for (bin, &count) in histogram
        .counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
    {
        // A bin of few calls must be visible next to one of very many.
        let share = (1.0 + count as f32).ln() / (1.0 + most as f32).ln();
        let left = area.left() + width * bin as f32;
        let x = Rangef::new(left, left + (width - 1.0).max(1.0));
        let y = Rangef::new(area.bottom() - (area.height() - 4.0) * share, area.bottom());
        let is_brushed = brushed.is_none_or(|(first, last)| (first..=last).contains(&bin));
        let color = if is_brushed {
            theme.accent()
        } else {
            theme.outline()
        };
        mesh.add_colored_rect(Rect::from_x_y_ranges(x, y), color);
    }
    ui.painter().add(Shape::mesh(mesh));
}
