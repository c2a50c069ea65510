//! Tests which sequences become patterns, loops, extensions and wrappings, and which do not.

use callgrove_model::{Cancelled, ExecIdx, LaneIdx, Progress};
use callgrove_patterns::{PatternSymbol, Patterns, Times};

use crate::support::{find, patterns_of, trace, unfolded};

#[test]
fn an_empty_trace_has_no_patterns() {
    let empty = trace(&[]);
    assert!(patterns_of(&empty).all().is_empty());
    assert_eq!(unfolded(&["a"]), ["a"]);
    assert_eq!(unfolded(&["a(b)"]), ["a { b }"]);
}

#[test]
fn sequences_that_occur_once_stay() {
    let trace = trace(&["m(a b c d)"]);
    let patterns = patterns_of(&trace);
    assert!(patterns.all().is_empty());
    assert_eq!(
        patterns.define_lane(LaneIdx(0), &trace.names, 0),
        "m { a, b, c, d }"
    );
}

#[test]
fn a_pair_that_recurs_is_a_pattern() {
    let trace = trace(&["a b x a b y a b"]);
    let patterns = patterns_of(&trace);
    let pair = find(&patterns, &trace, "a, b");
    assert_eq!(pair.occurrences.len(), 3);
    assert_eq!(pair.num_events, Times { min: 4, max: 4 });
    assert_eq!(pair.function, None);
    assert_eq!(
        pair.occurrences
            .iter()
            .map(|it| it.first)
            .collect::<Vec<_>>(),
        [ExecIdx(0), ExecIdx(3), ExecIdx(6)]
    );
    assert_eq!(patterns.all().len(), 1);
}

#[test]
fn consecutive_occurrences_are_a_loop() {
    let trace = trace(&["x a b a b a b y"]);
    let patterns = patterns_of(&trace);
    assert_eq!(
        patterns.define_lane(LaneIdx(0), &trace.names, 9),
        "x, 3 × (a, b), y"
    );
    let items = patterns.of_lane(LaneIdx(0));
    assert!(matches!(items[1].symbol, PatternSymbol::Pattern(_)));
    assert_eq!(items[1].times, Times { min: 3, max: 3 });
    assert_eq!(find(&patterns, &trace, "a, b").occurrences.len(), 3);
}

#[test]
fn a_pattern_always_followed_by_the_same_is_extended() {
    let trace = trace(&["a b c x a b c y a b c"]);
    let patterns = patterns_of(&trace);
    assert_eq!(patterns.all().len(), 1);
    assert_eq!(find(&patterns, &trace, "a, b, c").occurrences.len(), 3);
}

#[test]
fn a_pattern_followed_by_the_same_several_times_is_wrapped() {
    let trace = trace(&["a b c x a b c y a b z"]);
    let patterns = patterns_of(&trace);
    assert_eq!(patterns.all().len(), 2);
    let (inner, outer) = (
        find(&patterns, &trace, "a, b"),
        find(&patterns, &trace, "a, b, c"),
    );
    assert_eq!((inner.occurrences.len(), outer.occurrences.len()), (3, 2));
    assert_eq!(outer.items[0].symbol, PatternSymbol::Pattern(inner.id));
}

#[test]
fn a_pattern_followed_by_the_same_once_is_left_alone() {
    let trace = trace(&["a b c x a b y a b z"]);
    let patterns = patterns_of(&trace);
    assert_eq!(patterns.all().len(), 1);
    assert_eq!(find(&patterns, &trace, "a, b").occurrences.len(), 3);
}

#[test]
fn the_slides_own_example_is_two_loops() {
    let once = "s r ".repeat(100) + "b " + &"s r ".repeat(700) + "b";
    assert_eq!(unfolded(&[&once]), ["100 × (s, r), b, 700 × (s, r), b"]);
}

#[test]
fn loops_nest() {
    let step = "a b c b c ".to_owned();
    let text = format!("m({})", step.repeat(5));
    assert_eq!(unfolded(&[&text]), ["m { 5 × (a, 2 × (b, c)) }"]);
}

#[test]
fn calls_that_recur_with_the_same_inside_are_patterns_of_their_function() {
    let trace = trace(&["m(f(a b) x f(a b) y f(a c))"]);
    let patterns = patterns_of(&trace);
    let call = find(&patterns, &trace, "f { a, b }");
    assert_eq!(call.function, trace.names.get("f"));
    assert_eq!(call.occurrences.len(), 2);
    assert_eq!(call.occurrences[0].rows(), 1..4);
    assert_eq!(patterns.name(call.id, &trace.names), "f");
    assert_eq!(
        patterns.define_lane(LaneIdx(0), &trace.names, 0),
        "m { f, x, f, y, f { a, c } }"
    );
}

