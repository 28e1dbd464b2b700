"""Comparisons between independent loops are look-ups in an index that is built once."""

from __future__ import annotations

import pytest

from xstreamcast.model.atomic import Item
from xstreamcast.model.tree import Node
from xstreamcast.run.query import query
from xstreamcast.run.runtime import environment
from xstreamcast.run.runtime.indexes import RangeIndex, ValueIndex
from xstreamcast.run.runtime.shapes import Filled, Shape
from xstreamcast.scan.parse import parse

N = 60


class Watched(ValueIndex):
    """A value index that counts what happens to all indexes."""

    built = keys = probes = 0

    def __init__(self) -> None:
        super().__init__()
        Watched.built += 1

    def add_text(self, key: str) -> None:
        Watched.keys += 1
        super().add_text(key)

    def matches(self, values: list[Item]) -> list[Item]:
        Watched.probes += 1
        return super().matches(values)


class WatchedRange(RangeIndex):
    built = 0

    def __init__(self) -> None:
        super().__init__()
        WatchedRange.built += 1


@pytest.fixture(autouse=True)
def _watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(environment.ENVIRONMENT, "ValueIndex", Watched)
    monkeypatch.setitem(environment.ENVIRONMENT, "RangeIndex", WatchedRange)
    Watched.built = Watched.keys = Watched.probes = WatchedRange.built = 0


@pytest.fixture(scope="module")
def document() -> Node:
    persons = "".join(f'<p id="p{n}" income="{n * 100}"><f>p{(n * 7) % N}</f></p>' for n in range(N))
    sales = "".join(f'<s by="p{(n * 3) % N}" price="{n * 50}"><q>{n}</q></s>' for n in range(N))
    return parse(f"<d>{persons}{sales}</d>")


EQUI_JOINS = [
    "for $p in //p for $s in //s where $s/@by = $p/@id return ($p/@id, $s/q)",
    "for $p in //p, $s in //s where $p/@id = $s/@by and $s/q > 10 return $s/q",
    "for $p in //p let $a := for $s in //s where $s/@by = $p/@id return $s return count($a)",
    "for $p in //p return count(//s[@by = $p/@id])",
    "for $p in //p return //s[@by = $p/@id]/q/string()",
    "for $p in //p where some $s in //s satisfies $s/@by = $p/@id return $p/@id/string()",
    "let $all := //s for $p in //p return count($all[@by = $p/@id])",
    "for $p in //p for $o in //p where $p/f = $o/@id return $o/@id/string()",
]


@pytest.mark.parametrize("text", EQUI_JOINS)
def test_an_equality_is_a_hash_join(text: str, document: Node) -> None:
    query(text, context=document).items()
    assert Watched.built == 1
    assert Watched.keys == N
    assert Watched.probes == N


@pytest.mark.parametrize("text", EQUI_JOINS)
def test_a_hash_join_gives_what_nested_loops_give(text: str, document: Node) -> None:
    joined = query(text, context=document).serialise(method="adaptive")
    # "is()" keeps the comparison from being recognised
    loops = text.replace("$s/@by = $p/@id", "deep-equal(data($s/@by), data($p/@id))")
    loops = loops.replace("$p/@id = $s/@by", "deep-equal(data($s/@by), data($p/@id))")
    loops = loops.replace("[@by = $p/@id]", "[deep-equal(data(@by), data($p/@id))]")
    loops = loops.replace("$p/f = $o/@id", "deep-equal(data($p/f), data($o/@id))")
    Watched.built = 0
    assert query(loops, context=document).serialise(method="adaptive") == joined
    assert Watched.built == 0


@pytest.mark.parametrize(
    "text",
    [
        "for $p in //p let $l := for $s in //s where $p/@income > 2 * $s/@price return $s return count($l)",
        "for $p in //p for $s in //s where 2 * $s/@price <= $p/@income return $s/q/string()",
        "for $p in //p return count(for $s in //s where number($s/@price) >= $p/@income return $s)",
    ],
)
def test_an_inequality_of_numbers_is_a_sorted_join(text: str, document: Node) -> None:
    joined = query(text, context=document).to_list()
    assert WatchedRange.built == 1
    loops = text.replace("for $s in //s", "for $s at $i in //s")  # positions keep the loop a loop
    assert query(loops, context=document).to_list() == joined
    assert WatchedRange.built == 1


@pytest.mark.parametrize(
    "text",
    [
        "for $p in //p for $s in $p/f where $s = $p/@id return 1",  # the inner loop depends on the outer
        "for $s in //s where $s/@by = 'p1' return $s",  # no loop around
        "for $p in //p for $s in //s where $s/@by != $p/@id return 1",
    ],
)
def test_what_is_no_join_is_not_indexed(text: str, document: Node) -> None:
    query(text, context=document).items()
    assert Watched.built == WatchedRange.built == 0


def test_keys_of_several_types_still_compare_right(document: Node) -> None:
    text = "for $k in (100, '100', 0.5, 'x', 2e2) return count(//p[@income = $k])"
    assert query(text, context=document).to_list() == [1, 1, 0, 0, 1]


def test_a_join_with_several_values_on_both_sides_finds_an_item_once() -> None:
    text = "for $a in //a for $b in //b where $a/k = $b/k return $b/@n/string()"
    document = "<r><a><k>1</k><k>2</k></a><b n='x'><k>2</k><k>1</k></b><b n='y'><k>3</k></b></r>"
    assert query(text, context=document).to_list() == ["x"]


_KEYS = "for $k in ('p0', 'p3', 'p0', 'p0') return <all>{ for $s in //s where $s/@by = $k return ELEMENT }</all>"


@pytest.mark.parametrize(
    ("element", "elements_made"),
    [
        ("<sale by='{$s/@by}'><q>{$s/q/text()}</q></sale>", "each item once"),
        ("<sale><q>{$s/q/text()}</q>{$k}</sale>", "each match"),
        ("<sale>{$s/q/text()}{count($s/preceding-sibling::s)}</sale>", "each item once"),
        ("<sale>{string(current-date() eq current-date()), string($s/@price)}</sale>", "each item once"),
        ("<sale>{local:f($s)}</sale>", "no shape"),
    ],
)
def test_what_depends_on_a_joined_item_alone_is_computed_once(
    element: str, elements_made: str, document: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled = 0
    before = Shape.filled

    def counting(self: Shape, *texts: str) -> Filled:
        nonlocal filled
        filled += 1
        return before(self, *texts)

    monkeypatch.setattr(Shape, "filled", counting)
    prolog = "declare function local:f($s) { $s/q/text() }; "
    text = prolog + _KEYS.replace("ELEMENT", element)
    joined = query(text, context=document).serialise()
    assert Watched.built == 1
    items = {key: joined.split("<all>")[at].count("<sale") for at, key in ((1, "p0"), (2, "p3"))}
    assert all(items.values())
    matches = 3 * items["p0"] + items["p3"]
    assert filled == {"each item once": items["p0"] + items["p3"], "each match": matches, "no shape": 0}[elements_made]
    loops = text.replace("$s/@by = $k", "deep-equal(string($s/@by), $k)")
    assert query(loops, context=document).serialise() == joined
