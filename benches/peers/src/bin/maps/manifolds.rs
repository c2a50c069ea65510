//! The maps of manifolds-rs.

use std::error::Error;

use callgrove_trees::dataset::Rows;
use manifolds_rs::{TsneParams, tsne as manifolds_tsne};

/// t-SNE with its defaults, but with exact neighbours, as in Callgrove.
pub(crate) fn tsne(rows: &Rows, iterations: usize) -> Result<Vec<[f64; 2]>, Box<dyn Error>> {
    let num_columns = rows.num_columns();
    let values: Vec<f32> = (0..rows.len())
        .flat_map(|row| rows.row(row).to_dense(num_columns))
        .map(|value| value as f32)
        .collect();
    let mut params = TsneParams::<f32> {
        ann_type: "exhaustive".to_string(),
        ..TsneParams::default()
    };
    params.optim_params.n_epochs = iterations;
    let data = (&values[..], rows.len(), num_columns);
    let map = manifolds_tsne(data, None, &params, "bh", 1, 0)?;
    let axes = map[0].iter().zip(&map[1]);
    Ok(axes.map(|(&x, &y)| [f64::from(x), f64::from(y)]).collect())
}
