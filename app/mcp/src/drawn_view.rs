//! The view that a tool draws: its name, and the schema of all names.

use callgrove_actions::PictureView;
use rmcp::schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};
use serde_json::{Value, json};

/// Reads a view by its name.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PictureView, D::Error> {
    let name = String::deserialize(from)?;
    PictureView::of_trace(&name).ok_or_else(|| {
        let names = PictureView::OF_TRACE.map(PictureView::name).join(", ");
        D::Error::custom(format!("no view is named {name}: write one of {names}"))
    })
}

/// Returns the schema: the name of each view, with what it shows.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    let view = |it: PictureView| json!({"type": "string", "const": it.name(), "description": it.description()});
    let views: Vec<Value> = PictureView::OF_TRACE.map(view).to_vec();
    json_schema!({"oneOf": views})
}
