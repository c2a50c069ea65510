//! Incidents driven by label.
