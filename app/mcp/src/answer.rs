//! Answers: rows, how many were left out, and the size that an assistant can read.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Largest size in bytes of an answer to a question without a number of rows.
const USUAL_BYTES: usize = 8_000;
/// Largest size in bytes of any answer.
const MAX_BYTES: usize = 100_000;
/// Limits of lists and of texts (in characters), the first that suffice are taken.
const CUTS: [(usize, usize); 7] = [
    (50, 1_000),
    (20, 400),
    (10, 200),
    (5, 120),
    (3, 80),
    (1, 60),
    (0, 40),
];

/// Rows of a table for an assistant, whose attention is limited: it gets some, and the number of the others.
pub(crate) struct RowAnswer;

impl RowAnswer {
    /// Returns the first `limit` rows.
    pub(crate) fn of<T: Serialize>(rows: &[T], limit: usize) -> Result<Value> {
        Self::of_part(&rows[..rows.len().min(limit)], rows.len())
    }

    /// Returns the rows, which are the first of `num_all`.
    pub(crate) fn of_part<T: Serialize>(rows: &[T], num_all: usize) -> Result<Value> {
        Ok(json!({
            "rows": serde_json::to_value(rows)?,
            "num_left_out": num_all.saturating_sub(rows.len()),
        }))
    }
}

/// Returns an answer as text of limited size. The last rows are left out first; if one row alone is too large, lists and
/// texts in the answer are cut. `has_limit` is true if the assistant asked for a number of rows.
pub(crate) fn fitted_text(mut answer: Value, has_limit: bool) -> String {
    let max_bytes = if has_limit { MAX_BYTES } else { USUAL_BYTES };
    let whole = answer.to_string();
    if whole.len() <= max_bytes {
        return whole;
    }
    // Each note that is added is shorter than this.
    let max_bytes = max_bytes - 300;
    leave_out_rows(&mut answer, max_bytes);
    let mut text = answer.to_string();
    if text.len() <= max_bytes {
        answer["note"] = "more rows than fit: pass `limit`, or narrow the question".into();
        return answer.to_string();
    }
    for (max_items, max_chars) in CUTS {
        let mut cut = cut(&answer, max_items, max_chars);
        cut["note"] = format!(
            "lists are cut to {max_items} items and texts to {max_chars} characters: narrow the question by a function, a \
             filter or another tool, or pass `limit`"
        )
        .into();
        text = cut.to_string();
        if text.len() <= max_bytes {
            break;
        }
    }
    text
}

/// Leaves out the last rows of an answer that exceeds a size, but not the first one.
fn leave_out_rows(answer: &mut Value, max_bytes: usize) {
    let num_bytes = answer.to_string().len();
    let Some(rows) = answer.get_mut("rows").and_then(Value::as_array_mut) else {
        return;
    };
    let mut too_many = num_bytes.saturating_sub(max_bytes);
    let mut num_cut = 0;
    while too_many > 0 && rows.len() > 1 {
        let row = rows.pop().map_or(0, |row| row.to_string().len() + 1);
        too_many = too_many.saturating_sub(row);
        num_cut += 1;
    }
    let left_out = answer["num_left_out"].as_u64().unwrap_or(0);
    answer["num_left_out"] = (left_out + num_cut).into();
}

/// Returns a value with the first items of each list, and the beginning of each text.
fn cut(value: &Value, max_items: usize, max_chars: usize) -> Value {
    match value {
        Value::Array(items) => {
            let kept = items.iter().take(max_items);
            let kept = kept.map(|item| cut(item, max_items, max_chars));
            let num_others = items.len().saturating_sub(max_items);
            let others = (num_others > 0).then(|| format!("… {num_others} more").into());
            Value::Array(kept.chain(others).collect())
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let cut: Map<String, Value> = fields
                .map(|(name, field)| (name.clone(), cut(field, max_items, max_chars)))
                .collect();
            Value::Object(cut)
        }
        Value::String(text) if text.chars().count() > max_chars => {
            let begin: String = text.chars().take(max_chars).collect();
            format!("{begin}…").into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(num: usize, len: usize) -> Value {
        let row = |number| json!({ "number": number, "name": "x".repeat(len) });
        let rows: Vec<Value> = (0..num).map(row).collect();
        RowAnswer::of_part(&rows, 1_000).unwrap()
    }

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_small_answer_is_unchanged() {
        let answer = rows(10, 100);
        assert_eq!(read(&fitted_text(answer.clone(), false)), answer);
    }

    #[test]
    fn rows_that_do_not_fit_are_left_out_and_counted() {
        for (has_limit, max_bytes) in [(false, USUAL_BYTES), (true, MAX_BYTES)] {
            let text = fitted_text(rows(900, 300), has_limit);
            assert!(text.len() <= max_bytes && text.len() > max_bytes / 2);
            let answer = read(&text);
            let num_kept = answer["rows"].as_array().unwrap().len() as u64;
            assert_eq!(answer["num_left_out"], 1_000 - num_kept);
            assert!(answer["note"].is_string());
        }
    }

    #[test]
    fn lists_and_texts_are_cut_if_one_row_is_too_large() {
        let names: Vec<String> = (0..5_000).map(|it| format!("function {it}")).collect();
        for answer in [
            json!({ "functions": names, "num": 3 }),
            json!({ "text": "ä".repeat(1 << 20), "num": 3 }),
            json!({ "rows": [{ "a": names, "b": { "c": names } }], "num_left_out": 7, "num": 3 }),
        ] {
            let text = fitted_text(answer, false);
            assert!(text.len() <= USUAL_BYTES, "{}", text.len());
            let answer = read(&text);
            assert!(answer["note"].as_str().unwrap().contains("cut to"));
            assert_eq!(answer["num"], 3);
        }
    }
}
