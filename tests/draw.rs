//! Pictures on the command line: views of the example as SVG and PNG.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use callgrove_tests::picture::Picture;
use callgrove_tests::shell::{COMPUTE, analyze, data, error_output, example, stdout};
use tempfile::tempdir;

/// The views, with a text of the title and texts of legend, axes and scale of each.
const VIEWS: [(&str, &str, &[&str]); 8] = [
    (
        "timeline",
        "Timeline of the run",
        &[
            "rank 0",
            "rank 3",
            "message",
            "Whole run",
            "trace write",
            "0 ms",
        ],
    ),
    ("map", "Map of PairEAM::compute", &["abnormal", "MDS"]),
    (
        "tree",
        "Execution #",
        &["area = time", "Differences from usual"],
    ),
    (
        "incident",
        "Incident 1",
        &["where the delay began", "lost in", "rank 0"],
    ),
    (
        "patterns",
        "Patterns",
        &[
            "Pattern",
            "Usual d",
            "anomalous: longer than",
            "occurrences",
        ],
    ),
    (
        "incidents",
        "Incidents",
        &["incidents · lammps", "lost in", "rank"],
    ),
    (
        "candidates",
        "Candidates",
        &["All, ", "executions", "are drawn"],
    ),
    (
        "waits",
        "Waits",
        &["of the whole run", "… for rank", "Own delay"],
    ),
];

/// Draws a view of the example and returns the file.
fn draw(view: &str, name: &str, more: &[&str]) -> Result<Vec<u8>> {
    let folder = tempdir()?;
    let out = folder.path().join(name);
    let (trace, file) = (example(), out.to_string_lossy());
    let trace = trace.to_string_lossy();
    let args = [
        "draw",
        &trace,
        "--view",
        view,
        "--out",
        &file,
        "--function",
        COMPUTE,
    ];
    stdout(&[&args[..], more].concat())?;
    fs::read(&out).with_context(|| format!("{name} is missing"))
}

fn svg(view: &str, more: &[&str]) -> Result<String> {
    Ok(String::from_utf8(draw(view, "view.svg", more)?)?)
}

/// Returns the texts of a document, and the colour of its background.
fn texts(svg: &str) -> Result<(Vec<String>, String)> {
    let document = roxmltree::Document::parse(svg)?;
    let texts = document
        .descendants()
        .filter(|node| node.has_tag_name("text"));
    let texts = texts
        .filter_map(|node| node.text().map(str::to_owned))
        .collect();
    let mut rects = document
        .descendants()
        .filter(|node| node.has_tag_name("rect"));
    let background = rects.find_map(|rect| rect.attribute("fill"));
    Ok((texts, background.context("no background")?.to_owned()))
}

#[test]
fn every_view_has_its_title_legend_and_axes_as_text() -> Result<()> {
    for (view, title, expected) in VIEWS {
        let svg = svg(view, &[])?;
        let (texts, _) = texts(&svg)?;
        for text in [&[title][..], expected].concat() {
            let is_there = texts.iter().any(|known| known.contains(text));
            assert!(is_there, "{view}: `{text}` is missing in {texts:?}");
        }
        assert!(!svg.contains("href"), "{view} has external references");
    }
    Ok(())
}

#[test]
fn light_and_dark_differ_and_the_same_picture_has_the_same_bytes() -> Result<()> {
    let light = svg("map", &[])?;
    let dark = svg("map", &["--dark"])?;
    assert_ne!(texts(&light)?.1, texts(&dark)?.1);
    assert_eq!(light, svg("map", &[])?);
    Ok(())
}

#[test]
fn a_png_has_the_asked_size_and_many_colours() -> Result<()> {
    for (scale, view) in [("1", "timeline"), ("1.5", "tree")] {
        let file = draw(view, "view.png", &["--size", "900x500", "--scale", scale])?;
        let picture = Picture::from_png(&file)?;
        assert_eq!((picture.width, picture.height), (900, 500));
        assert!(picture.num_colours() > 30, "{view}");
    }
    Ok(())
}

