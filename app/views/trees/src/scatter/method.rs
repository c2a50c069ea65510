//! The methods that compute a map, as text.

use callgrove_session::MapMethod;

/// Returns the name of a method.
pub(super) fn method_name(method: MapMethod) -> &'static str {
    match method {
        MapMethod::Mds => "MDS",
        MapMethod::Smacof => "SMACOF",
        MapMethod::Tsne => "t-SNE",
    }
}

/// Returns what a method preserves.
pub(super) fn method_help(method: MapMethod) -> &'static str {
    match method {
        MapMethod::Mds => "Multidimensional scaling: preserves large distances; immediate",
        MapMethod::Smacof => {
            "MDS refined iteratively to preserve all distances as well as possible"
        }
        MapMethod::Tsne => "Preserves neighbourhoods; distances between groups are not meaningful",
    }
}
