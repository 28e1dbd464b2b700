"""``xcast explain`` from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import xcast

TAGS = '<stream:structure><tag id="1" name="a"><tag id="2" name="b" type="filler"/></tag></stream:structure>'


def test_the_verdict_comes_first() -> None:
    ran = xcast("explain", "for $p in //person return $p/name")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.decode().splitlines()[0] == "one pass; state: one person at a time"


def test_a_query_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "q.xq"
    file.write_text("count(//a)")
    assert xcast("explain", "-f", file).out.startswith(b"one pass; state: a count")


def test_dot_prints_a_graph_only() -> None:
    out = xcast("explain", "count(//a)", "--dot").out.decode()
    assert out.startswith("digraph query {")
    assert out.rstrip().endswith("}")


def test_a_structure_by_file(tmp_path: Path) -> None:
    file = tmp_path / "tags.xml"
    file.write_text(TAGS)
    ran = xcast("explain", "count(//c)", "--structure", file)
    assert ran.err == "xcast: warning: nothing matches //c by the structure\n"
    ran = xcast("explain", 'stream("s")//b', "--structure", f"s={file}")
    assert "fragments needed: tsid 1, 2 (2 of 2)" in ran.out.decode()


@pytest.mark.parametrize("arguments", [(), ("1", "-f", "q.xq")])
def test_one_query_is_asked_for(arguments: tuple[str, ...]) -> None:
    assert xcast("explain", *arguments).code == 2


def test_errors_have_code_place_and_hint() -> None:
    ran = xcast("explain", "for $x in //a return $y")
    assert ran.code == 1
    assert ran.err.startswith("xcast: XPST0008 query:1:22 the variable $y is not declared")


def test_a_library_module_is_refused() -> None:
    ran = xcast("explain", 'module namespace m = "urn:m"; declare function m:f() { 1 };')
    assert ran.code == 1
    assert "is no query: it has no expression to run" in ran.err


def test_help_has_examples() -> None:
    assert "xcast explain -f report.xq --dot" in xcast("explain", "--help").out.decode()
