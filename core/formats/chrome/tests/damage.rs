//! Damage anywhere: never a panic, and what is whole is read.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![allow(dead_code, reason = "each test file uses a part of the helpers")]

mod support;

use callgrove_model::WarningKind;
use callgrove_source::SourceError;
use proptest::prelude::*;
use support::{KinetoText, gzip, read, zstandard};

/// Number of calls of [`good`].
const NUM_CALLS: usize = 60;

/// Returns a file with everything that is read.
fn good() -> String {
    let mut file = KinetoText::of_rank(1);
    file.head
        .push(r#""deviceProperties": [{"id": 0, "name": "GPU \"0\"", "numSms": 4}]"#.to_owned());
    file.head
        .push(r#""note": {"a": ["x", {"b": 1.5}]}"#.to_owned());
    for at in 0..NUM_CALLS / 3 {
        let ts = format!("{}.25", 100 * at);
        let later = format!("{}", 100 * at + 50);
        let args = format!(
            r#""External id": {at}, "correlation": {at}, "Input Dims": [[2, 3], []], "kind": "a, \"b\": {{c}}""#
        );
        let name = format!("aten::op{}<int, {{lambda()#1}}>", at % 3);
        file.call("cpu_op", &name, ("41", "41"), (&ts, "90"), &args);
        file.call(
            "cuda_runtime",
            "cudaLaunchKernel",
            ("41", "41"),
            (&ts, "4"),
            &args,
        );
        file.call(
            "kernel",
            "ncclDevKernel_x",
            ("0", "7"),
            (&later, "20"),
            &args,
        );
        file.event(&format!(
            r#""ph": "f", "id": {at}, "pid": 0, "tid": 7, "ts": {later}, "cat": "ac2g", "name": "ac2g", "bp": "e""#
        ));
        file.event(&format!(
            r#""ph": "C", "name": "mem", "pid": "GPU 0 Counters", "ts": {later}, "args": {{"value": {at}}}"#
        ));
    }
    file.tail.push(r#""baseTimeNanoseconds": 1000"#.to_owned());
    file.text()
}

#[test]
fn the_good_file_is_good() {
    let trace = read(good()).unwrap();
    assert_eq!(trace.num_executions(), NUM_CALLS);
    assert_eq!(trace.warnings.damage().count(), 1, "rank 0 is missing");
}

#[test]
fn times_from_an_absurd_base_are_bounded() {
    let text = r#"{"traceEvents": [{"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": -9e14, "dur": 1},
        {"ph": "X", "name": "g", "pid": 1, "tid": 1, "ts": 5, "dur": 2}], "baseTimeNanoseconds": BASE}"#;
    for base in ["9223372036854775807", "-9223372036854775808"] {
        let trace = read(text.replace("BASE", base)).unwrap();
        let times = trace.lanes.iter().flat_map(|lane| &lane.executions.entry);
        assert!(times.clone().count() > 0);
        for time in times {
            assert!(time.0.unsigned_abs() < 1 << 61, "{time:?}");
        }
    }
}

#[test]
fn a_damaged_event_costs_itself_and_at_most_the_next() {
    let text = good();
    let start = text.find("aten::op1").unwrap();
    for (at, byte) in [
        (start - 1, b'x'),
        (start + 20, b'"'),
        (start + 60, b'{'),
        (start + 70, b']'),
    ] {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = byte;
        let trace = read(&bytes).unwrap();
        assert!(trace.num_executions() >= NUM_CALLS - 2, "byte {at}");
    }
}

#[test]
fn damage_between_events_and_in_their_key_costs_little() {
    let damaged = [
        ("},", "}]"),
        ("\"traceEvents\"", "\"tra\"eEvents\""),
        ("\"traceEvents\"", "\"traceEventz\""),
        ("\"traceEvents\": [", "\"traceEvents\": {"),
        ("\"note\"", "\"note "),
        ("\"schemaVersion\": 1,", "\"schemaVersion\": 1}"),
    ];
    for (good_text, bad_text) in damaged {
        let text = good();
        // Not the first comma of the head, but one after it.
        let from = if good_text == "}," {
            text.find("\"f\"").unwrap()
        } else {
            0
        };
        let (before, after) = text.split_at(from);
        let trace = read(before.to_owned() + &after.replacen(good_text, bad_text, 1)).unwrap();
        assert!(trace.num_executions() >= NUM_CALLS - 2, "{bad_text}");
    }
}

#[test]
fn text_after_the_document_is_counted_unless_it_fills_the_file() {
    let text = good();
    for (rest, num) in [("\n\0\0\0", 0), (text.as_str(), 1), ("garbage", 1)] {
        let trace = read(format!("{text}{rest}")).unwrap();
        assert_eq!(trace.num_executions(), NUM_CALLS);
        assert_eq!(trace.warnings.total(WarningKind::BadRow), num, "{rest}");
        assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 0);
    }
}

