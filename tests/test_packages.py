"""The packages lie on each other in one order, and each says what it is for.

The order is declared in ``tools/package_picture.py``, which draws it for ``docs/architecture.md``.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "xstreamcast"

DECLARED = runpy.run_path(str(ROOT / "tools" / "package_picture.py"))
ORDER: tuple[str, ...] = DECLARED["ORDER"]
"""From the bottom to the top."""

FACE = "xstreamcast"
"""The package itself: a name imported from it is one of the module where ``xstreamcast._HOMES`` has it."""


@cache
def modules() -> dict[str, Path]:
    """The modules by their dotted names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def package_of(module: str) -> str:
    """The package directly below ``xstreamcast`` that a module is of."""
    return module.split(".")[1] if "." in module else module


def homes() -> dict[str, str]:
    """Where the names of the face are defined."""
    import xstreamcast

    return xstreamcast._HOMES


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module that run: what is only for the type checker does not."""
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        for other in node.orelse:
            yield from _statements(other)
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _statements(child)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the module of each import, also of those inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} imports by a relative name"
            assert node.module
            for name in node.names:
                full = f"{node.module}.{name.name}"
                yield node.lineno, full if full in modules() or node.module == FACE else node.module
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == FACE:
            yield node.lineno, f"{FACE}.{node.attr}"


def needs(path: Path) -> Iterator[tuple[int, str, str]]:
    """The line, package and module of each import of a module of ours."""
    for line, name in imported(path):
        if name.startswith(f"{FACE}."):
            home = name if name in modules() else homes().get(name.removeprefix(f"{FACE}."), name)
            if package_of(home) in ORDER:
                yield line, package_of(home), home


def test_every_package_has_its_place_in_the_order() -> None:
    there = {package_of(module) for module in modules()} - {FACE}
    assert sorted(there) == sorted(ORDER)


def test_the_picture_shows_the_order_as_it_is_declared() -> None:
    assert DECLARED["PICTURE"].read_text(encoding="utf-8") == DECLARED["to_svg"](), "run tools/package_picture.py"
    assert all((PACKAGE / "run" / "continuous" / stage / "__init__.py").is_file() for stage in DECLARED["STAGES"])


def test_a_package_imports_only_what_is_below_it() -> None:
    upwards = [
        f"{path.relative_to(ROOT)}:{line} imports {home}, but {package} is above {package_of(module)}"
        for module, path in modules().items()
        if module != FACE
        for line, package, home in needs(path)
        if package != package_of(module) and ORDER.index(package) > ORDER.index(package_of(module))
    ]
    assert not upwards, "\n".join(["", *upwards, "the order is declared in tools/package_picture.py"])


def test_imports_inside_functions_and_by_the_face_are_seen() -> None:
    found = {(package, line > 0) for line, package, _ in needs(modules()["xstreamcast.notebook.magic"])}
    assert {package for package, _ in found} >= {"cli", "errors", "page", "run"}
    assert {package for _, package, _ in needs(modules()["xstreamcast.cli.explain"])} >= {"run"}


BY_NAME = {
    "xstreamcast": "the face: its names are counted where they are used",
    "xstreamcast.cli": "commands, which are modules of the same package",
    "xstreamcast.functions.registry": "topics, which are modules of the same package",
    "xstreamcast.generate": "generators, which are modules of the same package",
    "xstreamcast.native.ahead": "kernels, wherever they are: a list of names, to compile them ahead",
    "xstreamcast.spark": "the face of Spark: modules of the same package",
    "xstreamcast.tables.batches": "Arrow and pandas, which are not ours",
}
"""Modules that import by a name that is computed, and what: no import of theirs is hidden from the order."""


def test_imports_by_computed_names_are_known() -> None:
    found = {module for module, path in modules().items() if "import_module(" in path.read_text(encoding="utf-8")}
    assert sorted(found) == sorted(BY_NAME)


FOLDERS = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_a_package_says_what_each_of_its_modules_is_for(folder: Path) -> None:
    """A newcomer reads the docstring first: what comes in, what goes out, in which order to read the files."""
    told = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    named = {name.rpartition(".")[2] for name in re.findall(r":mod:`~?([\w.]+)`", told)}
    inside = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert sorted(inside - {"__init__", "__main__"} - named) == [], "modules that the docstring does not name"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_the_modules_that_a_package_names_are_there(folder: Path) -> None:
    told = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    within = ".".join(folder.relative_to(ROOT).parts)
    named = [name.lstrip("~") for name in re.findall(r":mod:`(~?[\w.]+)`", told)]
    full = [within + name if name.startswith(".") else name for name in named]
    assert [name for name in full if name not in modules()] == []
