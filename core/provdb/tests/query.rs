//! The query language by itself: parsing, error messages, and robustness.

use callgrove_provdb::{Filter, Literal, Op, Path, PathStep, SortKey, Test};
use proptest::prelude::*;

fn parsed(text: &str) -> Filter {
    Filter::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Checks that a filter parses to the expected text, with parentheses where they matter.
fn check(text: &str, expected: &str) {
    let filter = parsed(text);
    assert_eq!(filter.to_string(), expected);
    assert_eq!(parsed(expected), filter, "{expected}");
}

fn check_error(text: &str, cause: &str, column: usize) {
    let error = Filter::parse(text).expect_err(text);
    assert!(error.cause().contains(cause), "{text}: {}", error.cause());
    assert_eq!(error.column(), column, "{text}: {}", error.cause());
}

#[test]
fn and_binds_more_tightly_than_or_and_not_most() {
    check(
        "a = 1 or b = 2 and not c = 3",
        "a = 1 or (b = 2 and not c = 3)",
    );
    check("(a = 1 OR b = 2) AND c = 3", "(a = 1 or b = 2) and c = 3");
    check("not (a = 1 and b = 2)", "not (a = 1 and b = 2)");
    check("not not a", "not not a = true");
    check("((a == 1))", "a = 1");
}

#[test]
fn tests_of_every_kind_are_read() {
    check(
        "is_gpu_event and outlier_score<>-1.5e3",
        "is_gpu_event = true and outlier_score != -1.5e3",
    );
    check("func not like 'it''s *'", "func not like 'it''s *'");
    check("rid not in (0,3, -1)", "rid not in (0, 3, -1)");
    check(
        "gpu_location is null or x IS NOT NULL",
        "gpu_location is null or x is not null",
    );
    check("a = true and b = FALSE", "a = true and b = false");
    check("a = 9223372036854775807", "a = 9223372036854775807");
    check("a = 9223372036854775808", "a = 9.223372036854776e18");
    let expected = Filter::Test(
        Path::parse("a").expect("a path"),
        Test::Compare(Op::Ge, Literal::Int(5)),
    );
    assert_eq!(parsed("a >= 5"), expected);
}

#[test]
fn paths_lead_through_objects_and_arrays() {
    let path = Path::parse("event_window.comm_window[*].tar").expect("a path");
    let field = |name: &str| PathStep::Field(name.to_owned());
    assert_eq!(
        path.steps(),
        [
            field("event_window"),
            field("comm_window"),
            PathStep::Any,
            field("tar")
        ]
    );
    check(
        "a[ 0 ][*].\"Histogram Bin Counts\"[ * ] > 1",
        "a[0][*].\"Histogram Bin Counts\"[*] > 1",
    );
    check(
        "\"in\" = 1 and \"x.y\" = 2 and \"plain\" = 3",
        "\"in\" = 1 and \"x.y\" = 2 and plain = 3",
    );
}

#[test]
fn orders_have_a_direction() {
    for (text, written) in [
        ("outlier_score DESC", "outlier_score desc"),
        ("a.b[0]", "a.b[0] asc"),
        ("a asc", "a asc"),
    ] {
        assert_eq!(SortKey::parse(text).expect(text).to_string(), written);
    }
    for text in ["", "a[*]", "a desc b", "a, b", "1"] {
        assert!(SortKey::parse(text).is_err(), "{text}");
    }
}

#[test]
fn errors_name_the_position_and_what_was_expected() {
    check_error("", "expected a field", 1);
    check_error("outlier_score >> 5", "expected a number, a text", 16);
    check_error("outlier_score 5", "expected =", 15);
    check_error("func like MPI", "single quotes", 11);
    check_error("func = \"x\"", "single quotes", 8);
    check_error("func = 'x", "never closed", 8);
    check_error("rid in ()", "expected a number", 9);
    check_error("rid in (1", "expected `,` or `)`", 10);
    check_error("(a = 1", "expected `and`, `or` or `)`", 7);
    check_error("a = 1 b = 2", "expected `and`, `or` or the end", 7);
    check_error("a = null", "is null", 5);
    check_error("a is 5", "expected `null`", 6);
    check_error("a not = 5", "expected `in` or `like`", 7);
    check_error("a < true", "= and !=", 5);
    check_error("and = 1", "double quotes", 1);
    check_error("a = 1e999", "too large", 5);
    check_error("a[-1] = 1", "number of an element", 3);
    check_error("a[99999999999] = 1", "number of an element", 3);
    check_error("\"a\\b\" = 1", "name is not empty", 1);
    check_error("h\u{e4}\u{1f600} = 1", "no meaning", 3);
    check_error(&"(".repeat(1_000), "flatten", 66);
    check_error(&"not ".repeat(1_000), "flatten", 65 * 4 + 1);
    check_error(&vec!["a = 1"; 401].join(" or "), "in parts", 400 * 9 + 1);
    check_error(
        &format!("a in ({})", vec!["1"; 1_001].join(",")),
        "in parts",
        2_007,
    );
    check_error(&format!("a{}", "[0]".repeat(40)), "at most 32 steps", 98);
}

#[test]
fn the_caret_is_below_the_position() {
    let shown = Filter::parse("h\u{e4}user = 1 and\tx >> 5")
        .expect_err("no value")
        .to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].ends_with("at column 19"), "{shown}");
    assert_eq!(
        lines[1..],
        ["  h\u{e4}user = 1 and x >> 5", "                    ^"]
    );
    let long = format!("{} >> 5", vec!["a = 1"; 300].join(" and "));
    let shown = Filter::parse(&long).expect_err("no value").to_string();
    assert!(
        shown.lines().all(|line| line.chars().count() < 130),
        "{shown}"
    );
}

#[test]
fn values_of_users_never_become_sql_words() {
    // The engines' tests run these; here they must parse as values and names, and nothing else.
    check(
        "a = '''; drop table anomalies; --'",
        "a = '''; drop table anomalies; --'",
    );
    assert!(Filter::parse("a = 1; drop table anomalies").is_err());
    assert!(Filter::parse("\"a\"\"b\" = 1").is_err());
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in any::<String>()) {
        prop_assert!(text.is_empty() || Filter::parse(&text).is_ok() || !Filter::parse(&text).unwrap_err().to_string().is_empty());
        drop((SortKey::parse(&text), Path::parse(&text)));
    }

    #[test]
    fn no_token_sequence_breaks_it_and_parsed_filters_round_trip(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "a", "b.c", "\"in\"", "and", "or", "not", "in", "like", "is", "null", "true", "false", "(", ")", ",", "=", "<",
                "!=", ">=", "1", "-", "2.5", "1e3", "'x'", "''", "[*]", "[", "]", "0", ".", "*", "'", "\"", "\u{1f600}",
            ]),
            0..20,
        )
    ) {
        let text = words.join(" ");
        match Filter::parse(&text) {
            Ok(filter) => prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter)),
            Err(error) => {
                prop_assert!(error.column() <= text.chars().count() + 1);
                prop_assert!(error.to_string().contains('^'));
            }
        }
    }
}
