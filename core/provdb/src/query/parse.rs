//! The grammar of the query language, read by recursive descent.
//!
//! ```text
//! filter  = and { "or" and }                      and  = not { "and" not }
//! not     = "not" not | "(" filter ")" | test
//! test    = path [ compare literal | ["not"] "in" "(" literal { "," literal } ")" | ["not"] "like" text
//!                | "is" ["not"] "null" ]          a path alone means: it is true
//! path    = field { "." field | "[" index "]" | "[*]" }      field = name | "any name"
//! literal = ["-"] number | 'text' | true | false
//! ```

use super::filter::{Filter, FilterError, Literal, Op, Path, PathStep, SortKey, Test};
use super::lex::{QueryToken, TokenKind, lex};

/// Maximum nesting of parentheses and `not`, which bounds the recursion.
const MAX_DEPTH: usize = 64;
/// Maximum number of tests of a filter, below the limits of all engines.
const MAX_TESTS: usize = 400;
/// Maximum number of values in all lists together.
const MAX_VALUES: usize = 1_000;
/// Maximum number of steps of a path.
const MAX_STEPS: usize = 32;

const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "like", "is", "null", "true"];

impl Filter {
    /// Parses a filter such as
    /// `outlier_score > 50 and func like '*MPI_*' and event_window.comm_window[*].tar in (0, 5) and not is_gpu_event`.
    ///
    /// # Errors
    /// The text is invalid; the error has the position and what was expected.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser::new(text)?;
        let filter = parser.filter(0)?;
        parser.end("`and`, `or` or the end")?;
        Ok(filter)
    }
}

impl SortKey {
    /// Parses an order such as `outlier_score desc`.
    ///
    /// # Errors
    /// The text is not a path without `[*]`, optionally followed by `asc` or `desc`.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser::new(text)?;
        let path = parser.path()?;
        if path.steps().contains(&PathStep::Any) {
            return Err(parser.fail_at(0, "an order needs a path to one value, without [*]"));
        }
        let is_descending = parser.take_word("desc");
        if !is_descending {
            parser.take_word("asc");
        }
        parser.end("`asc`, `desc` or the end")?;
        Ok(Self {
            path,
            is_descending,
        })
    }
}

impl Path {
    /// Returns the path through objects with these field names, at least one.
    ///
    /// # Errors
    /// A name is empty, or has characters that field names cannot have in queries.
    pub fn of_names<'n>(names: impl Iterator<Item = &'n str>) -> Result<Self, FilterError> {
        let quoted: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        Self::parse(&quoted.join("."))
    }

    /// Parses a path such as `event_window.comm_window[*].tar`.
    ///
    /// # Errors
    /// The text is not a path.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser::new(text)?;
        let path = parser.path()?;
        parser.end("`.`, `[` or the end")?;
        Ok(path)
    }
}