#[test]
fn an_execution_and_a_time_range_are_shown() -> Result<()> {
    let rows = analyze(&example(), &[])?;
    let label = rows[5]["event_id"].as_str().context("no event label")?;
    let more = ["--execution", label, "--title", "My <title>"];
    let (tree, _) = texts(&svg("tree", &more)?)?;
    assert!(tree.iter().any(|text| text == "My <title>"), "{tree:?}");
    let (all, _) = texts(&svg("timeline", &[])?)?;
    let (part, _) = texts(&svg("timeline", &["--time", "10%..20%"])?)?;
    let range = |texts: &[String]| {
        let facts = texts.iter().find(|text| text.contains(" from "));
        facts.cloned().context("no time range")
    };
    assert_ne!(range(&all)?, range(&part)?);
    Ok(())
}

#[test]
fn the_map_gives_its_points() -> Result<()> {
    let table = String::from_utf8(draw("map", "map.csv", &[])?)?;
    let mut lines = table.lines();
    let head = "tree,event_id,program,rank,thread,index,x,y,score,abnormal,label";
    assert_eq!(lines.next(), Some(head));
    let points = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        Ok([cells[6].parse::<f64>()?, cells[7].parse()?])
    });
    let points = points.collect::<Result<Vec<_>>>()?;
    let farthest = points
        .as_flattened()
        .iter()
        .fold(0.0, |farthest: f64, it| farthest.max(it.abs()));
    assert!((farthest - 1.0).abs() < 1e-6, "{farthest}");
    Ok(())
}

#[test]
fn errors_name_the_remedy() -> Result<()> {
    let folder = tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let trace = example().to_string_lossy().into_owned();
    let fails = |more: &[&str]| error_output(&[&["draw", trace.as_str()], more].concat());
    for (args, expected) in [
        (
            vec!["--view", "changes", "--out", "x.svg"],
            "name that one (`callgrove draw --against`)",
        ),
        (
            vec!["--view", "patterns", "--pattern", "9999", "--out", "x.svg"],
            "no pattern 9999: `callgrove patterns` lists them",
        ),
        (
            vec!["--view", "details", "--out", "x.svg"],
            "name an execution (`callgrove draw --execution`)",
        ),
        (
            vec!["--view", "map", "--out", "map.jpg"],
            "name it map.svg or map.png",
        ),
        (
            vec!["--view", "incident", "--incident", "999", "--out", "x.svg"],
            "`callgrove incidents` lists them",
        ),
        (
            vec!["--view", "tree", "--execution", "9:9:9", "--out", "x.svg"],
            "column event_id",
        ),
        (
            vec!["--view", "tree", "--execution", "first", "--out", "x.svg"],
            "RANK:STEP:INDEX",
        ),
        (
            vec!["--view", "map", "--size", "10x10", "--out", "x.svg"],
            "choose a size from 320x240",
        ),
        (
            vec![
                "--view",
                "map",
                "--function",
                "no_such_function",
                "--out",
                "x.svg",
            ],
            "no_such_function",
        ),
    ] {
        let args: Vec<String> = args
            .into_iter()
            .map(|arg| {
                let is_file = Path::new(arg).extension().is_some() && !arg.contains('_');
                if is_file { path(arg) } else { arg.to_owned() }
            })
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let text = fails(&args)?;
        let expected = expected.replace("map.", &path("map."));
        assert!(text.contains(&expected), "{args:?}: {text}");
    }
    let forest = data("assets/lammps-4r-small/pair-eam-compute.jsonl");
    let out = path("x.svg");
    let text = error_output(&[
        "draw",
        &forest.to_string_lossy(),
        "--view",
        "incident",
        "--out",
        &out,
    ])?;
    assert!(text.contains("no incidents in this run"), "{text}");
    Ok(())
}
