//! What the server gets from the program: its settings, and access to runs and databases.

use anyhow::Result;
use callgrove_headless::HeadlessSession;
use callgrove_query::RunComparison;
use serde_json::Value;

/// Access to runs and databases, with the formats, the servers and the journals of the program.
pub trait RunAccess: Send {
    /// Opens a trace or a saved session, and waits until everything is computed.
    ///
    /// # Errors
    /// The run cannot be opened, or the program is asked to stop.
    fn open_session(&self, source: &str, function: Option<&str>) -> Result<HeadlessSession>;

    /// Reads two runs, and compares them.
    ///
    /// # Errors
    /// A run cannot be read.
    fn compare(&self, before: &str, after: &str) -> Result<RunComparison>;

    /// Searches a provenance database.
    ///
    /// # Errors
    /// The database cannot be read, or the request is invalid.
    fn records(&self, wanted: &WantedRecords) -> Result<FoundRecords>;

    /// Returns the name of the user, if known.
    fn user(&self) -> Option<String>;
}

/// The records that a tool asks for.
pub struct WantedRecords {
    /// The database: its folder, postgres://… or the address of its server.
    pub database: String,
    /// Name of the collection.
    pub collection: String,
    /// A condition, as of `callgrove query --where`.
    pub filter: Option<String>,
    /// The field to sort by, in descending order.
    pub sort: Option<String>,
    /// Largest number of records.
    pub limit: usize,
}

/// The first records that match a request.
pub struct FoundRecords {
    /// The records, in the order of the request.
    pub records: Vec<Value>,
    /// Number of records that match.
    pub num_all: usize,
}

/// The contents of a server.
pub struct ServerSettings {
    /// Sources of the run that tools use if they name none.
    pub sources: Vec<String>,
    /// Other runs, databases, servers and folders that tools may name.
    pub allowed: Vec<String>,
    /// Root function that is analysed first; `None` for the most promising one.
    pub function: Option<String>,
    /// True if a tool labels executions.
    pub may_label: bool,
}
