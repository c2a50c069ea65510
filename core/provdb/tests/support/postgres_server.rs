//! A PostgreSQL server of the tests.
