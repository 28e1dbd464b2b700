"""Exact sums: the value depends on the multiset of addends and on nothing else."""

from __future__ import annotations

import pickle
from fractions import Fraction
from math import copysign, fsum, inf, isnan, nan
from random import Random

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstreamcast.model.exact import ExactSum

finite = st.floats(allow_nan=False, allow_infinity=False)
anything = st.floats()


def same(a: float, b: float) -> bool:
    return (isnan(a) and isnan(b)) or (a == b and copysign(1, a) == copysign(1, b))


def rounded(values: list[float]) -> float:
    """The oracle: rational arithmetic, and one conversion."""
    total = sum(map(Fraction, values), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return inf if total > 0 else -inf


@given(st.lists(finite, max_size=30))
def test_the_value_is_the_rational_sum_rounded_once(values: list[float]) -> None:
    assert ExactSum(values).value() == rounded(values)


@given(st.lists(st.floats(-1e300, 1e300), max_size=30))
def test_the_value_is_that_of_fsum(values: list[float]) -> None:
    assert ExactSum(values).value() == fsum(values)


@given(st.lists(anything, max_size=20), st.randoms(use_true_random=False), st.integers(0, 20))
def test_neither_order_nor_partition_matters(values: list[float], random: Random, cut: int) -> None:
    shuffled = random.sample(values, len(values))
    left, right = ExactSum(shuffled[:cut]), ExactSum(shuffled[cut:])
    left.merge(right)
    whole = ExactSum(values)
    assert left == whole
    assert pickle.dumps(left) == pickle.dumps(whole)
    assert same(left.value(), whole.value())


@given(st.lists(anything, max_size=20), st.lists(anything, max_size=20))
def test_what_was_added_can_be_removed(kept: list[float], gone: list[float]) -> None:
    total = ExactSum(gone)
    total.add_many(kept)
    total.remove_many(gone)
    assert total == ExactSum(kept)


@given(st.lists(st.one_of(anything, st.sampled_from([5e-324, -0.0, 0.0, 1.7976931348623157e308])), max_size=12))
def test_columns_add_as_single_values_do(values: list[float]) -> None:
    values = values * 60  # long enough to be added as a column
    single = ExactSum()
    for value in values:
        single.add(value)
    assert ExactSum(values) == single
    assert ExactSum(numpy.array(values, numpy.float64)) == single
    assert ExactSum(iter(values)) == single


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([-0.0, -0.0], -0.0),
        ([-0.0, 0.0], 0.0),
        ([1.0, -1.0], 0.0),
        ([inf, 1.0], inf),
        ([inf, -inf], nan),
        ([nan, inf], nan),
        ([1.7976931348623157e308] * 2, inf),
        ([-1.7976931348623157e308] * 2 + [1e300], -inf),
        ([1.7976931348623157e308, 1.7976931348623157e308, -1.7976931348623157e308], 1.7976931348623157e308),
        ([5e-324] * 3, 1.5e-323),
    ],
)
def test_the_ends_of_the_number_line(values: list[float], expected: float) -> None:
    assert same(ExactSum(values).value(), expected)


def test_an_infinity_removed_gives_the_finite_sum_back() -> None:
    total = ExactSum([1.5, inf, nan])
    total.remove(nan)
    total.remove(inf)
    assert total.value() == 1.5


def test_a_sum_of_many_prices_pickles_small() -> None:
    random = Random(5)
    total = ExactSum([round(random.uniform(0, 1000), 2) for _ in range(100_000)])
    assert len(pickle.dumps(total)) < 150
