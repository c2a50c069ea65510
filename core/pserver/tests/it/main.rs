//! Integration tests of the parameter server: merging, faults, records and incidents.

mod faults;
mod faulty;
mod groups;
mod incidents;
mod log;
mod merging;
mod packets;
mod saving;
mod successors;
mod support;
