//! Inputs whose format is known, and those of one folder that belong together.

use std::path::PathBuf;

use crate::error::SourceError;
use crate::format::{Extent, Format};
use crate::input::Input;

/// The name of the file that JAX makes of another one of the same process, with the same events.
const JAX_COPY: &str = "perfetto_trace.json.gz";
/// End of the names of files of which JAX makes such copies.
const JAX_TRACE: &str = ".trace.json.gz";

/// An input whose format is known.
#[derive(Clone)]
pub(crate) struct Member<'a> {
    pub(crate) input: Input,
    /// The index of the format in the registry.
    pub(crate) number: usize,
    pub(crate) format: &'a dyn Format,
}

impl Member<'_> {
    /// Returns the name of its file or folder.
    pub(crate) fn name(&self) -> String {
        name(&self.input)
    }

    /// Returns whether it is a part of a run, and not a complete run.
    pub(crate) fn is_part(&self) -> bool {
        self.format.extent() == Extent::Part
    }
}

/// Returns an input with the first format that recognizes it.
pub(crate) fn recognize<'a>(formats: &'a [Box<dyn Format>], input: &Input) -> Option<Member<'a>> {
    let mut formats = formats.iter().enumerate();
    let (number, format) = formats.find(|(_, format)| format.probe(input))?;
    Some(Member {
        input: input.clone(),
        number,
        format: format.as_ref(),
    })
}

/// Returns the inputs of one folder without those that are made of others there, so that nothing is read twice.
pub(crate) fn without_copies(mut members: Vec<Member<'_>>) -> Vec<Member<'_>> {
    if members.iter().any(|it| it.format.is_original()) {
        members.retain(|it| it.format.is_original());
    }
    let is_jax_trace = |it: &Member<'_>| it.name().ends_with(JAX_TRACE);
    if members.iter().any(is_jax_trace) {
        members.retain(|it| it.name() != JAX_COPY);
    }
    members
}

/// Returns inputs if they are in one format. Files in several may be conversions of each other.
pub(crate) fn of_one_format(
    members: Vec<Member<'_>>,
    path: PathBuf,
) -> Result<Vec<Member<'_>>, SourceError> {
    let mut formats: Vec<_> = members
        .iter()
        .map(|it| (it.number, it.format.name()))
        .collect();
    formats.sort_unstable();
    formats.dedup();
    if formats.len() == 1 {
        return Ok(members);
    }
    let formats = formats.iter().map(|it| it.1).collect::<Vec<_>>().join("; ");
    Err(SourceError::SeveralFormats { formats, path })
}

/// Returns the name of a file or folder.
pub(crate) fn name(input: &Input) -> String {
    let name = input.path().file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
