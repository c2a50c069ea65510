"""Callgrove: finds anomalous executions in traces of parallel programs.

``callgrove.open(run)`` returns a ``Run``. Its methods return tables, which pandas, Polars, DuckDB and PyArrow take
without a copy. Names of columns end in the unit of their values (``_ns``, ``_us``, ``_bytes``, ``_percent``).
"""

import importlib.util
import os

from ._callgrove import DataWarning, Error, Run, Table, Tree, __version__, open

__all__ = ["DataWarning", "Error", "Run", "Table", "Tree", "__version__", "open"]


def _find_adios2() -> None:
    """Names the library of the installed package adios2, unless the user names one."""
    if "CALLGROVE_ADIOS2" in os.environ:
        return
    package = importlib.util.find_spec("adios2")
    if package is not None and package.submodule_search_locations:
        os.environ["CALLGROVE_ADIOS2"] = list(package.submodule_search_locations)[0]


_find_adios2()
