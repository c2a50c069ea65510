//! The pipeline of a running job: which streams an AD instance reads, the models that it judges by, and the stores that
//! it writes, composed from the crates of each.
//!
//! ```text
//! StreamInput ─ open_streams ─▶ AD instances ── records ──▶ provenance database (open_store)
//!                                ▲   │   ▲                             │ recorded trees
//!               ModelFileReader ─┘   │   │ models                      ▼
//!              (judge of trees)      ▼   │                        TreeLearner
//! initial_state ─────────────▶ parameter server ◀── tree models ───────┘
//!                                    │ packets
//!                                    ▼
//!                            server of the job ─ ServerAccess ─┬─ follow_job ──▶ updates of a view
//!                                                              └─ JobClient, recorded_trace ──▶ session
//! ```
//!
//! An instance reads a recorded run ([`StreamInput::Recorded`]), files that are still being written, or live streams.
//! [`initial_state`] begins the parameter server that joins the models of the instances. A [`TreeLearner`] publishes tree
//! models to it without labels. Views and commands reach the server of a running job, or a database, through
//! [`ServerAccess`].
//!
//! The crate reads no arguments and prints nothing: it calls back with what may be reported, and returns the rest.

mod error;
mod job_client;
mod job_follower;
mod message_bus;
mod server_access;
mod server_state;
mod stores;
mod streams;
mod tree_judge;
mod tree_learner;

pub use error::PipelineError;
pub use job_client::{JobClient, recorded_trace, recorded_trees};
pub use job_follower::follow_job;
pub use message_bus::{MessageBusPlan, address_of};
pub use server_access::{ServerAccess, is_server};
pub use server_state::{InitialStateSettings, initial_state, state_of_one_instance};
pub use stores::{begin_with_store, documents, open_store};
pub use streams::{OpenedStreams, StreamInput, StreamOptions, live_streams, open_streams};
pub use tree_judge::{ModelFileReader, read_tree_model, tree_model_registry};
pub use tree_learner::TreeLearner;
