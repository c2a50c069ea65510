"""Types of the package callgrove."""

from collections.abc import Callable, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, final

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__version__: str

_Path = str | PathLike[str]
_Progress = Callable[[str, float], object]

class Error(Exception):
    """An error of Callgrove: what failed, where, and what helps."""

class DataWarning(UserWarning):
    """A run is damaged; what can be read is used."""

@final
class Table:
    """A table of results or of a run's contents. `pandas`, `polars`, `duckdb` and `pyarrow` take it without a copy."""

    @property
    def name(self) -> str | None:
        """The name of the table."""
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    @property
    def units(self) -> dict[str, str]:
        """The units of the columns that have one, by name."""
    def to_arrow(self) -> "pyarrow.Table":
        """Returns the table as a `pyarrow.Table`. Needs pyarrow."""
    def to_pandas(self) -> "pandas.DataFrame":
        """Returns the table as a `pandas.DataFrame`. Needs pandas and pyarrow."""
    def to_polars(self) -> "polars.DataFrame":
        """Returns the table as a `polars.DataFrame`. Needs polars."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class Tree:
    """The calls of one execution, with calls of the same path as one line."""

    @property
    def name(self) -> str:
        """Its name, `#RANK-INDEX`."""
    @property
    def event_id(self) -> str:
        """Its event label, `RANK:STEP:INDEX`."""
    @property
    def entry_ns(self) -> int:
        """The time of its first call, in nanoseconds since the epoch."""
    @property
    def duration_ns(self) -> int:
        """Its duration in nanoseconds; its weight, if the unit of the run is not time."""
    @property
    def reasons(self) -> list[str]:
        """Why it is unusual, the most important reason first."""
    def text(self, max_lines: int = 100) -> str:
        """Returns the tree as text of at most `max_lines` lines."""
    def show(self, max_lines: int = 100) -> None:
        """Prints the tree."""
    def table(self) -> Table:
        """Returns the lines of the tree as a table."""
    def __len__(self) -> int: ...

@final
class Run:
    """A run that is open: its contents and what was found in it."""

    @property
    def source(self) -> str:
        """The path or pattern that the run was opened from."""
    @property
    def function(self) -> str | None:
        """The function whose executions are judged."""
    @property
    def num_ranks(self) -> int:
        """The number of ranks."""
    @property
    def num_calls(self) -> int:
        """The number of calls."""
    @property
    def duration_ns(self) -> int:
        """The time from the first call to the end of the last one, in nanoseconds."""
    @property
    def journal(self) -> str | None:
        """The file of the run's labels, if there is one."""
    def suggestions(self) -> list[str]:
        """Returns the functions whose executions are worth judging, the most promising first."""
    def calls(self, rank: int | None = None, function: str | None = None, *, program: int | None = None) -> Table:
        """Returns the calls, lane by lane: those on a rank, and of a function or pattern, if given."""
    def messages(self) -> Table:
        """Returns the messages between ranks, in order of sending."""
    def events(self, rank: int | None = None, *, program: int | None = None) -> Table:
        """Returns the enters and leaves in order of time, in the columns of Pipit."""
    def executions(self, function: str | None = None) -> Table:
        """Returns the executions of a function or pattern with their times: the trees that `rank` judges."""
    def rank(
        self, function: str | None = None, *, explain: bool = False, progress: _Progress | None = None
    ) -> Table:
        """Returns the executions of a function, the most abnormal first, as `callgrove analyze` does."""
    def causes(self, *, all: bool = False, progress: _Progress | None = None) -> Table:
        """Returns what delayed the abnormal executions; with `all`, every execution. As `callgrove causes`."""
    def incidents(self, *, progress: _Progress | None = None) -> Table:
        """Returns which ranks delayed which others, the costliest first. As `callgrove incidents`."""
    def patterns(self, *, progress: _Progress | None = None) -> Table:
        """Returns the recurring patterns, those with the most time first. As `callgrove patterns`."""
    def tree(self, id: str) -> Tree:
        """Returns the calls of an execution, `#RANK-INDEX` or an event_id, which print themselves as a tree."""
    def label(
        self, id: str, label: Literal["normal", "abnormal"] | None, *, progress: _Progress | None = None
    ) -> None:
        """Labels an execution, or removes its label with `None`. The label is on disk when this returns."""
    def labels(self) -> dict[str, Literal["normal", "abnormal"]]:
        """Returns the labels of the judged executions by name."""
    def train(self, *, progress: _Progress | None = None) -> int:
        """Trains with all labels, and ranks the executions anew. Returns the number of labels."""
    def save_model(self, path: _Path, *, progress: _Progress | None = None) -> None:
        """Saves the trained model, with which `callgrove analyze --model` judges other runs."""
    def to_perfetto(self, path: _Path, *, findings: bool = True, progress: _Progress | None = None) -> None:
        """Writes the run as a trace of Perfetto, with incidents and abnormal executions as tracks of their own."""
    def close(self) -> None:
        """Closes the run: its memory is released, and a window can open its labels."""
    def __enter__(self) -> "Run": ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

def open(
    source: _Path | Sequence[_Path],
    function: str | None = None,
    *,
    labels: Literal["write", "read", "ignore"] = "write",
    progress: _Progress | None = None,
) -> Run:
    """Opens a run: a folder, a file or a pattern such as `run/*.bp`, or a list of these; of any format.

    Labels are those of the user's journal, which the window uses, too. `progress(stage, fraction)` is called while this
    works; without it, progress is shown on standard error, if that is a terminal. Ctrl+C raises `KeyboardInterrupt`.
    """
