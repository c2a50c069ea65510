//! A tree's code that selects the tree when clicked.

use callgrove_actions::context::ViewContext;
use callgrove_model::TreeIdx;
use egui::{Link, Response, RichText, Ui};

/// Draws `#4-40` as a link; a click selects the tree in all views.
pub(super) fn code_link(ctx: &mut ViewContext<'_>, ui: &mut Ui, tree: TreeIdx) -> Option<Response> {
    let analysis = ctx.snapshot.analysis()?;
    let code = analysis.forest.trees().get(tree.index())?.code;
    let response = ui.add(Link::new(RichText::new(code.to_string()).monospace()));
    if response.clicked() {
        ctx.select(tree);
    }
    Some(response)
}
