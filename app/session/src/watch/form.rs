//! The question as a person fills it in, and as the provenance database reads it.

use super::{QueryRequest, Scope};

/// Documents fetched at once.
const PAGE_LEN: u64 = 200;

/// Which executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecordCollection {
    /// Anomalies.
    #[default]
    Anomalies,
    /// Normal executions, kept to compare with.
    NormalExecs,
}

/// What the executions are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SortField {
    /// Severity.
    #[default]
    Severity,
    /// Score.
    Score,
    /// Time of entry.
    Entry,
    /// Time without children.
    RuntimeExclusive,
    /// Time with children.
    RuntimeTotal,
}

/// The unit in which a person gives a length of time.
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

/// A question, as typed. Empty fields ask for nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryForm {
    /// Which executions.
    pub collection: RecordCollection,
    /// Programs: `0`, `0, 2`, `0-3`.
    pub apps: String,
    /// Ranks, likewise.
    pub ranks: String,
    /// First I/O step.
    pub first_step: String,
    /// Last I/O step.
    pub last_step: String,
    /// A part of the function's name, or a pattern with `*` and `?`.
    pub func: String,
    /// Global index of the function, where one was chosen.
    pub fid: String,
    /// Least severity, in `severity_unit`.
    pub min_severity: String,
    /// Its unit.
    pub severity_unit: TimeUnit,
    /// Least score.
    pub min_score: String,
    /// Any condition in the language of the provenance database.
    pub filter: String,
    /// What comes first is the largest or smallest of this.
    pub sort: SortField,
    /// Whether the largest comes first.
    pub is_descending: bool,
}

/// What cannot be asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is not {expected}: correct “{field}”, for example {example}, or leave it empty")]
pub struct FormError {
    /// The field's name on the form.
    pub field: &'static str,
    /// What was typed.
    pub text: String,
    /// What it should be.
    pub expected: &'static str,
    /// How it could look.
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
    /// Both.
    pub const ALL: [Self; 2] = [Self::Anomalies, Self::NormalExecs];

    /// As the schemas name it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Anomalies => "anomalies",
            Self::NormalExecs => "normalexecs",
        }
    }

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anomalies => "Anomalies",
            Self::NormalExecs => "Normal executions",
        }
    }
}

impl SortField {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Severity,
        Self::Score,
        Self::Entry,
        Self::RuntimeExclusive,
        Self::RuntimeTotal,
    ];

    /// As the schemas name it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Severity => "outlier_severity",
            Self::Score => "outlier_score",
            Self::Entry => "entry",
            Self::RuntimeExclusive => "runtime_exclusive",
            Self::RuntimeTotal => "runtime_total",
        }
    }

    /// What a person calls it.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Us, Self::Ms, Self::S];

    /// What a person calls it.
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
    /// The form with what is chosen filled in, and all else as it was.
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

    /// The question for the carrier, from the document `offset` on.
    ///
    /// # Errors
    /// The first field that does not hold what it should.
    pub fn request(&self, id: u64, offset: u64) -> Result<QueryRequest, FormError> {
        let filter = self.conditions()?.join(" and ");
        Ok(QueryRequest {
            id,
            collection: self.collection.key().into(),
            filter: (!filter.is_empty()).then_some(filter),
            sort: Some(self.sort.key().into()),
            is_descending: self.is_descending,
            limit: PAGE_LEN,
            offset,
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

/// A condition for `1, 4-7`, `1` or nothing.
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

/// With a point or a comma for the decimals.
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
