"""Keys as Spark compares them order and equal as XQuery says; rows that travel keep their nodes."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

from xstreamcast.model.atomic import Untyped
from xstreamcast.model.collation import CODEPOINTS
from xstreamcast.model.compare import PAIR, order_keys
from xstreamcast.model.serialise import serialise
from xstreamcast.run.query import query
from xstreamcast.run.runtime.values import group_hash
from xstreamcast.spark.rest.relational.keys import Kind, asked_keys, coarse_key, order_key, row_keys
from xstreamcast.spark.rest.relational.sending import Received, sent_rows

DOCUMENT = """<r xmlns:p="urn:p" k="0"><a n="1"><b>x<c p:d="2">y</c></b>t</a><!--no--><a n="2"><b/></a></r>"""


def numbers(seed: int, count: int) -> list[Any]:
    random = Random(seed)
    made: list[Any] = [0, -0.0, 0.0, Decimal("0.00"), 2**53, 2**53 + 1, float(2**53), Decimal("0.1"), 0.1, 1, 1.0]
    for _ in range(count):
        size = random.randint(0, 20)
        whole = random.randint(-(10**size), 10**size)
        made += [whole, float(whole), Decimal(whole) / 10 ** random.randint(0, 9), random.uniform(-9, 9) * 10.0**size]
    return [*made, float("inf"), -float("inf"), 10**400, -(10**400)]


def test_numbers_of_all_types_order_as_they_do_in_order_by() -> None:
    for empty_greatest in (False, True):
        column = [*numbers(1, 40), None, float("nan"), None]
        keys = order_keys(column, empty_greatest)
        own = [order_key(value, Kind.NUMBER, empty_greatest) for value in column]
        for a, b in product(range(len(column)), repeat=2):
            assert (keys[a] < keys[b]) == (own[a] < own[b]), (column[a], column[b])


def test_texts_order_by_code_points() -> None:
    column = ["", "a", "ab", "b", "Z", "é", "\uffff", "\U0001f600", "a\0", Untyped("10"), Untyped("9"), None]
    keys = order_keys(column, False)
    own = [order_key(value, Kind.TEXT, False) for value in column]
    for a, b in product(range(len(column)), repeat=2):
        assert (keys[a] < keys[b]) == (own[a] < own[b]), (column[a], column[b])


def test_a_row_is_found_by_exactly_the_values_that_equal_its_key() -> None:
    values = [*numbers(2, 12), float("nan")]
    texts = [Untyped("1"), "1", Untyped("01"), "", Untyped("é")]
    for group in (values, texts):
        for held, asked in product(group, repeat=2):
            meet = not set(row_keys(3, [[held]])).isdisjoint(asked_keys(3, [[asked]]))
            assert meet == PAIR["eq"](held, asked), (held, asked)


def test_several_values_are_found_by_any_and_several_keys_by_all_of_them() -> None:
    held = set(row_keys(0, [["a", "b"], ["x"]]))
    assert not held.isdisjoint(asked_keys(0, [["b", "c"], ["x", "y"]]))
    assert held.isdisjoint(asked_keys(0, [["b"], ["y"]]))
    assert held.isdisjoint(asked_keys(1, [["b"], ["x"]])), "another unit's"
    assert row_keys(0, [["a"], []]) == []


def test_keys_of_one_group_are_sent_to_one_task() -> None:
    keys = [*numbers(3, 8), "a", "", None, True, False, float("nan"), *query("xs:date('2003-11-15'), xs:QName('a')")]
    for a, b in product(keys, repeat=2):
        if group_hash(a) == group_hash(b):
            assert coarse_key([a], [CODEPOINTS]) == coarse_key([b], [CODEPOINTS])


def nodes(path: str) -> list[Any]:
    return list(query(path, context=DOCUMENT.encode()))


def test_a_node_travels_with_what_is_below_it_and_the_elements_around() -> None:
    (c,) = nodes("//c")
    (data,) = sent_rows([[[c, 7, c]]], 0, 0)
    ((node, number, again),) = Received().row(data)
    assert number == 7
    assert node == again
    assert serialise([node]) == serialise([c])
    above = query(
        "declare variable $n external; $n/ancestor::*/concat(name(), @*), $n/@*:d/string()", variables={"n": node}
    )
    assert above.to_list() == ["r0", "a1", "b", "2"]


def test_attributes_and_texts_travel_alone() -> None:
    found = nodes("//a/@n, //c/text()")
    (data,) = sent_rows([[found]], 0, 0)
    (came,) = Received().row(data)
    assert [node.string for node in came] == ["1", "2", "y"]
    assert [node.kind for node in came] == [node.kind for node in found]


def test_nodes_of_several_rows_that_lie_within_each_other_are_of_one_tree_again() -> None:
    a, b, other = nodes("//a[@n = 1], //a[@n = 1]/b, //a[@n = 2]")
    rows = sent_rows([[[a]], [[b]], [[other]]], 0, 0)
    received = Received()
    came = [received.row(data)[0][0] for data in reversed(rows)]
    received.arrange()
    assert came[1][0] is came[2][0], "b is in a"
    assert came[0][0] is not came[1][0]
    assert sorted(came) == [came[2], came[1], came[0]], "in document order, whatever comes first"
