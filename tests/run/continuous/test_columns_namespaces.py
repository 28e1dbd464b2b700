"""The law in columns where elements are in namespaces: spelt as feeds and dumps spell them, and in other ways.

Drawn streams as those of :mod:`test_columns_law`; each way of writing says what the start tags of fragments declare,
and how names are prefixed. What is not alike among the fragments of a tag goes on by objects, and nothing is told
twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from test_columns_law import OPERATORS, QUERIES, SHAPES, Drawn, follow, in_turn

from xstreamcast.model.change import Change, ContentChange, Fill
from xstreamcast.model.structure import Structure

NAME = re.compile(rb"<(/?)(?!stream:)(\w+)")
Declared = Callable[[bytes, Random], dict[str, str]]
"""What a fragment declares, by the name of its element."""

ALL = {"": "urn:n", "m": "urn:m"}
WRITTEN: dict[str, tuple[str, Declared]] = {
    "default in each": ("", lambda name, draw: ALL),
    "prefixes": ("p:", lambda name, draw: {"p": "urn:n"} | ({"q": "urn:q"} if name == b"b" else {})),
    "more inside": ("", lambda name, draw: ALL | ({"r": "urn:r"} if name in (b"s", b"c") else {})),
    "a prefix that means another thing around": ("p:", lambda name, draw: {"p": "urn:n", "m": f"urn:{name.decode()}"}),
    "now and then another": ("", lambda name, draw: ALL if draw.random() < 0.97 else {"": "urn:n"}),
    "now and then prefixed": ("", lambda name, draw: ALL | ({"p": "urn:n"} if draw.random() < 0.01 else {})),
}
NAMED = 'declare default element namespace "urn:n"; '
ABOUT = (
    'for $b in stream("s")//b return <n>{ string-join(sort(in-scope-prefixes($b)), " "), name($b), $b/c }</n>',
    'for $c in stream("s")//c return <n>{ string-join(sort(in-scope-prefixes($c)), " "), name($c) }</n>',
    'for $b in stream("s")//b order by namespace-uri-for-prefix("m", $b), $b/x return $b/c',
    'stream("s")//c',
    '<all xmlns:z="urn:z">{ stream("s")//b/k }</all>',
    'for $b in stream("s")//b return element z { $b/k, namespace-uri-for-prefix("m", $b/k) }',
)


def in_namespace(shape: Structure) -> Structure:
    tags = {tsid: replace(tag, name=f"{{urn:n}}{tag.name}") for tsid, tag in shape.tags.items()}
    return replace(shape, tags=tags)


def written(change: Change, way: str, draw: Random) -> Change:
    """A change whose content is in a namespace."""
    if not isinstance(change, ContentChange) or not change.content:
        return change
    prefix, declared = WRITTEN[way]
    name = NAME.match(change.content)
    assert name is not None
    scope = declared(name[2], draw)
    if prefix == "" and "p" in scope:
        prefix = "p:"
    content = NAME.sub(rb"<\1%b\2" % prefix.encode(), change.content)
    text = "".join(f' xmlns{":" if key else ""}{key}="{uri}"' for key, uri in scope.items()).encode()
    at = len(prefix) + name.end()
    return replace(change, content=content[:at] + text + content[at:])


def changes(shape: str, way: str, seed: int, count: int) -> list[Change]:
    draw = Random(seed)
    return [written(one, way, draw) for one in Drawn(SHAPES[shape], seed).changes(count)]


@pytest.mark.parametrize("way", WRITTEN)
@pytest.mark.parametrize("text", [*ABOUT, *QUERIES[::6], *OPERATORS[::13]])
def test_what_is_told_is_the_answer_after_every_batch(text: str, way: str) -> None:
    shape = [*SHAPES][(len(text) + len(way)) % len(SHAPES)]
    size, count = in_turn(shape, text + way, ((7, 63), (1000, 160)))
    follow(NAMED + text, in_namespace(SHAPES[shape]), changes(shape, way, len(text) + size, count), size)


@pytest.mark.parametrize("way", WRITTEN)
def test_fragments_of_a_tag_that_declare_the_same_are_followed_in_columns(way: str) -> None:
    stream = changes("fillers", way, 7, 300)
    query = follow(NAMED + ABOUT[0], in_namespace(SHAPES["fillers"]), stream, 100)
    assert query.state()["followed"] == ("objects" if way.startswith("now") else "columns")


def test_a_root_that_declares_nothing_is_around_records_that_do() -> None:
    shape = in_namespace(SHAPES["fillers"])
    shape = replace(shape, tags={**shape.tags, 1: replace(shape.tags[1], name="r")})
    stream = [
        written(one, "default in each", Random(1)) if one.region else one
        for one in Drawn(SHAPES["fillers"], 3).changes(90)
    ]
    query = follow(NAMED + 'for $b in stream("s")//b return <m>{ $b/k }</m>', shape, stream, 30)
    assert query.state()["followed"] == "columns"


def test_a_default_namespace_around_a_fragment_that_has_none_does_not_reach_into_it() -> None:
    shape = in_namespace(SHAPES["fillers"])
    shape = replace(shape, tags={**shape.tags, 6: replace(shape.tags[6], name="c")})
    stream = [
        one if isinstance(one, ContentChange) and one.tsid == 6 else written(one, "default in each", Random(1))
        for one in Drawn(SHAPES["fillers"], 3).changes(90)
    ]
    follow(NAMED + 'for $b in stream("s")//b return <m>{ $b/*:c, count($b/c) }</m>', shape, stream, 30)


def test_single_changes_in_a_namespace_are_followed_in_columns() -> None:
    shape = in_namespace(SHAPES["fillers"])
    stream = changes("fillers", "default in each", 5, 60)
    query = follow(NAMED + 'sum(stream("s")//b/x)', shape, stream, 1)
    assert query.state()["followed"] == "columns"
    assert any(isinstance(one, Fill) for one in stream)
