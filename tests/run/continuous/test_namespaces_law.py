"""Namespaces reach across holes as they do in T: in what is selected, what is copied, and in the answer as a stream."""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random

import pytest

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import After, Before, Change, Fill, Hide, Remove, Replace, Show
from xstreamcast.model.serialise import serialise
from xstreamcast.model.tree import Node
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of

QUERIES = (
    'stream("s")//*:b',
    'stream("s")/*/*:b',
    'stream("s")//*:c/name()',
    'for $b in stream("s")//*:b return string-join(sort(in-scope-prefixes($b)), " ")',
    'for $b in stream("s")//*:b return <n>{ $b/*, count($b/*:c) }</n>',
    'for $b in stream("s")//*:b order by namespace-uri($b) return $b/*:c',
    'declare namespace q = "urn:q"; count(stream("s")//q:*)',
    'declare namespace q = "urn:q"; stream("s")//*[@q:k]/*:c',
    '<all xmlns:z="urn:z">{ stream("s")//*:c }</all>',
    'stream("s")',
)
URIS = ("urn:p", "urn:q")


def start_tag(random: Random, name: str, scope: dict[str, str]) -> tuple[str, str, dict[str, str]]:
    """A start tag that declares what it pleases, and what it needs; its name; what is in scope in it."""
    declared: dict[str, str] = {}
    for prefix in ("p", "q"):
        if random.random() < 0.2:
            declared[prefix] = random.choice(URIS)
    if random.random() < 0.3:
        declared[""] = random.choice(("urn:n", "urn:p", ""))
    prefix = random.choice(("", "", "p", "q"))
    used = [prefix] if prefix else []
    attribute = random.choice(("", "", "k", "q:k"))
    used += ["q"] if attribute == "q:k" else []
    for one in used:
        if one not in scope and one not in declared:
            declared[one] = random.choice(URIS)
    text = "".join(f' xmlns{":" if one else ""}{one}="{uri}"' for one, uri in declared.items())
    text += f' {attribute}="1"' if attribute else ""
    written = f"{prefix}:{name}" if prefix else name
    return f"<{written}{text}>", written, {**scope, **declared}


def element(random: Random, holes: list[int], depth: int, scope: dict[str, str]) -> str:
    start, written, within = start_tag(random, random.choice("abc"), scope)
    inside = ""
    for _ in range(random.randrange(3) if depth else 0):
        kind = random.random()
        if kind < 0.45 and holes:
            inside += f'<stream:hole id="{holes.pop()}"/>'
        elif kind < 0.55 and holes:
            region = holes.pop()
            inside += f'<stream:mutable id="{region}">{element(random, holes, 0, within)}</stream:mutable>'
        elif kind < 0.9:
            inside += element(random, holes, depth - 1, within)
        else:
            inside += "t"
    return f"{start}{inside}</{written}>"


def changes_of(random: Random) -> list[Change]:
    """Fillings in any order, and updates of some of them; every content declares what it uses."""
    holes = list(range(8, 0, -1))
    root = element(random, holes, 0, {})
    head, _, tail = root.rpartition("</")
    fills: list[Change] = [
        Fill(region=0, content=f'{head}<stream:hole id="9"/><stream:hole id="10"/></{tail}'.encode())
    ]
    for region in (9, 10, *range(1, 9)):
        text = "".join(element(random, holes, 2, {}) for _ in range(random.choice((1, 1, 1, 2))))
        fills.append(Fill(region=region, content=text.encode()))
    random.shuffle(fills)
    others: list[Change] = []
    for number in range(5):
        region, content = random.randrange(1, 11), element(random, [], 1, {}).encode()
        others.append(
            random.choice(
                (
                    Replace(region=region, content=content),
                    Replace(region=20 + number, target=region, content=content),
                    After(region=20 + number, target=region, content=content),
                    Before(region=20 + number, target=region, content=content),
                    Remove(region=region),
                    Hide(region=region),
                    Show(region=region),
                )
            )
        )
    return fills + others


