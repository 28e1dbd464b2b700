"""``following::`` and ``preceding::`` follow their changes, where a tag structure tells where elements can be."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from changing_lists import without_message
from emission import told
from test_change_costs import STRUCTURE, cost_the_same, over_stream

from xstreamcast import continuous
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.atomic import Item
from xstreamcast.model.change import After, Before, Change, Fill, Hide, Remove, Replace, Show
from xstreamcast.model.tree import Node
from xstreamcast.run.query import Query, compile
from xstreamcast.run.streams import view_of

FOLLOWED = (
    "//t/following::b",
    "//t[. = '2']/following::b/c",
    "//k/preceding::b/@id/string()",
    "//b/following::b",
    "//b[c = '2']/following::b[d]/c",
    "//b/following::c",
    "//c/following::b/@id/string()",
    "//c/preceding::b",
    "//b/preceding::c",
    "//s/following::c",
    "//b/preceding::s/t",
    "//k/following::s/@id/string()",
    "count(//k/following::b)",
    "exists(//k[. = 3]/preceding::b)",
    "if (//k/following::b[c = 2]) then 'y' else //t",
    "//b[following::k]/c",
    "//b[c = 1][preceding::k][d]/c",
    "//b[not(following::k[text() = '2'])]",
    "//s[empty(preceding::b)]/t",
    "for $b in //b[preceding::t] where $b/c > 1 return <p>{ $b/c, count(//b[c = $b/c]) }</p>",
    "for $s in //k/following::s return <s>{ $s/t, $s/b }</s>",
    "<r>{ //k/following::b }</r>",
    "(//t/following::b/c, //t/preceding::b/c)",
    "/a/s/k/following::b/xs:integer(c)",
    "for $s in //s return <p>{ $s/t, count(//b[preceding::k]) }</p>",
)
ANEW = (
    "//k/following::b[1]",
    "//b/following::*",
    "//b[preceding::k[. = 2]]",
    "//b[c = 2]/following::b",
    "for $b in //b return count($b/following::b)",
    "for $k in //k return //b[c = $k]/following::b",
)


def section(random: Random, holes: list[int]) -> bytes:
    """A section: a title and keys among its holes."""
    parts = [f'<stream:hole id="{hole}" tsid="4"/>' for hole in holes]
    for name, most in (("t", 1), ("k", 2)):
        for _ in range(random.randint(0, most)):
            parts.insert(random.randint(0, len(parts)), f"<{name}>{random.randint(1, 3)}</{name}>")
    if random.random() < 0.3:
        parts.insert(random.randint(0, len(parts)), item(random).decode())
    return f"<s id='s{random.randint(1, 9)}'>{''.join(parts)}</s>".encode()


def item(random: Random) -> bytes:
    """An item with a number, or two."""
    numbers = "".join(f"<c>{random.randint(1, 3)}</c>" for _ in range(random.choice((0, 1, 1, 1, 2))))
    return f"<b id='b{random.randint(1, 9)}'>{numbers}{random.choice(('', '<d>d</d>'))}</b>".encode()


def changes(seed: int, count: int) -> list[Change]:
    """Sections and items in any order, sent again, moved, taken away, put beside, hidden and shown."""
    random = Random(seed)
    sections, items, new = list(range(1, 4)), list(range(10, 20)), 1000

    def root() -> Change:
        random.shuffle(sections)
        holes = "".join(f'<stream:hole id="{k}" tsid="2"/>' for k in sections[: random.randint(1, 3)])
        return Fill(region=0, tsid=1, content=f"<a>{holes}</a>".encode())

    made: list[Change] = [root()]
    for _ in range(count):
        kind, part, hole = random.random(), random.choice(sections), random.choice(items)
        if kind < 0.1:
            made.append(root())
        elif kind < 0.35:
            made.append(Replace(region=part, tsid=2, content=section(random, items[3 * part - 3 : 3 * part])))
        elif kind < 0.65:
            made.append(Replace(region=hole, tsid=4, content=item(random)))
        elif kind < 0.75:
            new += 1
            made.append(random.choice((After, Before))(region=new, target=hole, tsid=4, content=item(random)))
        elif kind < 0.85:
            made.append(Remove(region=random.choice((hole, hole, part))))
        else:
            made.append(random.choice((Hide, Hide, Show))(region=random.choice((hole, part))))
    return made


def _items(query: Query, node: Node) -> list[Item]:
    return query(streams=lambda _: node).items()


def hold(text: str, given: list[Change]) -> str:
    """T(q'(γ)) = q(T(γ)) after each change; why it is computed anew, if it is."""
    text = over_stream(text)
    followed, query = continuous(text, structures={"s": STRUCTURE}), compile(text)
    document, sink = Materialiser(STRUCTURE), Materialiser()
    for number, change in enumerate(given, 1):
        document.apply(change)
        for one in followed.feed(change):
            sink.apply(one)
        node = view_of(document.text().encode(), "stream:s")
        expected = told(partial(_items, query, node))
        where = f"{text}\nafter change {number}: {change}\nT: {document.text()}\nwanted: {expected}"
        assert without_message(told(lambda: followed.answer().items())) == without_message(expected), where
        assert without_message(sink.text()) == without_message(expected), where
    return followed.recomputed


@pytest.mark.parametrize("text", FOLLOWED)
def test_what_follows_or_precedes_is_that_of_the_document_after_every_change(text: str) -> None:
    for seed in range(2):
        assert hold(text, changes(seed, 30)) == ""


@pytest.mark.parametrize("text", ANEW)
def test_what_is_chosen_anew_for_each_is_computed_from_the_document(text: str) -> None:
    assert hold(text, changes(1, 30))


COSTS = (
    "//b/following::b/c",
    "//b[preceding::t]/c",
    "//b[not(following::k)]/c",
    "exists(//b[c = '77']/following::b)",
)


@pytest.mark.parametrize("text", COSTS)
def test_a_change_costs_the_same_whatever_else_there_is(text: str) -> None:
    cost_the_same(text, 100)
