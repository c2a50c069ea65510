//! The calls of a lane as symbols: equal calls, with equal calls inside them, are one.

use callgrove_model::{Cancelled, ExecIdx, Executions, Progress};

use super::content::Content;
use super::symbols::{Sym, Symbols};

/// From how many equal calls in a row on their number is no part of what they are.
const MANY: u32 = 8;

/// Rows between two looks at whether to go on.
const ROWS_A_LOOK: usize = 1 << 16;

/// One lane in symbols.
pub(super) struct LaneCalls {
    /// The symbol of each execution.
    pub(super) of_row: Vec<Sym>,
    /// What is called while nothing is open.
    pub(super) root: Vec<Sym>,
}

/// Names the calls of a lane; `names` are the hashes of the function names. Linear in the executions.
pub(super) fn name_calls(
    executions: &Executions,
    names: &[u64],
    symbols: &mut Symbols,
    progress: Progress<'_>,
) -> Result<LaneCalls, Cancelled> {
    let num_rows = executions.len();
    let mut of_row = vec![Sym(0); num_rows];
    let mut body = BodyBuilder::default();
    // A call stands before those inside it, so these have symbols already when it is their turn.
    for row in (0..num_rows).rev() {
        if row % ROWS_A_LOOK == 0 {
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

/// A part of a whole as a fraction.
pub(super) fn share(part: usize, whole: usize) -> f32 {
    let [part, whole] = [part, whole].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    let fraction = f64::from(part) / f64::from(whole.max(1));
    // Percent are fine enough.
    let percent = (0_u8..=100).take_while(|&it| f64::from(it) <= fraction * 100.0);
    f32::from(percent.last().unwrap_or(0)) / 100.0
}

/// The symbols inside one call, runs of equal ones folded, and their content.
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
    /// Takes in the outermost calls within some rows.
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
        let sym = if times >= MANY {
            symbols.many(of)
        } else {
            symbols.repeated(of, times)
        };
        self.symbols.push(sym);
        self.content = self.content.then(symbols.content(sym));
    }
}

/// The row after a call and all that was called inside it.
pub(super) fn next_sibling(executions: &Executions, row: usize) -> usize {
    executions
        .subtree(ExecIdx::from_index(row))
        .end
        .max(row + 1)
}
