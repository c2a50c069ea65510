//! Reports of a small run: what is in them, and what is not.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use std::sync::Arc;

use callgrove_model::{
    Forest, FuncEventKind, NameTable, ProgramId, Progress, RankBuilder, RankId, StepBatch, StepId,
    ThreadId, TimeNs, Trace, TreeIdx, Warnings,
};
use callgrove_query::{RunCauses, TreeCauses};
use callgrove_report::{
    CandidateChoice, IncidentChoice, InputFile, ReportError, ReportOrigin, ReportPicture,
    ReportRequest, RunReport, to_html,
};
use callgrove_session::{
    Calls, Detection, ForestSnapshot, LabelSet, LearnSettings, RunSnapshot, Snapshot, analyze,
};

/// Executions per rank.
const NUM_CALLS: i64 = 60;
/// The execution of rank 0 that stops.
const STOPPED: i64 = 40;

/// Two ranks call a step with a kernel whose name must be escaped; one execution takes 50 times as long.
fn trace() -> Arc<Trace> {
    let ranks = (0..2).map(|rank| {
        let mut names = NameTable::default();
        let (step, kernel) = (
            names.intern("step"),
            names.intern("kernel<a & b>::\"run\"()"),
        );
        let mut batch = StepBatch::empty(ProgramId(0), RankId(rank), StepId(0));
        let mut now = i64::from(rank) * 10;
        for call in 0..NUM_CALLS {
            let is_stopped = rank == 0 && call == STOPPED;
            let work = if is_stopped {
                50_000_000
            } else {
                1_000_000 + call % 7 * 9_000
            };
            for (after, kind, func) in [
                (100_000, FuncEventKind::Entry, step),
                (10_000, FuncEventKind::Entry, kernel),
                (work, FuncEventKind::Exit, kernel),
                (10_000, FuncEventKind::Exit, step),
            ] {
                now += after;
                let row = batch.funcs.len() as u32;
                batch.funcs.push(ThreadId(0), kind, func, TimeNs(now), row);
            }
        }
        let mut builder = RankBuilder::new(ProgramId(0), RankId(rank));
        builder.push(batch);
        builder.finish(names, NameTable::default())
    });
    Arc::new(Trace::assemble(ranks.collect(), Warnings::default()))
}

fn snapshot() -> Snapshot {
    let trace = trace();
    let root = trace.names.get("step").unwrap();
    let forest = Forest::grow(Arc::clone(&trace), &[root]);
    let settings = LearnSettings::with_seed(1);
    let (analysis, mut learned) =
        analyze(forest.clone(), "step".into(), &settings, Progress::none()).unwrap();
    let no_labels = vec![None; forest.len()];
    let judged = learned.train(&no_labels, Progress::none()).unwrap();
    let causes = RunCauses::find(&trace, Progress::none()).unwrap();
    let tree_causes = Arc::new(TreeCauses::new(&causes, &forest));
    let labels: LabelSet = serde_json::from_str(
        r#"{"labels":[[{"program":0,"rank":0,"index":40},"abnormal"],[{"program":0,"rank":1,"index":2},"normal"]],
            "names":["ana <a@b>"],"by":[0,null],"at":[1762251072000000000,null]}"#,
    )
    .unwrap();
    let calls = Arc::new(Calls::local(&trace));
    let mut snapshot = Snapshot {
        source: Some("run <1>".into()),
        run: Some(RunSnapshot {
            causes: Some(Arc::new(causes)),
            ..RunSnapshot::new(calls, Arc::new([]))
        }),
        forest: Some(ForestSnapshot {
            tree_causes: Some(tree_causes),
            detection: Some(Arc::new(Detection::new(judged, None))),
            ..ForestSnapshot::new(Arc::new(analysis))
        }),
        ..Snapshot::default()
    };
    snapshot.edits.labels_by_tree = labels.by_tree(&forest).into();
    snapshot.edits.labels = Arc::new(labels);
    snapshot
}

