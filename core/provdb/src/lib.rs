//! Provenance: versioned records, stores and queries.
