//! The page in a real browser: what it shows, keeps and refuses, alone, over a server, and beside a running job.

mod access;
mod alone;
mod app;
mod files;
mod served;
mod server;