#[test]
fn long_runs_are_one_pattern_whatever_their_number() {
    let f = |number: usize| format!("f({}) ", "t ".repeat(number));
    let trace = trace(&[&(f(20) + "x " + &f(9) + "y " + &f(4))]);
    let patterns = patterns_of(&trace);
    let run = find(&patterns, &trace, "f { 9–20 × t }");
    assert_eq!(run.occurrences.len(), 2);
    assert_eq!(run.num_events, Times { min: 20, max: 42 });
    assert_eq!(run.occurrences[1].num_calls, 10);
}

#[test]
fn runs_of_runs_are_expanded_exactly() {
    let g = |numbers: &[usize]| {
        let f = |&number: &usize| format!("f({}) ", "t ".repeat(number));
        format!("g({}) ", numbers.iter().map(f).collect::<String>())
    };
    let text = g(&[9, 8, 30, 9, 9, 9, 9, 11]) + "x " + &g(&[12; 17]) + &g(&[8; 8]);
    let found = unfolded(&[&text]);
    assert_eq!(
        found,
        ["g { 8–17 × f { 8–30 × t } }, x, 2 × g { 8–17 × f { 8–30 × t } }"]
    );
}

#[test]
fn equal_patterns_of_different_lanes_are_one() {
    let trace = trace(&["x a b y a b", "z a b a b a b"]);
    let patterns = patterns_of(&trace);
    let pair = find(&patterns, &trace, "a, b");
    assert_eq!(pair.on_lane(LaneIdx(0)).len(), 2);
    assert_eq!(pair.on_lane(LaneIdx(1)).len(), 3);
    assert!(pair.recurs());
}

#[test]
fn a_pattern_is_the_same_in_another_trace() {
    let (left, right) = (trace(&["a b x a b"]), trace(&["q b w b q w a b a b"]));
    let content = |trace| find(&patterns_of(trace), trace, "a, b").content;
    assert_eq!(content(&left), content(&right));
}

#[test]
fn durations_run_from_the_first_entry_to_the_last_exit() {
    let trace = trace(&["m(a:10 f:5(b:3) x a:1 f:1(b:1))"]);
    let patterns = patterns_of(&trace);
    let pair = find(&patterns, &trace, "a, f { b }");
    let durations: Vec<i64> = pair
        .occurrences
        .iter()
        .map(|it| it.duration.as_us())
        .collect();
    assert_eq!(durations, [18, 3]);
    assert_eq!(pair.total.as_us(), 21);
    assert_eq!(pair.occurrences[1].start.as_us(), 1_019);
}

#[test]
fn calls_that_are_never_left_are_not_patterns() {
    let trace = trace(
        &["m(f(a? b) x f(a? b) y? z?(c"]
            .map(|it| format!("{it}))"))
            .each_ref()
            .map(String::as_str),
    );
    let patterns = patterns_of(&trace);
    assert!(
        patterns
            .all()
            .iter()
            .all(|it| it.function != trace.names.get("y"))
    );
    let killed = crate::support::trace(&["m?(s(a b) s(a b) s(a b) s?(a?))"]);
    let patterns = patterns_of(&killed);
    assert_eq!(find(&patterns, &killed, "s { a, b }").occurrences.len(), 3);
}

#[test]
fn handles_a_deep_stack() {
    let depth = 20_000;
    let text = "r(".repeat(depth) + "x" + &")".repeat(depth);
    let twice = format!("{text} y {text}");
    let trace = trace(&[&twice]);
    let patterns = patterns_of(&trace);
    assert_eq!(patterns.all().len(), depth);
}

#[test]
fn the_first_pass_may_differ() {
    let text = "i(s) g(h) ".to_owned() + &"i(s t) g(h) ".repeat(5) + "e";
    assert_eq!(
        unfolded(&[&text]),
        ["i { s }, g { h }, 5 × (i { s, t }, g { h }), e"]
    );
}

#[test]
fn the_search_can_be_cancelled() {
    let trace = trace(&["a b a b"]);
    let stop = |_| std::ops::ControlFlow::Break(());
    assert_eq!(
        Patterns::find(&trace, Progress::new(&stop)).err(),
        Some(Cancelled)
    );
}
