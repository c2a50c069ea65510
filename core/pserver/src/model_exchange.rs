//! The contract between an AD instance and the parameter server: a server in the same process, one over
//! the network, or none.

use std::sync::Arc;

use callgrove_detect::{FuncModel, Params};
use callgrove_model::{FuncId, ProgramId, RankId, RunIdentity, StepId};

use crate::{FinalAnomalies, PserverError, StepReport, TreeModelUpdate, TreePValues};

/// What an AD instance says of itself when it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Name of this process, unlike that of any other process at any time (host, process id and start time).
    pub instance: String,
    /// Program of the workflow.
    pub program: ProgramId,
    /// The ranks whose streams it reads.
    pub ranks: Vec<RankId>,
    /// What these tell of the run so far.
    pub run: RunIdentity,
}

/// The answer to a [`Hello`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Welcome {
    /// The detector's parameters, if the server has fixed ones for all instances; they replace the instance's own.
    pub params: Option<Params>,
    /// The models take no more data: executions are judged by what was loaded.
    pub frozen: bool,
    /// Number of shards of the provenance database, if the server knows.
    pub num_shards: Option<u32>,
    /// For those of the ranks that any instance has reported on before, the last step of that: an instance that
    /// reads a recorded trace again need not report the steps up to it a second time.
    pub last_steps: Vec<(RankId, StepId)>,
    /// The same of what the models hold. A step is learnt before it is judged and reported, so this may be further.
    pub learnt_steps: Vec<(RankId, StepId)>,
    /// For those of the ranks whose trees were judged, their p-values up to the last step. Over the network the first
    /// ranks only, if there are more than a message holds.
    pub tree_p_values: Vec<(RankId, TreePValues)>,
    /// Those of the ranks that were judged by the complete models, which have learnt nothing since.
    pub final_ranks: Vec<RankId>,
}

/// How far the ranks of a program are before all can be judged by the complete models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// Ranks of live instances of which the models do not hold everything yet.
    pub num_learning: u32,
    /// Ranks of the program that no live instance reads, and of which the models do not hold everything.
    pub absent: Vec<RankId>,
    /// Names the state of the models: it changes when they learn.
    pub learnt_in: u64,
}

/// How far the newest exchange went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The server has everything.
    Up,
    /// The server cannot be reached. What it lacks is kept and sent when it is back; detection goes on.
    Down {
        /// Why, and what is tried.
        cause: String,
    },
}

/// The answer to [`ModelExchange::sync_and_report`].
#[derive(Clone, Debug)]
pub struct Synced {
    /// For each function of the request, in order of its index, the newest model: that of all instances, with
    /// everything that this instance ever learnt, the request included. A frozen server's unknown functions are
    /// absent: they cannot be judged.
    pub models: Vec<(FuncId, Arc<FuncModel>)>,
    /// Whether the server was reached.
    pub link: Link,
}

/// An AD instance's way to the parameter server. Each instance has its own.
///
/// The order of calls for one I/O step: [`functions`](Self::functions) for names not seen before,
/// [`sync_and_report`](Self::sync_and_report) with what the step adds to the models and with the reports of steps
/// judged before, then judge the step's executions with the models that come back.
pub trait ModelExchange: Send {
    /// Announces the instance; first of all calls, and again when it knows more of the run.
    ///
    /// # Errors
    /// The server serves another run; another live instance reads one of the ranks; the server cannot be reached; the token is refused.
    fn register(&mut self, hello: &Hello) -> Result<Welcome, PserverError>;

    /// The global indices of functions, in the order of the names: hashes, the same for all instances and in every run.
    /// So never use an index for a position in a list.
    ///
    /// # Errors
    /// The server refuses a name, for its length or because there are too many.
    fn functions(
        &mut self,
        program: ProgramId,
        names: &[String],
    ) -> Result<Vec<FuncId>, PserverError>;

    /// Whether the server goes on when this process dies.
    fn is_elsewhere(&self) -> bool;

    /// Says that the models of the next [`sync_and_report`](Self::sync_and_report) hold the executions of these steps.
    fn learn_steps(&mut self, steps: &[(RankId, StepId)]);

    /// Says that the models of the next [`sync_and_report`](Self::sync_and_report), and those before, hold all that there
    /// is of these ranks.
    fn end_ranks(&mut self, ranks: &[RankId]);

    /// Says that, with the reports of the next [`sync_and_report`](Self::sync_and_report), these are the anomalies of
    /// ranks by the complete models, whatever was reported before.
    fn conclude(&mut self, final_anomalies: Vec<(RankId, FinalAnomalies)>);

    /// Sends what waits, and tells how far all ranks of the program are; `num_ranks` is how many it has, as far as is
    /// known. `None` while the server cannot be reached.
    ///
    /// # Errors
    /// As [`sync_and_report`](Self::sync_and_report).
    fn progress(&mut self, num_ranks: u32) -> Result<Option<RunProgress>, PserverError>;

    /// Adds to the models, reports on steps, and returns the newest models of the functions in `models`.
    /// `models` holds what is new since the call before (not sums), each function at most once. Count the next
    /// step's executions in [`FuncModel::new_part`] of what comes back: that is faster and takes less to send.
    ///
    /// # Errors
    /// Another live instance has taken one of the ranks, or the server refuses the data. That
    /// the server cannot be reached is not an error: see [`Link`].
    fn sync_and_report(
        &mut self,
        models: Vec<(FuncId, FuncModel)>,
        reports: &[StepReport],
    ) -> Result<Synced, PserverError>;

    /// The tree models that came into force, or went out of it, since the call before; the answers of
    /// [`sync_and_report`](Self::sync_and_report) bring them.
    fn take_tree_models(&mut self) -> Vec<TreeModelUpdate>;

    /// Sends what waits, and tells why the server could still lose what it was told, in words; `None` once it cannot:
    /// a server that saves has saved it.
    ///
    /// # Errors
    /// As `sync_and_report`.
    fn unsettled(&mut self) -> Result<Option<String>, PserverError>;

    /// Takes leave, so that the ranks are free and the server may end. A server that has everything and cannot be reached
    /// frees them by itself, once their lease is over.
    ///
    /// # Errors
    /// As `sync_and_report`; and here it is an error if the server lacks something and cannot be reached.
    fn goodbye(&mut self) -> Result<(), PserverError>;
}
