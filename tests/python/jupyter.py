"""Runs a Jupyter document, whose cells have assertions: jupyter.py DOCUMENT FOLDER."""

import sys

import nbformat
from nbclient import NotebookClient

document = nbformat.read(sys.argv[1], as_version=4)
stored = [cell for cell in document.cells if cell.cell_type == "code" and cell.outputs]
assert not stored, "outputs are stored in the document: remove them"
NotebookClient(document, timeout=300, kernel_name="python3", resources={"metadata": {"path": sys.argv[2]}}).execute()
print("the document ran")
