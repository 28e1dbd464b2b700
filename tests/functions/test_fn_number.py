"""Functions on numbers: rounding, aggregates, mathematics, formatting."""

from __future__ import annotations

import math
from decimal import Decimal as D
from typing import Any

import pytest

from xstreamcast.functions.context import DecimalFormat
from xstreamcast.model.atomic import AnyURI, Float, Int, Untyped
from xstreamcast.model.datetime import day_time

INF, NAN = float("inf"), float("nan")

CASES: list[tuple[Any, ...]] = [
    (10.5, "fn:abs", -10.5),
    (D("10.5"), "fn:abs", D("-10.5")),
    (3, "fn:abs", Int(-3)),
    (INF, "fn:abs", -INF),
    ([], "fn:abs", None),
    (D(11), "fn:ceiling", D("10.5")),
    (D(-10), "fn:ceiling", D("-10.5")),
    (-0.0, "fn:ceiling", -0.5),
    (D(-11), "fn:floor", D("-10.5")),
    (-1.0, "fn:floor", -0.5),
    (NAN, "fn:floor", NAN),
    (D(3), "fn:round", D("2.5")),
    (D(-2), "fn:round", D("-2.5")),
    (3.0, "fn:round", 2.5),
    (-0.0, "fn:round", -0.4),
    (0.0, "fn:round", 0.49999999999999994),
    (D("1.13"), "fn:round", D("1.125"), 2),
    (8500, "fn:round", 8452, -2),
    (314.16, "fn:round", 314.15926, 2),
    (Float(2.0), "fn:round", Float(1.5)),
    (0.0, "fn:round-half-to-even", 0.5),
    (2.0, "fn:round-half-to-even", 2.5),
    (D("3567.81"), "fn:round-half-to-even", D("3567.812"), 2),
    (0.0, "fn:round-half-to-even", 4.7564e-3, 2),
    (35600, "fn:round-half-to-even", 35612, -2),
    (12.5, "fn:number", Untyped("12.5")),
    (NAN, "fn:number", "twelve"),
    (NAN, "fn:number", None),
    (1.0, "fn:number", True),
    (3, "fn:count", [1, "a", 2.0]),
    (0, "fn:sum", []),
    ([], "fn:sum", [], None),
    (6, "fn:sum", [1, 2, 3]),
    (D("3.5"), "fn:sum", [1, D("2.5")]),
    (3.5, "fn:sum", [Untyped("1"), D("2.5")]),
    (1.0, "fn:sum", [1e16, 1.0, -1e16]),
    (Float(0.75), "fn:sum", [Float(0.5), Float(0.25)]),
    (NAN, "fn:sum", [INF, -INF]),
    (day_time(3), "fn:sum", [day_time(1), day_time(2)]),
    (D("2"), "fn:avg", [1, 2, 3]),
    (2.5, "fn:avg", [2.0, 3]),
    ([], "fn:avg", []),
    (3, "fn:max", [1, 3, 2]),
    (5.0, "fn:max", [5, 5.0, 1]),
    (NAN, "fn:max", [NAN, 1]),
    ("b", "fn:max", ["a", "b"]),
    (True, "fn:max", [False, True]),
    ([], "fn:max", []),
    (1.0, "fn:min", [Untyped("1"), 2]),
    (D(1), "fn:min", [1, D("1.5")]),
    (math.pi, "math:pi"),
    (1.0, "math:exp", 0),
    (INF, "math:exp", 1e6),
    (1000.0, "math:exp10", 3),
    (-INF, "math:log", 0),
    (NAN, "math:log", -1),
    (3.0, "math:log10", 1000),
    (8.0, "math:pow", 2, 3),
    (-INF, "math:pow", -0.0, -3),
    (INF, "math:pow", 0.0, -2.5),
    (1.0, "math:pow", 1, NAN),
    (NAN, "math:pow", -2.5, 2.00000001),
    (NAN, "math:sqrt", -2),
    ([], "math:sqrt", None),
    (0.0, "math:sin", 0),
    (1.0, "math:cos", 0),
    (0.0, "math:tan", 0),
    (NAN, "math:asin", 2),
    (0.0, "math:acos", 1),
    (0.0, "math:atan", 0),
    (-math.pi, "math:atan2", -0.0, -1),
    ("123", "fn:format-integer", 123, "000"),
    ("0123", "fn:format-integer", 123, "0000"),
    ("1,500,000", "fn:format-integer", 1500000, "#,##0"),
    ("12_34", "fn:format-integer", 1234, "00_00"),
    ("-5", "fn:format-integer", -5, "1"),
    ("c", "fn:format-integer", 3, "a"),
    ("AB", "fn:format-integer", 28, "A"),
    ("xiv", "fn:format-integer", 14, "i"),
    ("One Hundred and Twenty-Three", "fn:format-integer", 123, "Ww"),
    ("21st", "fn:format-integer", 21, "1;o"),
    ("twelfth", "fn:format-integer", 12, "w;o"),
    ("\u0661\u0662", "fn:format-integer", 12, "\u0661"),
    ("", "fn:format-integer", None, "1"),
    ("12,345.60", "fn:format-number", 12345.6, "#,###.00"),
    ("00024.50", "fn:format-number", 24.5, "00000.00"),
    ("14%", "fn:format-number", 0.14, "01%"),
    ("-6", "fn:format-number", -6, "0"),
    ("(6)", "fn:format-number", -6, "0;(0)"),
    ("NaN", "fn:format-number", NAN, "0"),
    ("-Infinity", "fn:format-number", -INF, "0"),
    ("1.23e3", "fn:format-number", 1234, "0.00e0"),
    ("12.3e-4", "fn:format-number", 0.00123, "00.0e0"),
    ("0.12e-2", "fn:format-number", 0.0012, "#.00e0"),
    ("12,34,567", "fn:format-number", 1234567, "#,##,000"),
    ("10.0e-1", "fn:format-number", D("0.99999999"), "0.0e0"),
    ("Infinity%", "fn:format-number", 1e308, "0%"),
    ("12345,67,89", "fn:format-integer", 123456789, "000,00,00"),
    ("1500000", "fn:format-integer", 1500000, "#"),
    (AnyURI("b"), "fn:max", [AnyURI("a"), AnyURI("b")]),
    ("b", "fn:max", [AnyURI("b"), "a"]),
]


