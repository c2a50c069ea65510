//! The readers of a server: lookups, queries and plain SQL are separate from each other and from writes.

use std::sync::Arc;
use std::time::Duration;

use callgrove_provdb::{ProvDbError, ReadLimits, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::reader_pool::{ReaderPool, Reuse};

/// Maximum number of concurrent lookups by name or id, each of which is short.
const NUM_LOOKUPS: usize = 2;
/// Maximum number of concurrent queries.
const NUM_QUERIES: usize = 3;
/// Maximum number of concurrent plain SQL statements.
const NUM_STATEMENTS: usize = 1;
/// Maximum number of answers to queries of more than one message in memory, including those that clients take slowly.
const NUM_LARGE_ANSWERS: usize = 8;
/// Maximum number of answers to plain SQL in memory.
const NUM_LARGE_TABLES: usize = 2;

/// Limits of a lookup, which reads at most 16 documents of 16 MiB, or one state.
const LOOKUP_LIMITS: ReadLimits = ReadLimits {
    time: Duration::from_mins(1),
    num_rows: u64::MAX,
    num_bytes: 512 << 20,
    work_bytes: u64::MAX,
};
/// Limits of a query, whose answer is only numbers.
const QUERY_LIMITS: ReadLimits = ReadLimits {
    time: Duration::from_mins(2),
    num_rows: u64::MAX,
    num_bytes: 256 << 20,
    work_bytes: u64::MAX,
};
/// Limits of plain SQL.
const STATEMENT_LIMITS: ReadLimits = ReadLimits {
    time: Duration::from_secs(30),
    num_rows: 1_000_000,
    num_bytes: 64 << 20,
    work_bytes: 256 << 20,
};

/// The data that clients may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadPolicy {
    /// Documents, through queries.
    #[default]
    QueriesOnly,
    /// Documents and the answers to plain SQL.
    PlainSql,
}

/// The reader pools of a server.
#[derive(Clone)]
pub(super) struct ServedReaders {
    pub(super) lookups: ReaderPool,
    pub(super) queries: ReaderPool,
    /// `None` if plain SQL is not allowed.
    statements: Option<ReaderPool>,
    large_answers: Arc<Semaphore>,
    large_tables: Arc<Semaphore>,
}

impl ServedReaders {
    pub(super) fn new(
        policy: ReadPolicy,
        open: impl Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync + 'static,
    ) -> Self {
        let open: Arc<dyn Fn() -> _ + Send + Sync> = Arc::new(open);
        let pool =
            |num, limits, reuse| ReaderPool::with_opener(num, limits, reuse, Arc::clone(&open));
        let statements = || pool(NUM_STATEMENTS, STATEMENT_LIMITS, Reuse::Never);
        Self {
            lookups: pool(NUM_LOOKUPS, LOOKUP_LIMITS, Reuse::Always),
            queries: pool(NUM_QUERIES, QUERY_LIMITS, Reuse::Always),
            statements: (policy == ReadPolicy::PlainSql).then(statements),
            large_answers: Arc::new(Semaphore::new(NUM_LARGE_ANSWERS)),
            large_tables: Arc::new(Semaphore::new(NUM_LARGE_TABLES)),
        }
    }

    /// Returns the pool for plain SQL.
    pub(super) fn statements(&self) -> Result<&ReaderPool, ProvDbError> {
        let not_allowed = || ProvDbError::SqlNotAllowed("the folder of the server".to_owned());
        self.statements.as_ref().ok_or_else(not_allowed)
    }

    /// Waits until a large answer to a query may be in memory, for as long as the permit lives.
    pub(super) async fn large_answer(&self) -> Result<OwnedSemaphorePermit, ProvDbError> {
        permit_of(&self.large_answers).await
    }

    /// Waits until a large answer to plain SQL may be in memory, for as long as the permit lives.
    pub(super) async fn large_table(&self) -> Result<OwnedSemaphorePermit, ProvDbError> {
        permit_of(&self.large_tables).await
    }

    pub(super) fn has_panicked(&self) -> bool {
        self.pools().any(ReaderPool::has_panicked)
    }

    /// Interrupts all running reads.
    pub(super) fn close(&self) {
        self.large_answers.close();
        self.large_tables.close();
        self.pools().for_each(ReaderPool::close);
    }

    /// Closes the stores.
    pub(super) fn finish(&self) {
        self.close();
        self.pools().for_each(ReaderPool::finish);
    }

    fn pools(&self) -> impl Iterator<Item = &ReaderPool> {
        [&self.lookups, &self.queries]
            .into_iter()
            .chain(&self.statements)
    }
}

async fn permit_of(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ProvDbError> {
    let permit = Arc::clone(permits).acquire_owned().await;
    permit.map_err(|_closed| ProvDbError::Interrupted)
}
