//! The calls of a lane as symbols: calls of one function with equal calls inside them share a symbol.

use callgrove_model::{Cancelled, ExecIdx, Executions, Progress};

use super::content::Content;
use super::symbols::{Sym, Symbols};

/// Minimum length of a run of equal calls whose length is not part of its identity.
const MIN_OPEN_RUN: u32 = 8;

/// Number of rows between two checks for cancellation.
const ROWS_PER_CHECK: usize = 1 << 16;

/// The symbols of one lane.
pub(super) struct LaneCalls {
    /// The symbol of each execution.
    pub(super) of_row: Vec<Sym>,
    /// The symbols of the outermost calls, made while nothing is open.
    pub(super) root: Vec<Sym>,
}

/// Assigns a symbol to each call of a lane; `names` are the hashes of the function names. Linear in the executions.
pub(super) fn name_calls(
    executions: &Executions,
    names: &[u64],
    symbols: &mut Symbols,
    progress: Progress<'_>,
) -> Result<LaneCalls, Cancelled> {
    let num_rows = executions.len();
    let mut of_row = vec![Sym(0); num_rows];
    let mut body = BodyBuilder::default();
    // A call comes before the calls inside it, so walking backwards the inner calls have their symbols already.
    for row in (0..num_rows).rev() {
        if row % ROWS_PER_CHECK == 0 {
            progress.at(share(num_rows - row, num_rows))?;
        }
        let func = executions.func[row];
        let name = names.get(func.index()).copied().unwrap_or_default();
        let end = executions.subtree_end[row].index().min(num_rows);
        body.take_in(executions, row + 1..end, &of_row, symbols);
        let closed = executions.closed[row];
        of_row[row] = symbols.call(func, name, closed, &body.symbols, body.content);
    }
    body.take_in(executions, 0..num_rows, &of_row, symbols);
    Ok(LaneCalls {
        of_row,
        root: body.symbols,
    })
}

/// Returns a part of a whole as a fraction.
pub(super) fn share(part: usize, whole: usize) -> f32 {
    let [part, whole] = [part, whole].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    let fraction = f64::from(part) / f64::from(whole.max(1));
    // A resolution of one percent is enough for a progress bar.
    let percent = (0_u8..=100).take_while(|&it| f64::from(it) <= fraction * 100.0);
    f32::from(percent.last().unwrap_or(0)) / 100.0
}

/// The symbols inside one call, with runs of equal ones folded, and their content hash.
struct BodyBuilder {
    symbols: Vec<Sym>,
    content: Content,
}

impl Default for BodyBuilder {
    fn default() -> Self {
        Self {
            symbols: Vec::new(),
            content: Content::EMPTY,
        }
    }
}

impl BodyBuilder {
    /// Adds the outermost calls within a range of rows.
    fn take_in(
        &mut self,
        executions: &Executions,
        rows: std::ops::Range<usize>,
        of_row: &[Sym],
        symbols: &mut Symbols,
    ) {
        self.symbols.clear();
        self.content = Content::EMPTY;
        let mut run: Option<(Sym, u32)> = None;
        let mut row = rows.start;
        while row < rows.end {
            let sym = of_row[row];
            run = match run {
                Some((last, times)) if last == sym && symbols.can_recur(sym) => {
                    Some((sym, times.saturating_add(1)))
                }
                other => {
                    self.end_run(other, symbols);
                    Some((sym, 1))
                }
            };
            row = next_sibling(executions, row);
        }
        self.end_run(run, symbols);
    }

    fn end_run(&mut self, run: Option<(Sym, u32)>, symbols: &mut Symbols) {
        let Some((of, times)) = run else { return };
        let sym = if times >= MIN_OPEN_RUN {
            symbols.many(of)
        } else {
            symbols.repeated(of, times)
        };
        self.symbols.push(sym);
        self.content = self.content.then(symbols.content(sym));
    }
}

/// Returns the row after a call and everything called inside it.
pub(super) fn next_sibling(executions: &Executions, row: usize) -> usize {
    executions
        .subtree(ExecIdx::from_index(row))
        .end
        .max(row + 1)
}
