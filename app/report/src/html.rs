//! A report as one HTML file.

use callgrove_model::Label;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::fact::ReportFact;
use crate::incident::IncidentSection;
use crate::report::{CandidateSection, LabelLine, RunReport};
use crate::request::{InputFile, ReportPicture};

/// The style of the page, for both themes and for paper.
const STYLE: &str = include_str!("style.css");
/// The content policy of the page: it loads nothing but its own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Returns the file. All text is escaped but the pictures, which are elements of their own.
pub fn to_html(report: &RunReport) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "Callgrove " (report.origin.version) };
                title { "Report: " (report.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(report))
                main {
                    (run(report))
                    (incidents(report))
                    (lines("trends", "Trends", "Changes that last, the costliest first.", &report.trends))
                    (lines("nodes", "Hosts", "Hosts of this run and of others.", &report.nodes))
                    @if let Some(section) = &report.candidates { (candidates(section)) }
                    @if let Some(lines) = &report.labels { (labels(lines)) }
                    (marks(&report.marks))
                    (settings(report))
                }
            }
        }
    };
    page.into_string()
}

fn head(report: &RunReport) -> Markup {
    let by = report.origin.by.as_ref();
    html! {
        header {
            h1 { "Report: " (report.title) }
            p class="quiet" {
                "Made with Callgrove " (report.origin.version) " on " (report.origin.at.utc()) " UTC"
                @if let Some(by) = by { " by " (by) }
            }
            nav aria-label="Parts of the report" {
                ul {
                    li { a href="#run" { "Run" } }
                    li { a href="#incidents" { "Incidents" } }
                    @if !report.trends.is_empty() { li { a href="#trends" { "Trends" } } }
                    @if !report.nodes.is_empty() { li { a href="#nodes" { "Hosts" } } }
                    @if report.candidates.is_some() { li { a href="#candidates" { "Candidates" } } }
                    @if report.labels.is_some() { li { a href="#labels" { "Labels" } } }
                    @if !report.marks.is_empty() { li { a href="#marks" { "Marks" } } }
                    li { a href="#settings" { "Settings and inputs" } }
                }
            }
        }
    }
}

fn facts(facts: &[ReportFact]) -> Markup {
    html! {
        dl {
            @for fact in facts {
                dt { (fact.name) }
                dd { (fact.value) }
            }
        }
    }
}

fn run(report: &RunReport) -> Markup {
    html! {
        section id="run" {
            h2 { "Run" }
            (facts(&report.run))
            h4 { "Quality of the data" }
            @if report.quality.is_empty() {
                p { "Nothing is damaged or missing, as far as the reader can see." }
            } @else {
                ul { @for line in &report.quality { li { (line) } } }
            }
        }
    }
}

fn incidents(report: &RunReport) -> Markup {
    html! {
        section id="incidents" {
            h2 { "Incidents" }
            p { (report.incident_note) }
            @for section in &report.incidents { (incident(section)) }
        }
    }
}

fn incident(section: &IncidentSection) -> Markup {
    // As the tables and the window count.
    let number = section.index + 1;
    html! {
        article id={ "incident-" (number) } {
            h3 { "Incident " (number) ": " (section.sentence) }
            (facts(&section.facts))
            @for it in &section.pictures { (picture(it)) }
            @if !section.waits.is_empty() {
                div class="wide" { (waits(section)) }
            }
            @if section.num_more_waits > 0 {
                p class="quiet" { (section.num_more_waits) " shorter waits are not listed." }
            }
            @if !section.reasons.is_empty() {
                h4 { "What differs from a usual execution" }
                ul { @for reason in &section.reasons { li { (reason) } } }
            }
        }
    }
}

fn waits(section: &IncidentSection) -> Markup {
    html! {
        table {
            caption { "Who was delayed, the longest first" }
            thead {
                tr {
                    th class="number" scope="col" { "Rank" }
                    th scope="col" { "Function" }
                    th class="number" scope="col" { "Delay" }
                    th scope="col" { "What it did" }
                }
            }
            tbody {
                @for wait in &section.waits {
                    tr {
                        td class="number" { (wait.rank) }
                        td { code { (wait.function) } }
                        td class="number" { (wait.delay) }
                        td { (wait.text) }
                    }
                }
            }
        }
    }
}

