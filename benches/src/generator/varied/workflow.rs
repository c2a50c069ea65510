//! Runs of a workflow that fetches data, processes them and publishes the result.

use rand::Rng;

use super::draft::{Grower, WeightedName};

const RUN: WeightedName = WeightedName::new("run_case", 20.0, 0.25);
const PREPARE: WeightedName = WeightedName::new("prepare", 10.0, 0.25);
const FETCH: WeightedName = WeightedName::new("fetch", 60.0, 0.45);
const CHECKSUM: WeightedName = WeightedName::new("checksum", 12.0, 0.2);
const DECOMPRESS: WeightedName = WeightedName::new("decompress", 35.0, 0.3);
const RETRY: WeightedName = WeightedName::new("retry", 4.0, 0.3);
const BACKOFF: WeightedName = WeightedName::new("backoff", 50.0, 0.5);
const VALIDATE: WeightedName = WeightedName::new("validate", 8.0, 0.25);
const SCHEMA: WeightedName = WeightedName::new("check_schema", 15.0, 0.25);
const TYPES: WeightedName = WeightedName::new("check_types", 11.0, 0.25);
const QUARANTINE: WeightedName = WeightedName::new("quarantine", 30.0, 0.4);
const TRANSFORM: WeightedName = WeightedName::new("transform", 12.0, 0.25);
const TASK: WeightedName = WeightedName::new("map_task", 6.0, 0.25);
const READ: WeightedName = WeightedName::new("read_block", 14.0, 0.35);
const COMPUTE: WeightedName = WeightedName::new("compute", 80.0, 0.3);
const FILTER: WeightedName = WeightedName::new("filter", 18.0, 0.3);
const WRITE: WeightedName = WeightedName::new("write_block", 16.0, 0.35);
const JOIN: WeightedName = WeightedName::new("join", 10.0, 0.25);
const SORT: WeightedName = WeightedName::new("sort", 40.0, 0.3);
const MERGE: WeightedName = WeightedName::new("merge", 25.0, 0.3);
const TRAIN: WeightedName = WeightedName::new("train", 15.0, 0.25);
const EPOCH: WeightedName = WeightedName::new("epoch", 70.0, 0.25);
const RATE: WeightedName = WeightedName::new("rate_model", 20.0, 0.3);
const SAVE: WeightedName = WeightedName::new("save_model", 18.0, 0.3);
const REPORT: WeightedName = WeightedName::new("report", 10.0, 0.25);
const PLOT: WeightedName = WeightedName::new("plot", 30.0, 0.35);
const TABLE: WeightedName = WeightedName::new("table", 12.0, 0.3);
const PUBLISH: WeightedName = WeightedName::new("publish", 6.0, 0.25);
const SIGN: WeightedName = WeightedName::new("sign", 9.0, 0.2);
const UPLOAD: WeightedName = WeightedName::new("upload", 45.0, 0.5);
const NOTIFY: WeightedName = WeightedName::new("notify", 7.0, 0.3);
const CLEAN_UP: WeightedName = WeightedName::new("clean_up", 8.0, 0.3);
const AUDIT: WeightedName = WeightedName::new("audit", 15.0, 0.3);
const SCAN: WeightedName = WeightedName::new("scan", 22.0, 0.3);
const BACKFILL: WeightedName = WeightedName::new("backfill", 12.0, 0.3);
const LOG: WeightedName = WeightedName::new("log_message", 5.0, 0.4);

pub(super) fn grow(grower: &mut Grower<'_>) {
    let run = grower.root(RUN);
    if grower.chance(0.02) {
        // Missed days are processed in one run.
        let backfill = grower.call(run, BACKFILL);
        for _ in 0..grower.rng.random_range(2..=4_u32) {
            let day = grower.call(backfill, RUN);
            bring_in(grower, day);
            transform(grower, day);
            grower.part(day, CLEAN_UP);
        }
    } else {
        bring_in(grower, run);
        transform(grower, run);
    }
    if grower.chance(0.35) {
        let join = grower.call(run, JOIN);
        grower.part(join, SORT);
        for _ in 0..grower.heavy_tailed(1.0, 1.1, 16) {
            grower.call(join, MERGE);
        }
    }
    if grower.chance(0.15) {
        train(grower, run);
    }
    if grower.chance(0.01) {
        let audit = grower.call(run, AUDIT);
        for _ in 0..grower.rng.random_range(3..20_u32) {
            grower.call(audit, SCAN);
        }
    }
    publish(grower, run);
    grower.stray(LOG, 0.01);
    grower.part(run, CLEAN_UP);
}

fn bring_in(grower: &mut Grower<'_>, run: usize) {
    let prepare = grower.part(run, PREPARE);
    for _ in 0..grower.heavy_tailed(1.0, 1.1, 12) {
        retried(grower, prepare, 0.05, |grower, caller| {
            let fetch = grower.call(caller, FETCH);
            grower.part(fetch, CHECKSUM);
        });
        if grower.chance(0.4) {
            grower.call(prepare, DECOMPRESS);
        }
    }
    let validate = grower.part(run, VALIDATE);
    grower.part(validate, SCHEMA);
    if grower.chance(0.5) {
        grower.call(validate, TYPES);
    }
    if grower.chance(0.01) {
        grower.call(validate, QUARANTINE);
    }
}

/// Adds tasks on blocks of data, whose number depends on the data.
fn transform(grower: &mut Grower<'_>, run: usize) {
    let transform = grower.part(run, TRANSFORM);
    for _ in 0..grower.heavy_tailed(2.0, 1.2, 50) {
        let size = grower.log_normal(0.3);
        retried(grower, transform, 0.02, |grower, caller| {
            let task = grower.call(caller, TASK);
            grower.part(task, READ);
            for _ in 0..grower.rng.random_range(1..=2_u32) {
                grower.call_with(task, COMPUTE, size);
            }
            if grower.chance(0.25) {
                grower.call(task, FILTER);
            }
            grower.part(task, WRITE);
        });
    }
}

fn train(grower: &mut Grower<'_>, run: usize) {
    let train = grower.call(run, TRAIN);
    for _ in 0..grower.rng.random_range(3..=12_u32) {
        let epoch = grower.call(train, EPOCH);
        if grower.chance(0.5) {
            grower.call(epoch, RATE);
        }
    }
    grower.part(train, SAVE);
}

fn publish(grower: &mut Grower<'_>, run: usize) {
    let report = grower.part(run, REPORT);
    if grower.chance(0.6) {
        for _ in 0..grower.heavy_tailed(1.0, 1.3, 10) {
            grower.call(report, PLOT);
        }
    }
    if grower.chance(0.4) {
        grower.call(report, TABLE);
    }
    let publish = grower.part(run, PUBLISH);
    grower.part(publish, SIGN);
    for _ in 0..grower.rng.random_range(1..=3_u32) {
        retried(grower, publish, 0.03, |grower, caller| {
            grower.call(caller, UPLOAD);
        });
    }
    grower.part(publish, NOTIFY);
}

/// Adds work that fails with this probability and is then repeated after a pause.
fn retried(
    grower: &mut Grower<'_>,
    caller: usize,
    chance: f64,
    mut work: impl FnMut(&mut Grower<'_>, usize),
) {
    work(grower, caller);
    if grower.chance(chance) {
        let retry = grower.call(caller, RETRY);
        grower.call(retry, BACKOFF);
        work(grower, retry);
    }
}
