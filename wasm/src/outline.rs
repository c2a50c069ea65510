//! The outline of a frame: its widgets as a list for screen readers and tests.
//!
//! egui describes each frame as an AccessKit tree. A page does not need the tree of panes and layers; the outline lists
//! the nodes that have a name, in reading order.

use std::collections::BTreeMap;

use egui::accesskit::{Node, NodeId, Role, Toggled, TreeUpdate};

/// Maximum length of the outline, more than anyone listens to; further items are left out.
const MAX_ITEMS: usize = 800;

/// A named item on the screen.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OutlineItem {
    /// AccessKit's id of the node.
    pub node: u64,
    /// ARIA role; empty for plain text.
    pub role: &'static str,
    /// Name of the item, or the text itself.
    pub name: String,
    /// Value of the item, such as the text of an input field.
    pub value: Option<String>,
    /// ARIA attribute of the toggle state, and its value.
    pub state: Option<(&'static str, &'static str)>,
    /// True if the item accepts no clicks at present.
    pub is_disabled: bool,
    /// True if the item has the keyboard focus.
    pub is_focused: bool,
    /// Left, top, width and height on the page, in points of the window.
    pub rect: [i32; 4],
    /// Ids of the items of a list.
    pub owned: Vec<u64>,
}

/// Returns the named items, in reading order.
pub fn outline_of(update: &TreeUpdate) -> Vec<OutlineItem> {
    let nodes: BTreeMap<NodeId, &Node> =
        update.nodes.iter().map(|(id, node)| (*id, node)).collect();
    let mut items = Vec::new();
    let mut waiting: Vec<NodeId> = update.tree.iter().map(|tree| tree.root).collect();
    while let Some(id) = waiting.pop() {
        let Some(node) = nodes.get(&id) else { continue };
        waiting.extend(node.children().iter().rev());
        if let Some(item) = item_of(id, node, &nodes, update.focus) {
            push(&mut items, item);
        }
        if items.len() >= MAX_ITEMS {
            break;
        }
    }
    items
}

/// Adds an item. Consecutive list items are put into one list.
fn push(items: &mut Vec<OutlineItem>, item: OutlineItem) {
    if item.role == "listitem" {
        let list = items
            .iter()
            .rposition(|it| it.role != "listitem")
            .filter(|&at| items[at].role == "list");
        if let Some(list) = list {
            items[list].owned.push(item.node);
        } else {
            items.push(OutlineItem {
                node: item.node,
                role: "list",
                owned: vec![item.node],
                ..OutlineItem::default()
            });
        }
    }
    items.push(item);
}

fn item_of(
    id: NodeId,
    node: &Node,
    nodes: &BTreeMap<NodeId, &Node>,
    focus: NodeId,
) -> Option<OutlineItem> {
    let role = role_of(node)?;
    let text = node.value().filter(|text| !text.is_empty());
    let label = node.label().or_else(|| {
        let named_by = node.labelled_by().first().and_then(|by| nodes.get(by));
        named_by.and_then(|by| by.label().or(by.value()))
    });
    let (name, value) = match label {
        Some(label) => (label, text),
        None => (text.or(node.placeholder())?, None),
    };
    let value = value
        .map(str::to_owned)
        .or_else(|| node.numeric_value().map(|number| number.to_string()));
    let rect = node.bounds().map_or([0; 4], |bounds| {
        [
            bounds.x0,
            bounds.y0,
            bounds.x1 - bounds.x0,
            bounds.y1 - bounds.y0,
        ]
        .map(|points| points.round() as i32)
    });
    Some(OutlineItem {
        node: id.0,
        role,
        name: name.to_owned(),
        value,
        state: state_of(role, node.toggled()),
        is_disabled: node.is_disabled(),
        is_focused: id == focus,
        rect,
        owned: Vec::new(),
    })
}

