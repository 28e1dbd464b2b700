"""Order labels: texts whose order is the order of the items of an answer, so that a sink can place each by itself.

There is a label between any two, and the others stay as they are. A label is a whole number of twelve hexadecimal
digits, which counts up where items are appended and down where they are put first, and then a fraction, which grows
only where items are squeezed in between neighbours again and again.

>>> first = between(None, None)
>>> second = between(first, None)
>>> first < between(first, second) < second
True
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

_WIDTH: Final = 12
_DIGITS: Final = "0123456789abcdef"


def between(low: str | None, high: str | None) -> str:
    """A label after ``low`` and before ``high``; None: there is none."""
    if low is None:
        return _whole(1 << (4 * _WIDTH - 1) if high is None else int(high[:_WIDTH], 16) - 1)
    begin = int(low[:_WIDTH], 16)
    if high is None:
        return _whole(begin + 1)
    end = int(high[:_WIDTH], 16)
    if end - begin > 1:
        return _whole((begin + end) // 2)
    return low[:_WIDTH] + _fraction(low[_WIDTH:], high[_WIDTH:] if begin == end else None)


def _whole(number: int) -> str:
    return f"{number:0{_WIDTH}x}"


def _fraction(low: str, high: str | None) -> str:
    """Digits after ``low`` and before ``high``. None ends in 0, so that there is always room below it."""
    made = ""
    while True:
        at = len(made)
        begin = _DIGITS.index(low[at]) if at < len(low) else 0
        end = _DIGITS.index(high[at]) if high is not None and at < len(high) else len(_DIGITS)
        if end - begin > 1:
            return made + _DIGITS[(begin + end) // 2]
        made += _DIGITS[begin]
        if end > begin:
            high = None


def in_order(labels: Sequence[Any]) -> set[int]:
    """The numbers of as many as possible that are in order as they stand: a longest increasing subsequence.

    >>> sorted(in_order("bcad"))
    [0, 1, 3]
    """
    ends: list[Any] = []
    last: list[int] = []
    before: list[int] = []
    for number, label in enumerate(labels):
        length = bisect_left(ends, label)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(label)
            last.append(number)
        else:
            ends[length], last[length] = label, number
    found: set[int] = set()
    number = last[-1] if last else -1
    while number >= 0:
        found.add(number)
        number = before[number]
    return found
