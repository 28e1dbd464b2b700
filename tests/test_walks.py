"""The walks in ``docs/architecture.md`` are those that the code goes: each function is called, and in that order."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import xstreamcast
from xstreamcast import Change, Fill, Replace
from xstreamcast.model.structure import parse_structure
from xstreamcast.scan.parse import KERNEL_FROM

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "xstreamcast"
Step = tuple[str, str]
"""A file below ``xstreamcast``, and a function in it."""

BOOKS = "for $b in //book where $b/price < 30 return $b/title"
TAGS = """<stream:structure><tag id="1" name="books"><tag id="2" name="book" type="filler">
<tag id="3" name="title"/><tag id="4" name="price"/></tag></tag></stream:structure>"""


def tables() -> list[list[Step]]:
    """The steps of each table with a walk."""
    found: list[list[Step]] = [[]]
    for line in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            found.append([])
        for path, names in re.findall(r"\]\(\.\./xstreamcast/([\w/]+\.py)\)((?:,? ?`[\w.]+`)+)", line):
            found[-1] += [(path, name) for name in re.findall(r"`([\w.]+)`", names)]
    return [steps for steps in found if steps]


def called(work: Callable[[], object]) -> list[Step]:
    """The functions of the package that are called, each when it is called first."""
    seen: dict[Step, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in file.parents:
            seen.setdefault((file.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return list(seen)


def in_order(steps: list[Step], calls: list[Step]) -> list[Step]:
    """The steps as they were called; those that were not are missing."""
    return sorted((step for step in steps if step in calls), key=calls.index)


def test_there_are_three_walks() -> None:
    assert [len(steps) for steps in tables()] == [16, 16, 12]


def test_a_query_at_rest_goes_so(tmp_path: Path) -> None:
    file = tmp_path / "books.xml"
    book = "<book><title>T</title><price>9</price></book>"
    file.write_text(f"<books>{book * (2 * KERNEL_FROM // len(book))}</books>")
    list(xstreamcast.query("count(//book)", context=file))  # the kernel is loaded
    calls = called(lambda: list(xstreamcast.query(f"{BOOKS} (: not asked before :)", context=file)))
    walk = tables()[0]
    assert in_order(walk, calls) == walk


@pytest.mark.parametrize("tags", [TAGS, None], ids=["columns", "objects"])
def test_a_change_in_motion_goes_so(tags: str | None) -> None:
    structures = None if tags is None else {"books": parse_structure(tags)}
    query = xstreamcast.continuous(BOOKS.replace("//book", 'stream("books")//book'), structures=structures)
    book = None if tags is None else 2
    hole = b'<stream:hole id="2"/>' if tags is None else b'<stream:hole id="2" tsid="2"/>'
    query.feed(Fill(region=0, tsid=None if tags is None else 1, content=b"<books>" + hole + b"</books>"))
    query.feed(Fill(region=2, tsid=book, content=b"<book><title>T</title><price>9</price></book>"))
    change = Replace(region=2, tsid=book, content=b"<book><title>U</title><price>7</price></book>")
    told: list[Change] = []
    calls = called(lambda: told.extend(query.feed(change)))
    assert [(one.kind, query.text()) for one in told] == [("replace", "<title>U</title>")]
    assert query.state()["followed"] == ("objects" if tags is None else "columns")
    walk = tables()[2 if tags is None else 1]
    assert in_order(walk, calls) == walk
