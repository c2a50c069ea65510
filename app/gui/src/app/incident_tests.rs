//! Incidents in the whole window.
