"""Each reduction's state, batch after batch, has the value of the function on all items at once."""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan
from typing import Any

import pytest
from budget import MORE
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.functions.context import DynamicContext, StaticContext
from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model.atomic import AnyURI, Float, Item, Untyped
from xstreamcast.model.compare import GENERAL
from xstreamcast.model.datetime import Date, day_time, parse_moment
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.namespaces import FN
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import PLAN, Concat, Fold, Group, Reduce, Reduction, Slice
from xstreamcast.run.library import moment_of
from xstreamcast.run.reductions import state_of
from xstreamcast.scan.parse import parse

CONTEXT = DynamicContext(StaticContext(base_uri=None), moment_of("2024-01-01"))
FUNCTIONS = ("count", "sum", "avg", "min", "max", "exists", "empty", "distinct-values", "string-join")

numbers = st.one_of(
    st.integers(-5, 5),
    st.sampled_from([2**53 + 1, 10**30]),
    st.sampled_from([Decimal("0.1"), Decimal("2.5"), Decimal("1e-20"), Decimal("16777217")]),
    st.sampled_from([0.1, 1e16, -1e16, 0.5, inf, -inf, nan, -0.0]),
    st.sampled_from([Float(0.1), Float(16777216.0), Float(nan), Float(2.5)]),
    st.sampled_from([Untyped("1"), Untyped("0.1"), Untyped(" 2 ")]),
)
others = st.one_of(
    st.sampled_from(["a", "b", "B", ""]),
    st.sampled_from([AnyURI("a"), AnyURI("c")]),
    st.sampled_from([True, False]),
    st.sampled_from([day_time(1000), day_time(0), moment_of("2024-01-01"), moment_of("2023-01-01")]),
    st.sampled_from([Untyped("x"), Untyped("1")]),
)
kinds = st.sampled_from(
    [numbers, others, st.integers(-3, 3), st.sampled_from(["a", "b", AnyURI("a")]), st.one_of(numbers, others)]
)
batches = kinds.flatmap(lambda items: st.lists(st.lists(items, max_size=4), max_size=5))


def outcome(compute: Any) -> tuple[str, Any]:
    """A value with its types, or that there is an error."""
    try:
        value = compute()
    except XStreamError:
        return "error", None  # which of several errors is raised is free
    return "value", [(type(item), "NaN" if item != item else repr(item)) for item in value]


def fresh(reduction: Reduction, argument: list[Item] | None = None, step: FunctionItem | None = None) -> State:
    return state_of(reduction, CONTEXT, argument or [], step)


def reduced(reduction: Reduction, parts: list[list[Item]], argument: list[Item] | None = None) -> list[Item]:
    state = fresh(reduction, argument)
    for part in parts:
        state.add(part)
    return state.value()


def merged(reduction: Reduction, parts: list[list[Item]], argument: list[Item] | None = None) -> list[Item]:
    state = fresh(reduction, argument)
    for part in parts:
        other = fresh(reduction, argument)
        other.add(part)
        state.merge(other)
    return state.value()


def library(function: str, items: list[Item], *more: list[Item]) -> list[Item]:
    entry = lookup(FN, function, 1 + len(more))
    assert entry is not None
    return entry.apply(CONTEXT, [items, *more])


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=60 * MORE, deadline=None)
@given(parts=batches)
@example(parts=[[0.1], [Decimal("0.1"), Float(0.10000000149011612)]])
@example(parts=[[Float(0.10000000149011612)], [Decimal("0.1"), 0.1]])
def test_a_reduction_of_batches_is_the_function_of_all_items(function: Any, parts: list[list[Item]]) -> None:
    reduction = Reduce(function)
    whole = [item for part in parts for item in part]
    expected = outcome(lambda: library(function, whole))
    assert outcome(lambda: reduced(reduction, parts)) == expected
    assert outcome(lambda: merged(reduction, parts)) == expected


def test_nodes_are_atomised() -> None:
    nodes = parse("<a><b>1</b><b>2</b></a>").children()[0].children()
    assert reduced(Reduce("sum"), [nodes, nodes]) == [6.0]
    assert reduced(Reduce("distinct-values"), [nodes, nodes]) == ["1", "2"]
    assert reduced(Reduce("string-join"), [nodes, [], nodes]) == ["1212"]


def test_arguments() -> None:
    empty = ast.Sequence(())
    assert reduced(Reduce("sum", empty), [[], []], []) == []
    assert reduced(Reduce("sum", ast.StringLiteral("none")), [[]], ["none"]) == ["none"]
    assert reduced(Reduce("sum", ast.StringLiteral("none")), [[1], [2]], ["none"]) == [3]
    assert reduced(Reduce("string-join", ast.StringLiteral("-")), [["a"], [], ["", "b"]], ["-"]) == ["a--b"]
    fold = "http://www.w3.org/2005/xpath-functions/collation/html-ascii-case-insensitive"
    assert reduced(Reduce("distinct-values", ast.StringLiteral(fold)), [["a"], ["A", "b"]], [fold]) == ["a", "b"]
    assert reduced(Reduce("max", ast.StringLiteral(fold)), [["a"], ["B"]], [fold]) == ["B"]