@pytest.mark.parametrize(("expected", "name", "args"), [(e, n, a) for e, n, *a in CASES])
def test_value(gives: Any, expected: Any, name: str, args: list[Any]) -> None:
    gives(expected, name, *args)


ERRORS: list[tuple[Any, ...]] = [
    ("XPTY0004", "fn:abs", "1"),
    ("FORG0001", "fn:abs", Untyped("x")),
    ("FORG0006", "fn:sum", ["a"]),
    ("FORG0006", "fn:sum", [1, day_time(1)]),
    ("FORG0006", "fn:max", [1, "a"]),
    ("FORG0001", "fn:max", Untyped("a")),
    ("FODF1310", "fn:format-integer", 1, ""),
    ("FODF1310", "fn:format-integer", 1, "0#"),
    ("FODF1310", "fn:format-integer", 1, ",0"),
    ("FODF1310", "fn:format-integer", 1, "1;x"),
    ("FODF1310", "fn:format-number", 1, "0.0.0"),
    ("FODF1310", "fn:format-number", 1, "abc"),
    ("FODF1310", "fn:format-number", 1, "0%%"),
    ("FODF1310", "fn:format-number", 1, "0,.0"),
    ("FODF1310", "fn:format-number", 1, "0;0;0"),
    ("FODF1280", "fn:format-number", 1, "0", "nosuch"),
]


@pytest.mark.parametrize(("code", "name", "args"), [(c, n, a) for c, n, *a in ERRORS])
def test_error(fails: Any, code: str, name: str, args: list[Any]) -> None:
    fails(code, name, *args)


def test_a_sum_of_doubles_does_not_depend_on_their_order(call: Any) -> None:
    values = [0.1, 1e17, -3.7, 1e-9, -1e17, 2.5] * 7
    assert call("fn:sum", values) == call("fn:sum", values[::-1]) == call("fn:sum", sorted(values))


def test_a_named_decimal_format_replaces_all_characters(call: Any, context: Any) -> None:
    from dataclasses import replace

    german = DecimalFormat(decimal_separator=",", grouping_separator=".", minus_sign="\u2212")
    static = replace(context.static, decimal_formats={None: DecimalFormat(), ("", "de"): german})
    other = context.focused("x", 1, 1)
    other.static = static
    from xstreamcast.functions.format_number import format_number

    assert format_number(other, D("-1234.5"), "#.##0,00", "de") == "\u22121.234,50"


def test_a_seed_determines_the_random_chain(call: Any) -> None:
    (one,), (two,) = call("fn:random-number-generator", 7), call("fn:random-number-generator", 7)
    assert one.get("number") == two.get("number")
    first, second = one.get("next")[0].invoke([]), two.get("next")[0].invoke([])
    assert first[0].get("number") == second[0].get("number") != one.get("number")
    shuffled = one.get("permute")[0].invoke([[1, 2, 3, 4, 5]])
    assert sorted(shuffled) == [1, 2, 3, 4, 5]
    assert 0 <= one.get("number")[0] < 1