/// Returns whether a word must be quoted to be a field's name.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|it| it.eq_ignore_ascii_case(word)) || word.eq_ignore_ascii_case("false")
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<QueryToken<'t>>,
    at: usize,
    num_tests: usize,
    num_values: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Self, FilterError> {
        let tokens = lex(text)?;
        Ok(Self {
            text,
            tokens,
            at: 0,
            num_tests: 0,
            num_values: 0,
        })
    }

    fn filter(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let mut parts = vec![self.conjunction(depth)?];
        while self.take_word("or") {
            parts.push(self.conjunction(depth)?);
        }
        Ok(one_or(parts, Filter::Or))
    }

    fn conjunction(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let mut parts = vec![self.negation(depth)?];
        while self.take_word("and") {
            parts.push(self.negation(depth)?);
        }
        Ok(one_or(parts, Filter::And))
    }

    fn negation(&mut self, depth: usize) -> Result<Filter, FilterError> {
        if depth > MAX_DEPTH {
            return Err(self.fail(&format!(
                "nested deeper than {MAX_DEPTH}: flatten the filter"
            )));
        }
        if self.take_word("not") {
            return Ok(Filter::Not(Box::new(self.negation(depth + 1)?)));
        }
        if self.take_symbol("(") {
            let filter = self.filter(depth + 1)?;
            self.expect_symbol(")", "`and`, `or` or `)`")?;
            return Ok(filter);
        }
        self.test()
    }

    fn test(&mut self) -> Result<Filter, FilterError> {
        self.num_tests += 1;
        if self.num_tests > MAX_TESTS {
            return Err(self.fail(&format!(
                "more than {MAX_TESTS} tests: use `in`, or query in parts"
            )));
        }
        let path = self.path()?;
        if self.take_word("is") {
            let is_not = self.take_word("not");
            if !self.take_word("null") {
                return Err(self.fail("expected `null`"));
            }
            let test = if is_not {
                Test::IsNotNull
            } else {
                Test::IsNull
            };
            return Ok(Filter::Test(path, test));
        }
        let is_negated = self.take_word("not");
        let test = if self.take_word("in") {
            self.list()?
        } else if self.take_word("like") {
            let TokenKind::Text(pattern) = self.peek().clone() else {
                return Err(self.fail("expected a pattern in 'single quotes'"));
            };
            self.at += 1;
            Test::Like(pattern)
        } else if is_negated {
            return Err(self.fail("expected `in` or `like`"));
        } else {
            self.comparison()?
        };
        let filter = Filter::Test(path, test);
        Ok(if is_negated {
            Filter::Not(Box::new(filter))
        } else {
            filter
        })
    }

    fn list(&mut self) -> Result<Test, FilterError> {
        self.expect_symbol("(", "`(`")?;
        let mut values = vec![self.literal()?];
        while self.take_symbol(",") {
            values.push(self.literal()?);
        }
        self.expect_symbol(")", "`,` or `)`")?;
        Ok(Test::In(values))
    }

    fn comparison(&mut self) -> Result<Test, FilterError> {
        let op = match self.peek() {
            TokenKind::Symbol("=" | "==") => Op::Eq,
            TokenKind::Symbol("!=" | "<>") => Op::Ne,
            TokenKind::Symbol("<") => Op::Lt,
            TokenKind::Symbol("<=") => Op::Le,
            TokenKind::Symbol(">") => Op::Gt,
            TokenKind::Symbol(">=") => Op::Ge,
            TokenKind::End | TokenKind::Symbol(")") => {
                return Ok(Test::Compare(Op::Eq, Literal::Bool(true)));
            }
            TokenKind::Word(word)
                if ["and", "or"].iter().any(|it| it.eq_ignore_ascii_case(word)) =>
            {
                return Ok(Test::Compare(Op::Eq, Literal::Bool(true)));
            }
            _ => return Err(self.fail("expected =, !=, <, <=, >, >=, `in`, `like` or `is`")),
        };
        self.at += 1;
        let value_at = self.at;
        let literal = self.literal()?;
        if matches!(literal, Literal::Bool(_)) && !matches!(op, Op::Eq | Op::Ne) {
            return Err(self.fail_at(value_at, "true and false support only = and !="));
        }
        Ok(Test::Compare(op, literal))
    }

    fn literal(&mut self) -> Result<Literal, FilterError> {
        self.num_values += 1;
        if self.num_values > MAX_VALUES {
            return Err(self.fail(&format!("more than {MAX_VALUES} values: query in parts")));
        }
        let start = self.at;
        let is_negative = self.take_symbol("-");
        let literal = match self.peek() {
            TokenKind::Number(digits) => {
                let number = if is_negative {
                    format!("-{digits}")
                } else {
                    (*digits).to_owned()
                };
                number
                    .parse()
                    .map(Literal::Int)
                    .or_else(|_| number.parse().map(Literal::Float))
                    .ok()
                    .filter(|it| !matches!(it, Literal::Float(value) if !value.is_finite()))
                    .ok_or_else(|| self.fail_at(start, "this number is too large"))?
            }
            TokenKind::Text(text) if !is_negative => Literal::Text(text.clone()),
            TokenKind::Word(word) if !is_negative && word.eq_ignore_ascii_case("true") => {
                Literal::Bool(true)
            }
            TokenKind::Word(word) if !is_negative && word.eq_ignore_ascii_case("false") => {
                Literal::Bool(false)
            }
            TokenKind::Word(word) if word.eq_ignore_ascii_case("null") => {
                return Err(self.fail("null needs `is null` or `is not null`"));
            }
            _ if is_negative => return Err(self.fail("expected a number")),
            _ => {
                return Err(
                    self.fail("expected a number, a text in 'single quotes', true or false")
                );
            }
        };
        self.at += 1;
        Ok(literal)
    }

    fn path(&mut self) -> Result<Path, FilterError> {
        let mut steps = vec![self.field()?];
        loop {
            if steps.len() > MAX_STEPS {
                return Err(self.fail(&format!("a path has at most {MAX_STEPS} steps")));
            }
            if self.take_symbol(".") {
                steps.push(self.field()?);
            } else if self.take_symbol("[*]") {
                steps.push(PathStep::Any);
            } else if self.take_symbol("[") {
                steps.push(self.element()?);
            } else {
                return Ok(Path(steps));
            }
        }
    }

    fn element(&mut self) -> Result<PathStep, FilterError> {
        let step = match self.peek() {
            TokenKind::Symbol("*") => PathStep::Any,
            TokenKind::Number(digits) => match digits.parse::<u32>() {
                Ok(index) if i32::try_from(index).is_ok() => PathStep::Index(index),
                _ => return Err(self.fail("expected the number of an element, from 0")),
            },
            _ => return Err(self.fail("expected the number of an element, or *")),
        };
        self.at += 1;
        self.expect_symbol("]", "`]`")?;
        Ok(step)
    }

    fn field(&mut self) -> Result<PathStep, FilterError> {
        let step = match self.peek() {
            TokenKind::Word(word) if is_keyword(word) => {
                let cause =
                    format!("expected a field; one called {word} is written in \"double quotes\"");
                return Err(self.fail(&cause));
            }
            TokenKind::Word(word) => PathStep::Field((*word).to_owned()),
            TokenKind::Quoted(name) => PathStep::Field(name.clone()),
            _ => return Err(self.fail("expected a field, such as outlier_score")),
        };
        self.at += 1;
        Ok(step)
    }

    fn peek(&self) -> &TokenKind<'t> {
        self.tokens
            .get(self.at)
            .map_or(&TokenKind::End, |token| &token.kind)
    }

    fn take_word(&mut self, keyword: &str) -> bool {
        let found =
            matches!(self.peek(), TokenKind::Word(word) if word.eq_ignore_ascii_case(keyword));
        self.at += usize::from(found);
        found
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), TokenKind::Symbol(it) if *it == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect_symbol(&mut self, symbol: &str, expected: &str) -> Result<(), FilterError> {
        if self.take_symbol(symbol) {
            return Ok(());
        }
        Err(self.fail(&format!("expected {expected}")))
    }

    fn end(&self, expected: &str) -> Result<(), FilterError> {
        if *self.peek() == TokenKind::End {
            return Ok(());
        }
        Err(self.fail(&format!("expected {expected}")))
    }

    fn fail(&self, cause: &str) -> FilterError {
        self.fail_at(self.at, cause)
    }

    fn fail_at(&self, token: usize, cause: &str) -> FilterError {
        FilterError {
            cause: cause.to_owned(),
            text: self.text.to_owned(),
            at_byte: self
                .tokens
                .get(token)
                .map_or(self.text.len(), |it| it.at_byte),
        }
    }
}

/// Returns the only part, or all of them joined.
fn one_or(mut parts: Vec<Filter>, join: fn(Vec<Filter>) -> Filter) -> Filter {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            join(parts)
        }
        None => join(parts),
    }
}
