//! How rare a distance from the usual is, and where the border of the abnormal lies.
//!
//! A [`NullModel`] says which distances occur when nothing is wrong. It is fitted to the run under test
//! itself, of which up to a third may be wrong. A [`Calibration`] joins it with the scores of the
//! one-class SVM: the SVM orders the trees, the null model says how rare each place in that order is
//! (a p-value), and the border is drawn where a false discovery rate is reached.

mod calibrated;
mod null_model;

pub use calibrated::Calibration;
pub(crate) use calibrated::is_abnormal;
pub use null_model::NullModel;
