"""A query that finds nothing and names what the document nearly has: a warning says what may be meant."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command import xcast

DOCUMENT = '<site><person id="p1"><name>A</name></person><person id="p2" income="3"><name>B</name></person></site>'
MEANT = {
    "count(//persn)": ["query:1:9 there is no persn in d.xml (hint: did you mean person?)"],
    "//person[@ID = 'p1']": ["query:1:11 there is no @ID in d.xml (hint: did you mean @id?)"],
    "exists(/site/*:persons)": ["query:1:14 there is no persons in d.xml (hint: did you mean person?)"],
    "for $p in //person where $p/@incme > 1 return $p/nmae": [
        "query:1:30 there is no @incme in d.xml (hint: did you mean @income?)",
        "query:1:50 there is no nmae in d.xml (hint: did you mean name?)",
    ],
}
NOT_MEANT = ["count(//error)", "//person[@id = 'p3']", "//person/phone", "1 = 2", "count(//persn), count(//person)"]


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.xml").write_text(DOCUMENT)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("query", MEANT)
def test_a_name_that_is_nearly_there_is_told(query: str) -> None:
    ran = xcast("query", query, "d.xml")
    assert ran.code == 0
    assert ran.err.splitlines() == [f"xcast: warning: {told}" for told in MEANT[query]]


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("query", NOT_MEANT)
def test_nothing_is_told_of_what_is_there_or_far_from_it(query: str) -> None:
    assert xcast("query", query, "d.xml").err == ""


@pytest.mark.usefixtures("_here")
def test_of_a_large_document_the_beginning_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xstreamcast.scan.parse.LOOKED_THROUGH", 1 << 20)
    Path("d.xml.gz").write_bytes(gzip.compress(f"<all>{DOCUMENT * 20_000}<persn/></all>".encode(), 1))
    told = "query:1:9 there is no nmae in the first 1 MB of d.xml.gz (hint: did you mean name?)"
    assert xcast("query", "count(//nmae)", "d.xml.gz").err == f"xcast: warning: {told}\n"
    assert xcast("query", "count(//persn)", "d.xml.gz").err == "", "it is there, further on"
