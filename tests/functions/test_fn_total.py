"""Sums and averages depend on the values alone: not on their order, partition, or what came and went."""

from __future__ import annotations

import pickle
from decimal import Decimal
from math import isnan
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.functions.aggregate import average, sum_of
from xstreamcast.functions.total import Total
from xstreamcast.model.atomic import Float, Int, Untyped
from xstreamcast.model.datetime import YearMonthDuration, day_time

numbers = st.one_of(
    st.integers(-(10**20), 10**20),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6),
    st.floats(),
    st.floats(width=32).map(Float),
    st.integers(-100, 100).map(Int),
    st.floats(-1e6, 1e6).map(lambda value: Untyped(repr(value))),
)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    return (isinstance(a, float) and isnan(a) and isnan(b)) or a == b


def summed(values: list[Any]) -> Total:
    total = Total()
    total.add_many(values)
    return total


@given(st.lists(numbers, max_size=12), st.randoms(use_true_random=False), st.integers(0, 12))
def test_partial_sums_in_any_order_give_what_the_function_gives(values: list[Any], random: Random, cut: int) -> None:
    shuffled = random.sample(values, len(values))
    left, right = summed(shuffled[:cut]), pickle.loads(pickle.dumps(summed(shuffled[cut:])))
    left.merge(right)
    assert same(left.sum(), sum_of(values))
    assert same(left.average(), average(values))
    assert left.count == len(values)


@given(st.lists(numbers, max_size=8), st.lists(numbers, max_size=8))
def test_values_that_came_and_went_leave_no_trace(kept: list[Any], gone: list[Any]) -> None:
    total = summed(gone + kept)
    total.remove_many(gone)
    assert same(total.sum(), sum_of(kept))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([Decimal("0.1"), Decimal("0.2"), 0.0], 0.3),  # decimals first, exactly; then promoted
        ([2**53 + 1, 2**53 + 1, 0.0], float(2**54 + 2)),
        ([10**400, -(10**400), 1.0], 1.0),
        ([Float(0.1), Decimal("0.1")], Float(0.2)),
        ([Float(0.1), 1.0], 1.0 + Float(0.1)),
        ([1e16, 1, Untyped("-1e16")], 1.0),
        ([1.7976931348623157e308, 1e308, -1e308], 1.7976931348623157e308),
    ],
)
def test_numbers_of_several_types(values: list[Any], expected: Any) -> None:
    assert same(sum_of(values), expected)
    assert same(sum_of(values[::-1]), expected)


def test_a_sum_of_minus_zeros_is_minus_zero() -> None:
    assert str(sum_of([-0.0, -0.0])) == "-0.0"
    assert str(sum_of([-0.0, 0.0])) == "0.0"


def test_durations_of_one_type_add_and_are_taken_back() -> None:
    total = summed([day_time(1), day_time(2)])
    total.remove_many([day_time(1)])
    assert total.sum() == day_time(2)
    total.remove_many([day_time(2)])
    total.add_many([YearMonthDuration(3, 0)])
    assert total.sum() == YearMonthDuration(3, 0)


@pytest.mark.parametrize(
    "parts", [[[day_time(1)], [1]], [[1.5], [day_time(1)]], [[day_time(1)], [YearMonthDuration(1, 0)]]]
)
def test_what_does_not_add_is_refused_wherever_it_meets(parts: list[list[Any]]) -> None:
    left, right = summed(parts[0]), summed(parts[1])
    with pytest.raises(XStreamError, match="FORG0006"):
        left.merge(right)
    with pytest.raises(XStreamError, match="FORG0006"):
        summed(parts[0] + parts[1])


@given(st.lists(numbers), st.lists(numbers))
def test_what_was_merged_can_be_taken_out_as_a_whole(kept: list[Any], taken: list[Any]) -> None:
    total, part, alone = Total(), Total(), Total()
    total.add_many(kept)
    part.add_many(taken)
    alone.add_many(kept)
    total.merge(part)
    total.unmerge(part)
    assert total.count == alone.count
    assert repr((total.sum(), total.average())) == repr((alone.sum(), alone.average()))
