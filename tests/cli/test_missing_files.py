"""What is not there: one error from every door, which is Python's own too, and nothing is written before it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from errno import ENOENT
from io import BytesIO
from pathlib import Path

import pytest
from command import xcast

import xstreamcast
from xstreamcast.errors import XStreamError, file_error
from xstreamcast.feeds import Feed
from xstreamcast.lang.files import read_query

DOORS: dict[str, Callable[[str], object]] = {
    "context": lambda name: xstreamcast.query("count(//a)", context=name).to_list(),
    "context as a path": lambda name: xstreamcast.query("count(//a)", context=Path(name)).to_list(),
    "a list of contexts": lambda name: xstreamcast.query("count(//a)", context=[name]).to_list(),
    "docs": lambda name: xstreamcast.query("count(doc('d')//a)", docs={"d": name}).to_list(),
    "streams": lambda name: xstreamcast.query("count(stream('s')//a)", streams={"s": name}).to_list(),
    "load": lambda name: xstreamcast.continuous("count(stream('s')//a)").load(name),
    "materialise": xstreamcast.materialise,
    "fragment": lambda name: xstreamcast.fragment(name, BytesIO()),
    "infer_structure": xstreamcast.infer_structure,
    "feed": lambda name: list(Feed("/a/b").changes(name)),
    "query file": lambda name: read_query(Path(name)),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_missing_file_is_our_error_and_pythons(door: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.xml")
    with pytest.raises(FileNotFoundError) as caught:
        DOORS[door](missing)
    fault = caught.value
    assert isinstance(fault, XStreamError)
    assert (fault.code, fault.errno) == ("XSC0006", ENOENT)
    assert missing in str(fault)


def test_the_error_crosses_processes_as_it_is() -> None:
    fault = file_error(FileNotFoundError(ENOENT, "No such file or directory"), "a.xml", "look again")
    again = pickle.loads(pickle.dumps(fault))
    assert (type(again), str(again), again.errno) == (type(fault), str(fault), ENOENT)
    assert str(fault) == "XSC0006 a.xml No such file or directory\n  hint: look again"


def test_other_faults_of_files_are_oserrors_only() -> None:
    fault = file_error(PermissionError(13, "Permission denied"), "a.xml")
    assert isinstance(fault, OSError)
    assert not isinstance(fault, FileNotFoundError)


@pytest.mark.parametrize("format", ["changes", "json", "xml", "live"])
def test_watch_writes_nothing_before_it_says_that_a_source_is_missing(format: str, tmp_path: Path) -> None:
    published = tmp_path / "published.xml"
    given = ("--stream", f"s={tmp_path / 'missing.xml'}", "--publish", f"a={published}")
    ran = xcast("watch", 'count(stream("s")//a)', *given, "--format", format)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith(f"xcast: XSC0006 {tmp_path / 'missing.xml'} ")
    assert not published.exists()


def test_one_source_needs_no_list() -> None:
    structure = xstreamcast.infer_structure(BytesIO(b"<a><b/></a>"))
    assert sorted(tag.name for tag in structure.tags.values()) == ["a", "b"]


def test_errors_call_a_file_as_it_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.xml").write_bytes(b"<a>\n<b></a>")
    Path("large.xml").write_bytes(b"<a>\n" + b"<b/>\n" * 1_000_000 + b"<b></a>")
    for name, line, query in (("small", 2, "//b"), ("large", 1_000_002, "//b"), ("large", 1_000_002, "//b[last()]")):
        ran = xcast("query", f"count({query})", f"{name}.xml")
        assert ran.code == 1
        assert ran.err.startswith(f"xcast: XSC0001 {name}.xml:{line}:")


@pytest.mark.parametrize(
    "command",
    [
        ("generate", "xmark", "--factor", "0.001", "-o"),
        ("fragment", "d.xml", "-o"),
        ("materialise", "d.xml", "-o"),
        ("structure", "d.xml", "-o"),
        ("watch", 'stream("s")//a', "--stream", "s=d.xml", "--publish"),
        ("feed", "/a/b", "d.xml", "-o"),
    ],
    ids=lambda command: command[0],
)
def test_where_nothing_can_be_written_the_reason_is_told(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.xml").write_bytes(b"<a><b/></a>")
    *rest, option = command
    ran = xcast(*rest, option, "n=no/where.xml" if option == "--publish" else "no/where.xml")
    assert ran.code == 1
    assert "xcast: XSC0006 cannot write no/where.xml: No such file or directory" in ran.err
