"""Nothing is looked at that the answer does not need, or kept: told by counting looks at columns, not by time."""

from __future__ import annotations

import gc
import weakref
from array import array
from typing import TYPE_CHECKING, Any

import pytest

from xstreamcast.model.tree import Node
from xstreamcast.run.query import compile, query
from xstreamcast.scan.parse import parse

ROWS = 2000


if TYPE_CHECKING:
    Ints = array[int]
else:
    Ints = array  # which Python 3.11 gives no parameters


class Counted(Ints):
    """A column that counts how often it is looked at."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        Counted.looks += 1
        return super().__getitem__(index)


@pytest.fixture
def document() -> Node:
    text = "".join(f'<r n="{n}"><k>{n % 10}</k></r>' for n in range(ROWS))
    made = parse(f"<t>{text}</t>")
    made.tree.size = Counted("i", made.tree.size)
    made.tree.up = Counted("i", made.tree.up)
    Counted.looks = 0
    return made


def looks(text: str, document: Node, take: int = 10**9) -> int:
    result = query(text, context=document)
    for _ in zip(range(take), result, strict=False):
        pass
    return Counted.looks


@pytest.mark.parametrize(
    "text",
    [
        "exists(/t/r)",
        "empty(/t/r/k)",
        "if (/t/r) then 1 else 2",
        "(/t/r)[1]",
        "/t/r[1]",
        "head(/t/r)",
        "some $r in /t/r satisfies $r/k = 3",
        "/t/r/k = 3",
        "not(/t/r/k = 3)",
        "/t/r[k = 3] and true()",
        "exists(for $r in /t/r where $r/k = 3 return $r)",
        "(/t/r)[k = 4][2]",
        "/t/r[position() <= 3]",
        "boolean(/t/r/k)",
    ],
)
def test_the_first_witness_ends_the_search(text: str, document: Node) -> None:
    assert looks(text, document) < 200


@pytest.mark.parametrize("text", ["count(/t/r[k])", "/t/r/k = 77", "every $r in /t/r satisfies $r/k < 10"])
def test_what_needs_all_looks_at_all(text: str, document: Node) -> None:
    assert looks(text, document) >= ROWS


def test_a_result_is_computed_as_it_is_asked_for(document: Node) -> None:
    assert looks("for $r in /t/r return $r/k", document, take=3) < 150


def test_a_path_is_linear_in_what_it_visits(document: Node) -> None:
    assert looks("/t/r/k/string()", document) < 20 * ROWS


def test_descendants_of_nested_nodes_are_visited_once() -> None:
    deep = parse("<a>" * 200 + "</a>" * 200)
    deep.tree.size = Counted("i", deep.tree.size)
    Counted.looks = 0
    assert query("count(//a//a)", context=deep).to_list() == [199]
    assert Counted.looks < 200 * 20


@pytest.mark.parametrize(
    "text",
    [
        "count(//a)",
        "for $a in //a return <x>{$a/text()}</x>",
        "declare function local:f($x) { $x + 1 }; sum(//a ! local:f(.))",
        "declare function local:f($x) { $x + 1 }; sum(//a ! function-lookup(xs:QName('local:f'), 1)(.))",
        "declare variable $v := //a; count($v)",
        "$given//a ! string()",
    ],
)
def test_what_a_query_looked_at_leaves_memory_with_its_answer(text: str) -> None:
    # Without Python's search for cycles, which is seldom where objects are few and large.
    asked = compile(text, variables=("given",) if "$given" in text else ())
    parsed = parse(b"<r><a>1</a><a>2</a></r>")
    gc.collect()
    gc.disable()
    try:
        assert len(asked(context=parsed, variables={"given": parsed} if "$given" in text else None).items()) > 0
        alive = weakref.ref(parsed.tree)
        del parsed
        assert alive() is None
    finally:
        gc.enable()
