//! How a server reads: lookups, queries and plain SQL apart from each other and from what is written.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::reader_pool::{ReaderPool, Reuse};
use crate::{ProvDbError, ReadLimits, Store};

/// Lookups by name or id, each of which is short, that are answered at the same time.
const NUM_LOOKUPS: usize = 2;
/// Queries that are answered at the same time.
const NUM_QUERIES: usize = 3;
/// Statements of plain SQL that are answered at the same time.
const NUM_STATEMENTS: usize = 1;
/// Answers to queries of more than one message that are in memory at the same time, also those that clients take slowly.
const NUM_LARGE_ANSWERS: usize = 8;
/// The same of answers to plain SQL.
const NUM_LARGE_TABLES: usize = 2;

/// Of lookups. A lookup reads at most 16 documents of 16 MiB, or one state.
const LOOKUP_LIMITS: ReadLimits = ReadLimits {
    time: Duration::from_mins(1),
    num_rows: u64::MAX,
    num_bytes: 512 << 20,
    work_bytes: u64::MAX,
};
/// Of queries, which answer numbers only.
const QUERY_LIMITS: ReadLimits = ReadLimits {
    time: Duration::from_mins(2),
    num_rows: u64::MAX,
    num_bytes: 256 << 20,
    work_bytes: u64::MAX,
};
/// Of plain SQL.
const STATEMENT_LIMITS: ReadLimits = ReadLimits {
    time: Duration::from_secs(30),
    num_rows: 1_000_000,
    num_bytes: 64 << 20,
    work_bytes: 256 << 20,
};

/// What clients may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadPolicy {
    /// Documents, by queries.
    #[default]
    QueriesOnly,
    /// Also what plain SQL answers.
    PlainSql,
}

/// The stores by which a server reads.
#[derive(Clone)]
pub(super) struct ServedReaders {
    pub(super) lookups: ReaderPool,
    pub(super) queries: ReaderPool,
    /// None if plain SQL is not allowed.
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
        let pool = |num, limits, reuse| ReaderPool::sharing(num, limits, reuse, Arc::clone(&open));
        let statements = || pool(NUM_STATEMENTS, STATEMENT_LIMITS, Reuse::Never);
        Self {
            lookups: pool(NUM_LOOKUPS, LOOKUP_LIMITS, Reuse::Always),
            queries: pool(NUM_QUERIES, QUERY_LIMITS, Reuse::Always),
            statements: (policy == ReadPolicy::PlainSql).then(statements),
            large_answers: Arc::new(Semaphore::new(NUM_LARGE_ANSWERS)),
            large_tables: Arc::new(Semaphore::new(NUM_LARGE_TABLES)),
        }
    }

    /// The stores that answer plain SQL.
    pub(super) fn statements(&self) -> Result<&ReaderPool, ProvDbError> {
        let not_allowed = || ProvDbError::SqlNotAllowed("the folder of the server".to_owned());
        self.statements.as_ref().ok_or_else(not_allowed)
    }

    /// Waits until an answer to a query may be in memory, for as long as the result lives.
    pub(super) async fn large_answer(&self) -> Result<OwnedSemaphorePermit, ProvDbError> {
        place_of(&self.large_answers).await
    }

    /// The same for an answer to plain SQL.
    pub(super) async fn large_table(&self) -> Result<OwnedSemaphorePermit, ProvDbError> {
        place_of(&self.large_tables).await
    }

    pub(super) fn has_panicked(&self) -> bool {
        self.pools().any(ReaderPool::has_panicked)
    }

    /// Interrupts all that is under way.
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

async fn place_of(places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ProvDbError> {
    let place = Arc::clone(places).acquire_owned().await;
    place.map_err(|_closed| ProvDbError::Interrupted)
}
