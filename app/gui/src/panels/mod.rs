//! Bars and lists around the views: each a function of context and state.

mod code_link;
mod connect;
mod job_models;
mod missing_data;
mod notices;
mod path_dialog;
mod questions;
mod root_chooser;
mod settings;
mod start;
mod status_bar;
mod top_bar;
mod training;
mod viewers;

pub(crate) use connect::{ConnectForm, waiting_ui};
pub(crate) use job_models::PublicationDraft;
pub(crate) use missing_data::{missing, missing_ui};
pub(crate) use notices::notices_ui;
pub(crate) use path_dialog::{PathAnswer, PathDialog};
pub(crate) use questions::questions_ui;
pub(crate) use root_chooser::RootChooser;
pub(crate) use settings::SettingsDraft;
pub(crate) use start::{Start, has_no_trees, needs_start, start_ui};
pub(crate) use status_bar::{StatusBar, status_bar_ui};
pub(crate) use top_bar::top_bar_ui;
pub(crate) use training::training_ui;