fn picture(picture: &ReportPicture) -> Markup {
    html! {
        figure {
            div class="in-light" { (PreEscaped(&picture.light)) }
            div class="in-dark" { (PreEscaped(&picture.dark)) }
            figcaption { (picture.caption) }
        }
    }
}

/// Returns a section with a sentence in each line; nothing without any.
fn lines(id: &str, heading: &str, about: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            section id=(id) {
                h2 { (heading) }
                p { (about) }
                ul { @for line in lines { li { (line) } } }
            }
        }
    }
}

fn candidates(section: &CandidateSection) -> Markup {
    let has_labels = section.lines.iter().any(|line| line.row.label.is_some());
    html! {
        section id="candidates" {
            h2 { "Candidates: executions of " code { (section.function) } }
            p { (section.note) }
            @if !section.lines.is_empty() {
                div class="wide" {
                    table {
                        caption {
                            "The smaller the score, the more unusual. “Rare” is the share of normal executions that \
                             are at least as unusual, as far as this run shows."
                        }
                        thead {
                            tr {
                                th scope="col" { "Execution" }
                                th class="number" scope="col" { "Begins" }
                                th class="number" scope="col" { "Takes" }
                                th class="number" scope="col" { "Score" }
                                th scope="col" { "Rare" }
                                @if has_labels { th scope="col" { "Label" } }
                                th scope="col" { "Cause" }
                                th scope="col" { "Why" }
                            }
                        }
                        tbody {
                            @for line in &section.lines {
                                tr {
                                    td class="short" { (line.row.tree) }
                                    td class="number" { (line.begin) }
                                    td class="number" { (line.weight) }
                                    td class="number" { (format!("{:.3}", line.row.score)) }
                                    td class="short" { (line.rareness) }
                                    @if has_labels {
                                        td { (line.row.label.map_or("", Label::name)) }
                                    }
                                    td { (line.cause) }
                                    td { (line.reasons) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn labels(lines: &[LabelLine]) -> Markup {
    html! {
        section id="labels" {
            h2 { "Labels" }
            @if lines.is_empty() {
                p { "Nothing is labelled." }
            } @else {
                div class="wide" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Execution" }
                                th scope="col" { "Label" }
                                th scope="col" { "By" }
                                th scope="col" { "When" }
                            }
                        }
                        tbody {
                            @for line in lines {
                                tr {
                                    td class="short" { (line.execution) }
                                    td { (line.label) }
                                    td { (known(&line.by)) }
                                    td { (known(&line.at)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a text, or what is written where nothing is known.
fn known(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

fn marks(marks: &[(String, String)]) -> Markup {
    html! {
        @if !marks.is_empty() {
            section id="marks" {
                h2 { "Marks" }
                dl {
                    @for (time, text) in marks {
                        dt { (time) }
                        dd { (text) }
                    }
                }
            }
        }
    }
}

fn settings(report: &RunReport) -> Markup {
    html! {
        section id="settings" {
            h2 { "Settings and inputs" }
            (facts(&report.settings))
            @if !report.origin.command.is_empty() {
                p { "Made by " code { (report.origin.command) } }
            }
            @if !report.inputs.is_empty() {
                div class="wide" { (inputs(&report.inputs)) }
            }
        }
    }
}

fn inputs(files: &[InputFile]) -> Markup {
    html! {
        table {
            caption { "The files that were read, with the SHA-256 of their contents" }
            thead {
                tr {
                    th scope="col" { "File" }
                    th class="number" scope="col" { "Bytes" }
                    th scope="col" { "SHA-256" }
                }
            }
            tbody {
                @for file in files {
                    tr {
                        td { code { (file.path) } }
                        td class="number" { (file.num_bytes) }
                        td { code { (file.sha256.as_deref().unwrap_or("not computed")) } }
                    }
                }
            }
        }
    }
}
