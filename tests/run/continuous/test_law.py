"""The law: after every change, the answer is what the query gives on T of all changes so far."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from budget import MORE
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from random_streams import STRUCTURE, queries, streams

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.functions.registry import known_function
from xstreamcast.lang.link import parse
from xstreamcast.model.change import After, Before, Change, Fill, Freeze, Hide, Remove, Replace, Show
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Strategy
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.run.continuous.engine import Continuous
from xstreamcast.run.library import moment_of
from xstreamcast.run.query import Query, compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.units import Evaluation
from xstreamcast.wire.fragment import read_stream

NOW = "2003-11-30"
slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
seeded = settings(max_examples=24 * MORE, deadline=None, database=None, suppress_health_check=slow)


def check(text: str, changes: Iterable[Change], structure: Structure | None = None) -> Continuous | None:
    """Hold an incremental evaluation against one from scratch, at every prefix."""
    made = plan(parse(text, known_functions=known_function), streams=True, changing=True)
    if made.strategy is Strategy.NONE:
        return None
    structures = {} if structure is None else {"s": structure}
    engine = Continuous(made, Evaluation(moment_of(NOW), {}, {}), structures)
    materialiser, query = Materialiser(structure), compile(text)
    for number, change in enumerate(changes, 1):
        materialiser.apply(change)
        engine.feed(change, "s")
        document = materialiser.text()
        node = view_of(document.encode(), "stream:s")
        expected = shown(partial(_asked, query, node))
        assert shown(engine.answer) == expected, f"{text}\nafter change {number}: {change}\nT: {document}"
    return engine


def _asked(query: Query, node: Node) -> list[Any]:
    return list(query(streams=lambda _: node, now=NOW))


def shown(answer: Callable[[], list[Any]]) -> str:
    """An answer as text; an error is an answer."""
    try:
        return serialise(answer(), method="adaptive")
    except XStreamError as failure:
        return f"error {failure.code}"


@seed(11)
@seeded
@given(streams(), queries())
def test_fragments_with_versions_events_repeats_and_removals_in_any_order(stream: str, text: str) -> None:
    structure = parse_structure(STRUCTURE)
    arrivals = read_stream(io.BytesIO(stream.encode()))
    check(text, [arrival.item for arrival in arrivals if isinstance(arrival.item, Change)], structure)


QUERIES = (
    'count(stream("s")//b)',
    'sum(stream("s")//x)',
    'max(stream("s")//x)',
    'stream("s")//b/x/text()',
    '(stream("s")//x)[2]',
    'string(stream("s")/r)',
    'for $b in stream("s")//b where $b/x > 3 return <y>{ $b/x }</y>',
    'for $b in stream("s")/r/b return <n>{ count($b/x), string($b/@n) }</n>',
    'for $b in stream("s")//b order by number($b/x[1]) return $b/x',
    'let $n := count(stream("s")//x) for $x in stream("s")//x return $x + $n',
    '<all>{ stream("s")/r/b[2], distinct-values(stream("s")//x) }</all>',
)
CONTENTS = ("", "t", "<x>1</x>", "<x>5</x>", "<b n='1'><x>4</x></b>", "<b/>", "<b><x>2</x>u</b><x>9</x>")


@st.composite
def updates(draw: st.DrawFn) -> list[Change]:
    """A document with mutable regions, and updates to them: new regions appear in what these bring."""
    ids = [1, 2, 3]
    inner = "<stream:mutable id='2'><x>3</x></stream:mutable>"
    start = f"<r><b><stream:mutable id='1'>{inner}</stream:mutable></b><stream:mutable id='3'/></r>"
    changes: list[Change] = [Fill(region=0, content=start.encode())]
    for _ in range(draw(st.integers(1, 10))):
        content = draw(st.sampled_from(CONTENTS))
        if draw(st.integers(0, 2)) == 0:
            ids.append(len(ids) + 1)
            content += f"<stream:mutable id='{ids[-1]}'>{draw(st.sampled_from(CONTENTS))}</stream:mutable>"
        target = draw(st.sampled_from(ids))
        kind = draw(st.sampled_from(["replace", "before", "after", "hide", "show", "freeze", "remove", "hide", "show"]))
        if kind in ("replace", "before", "after"):
            ids.append(len(ids) + 1)
            made = {"replace": Replace, "before": Before, "after": After}[kind]
            changes.append(made(region=ids[-1], target=target, content=content.encode()))
        elif kind == "remove":
            changes.append(Remove(region=target))
        else:
            changes.append({"hide": Hide, "show": Show, "freeze": Freeze}[kind](region=target))
    return changes


@seed(12)
@seeded
@given(updates(), st.sampled_from(QUERIES))
def test_update_streams(changes: list[Change], text: str) -> None:
    check(text, changes)


@seed(13)
@seeded
@given(st.data(), st.sampled_from(QUERIES))
def test_holes_that_come_late_twice_or_not_at_all(data: st.DataObject, text: str) -> None:
    ids = st.integers(1, 6)
    content = st.lists(
        st.one_of(st.sampled_from(CONTENTS), ids.map(lambda k: f"<stream:hole id='{k}'/>")), max_size=4
    ).map("".join)
    root = content.map(lambda inner: Fill(region=0, content=f"<r>{inner}</r>".encode()))
    filler = st.builds(lambda k, inner: Fill(region=k, content=inner.encode()), ids, content)
    removal = st.builds(lambda k: Remove(region=k), ids)
    check(text, data.draw(st.lists(st.one_of(root, filler, filler, filler, removal), max_size=9)))


def test_only_what_a_change_touches_is_evaluated() -> None:
    holes = "".join(f"<stream:hole id='{k}'/>" for k in range(1, 101))
    changes: list[Change] = [Fill(region=0, content=f"<r>{holes}</r>".encode())]
    changes += [Fill(region=k, content=f"<b><x>{k}</x></b>".encode()) for k in range(1, 101)]
    engine = check('for $b in stream("s")/r/b where $b/x > 50 return $b/x', changes[:1])
    assert engine is not None
    engine.feed_many(changes[1:], "s")
    before = engine.evaluated
    engine.feed(Replace(region=7, content=b"<b><x>70</x></b>"), "s")
    assert engine.evaluated == before + 1
    engine.feed(Replace(region=7, content=b"<b><x>70</x></b>"), "s")
    assert engine.evaluated == before + 1, "the same again is no change"
    assert len(engine.answer()) == 51


@pytest.mark.parametrize("text", ['count(stream("s")/r/b)', 'sum(stream("s")/r/b/x)', 'max(stream("s")/r/b/x)'])
def test_an_update_touches_logarithmically_many_blocks(text: str) -> None:
    costs = []
    for size in (100, 10_000):
        engine = check(text, [])
        assert engine is not None
        holes = "".join(f"<stream:hole id='{k}'/>" for k in range(1, size + 1))
        engine.feed(Fill(region=0, content=f"<r>{holes}</r>".encode()), "s")
        engine.feed_many([Fill(region=k, content=b"<b><x>1</x></b>") for k in range(1, size + 1)], "s")
        sequence = engine.live["s"].top[0]
        sequence.touched = 0
        for k in range(1, 101):
            engine.feed(Replace(region=k, content=f"<b><x>{k}</x></b>".encode()), "s")
        costs.append(sequence.touched)
    assert costs[1] <= 3 * costs[0], costs
