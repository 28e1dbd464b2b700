"""Exact sums of doubles, rounded once.

Every finite double is ``m · 2^e`` with integers m and e, so that a sum of doubles is an integer times a power of two,
and Python's integers hold it exactly:

    S(A ⊎ B) = S(A) + S(B)        S(A ∖ B) = S(A) − S(B)        value(A) = round(S(A))

Only :meth:`ExactSum.value` rounds (to nearest, ties to even, as IEEE 754 does). Hence the sum of a multiset does not
depend on the order in which its members come, on how they were spread over partial sums, or on what was added and
taken away again in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import copysign, frexp, inf, nan
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_DIGITS: Final = 53
"""Of a double's significand, in bits."""
_SCALE: Final = float(1 << _DIGITS)
_MANY: Final = 512
"""From so many values on, columns are faster than one at a time."""
_CHUNK: Final = 1 << 20
"""Halves of significands are below 2^27: so many of them add up exactly in a double."""
_HALF: Final = 26


class ExactSum:
    """A multiset of doubles, as far as its sum is concerned: ``mantissa · 2^exponent`` and what is not finite, counted.

    >>> part, rest = ExactSum([1e16, 1.0]), ExactSum([-1e16, 0.5])
    >>> part.merge(rest)
    >>> part.value()
    1.5
    >>> part.remove(0.5)
    >>> part.value(), part.count
    (1.0, 3)
    """

    __slots__ = ("count", "exponent", "mantissa", "minus_infinities", "minus_zeros", "nans", "plus_infinities")

    def __init__(self, values: Iterable[float] | NDArray[Any] | None = None) -> None:
        self.mantissa = 0
        self.exponent = 0
        self.count = 0
        self.minus_zeros = 0
        self.plus_infinities = 0
        self.minus_infinities = 0
        self.nans = 0
        if values is not None:
            self.add_many(values)

    def add(self, value: float) -> None:
        self._put(value, 1)

    def remove(self, value: float) -> None:
        """Take back one that was added."""
        self._put(value, -1)

    def add_many(self, values: Iterable[float] | NDArray[Any]) -> None:
        self._put_many(values, 1)

    def remove_many(self, values: Iterable[float] | NDArray[Any]) -> None:
        self._put_many(values, -1)

    def merge(self, other: ExactSum) -> None:
        """S(A ⊎ B) = S(A) + S(B)"""
        self._shift_in(other.mantissa, other.exponent)
        self.count += other.count
        self.minus_zeros += other.minus_zeros
        self.plus_infinities += other.plus_infinities
        self.minus_infinities += other.minus_infinities
        self.nans += other.nans

    def unmerge(self, other: ExactSum) -> None:
        """S(A ∖ B) = S(A) − S(B)"""
        self._shift_in(-other.mantissa, other.exponent)
        self.count -= other.count
        self.minus_zeros -= other.minus_zeros
        self.plus_infinities -= other.plus_infinities
        self.minus_infinities -= other.minus_infinities
        self.nans -= other.nans

    def value(self) -> float:
        """The sum, rounded once. Infinities, NaN and the sign of zero are IEEE 754's."""
        if self.nans or (self.plus_infinities and self.minus_infinities):
            return nan
        if self.plus_infinities or self.minus_infinities:
            return inf if self.plus_infinities else -inf
        if not self.mantissa:
            return -0.0 if self.count and self.minus_zeros == self.count else 0.0
        try:
            if self.exponent >= 0:
                return float(self.mantissa << self.exponent)
            return self.mantissa / (1 << -self.exponent)  # Python's division of integers rounds once
        except OverflowError:
            return inf if self.mantissa > 0 else -inf

    def _shift_in(self, mantissa: int, exponent: int) -> None:
        """Add ``mantissa · 2^exponent`` in the finer of the two scales."""
        distance = exponent - self.exponent
        if distance >= 0:
            self.mantissa += mantissa << distance
        elif mantissa:
            self.mantissa = (self.mantissa << -distance) + mantissa
            self.exponent = exponent

    def _put(self, value: float, sign: int) -> None:
        self.count += sign
        if value - value == 0.0:  # finite
            if value:
                fraction, exponent = frexp(value)
                self._shift_in(sign * int(fraction * _SCALE), exponent - _DIGITS)
            elif copysign(1.0, value) < 0:
                self.minus_zeros += sign
        elif value == inf:
            self.plus_infinities += sign
        elif value == -inf:
            self.minus_infinities += sign
        else:
            self.nans += sign

    def _put_many(self, values: Iterable[float] | NDArray[Any], sign: int) -> None:
        if not hasattr(values, "__len__"):
            values = list(values)
        if len(values) < _MANY:  # type: ignore[arg-type]  # it has a length, as was just seen to
            for value in values:
                self._put(float(value), sign)
            return
        import numpy

        column = numpy.asarray(values, numpy.float64)
        for start in range(0, len(column), _CHUNK):
            self._put_column(column[start : start + _CHUNK], sign)

    def _put_column(self, column: NDArray[numpy.float64], sign: int) -> None:
        """The significands of one exponent add up as integers; there are few exponents."""
        import numpy

        self.count += sign * len(column)
        finite = numpy.isfinite(column)
        if not finite.all():
            self.plus_infinities += sign * int((column == inf).sum())
            self.minus_infinities += sign * int((column == -inf).sum())
            self.nans += sign * int(numpy.isnan(column).sum())
            column = column[finite]
        zero = column == 0.0
        if zero.any():
            self.minus_zeros += sign * int(numpy.signbit(column[zero]).sum())
            column = column[~zero]
        if not len(column):
            return
        fractions, exponents = numpy.frexp(column)
        significands = (fractions * _SCALE).astype(numpy.int64)
        least = int(exponents.min())
        buckets = exponents - least
        high = numpy.bincount(buckets, significands >> _HALF)
        low = numpy.bincount(buckets, significands & ((1 << _HALF) - 1))
        for bucket in numpy.flatnonzero((high != 0.0) | (low != 0.0)).tolist():
            part = (int(high[bucket]) << _HALF) + int(low[bucket])
            self._shift_in(sign * part, least + bucket - _DIGITS)

    # ------------------------------------------------------------------------------------------------- as a value

    def copied(self) -> ExactSum:
        """The same multiset, to be changed apart."""
        made = ExactSum.__new__(ExactSum)
        made.mantissa, made.exponent, made.count = self.mantissa, self.exponent, self.count
        made.minus_zeros, made.nans = self.minus_zeros, self.nans
        made.plus_infinities, made.minus_infinities = self.plus_infinities, self.minus_infinities
        return made

    def _state(self) -> tuple[int, ...]:
        """The same for the same multiset, however it came about; and as short as it can be."""
        mantissa, exponent = self.mantissa, self.exponent
        if mantissa:
            spare = (mantissa & -mantissa).bit_length() - 1
            mantissa, exponent = mantissa >> spare, exponent + spare
        else:
            exponent = 0
        counts = (self.count, self.minus_zeros, self.plus_infinities, self.minus_infinities, self.nans)
        return (mantissa, exponent, *counts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._state()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactSum) and self._state() == other._state()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"ExactSum({self.count} values: {self.value()!r})"


def _restored(
    mantissa: int, exponent: int, count: int, minus_zeros: int, plus_infinities: int, minus_infinities: int, nans: int
) -> ExactSum:
    made = ExactSum()
    made.mantissa, made.exponent, made.count = mantissa, exponent, count
    made.minus_zeros, made.nans = minus_zeros, nans
    made.plus_infinities, made.minus_infinities = plus_infinities, minus_infinities
    return made
