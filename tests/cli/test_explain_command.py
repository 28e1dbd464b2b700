"""``xcast explain`` from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import xcast

from xstreamcast import explain

TAGS = '<stream:structure><tag id="1" name="a"><tag id="2" name="b" type="filler"/></tag></stream:structure>'
TIMED = (
    '<stream:structure><tag id="1" name="a"><tag id="2" name="t" type="event"/>'
    '<tag id="3" name="u" type="event"/></tag></stream:structure>'
)


def test_sentences_come_first() -> None:
    ran = xcast("explain", "for $p in //person return $p/name")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.decode().splitlines()[:3] == [
        "The context document is read once, and the answer comes while it is read.",
        "Kept at any moment: one person at a time.",
        "",
    ]


def test_the_theorems_come_when_asked_for() -> None:
    text = "for $i in //item return count(//item)"
    plain, why = xcast("explain", text).out.decode(), xcast("explain", text, "--why").out.decode()
    assert why.startswith(plain)
    assert "theorem" not in plain
    assert "graph  (" not in plain
    added = why.removeprefix(plain).strip().splitlines()
    assert added[0].startswith("verdict: two passes: count(//item) is needed while //item is traversed")
    assert added[-1].startswith("  theorem 3  no   a cycle: ")


def test_programs_get_the_same_facts() -> None:
    text = 'for $a in stream("s")//a order by $a/x return ($a, count(stream("s")//b))'
    told = json.loads(xcast("explain", text, "--json").out)
    assert told == explain(text).facts()
    assert (told["verdict"], told["passes"]) == (explain(text).verdict, 1)
    assert "\n".join(told["sentences"]) in xcast("explain", text).out.decode()
    assert [(one["line"], one["column"], one["text"]) for one in told["blocking"]] == [(1, 26, "order by $a/x")]
    assert {one["id"]: one["inputs"] for one in told["operators"]} == {
        "s1": ["s2"], "s2": ["s3", "s5"], "s3": ["s4"], "s4": [], "s5": [],
    }  # fmt: skip
    assert [one["operator"] for one in told["operators"] if one["state"] == "input"] == ["Extract ρ", "Extract ρ"]
    assert told["changes"]["followed"] == "by objects"
    assert [one["operator"] for one in told["changes"]["operators"]] == ["Reduce Δ", "Sort"]
    assert told["streams"] == []


def test_programs_get_fragments_and_retention(tmp_path: Path) -> None:
    file = tmp_path / "tags.xml"
    file.write_text(TIMED)
    text = 'stream("s")//t?[now-PT1H,now]'
    told = json.loads(xcast("explain", text, "--json", "--structure", f"s={file}").out)
    assert told["streams"] == [
        {
            "stream": "s", "needed": [1, 2], "of": 3,
            "kept": [{"tag": 2, "path": "/a/t", "type": "event", "keep": "the last PT1H"}],
        }
    ]  # fmt: skip
    assert told["changes"]["followed"] == "in columns"


@pytest.mark.parametrize("both", [("--json", "--svg"), ("--dot", "--svg"), ("--why", "--json")])
def test_one_form_is_printed(both: tuple[str, str]) -> None:
    assert xcast("explain", "1", *both).code == 2


def test_a_query_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "q.xq"
    file.write_text("count(//a)")
    assert xcast("explain", "-f", file).out.splitlines()[1] == b"Kept at any moment: a count."


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
