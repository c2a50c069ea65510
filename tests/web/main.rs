//! The page in a real browser: alone, on a server, and with a running job.

mod access;
mod app;
mod files;
mod served;
mod server;
mod without_server;
