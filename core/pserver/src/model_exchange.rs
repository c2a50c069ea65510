//! The contract between an AD instance and the parameter server, which is in the same process, on the network, or
//! absent.

use std::sync::Arc;

use callgrove_detect::{FuncModel, Params};
use callgrove_model::{FuncId, ProgramId, RankId, RunIdentity, StepId};

use crate::error::PserverError;
use crate::final_anomalies::FinalAnomalies;
use crate::report::StepReport;
use crate::tree_model_book::TreeModelUpdate;
use crate::tree_p_values::TreePValues;

/// The registration of an AD instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Globally unique name of this process, over all time (host, process id and start time).
    pub instance: String,
    /// Program of the workflow.
    pub program: ProgramId,
    /// The ranks whose streams it reads.
    pub ranks: Vec<RankId>,
    /// The identity of the run, as far as these ranks know it.
    pub run: RunIdentity,
    /// The number of ranks that a recorded run states, 0 if it states none; `None` for a live run, which may leave ranks
    /// unobserved on purpose.
    pub recorded_ranks: Option<u32>,
}

/// The answer to a [`Hello`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Welcome {
    /// The detector's parameters, if the server fixes them for all instances; they replace the instance's own.
    pub params: Option<Params>,
    /// True if the models take no more data: executions are judged by the loaded models.
    pub frozen: bool,
    /// Number of shards of the provenance database, if the server knows.
    pub num_shards: Option<u32>,
    /// The last reported step of each of the ranks that any instance has reported on. An instance that reads a recorded
    /// trace again need not report these steps a second time.
    pub last_steps: Vec<(RankId, StepId)>,
    /// The last step of each rank that is in the models. A step is learnt before it is judged and reported, so this may
    /// be later than `last_steps`.
    pub learnt_steps: Vec<(RankId, StepId)>,
    /// The p-values of those ranks whose trees were judged, up to the last step. Over the network only the first ranks,
    /// if they exceed the size of a message.
    pub tree_p_values: Vec<(RankId, TreePValues)>,
    /// The ranks that were judged by complete models which have learnt nothing since.
    pub final_ranks: Vec<RankId>,
}

/// The progress of a program's ranks towards complete models, by which all can be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// Number of ranks of live instances whose data are not completely in the models yet.
    pub num_learning: u32,
    /// Ranks of the program that no live instance reads, and whose data are not completely in the models.
    pub absent: Vec<RankId>,
    /// Identifies the state of the models: it changes when they learn.
    pub learnt_in: u64,
}

/// The state of the connection after the newest exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The server has everything.
    Up,
    /// The server cannot be reached. What it lacks is kept and sent when it is back; detection continues.
    Down {
        /// The reason, and what is being tried.
        cause: String,
    },
}

/// The answer to [`ModelExchange::sync_and_report`].
#[derive(Clone, Debug)]
pub struct Synced {
    /// The newest model of each function of the request, ordered by function index: that of all instances, with
    /// everything that this instance ever learnt, including the request. Functions unknown to a frozen server are
    /// absent: they cannot be judged.
    pub models: Vec<(FuncId, Arc<FuncModel>)>,
    /// The state of the connection.
    pub link: Link,
}

/// The connection of an AD instance to the parameter server. Each instance has its own.
///
/// The order of calls for one I/O step: [`functions`](Self::functions) for names not seen before,
/// [`sync_and_report`](Self::sync_and_report) with what the step adds to the models and with the reports of steps
/// judged before, then judge the step's executions with the models that come back.
pub trait ModelExchange: Send {
    /// Announces the instance. It is the first of all calls, and repeated when the instance knows more about the run.
    ///
    /// # Errors
    /// The server serves another run; another live instance reads one of the ranks; the server cannot be reached; the token is refused.
    fn register(&mut self, hello: &Hello) -> Result<Welcome, PserverError>;

    /// Returns the global indices of functions, in the order of the names. Indices are hashes, the same for all
    /// instances and in every run, so never use one as a position in a list.
    ///
    /// # Errors
    /// The server refuses a name, for its length or because there are too many.
    fn functions(
        &mut self,
        program: ProgramId,
        names: &[String],
    ) -> Result<Vec<FuncId>, PserverError>;

    /// Returns true if the server outlives this process.
    fn is_remote(&self) -> bool;

    /// Returns true if so much of a recorded run waits for the server to save it that no more steps are to be judged.
    fn is_full(&self) -> bool;

    /// Declares that the models of the next [`sync_and_report`](Self::sync_and_report) include the executions of these
    /// steps.
    fn learn_steps(&mut self, steps: &[(RankId, StepId)]);

    /// Declares that, with the next [`sync_and_report`](Self::sync_and_report), the models include all data of these
    /// ranks.
    fn end_ranks(&mut self, ranks: &[RankId]);

    /// Declares that, with the reports of the next [`sync_and_report`](Self::sync_and_report), these are the anomalies
    /// of ranks under the complete models; they replace whatever was reported before.
    fn conclude(&mut self, final_anomalies: Vec<(RankId, FinalAnomalies)>);

    /// Sends the outbox, and returns the progress of all ranks of the program, to which those below `num_ranks` belong.
    /// `None` while the server cannot be reached.
    ///
    /// # Errors
    /// As [`sync_and_report`](Self::sync_and_report).
    fn progress(&mut self, num_ranks: u32) -> Result<Option<RunProgress>, PserverError>;

    /// Adds to the models, reports on steps, and returns the newest models of the functions in `models`. `models` holds
    /// what is new since the previous call (not sums), each function at most once. Count the next step's executions in
    /// [`FuncModel::new_part`] of the returned models: that is faster and the message is smaller.
    ///
    /// # Errors
    /// Another live instance has taken one of the ranks, or the server refuses the data. An unreachable server is not
    /// an error: see [`Link`].
    fn sync_and_report(
        &mut self,
        models: Vec<(FuncId, FuncModel)>,
        reports: &[StepReport],
    ) -> Result<Synced, PserverError>;

    /// Returns the tree models put in force or taken out of force since the previous call; the replies to
    /// [`sync_and_report`](Self::sync_and_report) bring them.
    fn take_tree_models(&mut self) -> Vec<TreeModelUpdate>;

    /// Sends the outbox, and returns why the server could still lose data sent to it, as text; `None` once it cannot: a
    /// server that saves has saved them.
    ///
    /// # Errors
    /// As `sync_and_report`.
    fn unsettled(&mut self) -> Result<Option<String>, PserverError>;

    /// Signs off, so that the ranks are free and the server may end. A server that has everything and cannot be reached
    /// frees them by itself once their lease is over.
    ///
    /// # Errors
    /// As `sync_and_report`; and also if the server lacks something and cannot be reached.
    fn goodbye(&mut self) -> Result<(), PserverError>;
}