def viewed(text: str, name: str) -> Callable[[str], Node]:
    """Streams of which there is one, and its document is one node however often it is asked for."""
    node = view_of(text.encode(), f"stream:{name}")
    return lambda _: node


def check(text: str, changes: list[Change]) -> None:
    query, followed = compile(text), xstreamcast.continuous(text)
    streams, told = Materialiser(), Materialiser()
    for number, change in enumerate(changes):
        streams.apply(change)
        for made in followed.feed(change, "s"):
            told.apply(made)
        expected = serialise(query(streams=viewed(streams.text(), "s")).items())
        place = f"{text}\nafter {changes[: number + 1]}\nT: {streams.text()}"
        assert serialise(followed.answer().items()) == expected, place
        assert followed.text() == expected, place
        assert same(told.text(), expected), place


def same(told: str, expected: str) -> bool:
    """Whether two answers are the same once they have been read: what is declared may be declared twice."""
    return told == expected or canonical(told) == canonical(expected)


def canonical(text: str) -> str:
    return serialise([view_of(f"<w>{text}</w>".encode(), "w")])


@pytest.mark.parametrize("number", range(10))
def test_namespaces_across_holes(number: int) -> None:
    for turn in range(12):
        changes = changes_of(Random(1000 * number + turn))
        check(QUERIES[(number + turn) % len(QUERIES)], changes)


HOLE = b'<stream:hole id="1"/>'


@pytest.mark.parametrize(
    ("root", "filling", "answer"),
    [
        (b'<b xmlns="urn:n">%s</b>', b'<p:d xmlns:p="urn:p"/>', '<b xmlns="urn:n"><p:d xmlns="" xmlns:p="urn:p"/></b>'),
        (b'<b xmlns="urn:n">%s</b>', b"<d/>", '<b xmlns="urn:n"><d xmlns=""/></b>'),
        (b'<p:a xmlns:p="urn:p"><b>%s</b></p:a>', b"<d/>", '<b xmlns:p="urn:p"><d/></b>'),
        (b'<p:a xmlns:p="urn:p">%s</p:a>', b"<b/>", '<b xmlns:p="urn:p"/>'),
        (b'<a xmlns="urn:n">%s</a>', b"<b/>", "<b/>"),
        (
            b'<b xmlns="urn:n">%s<p:c xmlns="" xmlns:p="u"/></b>',
            b"",
            '<b xmlns="urn:n"><p:c xmlns="" xmlns:p="u"/></b>',
        ),
    ],
)
def test_what_is_declared_on_one_side_of_a_hole_is_seen_on_the_other(root: bytes, filling: bytes, answer: str) -> None:
    changes = [Fill(region=0, content=root % HOLE), Fill(region=1, content=filling)]
    for order in (changes, changes[::-1]):
        check('stream("s")//*:b', list(order))
        followed = xstreamcast.continuous('stream("s")//*:b')
        followed.feed_many(order)
        assert followed.text() == answer


@pytest.mark.parametrize("text", ['stream("s")//b', 'stream("s")//b/in-scope-prefixes(.)', 'count(stream("s")//b)'])
def test_fragments_that_stand_in_runs_see_the_prefixes_around_them(text: str) -> None:
    structure = '<structure><tag id="1" name="a"><tag id="2" name="b" type="filler"/></tag></structure>'
    holes = "".join(f'<hole id="{number}" tsid="2"/>' for number in range(1, 40))
    fillers = "".join(f'<filler id="{number}" tsid="2"><b><c/></b></filler>' for number in range(1, 40))
    stream = (
        f'<fragments>{structure}<filler id="0" tsid="1"><a xmlns:p="urn:p">{holes}</a></filler>{fillers}</fragments>'
    )
    followed = xstreamcast.continuous(text)
    followed.load(io.BytesIO(stream.encode()), "s")
    streams = xstreamcast.materialise(io.BytesIO(stream.encode()))
    node = view_of(streams, "stream:s")
    assert followed.text() == serialise(compile(text)(streams=lambda _: node).items())
