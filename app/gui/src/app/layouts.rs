//! Where the views are docked: two named layouts, each as the user last arranged it.

use callgrove_actions::{LayoutName, View};
use egui::{Id, Pos2, Rect, Vec2};
use egui_tiles::{Container, Linear, LinearDir, Tabs, Tile, TileId, Tiles, Tree};

/// Windows narrower than this, in points, get fewer columns.
const NARROW: f32 = 1_150.0;

/// The arrangement of all views.
pub(crate) type Layout = Tree<View>;

/// The size of a window with the arrangement for narrow windows, in points.
pub(super) const NARROW_WINDOW: Vec2 = Vec2::new(NARROW - 1.0, 600.0);
/// The size of a window with the arrangement for wide windows, in points.
pub(super) const WIDE_WINDOW: Vec2 = Vec2::new(NARROW, 800.0);

/// Returns the default arrangement of a layout for a window of the given size.
pub(super) fn arrange(name: LayoutName, size: Vec2) -> Layout {
    let mut tiles = Tiles::default();
    let root = match name {
        LayoutName::Analyse if size.x < NARROW => analyse_narrow(&mut tiles),
        LayoutName::Analyse => analyse(&mut tiles),
        LayoutName::Watch => watch(&mut tiles),
    };
    Tree::new(Id::unique("views"), root, tiles)
}

fn analyse(tiles: &mut Tiles<View>) -> TileId {
    let incidents = tabs(tiles, &[View::Incidents]);
    let list = tabs(tiles, &[View::Candidates, View::Records]);
    let model = tabs(tiles, &[View::Training, View::Details]);
    let lists = split(
        tiles,
        LinearDir::Vertical,
        [(incidents, 0.48), (list, 0.52)],
    );
    let left = split(tiles, LinearDir::Vertical, [(lists, 0.72), (model, 0.28)]);
    let map = tabs(tiles, &[View::Map, View::Overview]);
    let tree = tabs(
        tiles,
        &[
            View::Tree,
            View::Patterns,
            View::Waits,
            View::Changes,
            View::Record,
        ],
    );
    let above = split(tiles, LinearDir::Horizontal, [(map, 0.46), (tree, 0.54)]);
    let below = tabs(tiles, &[View::Timeline, View::Profile, View::Counters]);
    let right = split(tiles, LinearDir::Vertical, [(above, 0.55), (below, 0.45)]);
    split(tiles, LinearDir::Horizontal, [(left, 0.24), (right, 0.76)])
}

fn analyse_narrow(tiles: &mut Tiles<View>) -> TileId {
    let list = [
        View::Candidates,
        View::Training,
        View::Details,
        View::Records,
    ];
    let incidents = tabs(tiles, &[View::Incidents]);
    let list = tabs(tiles, &list);
    let left = split(
        tiles,
        LinearDir::Vertical,
        [(incidents, 0.45), (list, 0.55)],
    );
    let trees = [
        View::Map,
        View::Tree,
        View::Patterns,
        View::Waits,
        View::Changes,
        View::Overview,
        View::Record,
    ];
    let above = tabs(tiles, &trees);
    let below = tabs(tiles, &[View::Timeline, View::Profile, View::Counters]);
    let right = split(tiles, LinearDir::Vertical, [(above, 0.52), (below, 0.48)]);
    split(tiles, LinearDir::Horizontal, [(left, 0.37), (right, 0.63)])
}

fn watch(tiles: &mut Tiles<View>) -> TileId {
    let above = [
        View::Overview,
        View::Profile,
        View::Counters,
        View::Map,
        View::Tree,
        View::Patterns,
        View::Waits,
        View::Changes,
    ];
    let above = tabs(tiles, &above);
    let left = [
        View::Records,
        View::Incidents,
        View::Candidates,
        View::Training,
    ];
    let left = tabs(tiles, &left);
    let right = tabs(tiles, &[View::Record, View::Timeline, View::Details]);
    let below = split(tiles, LinearDir::Horizontal, [(left, 0.5), (right, 0.5)]);
    split(tiles, LinearDir::Vertical, [(above, 0.58), (below, 0.42)])
}

fn tabs(tiles: &mut Tiles<View>, views: &[View]) -> TileId {
    let panes = views.iter().map(|&view| tiles.insert_pane(view)).collect();
    tiles.insert_new(Tile::Container(Container::Tabs(Tabs::new(panes))))
}

fn split(tiles: &mut Tiles<View>, direction: LinearDir, parts: [(TileId, f32); 2]) -> TileId {
    let mut linear = Linear::new(direction, parts.map(|(tile, _)| tile).to_vec());
    for (tile, share) in parts {
        linear.shares.set_share(tile, share);
    }
    tiles.insert_new(Tile::Container(Container::Linear(linear)))
}

/// Returns whether a stored arrangement has every view exactly once.
pub(crate) fn is_complete(layout: &Layout) -> bool {
    let mut views: Vec<View> = layout
        .tiles
        .tiles()
        .filter_map(|tile| match tile {
            Tile::Pane(view) => Some(*view),
            Tile::Container(_) => None,
        })
        .collect();
    views.sort_unstable();
    views == View::ALL && layout.root().is_some()
}

/// Brings a view to the front of its tabs.
pub(crate) fn bring_to_front(layout: &mut Layout, view: View) {
    layout.make_active(|_, tile| matches!(tile, Tile::Pane(known) if *known == view));
}

/// Returns whether a view is in front of its tabs.
pub(crate) fn is_in_front(layout: &Layout, view: View) -> bool {
    let tile = layout.tiles.find_pane(&view);
    tile.is_some_and(|tile| layout.active_tiles().contains(&tile))
}

/// Returns the view at a point of the screen.
pub(crate) fn view_at(layout: &Layout, at: Pos2) -> Option<View> {
    let in_front = layout.active_tiles();
    in_front.into_iter().find_map(|id| {
        let view = *layout.tiles.get_pane(&id)?;
        let place: Rect = layout.tiles.rect(id)?;
        place.contains(at).then_some(view)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_has_every_view_once_at_every_size() {
        for name in [LayoutName::Analyse, LayoutName::Watch] {
            for size in [[900.0, 600.0], [1280.0, 800.0], [2560.0, 1440.0]] {
                assert!(
                    is_complete(&arrange(name, size.into())),
                    "{name:?} at {size:?}"
                );
            }
        }
    }

    #[test]
    fn a_layout_comes_back_from_its_text() {
        let mut layout = arrange(LayoutName::Analyse, Vec2::new(1600.0, 1000.0));
        bring_to_front(&mut layout, View::Details);
        let text = serde_json::to_string(&layout).unwrap();
        let back: Layout = serde_json::from_str(&text).unwrap();
        assert!(is_complete(&back) && is_in_front(&back, View::Details));
        assert!(!is_in_front(&back, View::Training));
    }
}
