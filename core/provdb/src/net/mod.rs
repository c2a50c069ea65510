//! A store behind another process, and its client.
