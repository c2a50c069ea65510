//! The dialect of PostgreSQL.
