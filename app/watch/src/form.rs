//! The query form as a user fills it in, and its translation for the provenance database.

use callgrove_provdb::Collection;

use crate::scope::Scope;
use crate::transport::DocumentsRequest;

/// Number of documents per page.
const PAGE_LEN: u64 = 200;

/// A collection of executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecordCollection {
    /// Anomalies.
    #[default]
    Anomalies,
    /// Normal executions, recorded for comparison.
    NormalExecs,
}

/// The sort key of executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SortField {
    /// Severity.
    #[default]
    Severity,
    /// Score.
    Score,
    /// Time of entry.
    Entry,
    /// Exclusive time.
    RuntimeExclusive,
    /// Inclusive time.
    RuntimeTotal,
}

/// The unit of a duration that a user types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeUnit {
    /// Microseconds.
    Us,
    /// Milliseconds.
    #[default]
    Ms,
    /// Seconds.
    S,
}

/// A query as typed. Empty fields are no condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryForm {
    /// Collection.
    pub collection: RecordCollection,
    /// Programs: `0`, `0, 2`, `0-3`.
    pub apps: String,
    /// Ranks, in the same form.
    pub ranks: String,
    /// First I/O step.
    pub first_step: String,
    /// Last I/O step.
    pub last_step: String,
    /// A part of the function's name, or a pattern with `*` and `?`.
    pub func: String,
    /// Global index of the function, if one was selected.
    pub fid: String,
    /// Smallest severity, in `severity_unit`.
    pub min_severity: String,
    /// Unit of the severity.
    pub severity_unit: TimeUnit,
    /// Smallest score.
    pub min_score: String,
    /// Any condition in the language of the provenance database.
    pub filter: String,
    /// Sort key.
    pub sort: SortField,
    /// True for descending order.
    pub is_descending: bool,
}

/// An invalid field of a form.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is not {expected}: correct “{field}”, for example {example}, or leave it empty")]
pub struct FormError {
    /// The field's name on the form.
    pub field: &'static str,
    /// Typed text.
    pub text: String,
    /// Expected form.
    pub expected: &'static str,
    /// Valid example.
    pub example: &'static str,
}

impl Default for QueryForm {
    fn default() -> Self {
        let empty = String::new;
        Self {
            collection: RecordCollection::default(),
            apps: empty(),
            ranks: empty(),
            first_step: empty(),
            last_step: empty(),
            func: empty(),
            fid: empty(),
            min_severity: empty(),
            severity_unit: TimeUnit::default(),
            min_score: empty(),
            filter: empty(),
            sort: SortField::default(),
            is_descending: true,
        }
    }
}

impl RecordCollection {
    /// Both collections.
    pub const ALL: [Self; 2] = [Self::Anomalies, Self::NormalExecs];

    /// Returns the collection of the provenance database.
    pub fn stored(self) -> Collection {
        match self {
            Self::Anomalies => Collection::Anomalies,
            Self::NormalExecs => Collection::NormalExecs,
        }
    }

    /// Returns the name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anomalies => "Anomalies",
            Self::NormalExecs => "Normal executions",
        }
    }
}

impl SortField {
    /// All sort keys.
    pub const ALL: [Self; 5] = [
        Self::Severity,
        Self::Score,
        Self::Entry,
        Self::RuntimeExclusive,
        Self::RuntimeTotal,
    ];

    /// Returns the name of the field in the schemas.
    pub fn key(self) -> &'static str {
        match self {
            Self::Severity => "outlier_severity",
            Self::Score => "outlier_score",
            Self::Entry => "entry",
            Self::RuntimeExclusive => "runtime_exclusive",
            Self::RuntimeTotal => "runtime_total",
        }
    }

    /// Returns the name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Severity => "Severity",
            Self::Score => "Score",
            Self::Entry => "Entry",
            Self::RuntimeExclusive => "Exclusive time",
            Self::RuntimeTotal => "Inclusive time",
        }
    }
}

impl TimeUnit {
    /// All units.
    pub const ALL: [Self; 3] = [Self::Us, Self::Ms, Self::S];

    /// Returns the name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Us => "µs",
            Self::Ms => "ms",
            Self::S => "s",
        }
    }

    fn in_us(self) -> f64 {
        match self {
            Self::Us => 1.0,
            Self::Ms => 1e3,
            Self::S => 1e6,
        }
    }
}

