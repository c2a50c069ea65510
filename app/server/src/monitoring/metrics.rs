//! `GET /metrics`: the metrics of the server, in a fixed order.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use callgrove_local::resident_bytes;
use callgrove_model::ProgramId;
use callgrove_provdb_net::ServedMonitor;
use callgrove_pserver::{EXCHANGE_BOUNDS, ExchangeTimes, ProgramTally, RunTally};

use super::monitored::Monitored;
use super::text::{CONTENT_TYPE, MetricKind, MetricsText};
use crate::api::ApiError;

/// A metric with one value for each program: name, kind, help, and the value.
type ProgramMetric = (
    &'static str,
    MetricKind,
    &'static str,
    fn(&ProgramTally) -> u64,
);

const PROGRAM_METRICS: [ProgramMetric; 6] = [
    (
        "callgrove_steps_total",
        MetricKind::Counter,
        "Reported steps of all ranks of a program.",
        |it| it.steps,
    ),
    (
        "callgrove_executions_total",
        MetricKind::Counter,
        "Executions of functions in the reported steps.",
        |it| it.executions,
    ),
    (
        "callgrove_anomalies",
        MetricKind::Gauge,
        "Executions that are anomalies; the end of a run can withdraw some.",
        |it| it.anomalies,
    ),
    (
        "callgrove_incidents",
        MetricKind::Gauge,
        "Incidents; later reports can withdraw or join some.",
        |it| it.incidents,
    ),
    (
        "callgrove_ranks_expected",
        MetricKind::Gauge,
        "Ranks that reported, that AD instances read, or that a recorded run states.",
        |it| count(it.expected_ranks),
    ),
    (
        "callgrove_ranks_reported",
        MetricKind::Gauge,
        "Ranks with at least one reported step.",
        |it| count(it.reported_ranks),
    ),
];

/// `GET /metrics`.
pub(super) async fn metrics(State(monitored): State<Monitored>) -> Result<Response, ApiError> {
    // The counts are behind a lock that is held while a large state is saved.
    let text = tokio::task::spawn_blocking(move || metrics_text(&monitored)).await;
    let text = text.map_err(|error| ApiError::defect(&error))?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn metrics_text(monitored: &Monitored) -> String {
    let mut metrics = MetricsText::default();
    let build = "callgrove_build_info";
    metrics.begin(
        build,
        MetricKind::Gauge,
        "Release of the program; always 1.",
    );
    metrics.sample(build, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    if let Some(tally) = monitored.tally() {
        add_run(&mut metrics, &tally);
    }
    add_documents(&mut metrics, monitored);
    if let Some(served) = &monitored.served {
        add_served(&mut metrics, served);
    }
    if let Some(resident_bytes) = resident_bytes() {
        metrics.single(
            "callgrove_resident_memory_bytes",
            MetricKind::Gauge,
            "Resident memory of the process.",
            resident_bytes,
        );
    }
    metrics.into_text()
}

fn add_run(metrics: &mut MetricsText, tally: &RunTally) {
    for (name, kind, help, value_of) in PROGRAM_METRICS {
        metrics.begin(name, kind, help);
        for (ProgramId(program), of_program) in &tally.programs {
            let program = program.to_string();
            metrics.sample(name, &[("program", &program)], value_of(of_program));
        }
    }
    if let Some(report_age) = tally.report_age {
        metrics.single(
            "callgrove_last_report_age_seconds",
            MetricKind::Gauge,
            "Time since the last step was reported to this process.",
            report_age.as_secs_f64(),
        );
    }
    metrics.single(
        "callgrove_instances_connected",
        MetricKind::Gauge,
        "Connected AD instances.",
        tally.num_instances,
    );
    metrics.single(
        "callgrove_tree_model_generation",
        MetricKind::Gauge,
        "Grows with every change of a tree model.",
        tally.tree_generation,
    );
    add_exchanges(metrics, &tally.exchanges);
}

fn add_exchanges(metrics: &mut MetricsText, exchanges: &ExchangeTimes) {
    metrics.begin(
        "callgrove_exchange_seconds",
        MetricKind::Histogram,
        "Time to answer an exchange of an AD instance.",
    );
    let bounds = EXCHANGE_BOUNDS.iter().map(Duration::as_secs_f64);
    let bounds = bounds.map(|bound| bound.to_string());
    let bounds = bounds.chain(["+Inf".to_owned()]);
    let mut num_exchanges = 0;
    for (bound, in_bucket) in bounds.zip(exchanges.counts) {
        num_exchanges += in_bucket;
        let bucket = "callgrove_exchange_seconds_bucket";
        metrics.sample(bucket, &[("le", &bound)], num_exchanges);
    }
    let sum = exchanges.total.as_secs_f64();
    metrics.sample("callgrove_exchange_seconds_sum", &[], sum);
    metrics.sample("callgrove_exchange_seconds_count", &[], num_exchanges);
}

fn add_documents(metrics: &mut MetricsText, monitored: &Monitored) {
    let server_counts = monitored.database.as_ref().map(|it| it.documents());
    let instance_counts = monitored.instance_documents.as_deref();
    let stored = "callgrove_documents_stored_total";
    if server_counts.or(instance_counts).is_some() {
        let help = "Documents stored in the database, by the part of this process that wrote them.";
        metrics.begin(stored, MetricKind::Counter, help);
    }
    if let Some(counts) = server_counts {
        metrics.sample(stored, &[("writer", "parameter_server")], counts.stored());
    }
    if let Some(counts) = instance_counts {
        metrics.sample(stored, &[("writer", "instance")], counts.stored());
        metrics.single(
            "callgrove_documents_lost_total",
            MetricKind::Counter,
            "Documents of the AD instance in this process that could not be stored.",
            counts.lost(),
        );
        metrics.single(
            "callgrove_documents_waiting",
            MetricKind::Gauge,
            "Documents of the AD instance in this process that wait for the database.",
            counts.waiting(),
        );
        metrics.single(
            "callgrove_documents_left_out_total",
            MetricKind::Counter,
            "Documents of the AD instance in this process that its budget left out.",
            counts.left_out(),
        );
    }
    let age = monitored.database.as_ref().and_then(|it| it.save_age());
    if let Some(age) = age {
        metrics.single(
            "callgrove_last_save_age_seconds",
            MetricKind::Gauge,
            "Time since the state of the parameter server was saved.",
            age.as_secs_f64(),
        );
    }
}

fn add_served(metrics: &mut MetricsText, served: &ServedMonitor) {
    let documents = "callgrove_documents_stored_total";
    let help = "Documents stored by clients; replacements count again.";
    metrics.begin(documents, MetricKind::Counter, help);
    for (collection, number) in served.documents() {
        metrics.sample(documents, &[("collection", collection.name())], number);
    }
    let requests = "callgrove_requests_total";
    let help = "Requests to the database, including failed ones.";
    metrics.begin(requests, MetricKind::Counter, help);
    for (method, number) in served.requests() {
        metrics.sample(requests, &[("method", method)], number);
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