fn request() -> ReportRequest {
    ReportRequest {
        incidents: IncidentChoice::Costliest { at_most: 5 },
        candidates: CandidateChoice::MostAbnormal { at_most: 3 },
        with_labels: true,
        nodes: Vec::new(),
        origin: ReportOrigin {
            at: TimeNs(1_762_251_072_000_000_000),
            by: Some("ben".into()),
            version: "1.2.3".into(),
            command: "callgrove report 'run <1>' --out x.html".into(),
        },
        inputs: vec![InputFile {
            path: "run <1>/a.bp".into(),
            num_bytes: 17,
            sha256: Some("00ff".into()),
        }],
    }
}

fn no_reasons(_: TreeIdx) -> Vec<callgrove_model::Reason> {
    Vec::new()
}

#[test]
fn a_report_says_what_the_tables_say() {
    let snapshot = snapshot();
    let report = RunReport::of(&snapshot, &request(), no_reasons).unwrap();
    let causes = snapshot.causes().unwrap();
    assert_eq!(report.incidents.len(), 1, "{}", report.incident_note);
    let incident = &report.incidents[0];
    let expected = causes.incident_sentence(causes.incident(0).unwrap());
    assert_eq!(incident.sentence, expected);
    assert_eq!(incident.waits[0].rank, 0);
    assert_eq!(incident.tree, Some(TreeIdx(STOPPED as u32)));
    let candidates = report.candidates.unwrap();
    assert_eq!(candidates.lines[0].row.tree, "#0-40");
    assert_eq!(candidates.lines[0].weight, "50.02 ms");
    assert!(
        candidates.note.starts_with("120 executions were judged."),
        "{}",
        candidates.note
    );
    let labels = report.labels.unwrap();
    assert_eq!(
        (labels[0].label, &*labels[0].at),
        ("abnormal", "2025-11-04 10:11:12 UTC")
    );
    assert_eq!(
        (labels[1].label, &*labels[1].by, &*labels[1].at),
        ("normal", "", "")
    );
}

#[test]
fn a_page_needs_nothing_else_and_names_cannot_change_it() {
    let mut report = RunReport::of(&snapshot(), &request(), no_reasons).unwrap();
    report.incidents[0].pictures.push(ReportPicture {
        caption: "<timeline>".into(),
        light: "<svg id=\"light\"></svg>".into(),
        dark: "<svg id=\"dark\"></svg>".into(),
    });
    let page = to_html(&report);
    for absent in [
        "<script",
        "http://",
        "https://",
        "url(",
        "@import",
        "<link",
        " src=",
        "<a@b>",
        "kernel<a",
        "<1>",
        "<timeline>",
    ] {
        assert!(!page.contains(absent), "{absent}");
    }
    for present in [
        "kernel&lt;a &amp; b&gt;",
        "ana &lt;a@b&gt;",
        "&lt;timeline&gt;",
        "<svg id=\"light\"></svg>",
        "<svg id=\"dark\"></svg>",
        "prefers-color-scheme: dark",
        "@media print",
        "00ff",
        "on 2025-11-04 10:11:12 UTC by ben",
        "<code>callgrove report 'run &lt;1&gt;' --out x.html</code>",
    ] {
        assert!(page.contains(present), "{present} in {page}");
    }
}

#[test]
fn what_does_not_exist_is_named() {
    let snapshot = snapshot();
    let wanted = ReportRequest {
        incidents: IncidentChoice::Numbers(vec![1, 7]),
        ..request()
    };
    let error = RunReport::of(&snapshot, &wanted, no_reasons).unwrap_err();
    let count = snapshot.causes().unwrap().incidents().len();
    assert_eq!(error, ReportError::NoIncident { number: 7, count });
    let error = RunReport::of(&Snapshot::default(), &request(), no_reasons).unwrap_err();
    assert_eq!(error, ReportError::NoTrace);
}

#[test]
fn without_labels_and_incidents_the_page_says_so() {
    let request = ReportRequest {
        incidents: IncidentChoice::Numbers(Vec::new()),
        with_labels: false,
        ..request()
    };
    let report = RunReport::of(&snapshot(), &request, no_reasons).unwrap();
    assert!(report.labels.is_none() && report.incidents.is_empty());
    assert!(
        report
            .incident_note
            .starts_with("No incident was chosen; the run has 1"),
        "{}",
        report.incident_note
    );
    assert!(!to_html(&report).contains("id=\"labels\""));
}