impl QueryForm {
    /// Returns the form with a selection filled in and all other fields unchanged.
    #[must_use]
    pub fn focused(&self, focus: Scope) -> Self {
        let text = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        let app = focus.rank.or(focus.func).map(|(app, _)| app);
        Self {
            apps: text(app.map(u64::from)),
            ranks: text(focus.rank.map(|(_, rank)| u64::from(rank))),
            first_step: text(focus.steps.map(|(first, _)| first)),
            last_step: text(focus.steps.map(|(_, last)| last)),
            func: String::new(),
            fid: text(focus.func.map(|(_, fid)| u64::from(fid))),
            ..self.clone()
        }
    }

    /// Returns the query for the first page.
    ///
    /// # Errors
    /// The first invalid field.
    pub fn request(&self) -> Result<DocumentsRequest, FormError> {
        let filter = self.conditions()?.join(" and ");
        Ok(DocumentsRequest {
            collection: self.collection.stored(),
            filter: (!filter.is_empty()).then_some(filter),
            sort: Some(self.sort.key().to_owned()),
            is_descending: self.is_descending,
            limit: PAGE_LEN,
            offset: 0,
        })
    }

    fn conditions(&self) -> Result<Vec<String>, FormError> {
        let mut conditions = Vec::new();
        conditions.extend(numbers("Program", "pid", &self.apps)?);
        conditions.extend(numbers("Rank", "rid", &self.ranks)?);
        let steps = [
            ("First step", ">=", &self.first_step),
            ("Last step", "<=", &self.last_step),
        ];
        for (field, sign, text) in steps {
            let step = whole_number(field, text)?;
            conditions.extend(step.map(|step| format!("io_step {sign} {step}")));
        }
        conditions.extend(numbers("Function index", "fid", &self.fid)?);
        let func = self.func.trim();
        if !func.is_empty() {
            let pattern = if func.contains(['*', '?']) {
                func.to_owned()
            } else {
                format!("*{func}*")
            };
            conditions.push(format!("func like '{}'", pattern.replace('\'', "''")));
        }
        if let Some(severity) = number("Severity", &self.min_severity)? {
            let severity_us = severity * self.severity_unit.in_us();
            conditions.push(format!("outlier_severity >= {severity_us}"));
        }
        if let Some(score) = number("Score", &self.min_score)? {
            conditions.push(format!("outlier_score >= {score}"));
        }
        let filter = self.filter.trim();
        if !filter.is_empty() {
            conditions.push(format!("({filter})"));
        }
        Ok(conditions)
    }
}

/// Returns a condition for `1, 4-7` or `1`; `None` for an empty text.
fn numbers(
    field: &'static str,
    key: &'static str,
    text: &str,
) -> Result<Option<String>, FormError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let error = || FormError {
        field,
        text: text.to_owned(),
        expected: "a list of whole numbers",
        example: "0, 4-7",
    };
    let whole = |part: &str| part.trim().parse::<u32>().ok().ok_or_else(error);
    let mut single = Vec::new();
    let mut conditions = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (whole(first)?, whole(last)?);
                conditions.push(format!("({key} >= {first} and {key} <= {last})"));
            }
            None => single.push(whole(part)?.to_string()),
        }
    }
    match &single[..] {
        [] => {}
        [one] => conditions.push(format!("{key} = {one}")),
        _ => conditions.push(format!("{key} in ({})", single.join(", "))),
    }
    Ok(Some(match &conditions[..] {
        [one] => one.clone(),
        _ => format!("({})", conditions.join(" or ")),
    }))
}

fn whole_number(field: &'static str, text: &str) -> Result<Option<u64>, FormError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().ok().map(Some).ok_or_else(|| FormError {
        field,
        text: text.to_owned(),
        expected: "a whole number",
        example: "12",
    })
}

/// Parses a number with a decimal point or a decimal comma.
fn number(field: &'static str, text: &str) -> Result<Option<f64>, FormError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.replace(',', ".").parse::<f64>();
    match number {
        Ok(number) if number.is_finite() => Ok(Some(number)),
        _ => Err(FormError {
            field,
            text: text.to_owned(),
            expected: "a number",
            example: "2.5",
        }),
    }
}
