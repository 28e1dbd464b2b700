"""What is closed for good keeps no state: counts of what is kept, and what is ignored."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fixed_streams import STRUCTURE

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.generate import stock
from xstreamcast.model.change import After, Change, Fill, Freeze, Hide, Remove, Replace
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import parse_structure, write_structure
from xstreamcast.run.continuous.arrive import inflow
from xstreamcast.run.continuous.journal import Journal

MANY = 300


def records(many: int = MANY) -> list[Change]:
    """A section with many records."""
    holes = b"".join(b'<stream:hole id="%d" tsid="3"/>' % number for number in range(2, many + 2))
    first = [
        Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/><stream:hole id="9999" tsid="2"/></r>'),
        Fill(region=1, tsid=2, content=b"<section>%s</section>" % holes),
    ]
    return [*first, *[Fill(region=n, tsid=3, content=b"<b><x>%d</x></b>" % n) for n in range(2, many + 2)]]


def kept(query: xstreamcast.ContinuousQuery) -> tuple[int, int, int]:
    """Regions in the table, places of holes, and regions of the answer that are told apart."""
    output = query._begun()
    assert isinstance(output.journal, Journal)
    live = output.journal.live["s"]
    shown = sum(1 for shelf in output.shelves for _ in shelf)
    return query.state()["streams"]["s"]["regions"], len(live.holes), shown


@pytest.mark.parametrize("text", ['stream("s")//x', 'sum(stream("s")//x)', 'count(stream("s")//b[x > 5])'])
def test_in_document_order_what_is_kept_is_what_is_open(text: str) -> None:
    query = xstreamcast.continuous(text, structures=STRUCTURE, fixed="*")
    counts = []
    for change in records():
        query.feed(change, "s")
        counts.append(kept(query))
    assert {regions for regions, _, _ in counts[2:]} == {1, 2}, "the root, and the section that is not complete"
    assert [holes for _, holes, _ in counts[2:-1]] == list(range(MANY + 2, 3, -1)), "one less with each record"
    assert counts[-1][1] == 2, "the root, and the hole that nobody has filled"
    assert max(shown for _, _, shown in counts) == 1, "all that has been told is one region"
    assert query.state()["streams"]["s"]["sealed"] == MANY + 1
    assert len(query.text()) > 2


@pytest.mark.parametrize("rooted", [None, "rooted"])
def test_in_any_order_it_comes_to_the_same(rooted: str | None) -> None:
    changes = records()
    random.Random(3).shuffle(changes)
    query = xstreamcast.continuous('stream("s")//x', structures=STRUCTURE, fixed="*", assume=rooted)
    output = Materialiser(None)
    for change in changes:
        for told in query.feed(change, "s"):
            output.apply(told)
    assert query.text() == output.text().rstrip("\n") == "".join(f"<x>{n}</x>" for n in range(2, MANY + 2))
    assert kept(query)[2] <= 8, "one for each block of the order tree, at most"
    assert kept(query)[0] <= 1


@pytest.mark.parametrize("text", ['stream("s")//x', 'count(stream("s")//b)'])
def test_a_file_leaves_no_more_behind(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflow, "KERNEL_FROM", 0)
    monkeypatch.setattr(inflow, "READY_FROM", 0)
    fillers = b"".join(
        b'<stream:filler id="%d"%s>%s</stream:filler>'
        % (c.region, b' tsid="%d"' % c.tsid if c.tsid else b"", c.content)
        for c in records(2000)
        if isinstance(c, Fill)
    )
    path = tmp_path / "stream.xml"
    head = b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">'
    path.write_bytes(head + write_structure(STRUCTURE).encode() + fillers + b"</stream:fragments>")
    query, plain = xstreamcast.continuous(text, fixed="*"), xstreamcast.continuous(text)
    most = []
    query.inflow.load(str(path), "s", lambda _: most.append(kept(query)[0]))
    plain.load(str(path), "s")
    assert query.text() == plain.text()
    assert max(most) <= 2
    assert query.state()["streams"]["s"]["sealed"] == 2001


def test_what_is_frozen_keeps_no_state() -> None:
    query = xstreamcast.continuous('sum(stream("s")//x)', structures=STRUCTURE)
    changes = [*records(), Fill(region=9999, tsid=2, content=b"<section/>")]
    for change in changes:
        query.feed(change, "s")
    assert query.state()["operators"][0]["members"] == MANY
    numbers = [change.region for change in changes]
    for number in numbers[1:]:
        query.feed(Freeze(region=number), "s")
    assert query.state()["operators"][0]["members"] == MANY, "the root may be sent again"
    query.feed(Freeze(region=0), "s")
    assert query.state()["operators"][0]["members"] == 0
    assert kept(query)[1] == 1
    assert query.text() == str(sum(range(2, MANY + 2)))
    query.feed(Replace(region=5, tsid=3, content=b"<b><x>1000</x></b>"), "s")
    assert query.text() == str(sum(range(2, MANY + 2)))


def test_updates_of_what_is_declared_fixed_are_ignored_and_counted() -> None:
    heard: list[Diagnostic] = []
    query = xstreamcast.continuous(
        'for $b in stream("s")//b return <b>{ $b/x, $b/y }</b>', structures=STRUCTURE, fixed=["b"], report=heard.append
    )
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/></r>'), "s")
    query.feed(Fill(region=1, tsid=2, content=b'<section><stream:hole id="2" tsid="3"/></section>'), "s")
    query.feed(Fill(region=2, tsid=3, content=b'<b><x>1</x><stream:hole id="3" tsid="5"/></b>'), "s")
    for change in (
        Replace(region=2, tsid=3, content=b"<b><x>2</x></b>"),
        Hide(region=2),
        Remove(region=2),
        After(region=4, target=2, content=b"<b><x>3</x></b>"),
    ):
        assert query.feed(change, "s") == []
    assert query.state()["streams"]["s"]["ignored"] == 4
    assert [one.code for one in heard] == ["XSC0035"] * 4
    query.feed(Fill(region=3, tsid=5, content=b"<y>1</y>"), "s")
    query.feed(Replace(region=3, tsid=5, content=b"<y>2</y>"), "s")
    assert query.text() == "<b><x>1</x><y>2</y></b>", "the y in it is not fixed"
    query.feed(Replace(region=1, tsid=2, content=b"<section/>"), "s")
    assert query.text() == ""
    query.feed(Replace(region=1, tsid=2, content=b'<section><stream:hole id="2" tsid="3"/></section>'), "s")
    assert query.text() == "<b><x>1</x><y>2</y></b>", "what may be shown again is kept"


def test_versions_and_events_that_have_come_are_not_corrected() -> None:
    structure = parse_structure(
        '<stream:structure xmlns:stream="urn:xstreamcast:stream"><tag id="1" name="r" type="snapshot">'
        '<tag id="2" name="v" type="temporal"/></tag></stream:structure>'
    )
    query = xstreamcast.continuous('stream("s")//v?[now]/text()', structures=structure, fixed="*")
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/></r>'), "s")
    day = 86_400_000_000
    query.feed(Fill(region=1, tsid=2, valid_time=day, content=b"<v>1</v>"), "s")
    query.feed(Replace(region=1, tsid=2, valid_time=day, content=b"<v>one</v>"), "s")
    assert query.text() == "1"
    query.feed(Fill(region=1, tsid=2, valid_time=2 * day, content=b"<v>2</v>"), "s")
    assert query.text() == "2"


def test_items_that_were_told_are_gone_but_their_text_is_not() -> None:
    query = xstreamcast.continuous('stream("s")//x', structures=STRUCTURE, fixed="*")
    query.feed_many(records(3), "s")
    assert query.text() == "<x>2</x><x>3</x><x>4</x>"
    with pytest.raises(XStreamError) as failure:
        query.answer().items()
    assert failure.value.code == "XSC0092"
    late = xstreamcast.continuous('count(stream("t")//x)')
    late.listen("t", query)
    assert late.text() == "3", "who comes later is told all of it"


def test_the_labels_of_items_stay_in_order_where_something_comes_in_between() -> None:
    changes = records(40)
    random.Random(1).shuffle(changes)
    query = xstreamcast.continuous('stream("s")//x', structures=STRUCTURE, fixed="*")
    labels: dict[str, str] = {}
    for change in changes:
        query.inflow.feed(change, "s")
        for emitted in query.take():
            if isinstance(emitted.change, After) and emitted.order is not None:
                labels[emitted.order] = emitted.change.content.decode()
    assert "".join(labels[label] for label in sorted(labels)) == query.text()


def test_a_tag_that_no_structure_has_is_reported() -> None:
    heard: list[Diagnostic] = []
    query = xstreamcast.continuous('stream("s")//x', fixed=["book"], report=heard.append)
    query.feed(STRUCTURE, "s")
    assert [(one.code, one.severity) for one in heard] == [("XSC0035", "warning")]
    with pytest.raises(XStreamError, match="without a name"):
        xstreamcast.continuous('stream("s")//x', fixed=["b", ""])


def test_explain_tells_what_may_change_and_what_is_kept() -> None:
    def said(fixed: list[str]) -> list[str]:
        told = str(xstreamcast.explain('stream("s")//x', structures={"s": STRUCTURE}, fixed=fixed))
        return [line.strip() for line in told.splitlines() if "mutable:" in line or "fixed:" in line]

    assert said([]) == ["mutable: tsid 1, 2, 3: kept, for they may change"]
    assert said(["b"]) == [
        "mutable: tsid 1, 2: kept, for they may change",
        "fixed: tsid 3: kept, for what they are in may change",
    ]
    assert said(["*"]) == ["fixed: tsid 1, 2, 3: nothing is kept of them once they are complete and told"]


def test_what_came_before_somebody_followed_it_is_let_go_of_too() -> None:
    queries = xstreamcast.continuous_many(['stream("s")//x', 'count(stream("s")//b)'], structures=STRUCTURE, fixed="*")
    queries.feed_many(records(20), "s")
    queries.feed(Fill(region=9999, tsid=2, content=b"<section/>"), "s")
    assert [query.text()[-9:] for query in queries.queries] == ["<x>21</x>", "20"]
    assert queries.associations["s"].sizes()["regions"] == 1


@pytest.mark.parametrize("seals", [True, False], ids=["let go of", "told again by somebody"])
def test_what_must_be_told_again_is_kept_also_when_the_plan_is_another(seals: bool) -> None:
    query = xstreamcast.continuous('stream("s")//x/..')  # can be followed once there is a structure
    query.inflow.seals = seals
    changes = [*records(3), Fill(region=9999, tsid=2, content=b"<section/>")]
    for part in (changes[:3], [STRUCTURE], changes[3:]):
        query.feed_many(part, "s")
    query.feed_many([Freeze(region=change.region) for change in reversed(changes)], "s")
    assert query.text() == "".join(f"<b><x>{number}</x></b>" for number in (2, 3, 4))
    assert (query.state()["streams"]["s"]["sealed"] > 0) == seals


@pytest.mark.parametrize("text", ['count(stream("ticker")//stock)', 'stream("ticker")//stock/name'])
def test_regions_in_the_content_of_one_that_is_let_go_of_go_with_it(text: str) -> None:
    structure = parse_structure(stock.GENERATOR.structures["ticker"])
    assert stock.GENERATOR.changes is not None
    changes = [change for stream, change in stock.GENERATOR.changes(0.1, 1, 60) if stream == "ticker"]
    assert any(isinstance(change, Replace) for change in changes), "regions in contents change"
    query = xstreamcast.continuous(text, structures=structure, fixed="*")
    query.feed_many(changes)
    assert query.state()["streams"]["ticker"]["regions"] == 1  # the root
    assert query.state()["streams"]["ticker"]["ignored"] > 0
    whole = xstreamcast.continuous(text, structures=structure)
    whole.feed_many([change for change in changes if isinstance(change, Fill)])
    assert query.text() == whole.text()
