//! On-node anomaly detection: steps of a rank become labelled executions, provenance and statistics.
