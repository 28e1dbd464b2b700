"""``xcast query '<r>{ for … }</r>'`` writes the elements around items before the items, and what a whole one would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import xcast

from xstreamcast.model.serialise import Markup, Output, grows
from xstreamcast.run import inputs
from xstreamcast.run.inputs import Scanning
from xstreamcast.run.query import compile

SOME = "<a n='1'>x<b>y</b></a><a n='2'/><a n='3'><b>&lt;</b></a>"
DOCUMENT = f"<s><h>3</h>{SOME * 40}</s>"

QUERIES = [
    "<r>{ for $a in /s/a where $a/b return <i>{ $a/b/text() }</i> }</r>",
    "<r>{ /s/a/b }</r>",
    "<r>{ /s/nothing }</r>",
    "<r n='1'><q>{ /s/a/b }</q></r>",
    "<r>{ /s/a/b }{ /s/nothing }</r>",
    "<r>{ /s/nothing }{ /s/a }</r>",
    "<r>{ /s/nothing }{ /s/neither }</r>",
    "<r> one <q>{ /s/a/b }</q> two <q>{ /s/nothing }</q> { /s/h }</r>",
    "<r>{ for $a in /s/a return string($a/@n) }</r>",
    "<r>{ for $a in /s/a return (1, text { $a/@n }, 2) }</r>",
    "<r>{ for $a in /s/a return string($a/@n) }{ 1 }</r>",
    "<r>{ for $a in /s/a return string($a/nothing) }</r>",
    "element r { for $a in /s/a return $a/b }",
    "<r a='{ count(/s/a) }'>{ /s/a/b }</r>",
    "<r>{ (/s/a/@n)[1] }{ /s/a/b }</r>",
    "<r xmlns='u'>{ /s/a/b }</r>",
    "<r xmlns:p='u'>{ for $a in /s/a return <p:b>{ $a/b }</p:b> }</r>",
    "let $n := 3 return <r n='{ $n }'>{ for $a in /s/a return $a/b }</r>",
    "if (1 = 1) then <r>{ /s/a/b }</r> else <q>{ /s/a/h }</q>",
    "<r>{ /s/a/b }</r>, <q>{ /s/h }</q>, 1",
    "1, 2, <r>{ /s/h }</r>, 3",
    "<r>{ /s/a/b }<?xstreamcast-items 0?></r>",
    "<r>{ for $a in /s/a return $a/b }{ count(/s/a) }</r>",
    "declare variable $all := /s/a/b; <r>{ $all }</r>, count($all)",
    "<r>{ let $b := /s/a/b return $b }</r>",
    "<r>{ for $a in /s/a order by $a/@n return $a/b }</r>",
]


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "d.xml"
    path.write_text(DOCUMENT)
    return path


def pieces(query: str, document: Path, scanning: Scanning) -> list[Any]:
    return list(compile(query)(context=document, scanning=scanning).consume())


def text(items: list[Any]) -> str:
    made: list[str] = []
    Output(compile("1").parameters(), made.append).extend(items)
    return "".join(made)


@pytest.mark.parametrize("query", QUERIES)
def test_in_pieces_it_is_what_it_is_whole(query: str, document: Path, large: None) -> None:
    assert grows(compile(query).parameters())
    for step in (200, 1 << 20):
        whole = text(pieces(query, document, Scanning(step=step)))
        assert text(pieces(query, document, Scanning(step=step, grow=True))) == whole


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents of this size are scanned too."""
    monkeypatch.setattr(inputs, "KERNEL_FROM", 1000)


def test_the_start_tag_is_out_before_the_items_and_they_are_not_kept(document: Path, large: None) -> None:
    found = pieces(QUERIES[0], document, Scanning(step=200, grow=True))
    assert found[0] == Markup("<r>", opens=True)
    assert found[-1] == Markup("</r>")
    assert len(found) == 2 + 80


def test_the_command_writes_them(document: Path, large: None) -> None:
    assert xcast("query", "<r>{ /s/h }</r>", document).out == b"<r><h>3</h></r>\n"
    assert xcast("query", "<r>{ /s/nothing }</r>", document).out == b"<r/>\n"
    assert xcast("query", "--indent", "<r>{ /s/h }</r>", document).out == b"<r>\n  <h>3</h>\n</r>\n"
