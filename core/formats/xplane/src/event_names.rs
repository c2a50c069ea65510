//! The functions of the events of a plane.

use std::collections::HashMap;

use callgrove_model::{FuncId, MAX_NAME_BYTES, NameTable, WarningKind, Warnings, storable_text};
use callgrove_source::RecordedName;

/// Name of the steps of a device, which are named by their numbers.
const STEP: &str = "Step";

/// The names of the events of a plane, by their numbers. A name is a function from its first event on.
#[derive(Debug, Default)]
pub(crate) struct EventNames {
    by_number: HashMap<i64, EventName>,
}

#[derive(Debug)]
struct EventName {
    text: Box<str>,
    func: Option<FuncId>,
}

impl EventNames {
    /// Adds a name to the table.
    pub(crate) fn put(&mut self, number: i64, name: &[u8], warnings: &mut Warnings) {
        let text = text(name, warnings);
        self.by_number
            .insert(number, EventName { text, func: None });
    }

    /// Returns the function of a number. One that the table lacks gets a placeholder.
    #[inline]
    pub(crate) fn func(
        &mut self,
        number: i64,
        names: &mut NameTable<FuncId>,
        warnings: &mut Warnings,
    ) -> FuncId {
        match self.by_number.get_mut(&number) {
            Some(EventName {
                func: Some(func), ..
            }) => *func,
            Some(EventName { text, func }) => {
                *func.insert(names.intern(&RecordedName::parse(text).function))
            }
            None => {
                let placeholder = format!("event {number}");
                warnings.count(WarningKind::UnknownName, None, || placeholder.clone());
                names.intern(&placeholder)
            }
        }
    }

    /// Returns the function of a step: its name without the number of the step.
    pub(crate) fn step_func(
        &self,
        number: i64,
        step: Option<i64>,
        names: &mut NameTable<FuncId>,
    ) -> Option<FuncId> {
        let name = &self.by_number.get(&number)?.text;
        Some(names.intern(without_step(name, step)))
    }
}

/// Returns a name without the number of a step at its end: `train` for `train 12`, and `Step` for `12`.
fn without_step(name: &str, step: Option<i64>) -> &str {
    let base = name.trim_end_matches(|it: char| it.is_ascii_digit());
    let number = name.get(base.len()..).unwrap_or_default();
    let is_step = match step {
        Some(step) => number.parse() == Ok(step),
        None => base.is_empty(),
    };
    if number.is_empty() || !is_step {
        return name;
    }
    match base.trim_end_matches([' ', '#', '_', '-', ':', '=']) {
        "" => STEP,
        base => base,
    }
}

/// Returns a text that can be stored. Bytes that are not UTF-8 are replaced, a long text is cut, and both are counted.
pub(crate) fn text(bytes: &[u8], warnings: &mut Warnings) -> Box<str> {
    let read = String::from_utf8_lossy(bytes);
    let stored = storable_text(&read, MAX_NAME_BYTES);
    if stored.as_bytes() != bytes {
        warnings.count(WarningKind::TextChanged, None, || {
            stored.chars().take(80).collect::<String>()
        });
    }
    stored.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_calls_of_one_function() {
        for (name, step, expected) in [
            ("train", Some(3), "train"),
            ("train 12", Some(12), "train"),
            ("train#12", Some(12), "train"),
            ("conv2", Some(12), "conv2"),
            ("12", Some(12), "Step"),
            ("12", None, "Step"),
            ("train 12", None, "train 12"),
        ] {
            assert_eq!(without_step(name, step), expected, "{name}");
        }
    }
}
