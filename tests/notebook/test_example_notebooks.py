"""The example notebooks run from their first cell to their last, and are kept without what that makes."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from cells import shell

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
SHOWN = {
    "dump": ["income", "two passes: count(//item) is needed while //item is traversed", "XPST0003 query:1:18"],
    "stream": ["0 items", "offer", "alert"],
    "history": ["limit in 2002", "first limit", "1234"],
}
"""What a reader sees in each."""


def cells(path: Path) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return read


def test_there_are_three() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(SHOWN)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples" / "notebooks")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with shell() as made:
        for cell in cells(path):
            if cell["cell_type"] == "code":
                made.run("".join(cell["source"]))
        told = made.told.html() + made.told.text()
    assert [text for text in SHOWN[path.stem] if text not in told] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "notebooks.py"))
    text = path.read_text(encoding="utf-8")
    assert tool["written"](tool["stripped"](json.loads(text))) == text


def test_the_tool_strips_what_a_run_leaves_behind(tmp_path: Path) -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "notebooks.py"))
    notebook = json.loads(NOTEBOOKS[0].read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [{"output_type": "stream", "text": "x"}], 3
    ran = tmp_path / "ran.ipynb"
    ran.write_text(json.dumps(notebook), encoding="utf-8")
    assert tool["main"]([str(ran)]) == 1
    assert ran.read_bytes() == NOTEBOOKS[0].read_bytes()
    assert tool["main"]([str(ran)]) == 0
