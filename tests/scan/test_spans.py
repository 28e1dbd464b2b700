"""What can be asked of spans of bytes without making strings of them."""

from __future__ import annotations

import math

import numpy as np
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.scan import spans


def table(values: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ends = np.cumsum([len(value) for value in values])
    starts = ends - np.array([len(value) for value in values])
    return np.frombuffer(bytearray(b"".join(values)), np.uint8), starts, ends


_NONE = [b"", b"inf", b"1_0", b"0x1", b".", b"-", b"1 2"]  # some of them numbers for Python, none for XSD
_NUMERALS = st.from_regex(rb"[+-]?[0-9]{0,22}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@settings(max_examples=40 * MORE, deadline=None, derandomize=True)
@given(st.lists(_NUMERALS | st.sampled_from([b" 1 ", b"NaN", b"-INF", *_NONE]), min_size=1))
def test_doubles_are_pythons_to_the_last_bit(values: list[bytes]) -> None:
    found, good = spans.doubles(*table(values))
    for value, number, is_one in zip(values, found.tolist(), good.tolist(), strict=True):
        text = value.strip()
        wrong = text in _NONE or not any(c in b"0123456789NI" for c in text.split(b"e")[0])
        try:
            expected = float(text)
        except ValueError:
            wrong, expected = True, math.nan
        if wrong:
            assert not is_one
        else:
            assert is_one
            assert number == expected or (math.isnan(number) and math.isnan(expected))
            assert math.copysign(1, number) == math.copysign(1, expected) or math.isnan(number)


def test_integers_are_exact_or_refused() -> None:
    values = [b"0", b"-7", b"+12", b" 5\n", b"999999999999999999", b"9223372036854775807", b"-9223372036854775808"]
    found, good = spans.integers(*table(values))
    assert found.tolist() == [int(value) for value in values]
    assert good.all()
    found, good = spans.integers(*table([b"9223372036854775808", b"1.0", b"", b"x", b"1 2", b"-"]))
    assert not good.any()


def test_spans_are_searched() -> None:
    b, starts, ends = table([b"abcabd", b"ab", b"", b"xabdx", b"z" * 50 + b"abd"])
    assert spans.contain(b, starts, ends, b"abd").tolist() == [True, False, False, True, True]
    assert spans.contain(b, starts, ends, b"").all()
    assert spans.equal(b, starts, ends, b"ab").tolist() == [False, True, False, False, False]
