"""What is closed for good is not kept, and the answer stays that of the query on what counts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from budget import MORE
from fixed_streams import STRUCTURE, Drawn

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import After, Before, Change, Fill, Freeze, Repeat, Replace
from xstreamcast.model.serialise import serialise
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of

QUERIES = (
    'stream("s")//x',
    'count(stream("s")//b)',
    'sum(stream("s")//x)',
    'max(stream("s")//b/x)',
    'for $b in stream("s")//b where $b/x > 4 return <b>{ $b/x, $b/y }</b>',
    'stream("s")//b/x/text()',
    'stream("s")//x/number()',
    'for $s in stream("s")/r/section return <s>{ count($s/b), $s/b[y]/x }</s>',
    '<all>{ for $b in stream("s")//b return $b/x }</all>',
    'for $b in stream("s")//b order by $b/x descending return $b/x',
    'for $s in stream("s")//section where count($s/b) > 1 return <s n="{ $s/@n }"/>',
    '(stream("s")//x)[2]',
    'for $b in stream("s")//b where $b/x = stream("s")//y return $b/x',
    '(count(stream("s")//y), stream("s")//b/y)',
)


def accepted(changes: list[Change]) -> Iterator[bool]:
    """Which changes count where every region keeps the content that it had first."""
    filled: set[int] = set()
    known: set[int] = set()
    for change in changes:
        target = getattr(change, "target", None)
        fixed = change.region in filled or target in filled
        yield not fixed or isinstance(change, Freeze)
        if isinstance(change, Fill | Repeat | Replace) and not fixed:
            filled.add(change.region)
        if not fixed and isinstance(change, Before | After) and target in known:
            filled.add(change.region)
        known.add(change.region)


def expected(text: str, whole: Materialiser) -> str:
    node = view_of(whole.text().encode(), "stream:s")
    return shown(lambda: serialise(list(compile(text)(streams=lambda _: node))))


def shown(answer: Callable[[], str]) -> str:
    try:
        return answer()
    except XStreamError as failure:
        return f"error {failure.code}"


@pytest.mark.parametrize("number", range(len(QUERIES)))
@pytest.mark.parametrize("shuffled", [False, True], ids=["in-order", "shuffled"])
def test_where_all_is_fixed_the_answer_is_that_on_the_first_contents(number: int, shuffled: bool) -> None:
    text = QUERIES[number]
    for seed in range(2 * MORE):
        changes = list(Drawn(random.Random(f"{text} {seed} {shuffled}"), shuffled).changes(0.3))
        query = xstreamcast.continuous(text, structures=STRUCTURE, fixed="*")
        whole, output = Materialiser(STRUCTURE), Materialiser(None)
        for change, counts in zip(changes, accepted(changes), strict=True):
            for told in query.feed(change, "s"):
                output.apply(told)
            if counts:
                whole.apply(change)
            assert shown(query.text) == expected(text, whole), (seed, change)
            if query.failure is None:
                assert output.text().rstrip("\n") == query.text(), (seed, change)


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_freezing_changes_no_answer(number: int) -> None:
    text = QUERIES[number]
    sealed = 0
    for seed in range(6 * MORE):
        drawn = Drawn(random.Random(f"frozen {text} {seed}"), shuffled=False)
        changes = list(drawn.changes(0.1))
        numbers = list(range(drawn.last + 1))
        if seed % 2:
            drawn.draw.shuffle(numbers)
        for frozen in numbers:
            changes += [Freeze(region=frozen), drawn.update()]
        query = xstreamcast.continuous(text, structures=STRUCTURE)
        whole = Materialiser(STRUCTURE)
        for change in changes:
            query.feed(change, "s")
            whole.apply(change)
            assert shown(query.text) == expected(text, whole), (seed, change)
        sealed += query.state()["streams"]["s"]["sealed"]
    assert sealed or "order by" in text or "[2]" in text or "= stream" in text or "<all>" in text or "number" in text
