"""Pages, examples and notebooks use public names only: ``docs/python.md`` says which these are."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PUBLIC = ("xstreamcast", "xstreamcast.serve", "xstreamcast.spark")
"""Modules whose names in ``__all__`` are public."""
_IMPORTS = re.compile(
    r"(?<![\w.])(?:from (xstreamcast[\w.]*) import (\([^)]*\)|[^\n;\"']+)|import (xstreamcast[\w.]*))"
)


def written() -> Iterator[tuple[Path, str]]:
    """Everything that shows people how the package is used."""
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*")]):
        if path.suffix in (".md", ".py"):
            yield path, path.read_text(encoding="utf-8")
        elif path.suffix == ".ipynb":
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            yield path, "\n".join("".join(cell["source"]) for cell in cells)


def used(text: str) -> Iterator[tuple[str, str]]:
    """The modules that a text imports, with each name; "" is the module itself."""
    for module, names, whole in _IMPORTS.findall(text):
        if whole:
            yield whole, ""
        for name in re.split(r"[\s,()]+", re.sub(r"#.*| as \w+", "", names)):
            if name:
                yield module, name


WRITTEN = list(written())


def test_there_is_much_to_look_at() -> None:
    found = [use for _, text in WRITTEN for use in used(text)]
    assert len(found) > 40
    assert {module for module, _ in found} == set(PUBLIC)
    assert {path.suffix for path, text in WRITTEN if any(used(text))} >= {".md", ".ipynb"}


@pytest.mark.parametrize(("path", "text"), WRITTEN, ids=[str(path.relative_to(ROOT)) for path, _ in WRITTEN])
def test_a_page_imports_public_names_only(path: Path, text: str) -> None:
    assert [use for use in used(text) if not is_public(*use)] == []


def is_public(module: str, name: str) -> bool:
    """Whether a name of a module, or the module itself, is public."""
    return module in PUBLIC and (not name or name in import_module(module).__all__)


def test_what_is_seen_here_can_be_private() -> None:
    text = (
        ">>> from xstreamcast.model.change import Fill, Replace\n"
        "$ python3 -c 'import xstreamcast.spark; from xstreamcast import query as ask'"
    )
    assert list(used(text)) == [
        ("xstreamcast.model.change", "Fill"), ("xstreamcast.model.change", "Replace"),
        ("xstreamcast.spark", ""), ("xstreamcast", "query"),
    ]  # fmt: skip
    assert [is_public(*use) for use in used(text)] == [False, False, True, True]


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_there_in_order_and_said(module: str) -> None:
    there = import_module(module)
    assert sorted(there.__all__) == list(there.__all__)
    assert all(getattr(there, name).__doc__ for name in there.__all__)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").partition("## Public names")[2]
    assert f"| `{module}` |" in page


def test_modules_that_are_run_by_name_are_there() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").partition("## Public names")[2]
    named = re.findall(r"`(?:python -m )?(xstreamcast\.[\w.]+)`", page.partition("run by name")[2])
    assert len(named) == 5
    for name in named:
        path = ROOT.joinpath(*name.split("."))
        module = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        tree = ast.parse(module.read_text(encoding="utf-8"))
        guarded = any(isinstance(part, ast.If) and "__main__" in ast.unparse(part.test) for part in tree.body)
        assert guarded or module.stem == "__main__", name
