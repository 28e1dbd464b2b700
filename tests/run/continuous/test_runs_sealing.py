"""What a file brings and nothing can change is let go of by runs, and the answer stays that of the query on it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from budget import MORE
from fixed_streams import STRUCTURE, Drawn
from test_runs import live_of
from test_runs_law import written
from test_sealing import kept
from test_sealing_law import QUERIES, accepted, expected, shown

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import Change, Fill, Freeze
from xstreamcast.run.continuous.adjust.order import WIDTH
from xstreamcast.run.continuous.arrive import inflow, share
from xstreamcast.run.continuous.evaluate import bulk


class Wide(Drawn):
    """Sections have many records."""

    def content(self, tag: int) -> str:
        if tag != 2:
            return super().content(tag)
        return f'<section n="{self.draw.randrange(10)}">{self._holes(3, 40)}{self._holes(6, 2)}</section>'


@pytest.fixture(autouse=True)
def _by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflow, "_kernel_from", lambda: 1)
    monkeypatch.setattr(inflow.Inflow, "columns", False)
    monkeypatch.setattr(bulk, "TOGETHER", 300)


@pytest.mark.parametrize("number", range(len(QUERIES)))
@pytest.mark.parametrize("shuffled", [False, True], ids=["in-order", "shuffled"])
def test_a_file_and_what_follows_it_give_the_answer_on_the_first_contents(
    number: int, shuffled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, file = QUERIES[number], tmp_path / "s.xml"
    for seed in range(2 * MORE):
        draw = random.Random(f"{text} {seed} {shuffled}")
        monkeypatch.setattr(share, "LET_GO_OF", draw.choice((3, 20, 512)))
        changes = list(Wide(draw, shuffled).changes(0.02))
        cut = draw.randint(len(changes) // 2, len(changes))
        written(changes[:cut], file, STRUCTURE)
        query = xstreamcast.continuous(text, structures=STRUCTURE, fixed="*")
        whole, output = Materialiser(STRUCTURE), Materialiser(None)
        counts = list(accepted(changes))
        for told in query.load(str(file), "s"):
            output.apply(told)
        for change, count in zip(changes[:cut], counts, strict=False):
            if count:
                whole.apply(change)
        assert shown(query.text) == expected(text, whole), (seed, cut)
        for change, count in list(zip(changes, counts, strict=True))[cut:][:12]:
            for told in query.feed(change, "s"):
                output.apply(told)
            if count:
                whole.apply(change)
            assert shown(query.text) == expected(text, whole), (seed, cut, change)
            if query.failure is None:
                assert output.text().rstrip("\n") == query.text(), (seed, cut, change)


@pytest.mark.parametrize("number", [0, 1, 2, 4])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in-order", "shuffled"])
def test_where_fragments_stand_by_their_numbers_a_file_gives_what_they_give_one_by_one(
    number: int, shuffled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, file = QUERIES[number], tmp_path / "s.xml"
    for seed in range(2 * MORE):
        draw = random.Random(f"rooted {text} {seed} {shuffled}")
        monkeypatch.setattr(share, "LET_GO_OF", draw.choice((3, 20, 512)))
        changes = list(Wide(draw, shuffled).changes(0.0))
        cut = draw.randint(len(changes) // 2, len(changes))
        written(changes[:cut], file, STRUCTURE)
        query, single = [
            xstreamcast.continuous(text, structures=STRUCTURE, fixed="*", assume="rooted") for _ in range(2)
        ]
        query.load(str(file), "s")
        for change in changes[:cut]:
            single.feed(change, "s")
        assert shown(query.text) == shown(single.text), (seed, cut)
        for change in changes[cut:][:12]:
            query.feed(change, "s")
            single.feed(change, "s")
            assert shown(query.text) == shown(single.text), (seed, cut, change)


def records(many: int) -> list[Change]:
    holes = b"".join(b'<stream:hole id="%d" tsid="3"/>' % number for number in range(2, many + 2))
    first: list[Change] = [
        Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/></r>'),
        Fill(region=1, tsid=2, content=b"<section>%s</section>" % holes),
    ]
    return [*first, *[Fill(region=n, tsid=3, content=b"<b><x>%d</x></b>" % n) for n in range(2, many + 2)]]


@pytest.mark.parametrize("assume", [None, "rooted"])
@pytest.mark.parametrize("text", ['stream("s")//x', 'sum(stream("s")//b/x)'])
def test_what_stood_in_runs_is_let_go_of_without_being_opened(
    text: str, assume: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "LET_GO_OF", 100)
    changes = records(1000)
    written(changes[:-1], tmp_path / "s.xml", STRUCTURE)
    query = xstreamcast.continuous(text, structures=STRUCTURE, fixed="*", assume=assume)
    most: list[tuple[int, int, int]] = []
    query.inflow.load(str(tmp_path / "s.xml"), "s", lambda _: most.append(kept(query)))
    live = live_of(query)
    assert max(regions for regions, _, _ in most) <= 2 + WIDTH
    assert live.runs.opened <= 1, "the section, which has too many holes"
    assert live.runs.standing <= 1
    query.feed(changes[-1], "s")
    numbers = range(2, 1002)
    assert query.text() == ("".join(f"<x>{n}</x>" for n in numbers) if "sum" not in text else str(sum(numbers)))
    assert query.state()["streams"]["s"]["sealed"] >= 1000
    assert kept(query)[0] <= 1


@pytest.mark.parametrize("text", ['stream("s")//b[y]', 'stream("s")//x', 'sum(stream("s")//b/x)'])
@pytest.mark.parametrize("first", ["the root", "the records"])
def test_what_was_loaded_and_is_frozen_then_is_let_go_of(text: str, first: str, tmp_path: Path) -> None:
    changes = records(50)
    changes[5] = Fill(region=5, tsid=3, content=b'<b><x>5</x><stream:hole id="900" tsid="5"/></b>')
    changes.append(Fill(region=900, tsid=5, content=b"<y>1</y>"))
    written(changes, tmp_path / "s.xml", STRUCTURE)
    query = xstreamcast.continuous(text, structures=STRUCTURE)
    query.load(str(tmp_path / "s.xml"), "s")
    said = query.text()
    numbers = [change.region for change in changes]
    for number in numbers if first == "the root" else reversed(numbers):
        assert query.feed(Freeze(region=number), "s") == []
    assert query.text() == said
    assert query.state()["operators"][0]["members"] == 0
    assert kept(query)[1] == 1, "the root"
