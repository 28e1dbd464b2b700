"""What is closed for good is let go of in the modes certain and optimistic, too, and no answer is another for it."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fixed_streams import STRUCTURE, Drawn
from kept_streams import Kept
from test_sealing_law import QUERIES, accepted

import xstreamcast
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, Eos, Fill, Freeze
from xstreamcast.model.time import parse_instant
from xstreamcast.plan.modes.rewrite import Emission

MODES: tuple[Emission, ...] = ("certain", "optimistic")
MANY = 40
NOW = parse_instant("2003-11-30")


def shown(answer: Callable[[], str]) -> str:
    try:
        return answer()
    except XStreamError as failure:
        return f"error {failure.code}"


def check(text: str, emission: Emission, changes: list[Change], counts: list[bool], fixed: str | None) -> int:
    """Follow some changes, of which some count; how many regions were let go of."""
    query = xstreamcast.continuous(text, structures=STRUCTURE, emit=emission, fixed=fixed)
    kept = Kept(text, emission, STRUCTURE)
    for number, (change, counted) in enumerate(zip([*changes, Eos()], [*counts, True], strict=True)):
        query.feed(change, "s")
        if counted:
            kept.stream.apply(change)
        assert shown(query.text) == shown(lambda: kept.answer(NOW)), (
            f"{emission}: {text}\nafter {changes[: number + 1]}"
        )
    found: int = query.state()["streams"]["s"]["sealed"]
    return found


@pytest.mark.parametrize("emission", MODES)
@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_where_all_is_fixed_the_answer_is_that_on_the_first_contents(number: int, emission: Emission) -> None:
    text = QUERIES[number]
    for seed in range(3):
        changes = list(Drawn(random.Random(f"{text} {seed} modes"), shuffled=bool(seed % 2)).changes(0.3))
        check(text, emission, changes, list(accepted(changes)), "*")


@pytest.mark.parametrize("emission", MODES)
@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_freezing_changes_no_answer(number: int, emission: Emission) -> None:
    text = QUERIES[number]
    for seed in range(2):
        drawn = Drawn(random.Random(f"frozen {text} {seed}"), shuffled=False)
        changes = list(drawn.changes(0.1))
        numbers = list(range(drawn.last + 1))
        drawn.draw.shuffle(numbers)
        for frozen in numbers:
            changes += [Freeze(region=frozen), drawn.update()]
        check(text, emission, changes, [True] * len(changes), None)


def records() -> list[Change]:
    """A section with many records, in document order."""
    holes = b"".join(b'<stream:hole id="%d" tsid="3"/>' % number for number in range(2, MANY + 2))
    first: list[Change] = [
        Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/><stream:hole id="9999" tsid="2"/></r>'),
        Fill(region=1, tsid=2, content=b"<section>%s</section>" % holes),
    ]
    made = b'<b><x>%d</x><stream:hole id="%d" tsid="5"/></b>'
    for n in range(2, MANY + 2):
        first += [Fill(region=n, tsid=3, content=made % (n, 1000 + n)), Fill(region=1000 + n, tsid=5, content=b"<y/>")]
    return first


@pytest.mark.parametrize("emission", MODES)
@pytest.mark.parametrize("text", ['stream("s")//b[y]/x', 'for $b in stream("s")//b where $b/y return <o>{ $b/x }</o>'])
def test_in_document_order_what_is_kept_is_what_is_open(text: str, emission: Emission) -> None:
    query = xstreamcast.continuous(text, structures=STRUCTURE, fixed="*", emit=emission)
    most = 0
    for change in records():
        query.feed(change, "s")
        most = max(most, query.state()["streams"]["s"]["regions"])
    assert most <= 4, "the root, the section, a record and what is in it"
    assert query.state()["streams"]["s"]["sealed"] == 2 * MANY + 1
    assert query.text().count("<x>") == MANY


@pytest.mark.parametrize("emission", MODES)
def test_what_is_frozen_keeps_no_state(emission: Emission) -> None:
    query = xstreamcast.continuous('stream("s")//b[y]/x', structures=STRUCTURE, emit=emission)
    changes = [*records(), Fill(region=9999, tsid=2, content=b"<section/>")]
    query.feed_many(changes, "s")
    assert query.state()["operators"][0]["members"] == MANY
    for change in changes:
        query.feed(Freeze(region=change.region), "s")
    assert query.state()["operators"][0]["members"] == 0
    assert query.text().count("<x>") == MANY
    assert query.waiting == 0


def test_what_depends_on_open_holes_anywhere_is_kept() -> None:
    text = 'for $b in stream("s")//b where count(stream("s")//section) > 1 or $b/x > 20 return $b/x'
    query = xstreamcast.continuous(text, structures=STRUCTURE, fixed="*", emit="certain")
    query.feed_many(records(), "s")
    before = query.text()
    query.feed(Fill(region=9999, tsid=2, content=b"<section/>"), "s")
    assert (before.count("<x>"), query.text().count("<x>")) == (MANY - 19, MANY)
