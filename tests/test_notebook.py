"""The notebook of the documents runs from top to bottom, on free music; it needs the package index and Debian's."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tour.ipynb"


@pytest.mark.verify
def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # published without outputs
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = [output["text"] for cell in notebook.cells for output in cell.get("outputs", []) if "text" in output]
    assert any("solved" in text for text in printed)
    assert (tmp_path / "medley.mp3").is_file() and (tmp_path / "medley.html").is_file()