@given(
    parts=st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=5),
    first=st.integers(0, 6),
    size=st.integers(0, 4),
)
def test_a_slice(parts: list[list[int]], first: int, size: int) -> None:
    whole = [item for part in parts for item in part]
    last = first + size - 1
    assert reduced(Slice(first, last), parts) == whole[max(first - 1, 0) : max(last, 0)]
    assert reduced(Slice(first, None), parts) == whole[max(first - 1, 0) :]


def test_a_state_is_settled_once_nothing_can_change_it() -> None:
    found, sliced, counted = fresh(Reduce("exists")), fresh(Slice(1, 2)), fresh(Reduce("count"))
    for state in (found, sliced, counted):
        assert not state.settled
        state.add([1])
    assert (found.settled, sliced.settled, counted.settled) == (True, False, False)
    sliced.add([2, 3])
    assert sliced.settled
    assert sliced.value() == [1, 2]
    assert fresh(Slice(3, 2)).settled


def test_a_fold_goes_on_from_its_accumulator() -> None:
    step = FunctionItem(None, 2, lambda args: [args[0][0] * 10 + args[1][0]])
    one = ast.IntegerLiteral(0)
    fold = Fold(one, (PLAN, "acc"), (PLAN, "it"), one)
    state = fresh(fold, [0], step)
    for part in ([1, 2], [], [3]):
        state.add(part)
    assert state.value() == [123]
    with pytest.raises(XStreamError, match="XSC0081"):
        state.merge(fresh(fold, [0], step))


# ---------------------------------------------------------------------------------------------------------- groups

KEYS = [Untyped("1"), Untyped("01"), Untyped(" 1"), Untyped("2"), Untyped("x"), Untyped("NaN")]
PROBES = [1, 2, 1.0, Decimal(2), "1", "01", "x", Untyped("1"), nan, 2**53 + 1]


def some_keys(values: list[Untyped]) -> st.SearchStrategy[list[Untyped]]:
    return st.lists(st.sampled_from(values), max_size=2)


def grouped(keys: int, inner: Any = None) -> State:
    item = ast.VarRef(ast.Name(None, "it", PLAN))
    return fresh(Group((PLAN, "it"), (item,) * keys, inner or Concat()))


def group(state: State, *keys: Item) -> list[Item]:
    (function,) = state.value()
    assert isinstance(function, FunctionItem)
    return function.invoke([[key] for key in keys])


@settings(max_examples=80 * MORE, deadline=None)
@given(keys=st.lists(st.tuples(some_keys(KEYS), some_keys([*KEYS[:2], Untyped("3")])), max_size=8))
def test_a_group_has_the_items_whose_keys_equal_what_is_asked_for(keys: list[tuple[list[Item], list[Item]]]) -> None:
    state = grouped(2)
    for number, (left, right) in enumerate(keys):
        state.add([Array([[number], left, right])])
    equal = GENERAL["="]
    for one in PROBES:
        for other in (1, "01", 3):

            def chosen(one: Item = one, other: Item = other) -> list[Item]:
                return [n for n, (left, right) in enumerate(keys) if equal(left, [one]) and equal(right, [other])]

            found = outcome(lambda one=one, other=other: group(state, one, other))
            # Where a key has no value or several, one that is no number may be compared or not.
            free = any(len(left) != 1 or len(right) != 1 for left, right in keys)
            assert found == outcome(chosen) or (free and "error" in (found[0], outcome(chosen)[0])), (one, other)


def test_typed_keys_and_reduced_groups() -> None:
    state = grouped(1, Reduce("sum"))
    state.add([Array([[amount], [key]]) for amount, key in [(5, 1), (6, 2), (7, 1), (8, nan)]])
    assert group(state, 1) == [12]
    assert group(state, 1.0) == [12]
    assert group(state, 9) == [0]
    with pytest.raises(XStreamError, match="XPTY0004"):
        group(state, "1")


def test_an_empty_key_has_no_items() -> None:
    state = grouped(1, Reduce("count"))
    state.add([Array([["a"], ["k"]])])
    (function,) = state.value()
    assert function.invoke([[]]) == [0]
    assert function.invoke([["k"]]) == [1]


def test_what_cannot_be_looked_up_is_refused() -> None:
    state = grouped(1)
    state.add([Array([["a"], [Untyped("2024-01-01")]])])
    (function,) = state.value()
    with pytest.raises(XStreamError, match="XSC0081"):
        function.invoke([["a", "b"]])
    with pytest.raises(XStreamError, match="XSC0081"):
        function.invoke([[parse_moment(Date, "2024-01-01")]])
