//! The tree that a person points at, shared by the views: a card shows its point, a point its card.

use callgrove_model::TreeIdx;
use egui::{Context, Id, Plugin, Ui};

/// What was pointed at, and in which pass.
#[derive(Clone, Copy)]
struct Hover {
    tree: TreeIdx,
    pass_nr: u64,
}

fn id() -> Id {
    Id::unique("hovered tree")
}

/// Says that the person points at a tree, in every pass as long as it is so. Views drawn before the
/// one that says it know it in the next pass.
pub fn set(ctx: &Context, tree: TreeIdx) {
    if get(ctx) != Some(tree) {
        ctx.request_repaint();
    }
    ctx.add_plugin(Forgets);
    let pass_nr = ctx.cumulative_pass_nr();
    ctx.data_mut(|data| data.insert_temp(id(), Hover { tree, pass_nr }));
}

/// The tree that is pointed at in any view.
pub fn get(ctx: &Context) -> Option<TreeIdx> {
    ctx.data(|data| data.get_temp::<Hover>(id()))
        .map(|hover| hover.tree)
}

/// Forgets what was not said again.
struct Forgets;

impl Plugin for Forgets {
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
    fn what_is_pointed_at_is_known_until_a_pass_does_not_say_it_again() {
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
