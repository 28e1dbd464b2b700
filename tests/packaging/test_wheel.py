"""The wheel: built from the tree, installed where nothing else is but what it declares to need, and used there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import xstreamcast
from xstreamcast.native.ahead import all_kernels

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "xstreamcast")
NOT_INSTALLED = ("objects", "*.pyc", "__pycache__")


def ran(*command: str | Path, cwd: Path) -> str:
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is built, with the kernels' code as ``make wheel`` puts it there."""
    folder = tmp_path_factory.mktemp("tree")
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*NOT_INSTALLED))
        else:
            shutil.copy(ROOT / name, folder)
    ran(sys.executable, "-m", "xstreamcast.native", folder / "xstreamcast" / "native" / "objects", cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(tree: Path) -> Path:
    here = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    ran(*here, "--wheel-dir", tree / "dist", tree, cwd=tree)
    (made,) = (tree / "dist").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and its declared dependencies, and nothing else."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    ran(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    for name in declared(metadata(wheel)):
        link(name, site)
    return folder / "bin"


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(packed.read(name).decode())


def declared(told: Message) -> list[str]:
    """The distributions that the package needs without any of its extras, and those that these need."""
    waiting = list(told.get_all("Requires-Dist", []))
    found: list[str] = []
    while waiting:
        needed = Requirement(waiting.pop())
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        if needed.name not in found:
            found.append(needed.name)
            waiting += distribution(needed.name).requires or []
    return found


def link(name: str, site: Path) -> None:
    """Put a distribution of this environment into another: nothing is fetched."""
    found = distribution(name)
    for top in sorted({file.parts[0] for file in found.files or () if file.parts[0] != ".."}):
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(found.locate_file(top))))


def test_it_has_code_types_native_code_and_examples_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "xstreamcast").rglob("*.py")}
    examples = {f"xstreamcast/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "examples").rglob("*.*")}
    assert len(modules) > 400
    assert len(examples) > 60
    assert modules <= names
    assert {name for name in examples if (ROOT / name.partition("/")[2]).is_file()} <= names
    assert "xstreamcast/py.typed" in names
    native = [name for name in names if name.startswith("xstreamcast/native/objects/")]
    assert len(native) == len(all_kernels()) > 10
    assert {name.split("/")[0] for name in names} == {"xstreamcast", f"xstreamcast-{xstreamcast.__version__}.dist-info"}
    assert [name for name in names if name.endswith((".pyc", "/lock"))] == []


def test_its_metadata_are_complete(wheel: Path) -> None:
    told = metadata(wheel)
    assert (told["Name"], told["Version"]) == ("xstreamcast", xstreamcast.__version__)
    assert (told["License-Expression"], told["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    assert "Typing :: Typed" in told.get_all("Classifier", [])
    links = dict(link.split(", ") for link in told.get_all("Project-URL", []))
    assert list(links) == ["Homepage", "Documentation", "Source", "Issues", "Changelog"]
    assert {"spark", "serve", "arrow", "tables"} <= set(told.get_all("Provides-Extra", []))
    assert str(told.get_payload()).startswith("# XStreamCast")


def test_it_runs_where_only_what_it_declares_is(installed: Path, tmp_path: Path) -> None:
    assert ran(installed / "xcast", "--version", cwd=tmp_path) == f"xcast {xstreamcast.__version__}\n"
    where = ran(installed / "python", "-c", "import xstreamcast; print(xstreamcast.__file__)", cwd=tmp_path)
    assert where.startswith(str(installed.parent))
    (tmp_path / "shop.xml").write_text("<shop><book><price>9</price></book><book><price>90</price></book></shop>")
    assert ran(installed / "xcast", "query", "sum(//book[price < 30]/price)", "shop.xml", cwd=tmp_path) == "9\n"
    large = f"<shop>{'<book><price>9</price></book>' * 100_000}</shop>"
    (tmp_path / "large.xml").write_text(large)
    assert ran(installed / "xcast", "query", "count(//book)", "large.xml", cwd=tmp_path) == "100000\n"
    table = ran(installed / "xcast", "query", "//book", "shop.xml", "--format", "csv", cwd=tmp_path)
    assert table.splitlines() == ["price", "9", "90"]


def test_the_code_that_comes_with_it_is_used_and_nothing_is_compiled(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "large.xml").write_text(f"<shop>{'<book><price>9</price></book>' * 100_000}</shop>")
    told = "from xstreamcast import query; print(query('count(//book)', context='large.xml').one())"
    told += "; import sys; print('numba' in sys.modules)"
    command = ["env", f"XDG_CACHE_HOME={tmp_path / 'caches'}", str(installed / "python"), "-c", told]
    assert ran(*command, cwd=tmp_path).splitlines() == ["100000", "False"]
    assert not (tmp_path / "caches").exists()


def test_pygments_finds_the_lexer_where_the_wheel_is_installed(installed: Path, tmp_path: Path) -> None:
    told = "from pygments.lexers import get_lexer_by_name; print(get_lexer_by_name('xcql').name)"
    assert ran(installed / "python", "-c", told, cwd=tmp_path) == "XCQL\n"


def test_what_an_extra_brings_is_asked_for_by_name(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "xcast"), "serve", "--help"]
    assert ran(*command, cwd=tmp_path)
    served = subprocess.run(command[:2], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert served.returncode == 1
    assert "pip install 'xstreamcast[serve]'" in served.stderr


def test_the_examples_of_the_package_are_copied_and_run(installed: Path, tmp_path: Path) -> None:
    told = ran(installed / "xcast", "examples", cwd=tmp_path)
    files = [path for path in (tmp_path / "examples").rglob("*") if path.is_file()]
    assert told == f"{len(files)} files in examples\n"
    query = "examples/dbpl03/hp-pdas"
    given = ["-f", f"{query}/hp-pdas.xq", "--stream", f"commodities={query}/commodities.xml", "--format", "xml"]
    answer = (tmp_path / query / "hp-pdas.answer").read_text()
    assert ran(installed / "xcast", "watch", *given, cwd=tmp_path).strip() == answer.strip()
    again = subprocess.run([installed / "xcast", "examples"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (again.returncode, "XSC0006 examples there is such a folder already" in again.stderr) == (1, True)