#[test]
fn elements_of_the_list_that_are_no_events_are_counted() {
    let text = good();
    let end = text.rfind("\n  ],").unwrap();
    for (more, num) in [(",null", 1), (",1,\"x\"", 2), (",{}", 0)] {
        let trace = read([&text[..end], more, &text[end..]].concat()).unwrap();
        assert_eq!(trace.num_executions(), NUM_CALLS);
        assert_eq!(trace.warnings.total(WarningKind::BadRow), num, "{more}");
        assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 0);
    }
}

#[test]
fn a_value_may_have_the_key_of_the_events() {
    for value in [r#"{"traceEvents": []}"#, r#"{"traceEvents": "none"}"#] {
        for key in ["otherData", "distributedInfo"] {
            let text = good().replacen('{', &format!(r#"{{"{key}": {value}, "#), 1);
            let trace = read(text).unwrap();
            assert_eq!(trace.num_executions(), NUM_CALLS, "{value}");
            assert_eq!(trace.warnings.total(WarningKind::BadRow), 0, "{value}");
        }
    }
}

#[test]
fn white_space_of_any_length_ends() {
    let spaces = " ".repeat(17 << 20);
    let event = r#"{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":1}"#;
    for text in [
        format!(r#"{{"traceEvents":[{event},{spaces}{event}]{spaces}}}"#),
        format!(r#"{{"traceEvents":[{event}],"a":{spaces}1}}"#),
    ] {
        assert!(read(text).is_ok_and(|it| it.num_executions() > 0));
    }
    for text in [
        format!(r#"{{"traceEvents"{spaces}:[{event}]}}"#),
        format!(r#"{{"displayTimeUnit":1 1 "traceEvents"{spaces}:[{event}]}}"#),
    ] {
        drop(read(text));
    }
}

#[test]
fn nesting_and_long_values_are_bounded() {
    let call = r#"{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":1}"#;
    let deep = format!(r#"{{"ph":"X","args":{}"#, r#"{"a":["#.repeat(100_000));
    let trace = read(format!("[{call},{deep},{call},{call}]")).unwrap();
    // The next event is lost too: it does not follow the end of another.
    assert_eq!(trace.num_executions(), 2);
    assert_eq!(trace.warnings.total(WarningKind::BadRow), 1);
    // A string that never ends, longer than any value.
    let long = format!(r#"{{"ph":"X","name":"{}"#, "y".repeat(20 << 20));
    let trace = read(format!("[{call},{long},{call}\"}},{call}]")).unwrap();
    assert!((1..=3).contains(&trace.num_executions()));
    assert_eq!(trace.warnings.total(WarningKind::BadRow), 1);
    let unused = format!(r#"{{"ph":"X","traceEvents":0,"z":{}"#, "[".repeat(1 << 20));
    assert!(matches!(read(unused), Err(SourceError::Invalid { .. })));
}

/// The punctuation of JSON, and bytes that are in none.
const DAMAGE: &[u8] = b"\"{}[],:\\b1 \0\xFF";

#[test]
fn a_changed_byte_before_the_events_costs_none_of_them() {
    let text = good();
    let first = text.find('{').unwrap() + 1;
    let events = text.find("\"traceEvents\"").unwrap();
    for (at, byte) in (first..events).flat_map(|at| DAMAGE.iter().map(move |byte| (at, *byte))) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = byte;
        let num = read(&bytes).unwrap().num_executions();
        assert_eq!(num, NUM_CALLS, "{byte} at {at}");
    }
}

#[test]
fn a_changed_bracket_of_an_event_costs_at_most_two() {
    let text = good();
    for (at, _) in text.match_indices("\n  {").skip(1) {
        for byte in DAMAGE {
            let mut bytes = text.clone().into_bytes();
            bytes[at + 3] = *byte;
            let num = read(&bytes).unwrap().num_executions();
            assert!((NUM_CALLS - 2..=NUM_CALLS).contains(&num), "{byte} at {at}");
        }
    }
}

#[test]
fn a_hundred_thousand_threads_are_read() {
    let call = |at| format!(r#"{{"ph":"X","name":"f","pid":1,"tid":{at},"ts":{at},"dur":1}}"#);
    let calls: Vec<_> = (0..100_000).map(call).collect();
    let trace = read(format!("[{}]", calls.join(","))).unwrap();
    assert_eq!(trace.lanes.len(), 100_000);
}

fn cut(bytes: &[u8], at: f64) -> &[u8] {
    &bytes[..(bytes.len() as f64 * at) as usize]
}

proptest! {
    #[test]
    fn a_cut_anywhere_loses_only_what_follows(at in 0.0..0.999) {
        let text = good();
        let part = cut(text.as_bytes(), at);
        let num_whole = String::from_utf8_lossy(part).matches("\n  }").count();
        if let Ok(trace) = read(part) {
            let num = trace.num_executions();
            prop_assert!(num <= NUM_CALLS && num * 5 + 5 >= num_whole * 3, "{} of {}", num, num_whole);
            prop_assert_eq!(trace.warnings.total(WarningKind::StreamTruncated), 1);
        } else {
            prop_assert!(num_whole == 0);
        }
    }

    /// Whatever byte changes after the first ones, at most two events are lost. One call more is
    /// possible: the end of a flow (`f`) whose phase becomes `b` is the begin of a call.
    #[test]
    fn a_changed_byte_anywhere_costs_little(at in 0.001..1.0, byte: u8) {
        let mut bytes = good().into_bytes();
        let at = (bytes.len() as f64 * at) as usize;
        bytes[at] = byte;
        let num = read(&bytes).unwrap().num_executions();
        prop_assert!((NUM_CALLS - 2..=NUM_CALLS + 1).contains(&num), "{} calls", num);
    }

    #[test]
    fn compressed_files_may_be_cut_and_changed(at in 0.0..1.0, change in 0.0..1.0, byte: u8, is_gzip: bool) {
        let pack = if is_gzip { gzip } else { zstandard };
        let mut bytes = cut(&pack(good().as_bytes()), at).to_vec();
        if !bytes.is_empty() {
            let at = (bytes.len() as f64 * change) as usize;
            bytes[at] = byte;
        }
        if let Ok(trace) = read(&bytes) {
            prop_assert!(trace.num_executions() <= 2 * NUM_CALLS);
        }
    }

    #[test]
    fn any_bytes_are_never_fatal(noise in prop::collection::vec(any::<u8>(), 0..300), is_array: bool) {
        let mut bytes = if is_array { br#"["ph" "ts""#.to_vec() } else { br#"{"traceEvents":["#.to_vec() };
        bytes.extend(noise);
        drop(read(&bytes));
    }

    /// Text of the characters that JSON is made of.
    #[test]
    fn any_punctuation_is_never_fatal(noise in r#"[\[\]{}",:\\0-9eE.\-a-z \n]{0,300}"#) {
        drop(read(format!(r#"{{"traceEvents":[{{"ph":"X","ts":1,"dur":1}},{noise}"#)));
    }
}