/// Returns the ARIA role; `None` for mere containers.
fn role_of(node: &Node) -> Option<&'static str> {
    Some(match node.role() {
        Role::Button => "button",
        Role::CheckBox => "checkbox",
        Role::RadioButton => "radio",
        Role::Link => "link",
        Role::TextInput | Role::MultilineTextInput | Role::PasswordInput => "textbox",
        Role::ProgressIndicator => "progressbar",
        Role::Slider => "slider",
        Role::SpinButton => "spinbutton",
        Role::ComboBox => "combobox",
        Role::ListItem => "listitem",
        Role::Canvas | Role::Image => "img",
        Role::Alert => "alert",
        Role::Label => "",
        _ if node.label().is_some() => "group",
        _ => return None,
    })
}

fn state_of(role: &str, toggled: Option<Toggled>) -> Option<(&'static str, &'static str)> {
    let is_on = match toggled? {
        Toggled::True => "true",
        Toggled::False => "false",
        Toggled::Mixed => "mixed",
    };
    match role {
        "checkbox" | "radio" => Some(("aria-checked", is_on)),
        "button" => Some(("aria-pressed", is_on)),
        _ if is_on == "true" => Some(("aria-current", is_on)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use egui::accesskit::{Rect, TreeId, TreeInfo};

    use super::*;

    fn node(role: Role, change: impl FnOnce(&mut Node)) -> Node {
        let mut node = Node::new(role);
        change(&mut node);
        node
    }

    /// Returns a window with these children, in this order. The first has the focus.
    fn window(children: Vec<Node>) -> TreeUpdate {
        let ids = (1..=children.len() as u64).map(NodeId);
        let root = node(Role::Window, |root| {
            root.set_children(ids.clone().collect::<Vec<_>>());
        });
        TreeUpdate {
            nodes: ids.zip(children).chain([(NodeId(0), root)]).collect(),
            tree: Some(TreeInfo::new(NodeId(0))),
            tree_id: TreeId::ROOT,
            focus: NodeId(1),
        }
    }

    #[test]
    fn named_nodes_are_listed_with_role_state_and_position() {
        let update = window(vec![
            node(Role::Button, |button| {
                button.set_label("Train");
                button.set_toggled(Toggled::True);
                button.set_bounds(Rect::new(10.2, 20.0, 30.2, 44.0));
            }),
            node(Role::GenericContainer, |_| {}),
            node(Role::Label, |label| label.set_value("196 trees")),
            node(Role::TextInput, |field| {
                field.set_label("Find");
                field.set_value("#0-7");
                field.set_disabled();
            }),
        ]);
        let items = outline_of(&update);
        let names: Vec<_> = items.iter().map(|it| (it.role, it.name.as_str())).collect();
        assert_eq!(
            names,
            [("button", "Train"), ("", "196 trees"), ("textbox", "Find")]
        );
        assert_eq!(items[0].state, Some(("aria-pressed", "true")));
        assert_eq!(items[0].rect, [10, 20, 20, 24]);
        assert!(items[0].is_focused && !items[0].is_disabled);
        assert_eq!(items[2].value.as_deref(), Some("#0-7"));
        assert!(items[2].is_disabled);
    }

    #[test]
    fn consecutive_rows_are_one_list() {
        let row = |name: &str, is_on| {
            node(Role::ListItem, |row| {
                row.set_label(name);
                row.set_toggled(Toggled::from(is_on));
            })
        };
        let label = node(Role::Label, |label| label.set_value("Candidates"));
        let update = window(vec![
            row("a", false),
            row("b", true),
            label,
            row("c", false),
        ]);
        let items = outline_of(&update);
        let roles: Vec<_> = items.iter().map(|it| it.role).collect();
        assert_eq!(
            roles,
            ["list", "listitem", "listitem", "", "list", "listitem"]
        );
        assert_eq!(
            (&items[0].owned[..], &items[4].owned[..]),
            (&[1, 2][..], &[4][..])
        );
        assert_eq!(items[2].state, Some(("aria-current", "true")));
        assert_eq!(items[1].state, None);
    }

    #[test]
    fn a_widget_is_named_by_its_label() {
        let update = window(vec![
            node(Role::Label, |label| label.set_value("Share")),
            node(Role::SpinButton, |field| {
                field.push_labelled_by(NodeId(1));
                field.set_numeric_value(0.5);
            }),
        ]);
        let item = &outline_of(&update)[1];
        assert_eq!(
            (item.name.as_str(), item.value.as_deref()),
            ("Share", Some("0.5"))
        );
    }
}
