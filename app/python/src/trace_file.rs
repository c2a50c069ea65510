//! A run as a trace for other programs.

use std::path::Path;

use anyhow::Context as _;
use callgrove_export::write_perfetto;
use callgrove_headless::{JudgedForest, Readers, replace_file_with, trace_findings};
use callgrove_model::{Progress, Trace};
use callgrove_session::Snapshot;

use crate::opened::Judged;

/// Writes a trace of Perfetto.
pub(crate) fn write_trace(
    path: &Path,
    trace: &Trace,
    snapshot: &Snapshot,
    (with_findings, judged): (bool, Option<&Judged>),
    progress: Progress<'_>,
) -> anyhow::Result<()> {
    let causes = snapshot
        .causes()
        .map(AsRef::as_ref)
        .filter(|_| with_findings);
    let forest = judged.and_then(|it| {
        Some(JudgedForest {
            forest: &it.snapshot.analysis()?.forest,
            detection: it.snapshot.detection()?,
            explainer: &it.explainer,
            labels: &it.snapshot.edits.labels_by_tree,
        })
    });
    let findings = causes.map(|causes| trace_findings(causes, forest));
    replace_file_with(path, Readers::ByMask, |file| {
        let mut file = std::io::BufWriter::new(file);
        write_perfetto(trace, findings.as_ref(), &mut file, progress)?;
        anyhow::Ok(())
    })
    .with_context(|| format!("cannot write {}", path.display()))
}
