//! The hovered tree, shared by the views: a card highlights its point, and a point its card.

use callgrove_model::TreeIdx;
use egui::{Context, Id, Plugin, Ui};

/// The hovered tree, and the pass in which it was set.
#[derive(Clone, Copy)]
struct Hover {
    tree: TreeIdx,
    pass_nr: u64,
}

fn id() -> Id {
    Id::unique("hovered tree")
}

/// Marks a tree as hovered; must be called in every pass while it is. Views drawn before the calling one see it in the
/// next pass.
pub fn set(ctx: &Context, tree: TreeIdx) {
    if get(ctx) != Some(tree) {
        ctx.request_repaint();
    }
    ctx.add_plugin(ClearHover);
    let pass_nr = ctx.cumulative_pass_nr();
    ctx.data_mut(|data| data.insert_temp(id(), Hover { tree, pass_nr }));
}

/// Returns the tree that is hovered in any view.
pub fn get(ctx: &Context) -> Option<TreeIdx> {
    ctx.data(|data| data.get_temp::<Hover>(id()))
        .map(|hover| hover.tree)
}

/// A plugin that clears the hovered tree when a pass does not set it again.
struct ClearHover;

impl Plugin for ClearHover {
    fn debug_name(&self) -> &'static str {
        "hovered tree"
    }

    fn on_end_pass(&mut self, ui: &mut Ui) {
        let (ctx, pass_nr) = (ui.ctx(), ui.ctx().cumulative_pass_nr());
        let hover = ctx.data(|data| data.get_temp::<Hover>(id()));
        if hover.is_some_and(|hover| hover.pass_nr < pass_nr) {
            ctx.data_mut(|data| data.remove::<Hover>(id()));
            ctx.request_repaint();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hovered_tree_is_known_until_a_pass_does_not_set_it() {
        let ctx = Context::default();
        let pass = |say: Option<TreeIdx>| {
            let mut seen = None;
            let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
                seen = get(ui.ctx());
                if let Some(tree) = say {
                    set(ui.ctx(), tree);
                    assert_eq!(get(ui.ctx()), say);
                }
            });
            output.textures_delta.clear();
            seen
        };
        assert_eq!(pass(Some(TreeIdx(3))), None);
        assert_eq!(pass(Some(TreeIdx(4))), Some(TreeIdx(3)));
        assert_eq!(pass(None), Some(TreeIdx(4)));
        assert_eq!(pass(None), None);
    }
}
