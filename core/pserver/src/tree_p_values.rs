//! Recent p-values of trees, which decide about the trees of a rank in addition to their own p-values.

use std::collections::BTreeMap;

use callgrove_detect::RecentPValues;

/// The p-values of a rank's last trees, by the name of the tree model.
pub type TreePValues = BTreeMap<String, RecentPValues>;
