"""Runs a notebook, whose cells have assertions: notebook.py NOTEBOOK FOLDER."""

import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
stored = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
assert not stored, "outputs are stored in the notebook: remove them"
NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": sys.argv[2]}}).execute()
print("the notebook ran")
