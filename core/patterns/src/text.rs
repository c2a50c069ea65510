//! Definitions of patterns as text.

use callgrove_model::{FuncId, FunctionName, NameTable};

use super::pattern::{Pattern, PatternId, PatternItem, PatternSymbol, Times};

/// Maximum depth to which a definition can be unfolded.
const MAX_DEPTH: usize = 64;

/// Length in bytes after which a definition is cut off: a grammar is short, but its expansion may be long.
const MAX_LEN: usize = 20_000;

/// Returns `3 × `, `1021–1068 × `, or an empty text for one time.
fn times(times: Times) -> String {
    match times {
        Times::ONCE => String::new(),
        Times { min, max } if min == max => format!("{min} × "),
        Times { min, max } => format!("{min}–{max} × "),
    }
}

fn short(func: FuncId, names: &NameTable) -> &str {
    FunctionName::parse(names.name(func)).short
}

/// Returns a pattern in one line; patterns within it are unfolded `depth` levels deep, and named below that.
pub(super) fn define(all: &[Pattern], id: PatternId, names: &NameTable, depth: usize) -> String {
    let Some(pattern) = all.get(id.index()) else {
        return String::new();
    };
    items(all, &pattern.items, names, depth.min(MAX_DEPTH))
}

/// Returns items in one line.
pub(super) fn items(
    all: &[Pattern],
    items: &[PatternItem],
    names: &NameTable,
    depth: usize,
) -> String {
    let mut text = String::new();
    let mut num_open: usize = 0;
    for item in items {
        if text.len() > MAX_LEN {
            text.push_str(" …");
            return text;
        }
        if matches!(item.symbol, PatternSymbol::Leave(_)) {
            text.push_str(if text.ends_with("{ ") { "}" } else { " }" });
            num_open = num_open.saturating_sub(1);
            continue;
        }
        if !text.is_empty() && !text.ends_with("{ ") {
            text.push_str(", ");
        }
        text.push_str(&times(item.times));
        match item.symbol {
            PatternSymbol::Enter(func) => {
                text.push_str(short(func, names));
                text.push_str(" { ");
                num_open += 1;
            }
            PatternSymbol::Call(func) => text.push_str(short(func, names)),
            PatternSymbol::Pattern(id) => text.push_str(&inner(all, id, item.times, names, depth)),
            PatternSymbol::Leave(_) => {}
        }
    }
    // A call that was never left is open at the end, too.
    for _ in 0..num_open {
        text.push_str(" …");
    }
    text
}

/// Returns a pattern inside another: unfolded if there is depth left, else its name.
fn inner(all: &[Pattern], id: PatternId, times: Times, names: &NameTable, depth: usize) -> String {
    let definition = if depth == 0 {
        name(all, id, names)
    } else {
        define(all, id, names, depth - 1)
    };
    let is_call = all.get(id.index()).is_some_and(|it| it.function.is_some());
    if is_call || (times.is_once() && depth > 0) {
        definition
    } else {
        format!("({definition})")
    }
}

/// Maximum number of calls of a sequence that are all named.
const MAX_NAMED_CALLS: usize = 3;

/// Returns the names of the calls of a sequence, if they are few.
fn named_calls(all: &[Pattern], pattern: &Pattern, names: &NameTable) -> Option<String> {
    if pattern.items.len() > MAX_NAMED_CALLS {
        return None;
    }
    let calls = pattern.items.iter().map(|item| {
        let func = match item.symbol {
            PatternSymbol::Call(func) => func,
            PatternSymbol::Pattern(id) => all.get(id.index())?.function?,
            PatternSymbol::Enter(_) | PatternSymbol::Leave(_) => return None,
        };
        Some(times(item.times) + short(func, names))
    });
    Some(calls.collect::<Option<Vec<_>>>()?.join(", "))
}

/// Returns the function of a pattern, or its calls if they are few, or the first and the last one.
pub(super) fn name(all: &[Pattern], id: PatternId, names: &NameTable) -> String {
    let Some(pattern) = all.get(id.index()) else {
        return String::new();
    };
    if let Some(func) = pattern.function {
        return short(func, names).to_owned();
    }
    if let Some(few) = named_calls(all, pattern, names) {
        return few;
    }
    let first = pattern.items.first().and_then(|it| outer(all, *it, false));
    let last = pattern.items.last().and_then(|it| outer(all, *it, true));
    match (first, last) {
        (Some(first), Some(last)) if first != last || pattern.items.len() == 1 => {
            format!("{} … {}", short(first, names), short(last, names))
        }
        (Some(first), _) => format!("{} …", short(first, names)),
        _ => String::new(),
    }
}

/// Returns the function that an item begins or ends with.
fn outer(all: &[Pattern], mut item: PatternItem, is_end: bool) -> Option<FuncId> {
    for _ in 0..=all.len() {
        let id = match item.symbol {
            PatternSymbol::Enter(func) | PatternSymbol::Leave(func) | PatternSymbol::Call(func) => {
                return Some(func);
            }
            PatternSymbol::Pattern(id) => id,
        };
        let items = &all.get(id.index())?.items;
        item = *if is_end { items.last() } else { items.first() }?;
    }
    None
}
