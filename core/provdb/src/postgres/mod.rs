//! The store on a PostgreSQL server.
