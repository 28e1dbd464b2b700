"""Casting: what may become what, canonical texts, and the codes of what may not."""

from __future__ import annotations

from decimal import Decimal as D
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Float, Int, QName, Untyped
from xstreamcast.model.cast import cast, castable, to_string
from xstreamcast.model.convert import atomize, convert
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.types import LIST_TYPES, TYPES, FunctionTest, SequenceType


def xs(name: str, text: str) -> Any:
    return cast(text, TYPES[name])


@pytest.mark.parametrize(
    ("name", "text", "canonical"),
    [
        ("integer", " +007 ", "7"), ("integer", "-0", "0"), ("decimal", "1.50", "1.5"), ("decimal", ".5", "0.5"),
        ("decimal", "-0.0", "0"), ("decimal", "100", "100"), ("decimal", "1.", "1"), ("double", "1e6", "1.0E6"),
        ("double", "999999", "999999"), ("double", "0.000001", "0.000001"), ("double", "1e-7", "1.0E-7"),
        ("double", "-0", "-0"), ("double", "INF", "INF"), ("double", "+INF", "INF"), ("double", "NaN", "NaN"),
        ("double", "1.7976931348623157e309", "INF"), ("float", "0.1", "0.1"),
        ("float", "0.000001", "0.000001"), ("float", "16777217", "1.6777216E7"),
        ("float", "1e39", "INF"), ("boolean", " 1 ", "true"), ("boolean", "false", "false"),
        ("duration", "P1Y14M", "P2Y2M"), ("duration", "PT36H61M", "P1DT13H1M"), ("duration", "-PT0.5S", "-PT0.5S"),
        ("duration", "P0Y", "PT0S"), ("yearMonthDuration", "P0Y", "P0M"), ("dayTimeDuration", "PT90S", "PT1M30S"),
        ("dateTime", "2000-01-01T24:00:00", "2000-01-02T00:00:00"),
        ("dateTime", "2000-01-01T00:00:00.500+00:00", "2000-01-01T00:00:00.5Z"), ("date", "-0044-03-15", "-0044-03-15"),
        ("date", "12000-01-01", "12000-01-01"), ("time", "24:00:00", "00:00:00"), ("gYear", "2000+14:00", "2000+14:00"),
        ("gMonthDay", "--02-29", "--02-29"), ("gMonth", "--12Z", "--12Z"), ("gDay", "---31", "---31"),
        ("gYearMonth", "1999-05", "1999-05"), ("hexBinary", "0fb7", "0FB7"), ("base64Binary", "D7 c=", "D7c="),
        ("anyURI", " http://x ", "http://x"), ("token", "  a   b ", "a b"), ("normalizedString", "a\tb\n", "a b "),
        ("NCName", " a-1 ", "a-1"), ("language", "en-GB", "en-GB"), ("untypedAtomic", " x ", " x "),
        ("dateTimeStamp", "2000-01-01T00:00:00Z", "2000-01-01T00:00:00Z"),
    ],
)  # fmt: skip
def test_text_becomes_a_value_and_the_canonical_text(name: str, text: str, canonical: str) -> None:
    value = xs(name, text)
    assert type(value) is TYPES[name].cls
    assert to_string(value) == canonical


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("integer", "1.0"), ("integer", "1_0"), ("integer", ""), ("integer", "\u0661"), ("decimal", "1e0"),
        ("decimal", "NaN"), ("double", "inf"), ("double", "1e"), ("double", "nan"), ("double", "1_0"),
        ("boolean", "TRUE"), ("date", "2001-02-29"), ("date", "1-1-1"), ("dateTime", "2000-01-01"),
        ("dateTime", "2000-01-01T24:00:01"), ("time", "10:00"), ("time", "10:00:00+15:00"), ("duration", "P"),
        ("duration", "P1DT"), ("duration", "1Y"), ("yearMonthDuration", "P1D"), ("dayTimeDuration", "P1M"),
        ("hexBinary", "abc"), ("base64Binary", "a"), ("NCName", "a:b"), ("NCName", "1a"), ("language", "toolonglang"),
        ("byte", "128"), ("unsignedInt", "-1"), ("positiveInteger", "0"), ("negativeInteger", "0"),
        ("dateTimeStamp", "2000-01-01T00:00:00"), ("gDay", "---32"), ("QName", "a:b:c"),
    ],
)  # fmt: skip
def test_bad_text_is_forg0001(name: str, text: str) -> None:
    with pytest.raises(XStreamError) as caught:
        xs(name, text)
    assert caught.value.code == "FORG0001"
    assert not castable(text, TYPES[name])


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (3.9, "integer", 3), (-3.9, "integer", -3), (True, "integer", 1), (D("3.9"), "int", Int(3)),
        (0.1, "float", Float(0.1)),
        (1, "boolean", True), (float("nan"), "boolean", False), (2, "double", 2.0), (0.5, "decimal", D("0.5")),
        (True, "string", "true"), (xs("dateTime", "2000-05-06T07:08:09Z"), "date", xs("date", "2000-05-06Z")),
        (xs("dateTime", "2000-05-06T07:08:09Z"), "time", xs("time", "07:08:09Z")),
        (xs("dateTime", "2000-05-06T07:08:09Z"), "gMonthDay", xs("gMonthDay", "--05-06Z")),
        (xs("date", "2000-05-06"), "dateTime", xs("dateTime", "2000-05-06T00:00:00")),
        (xs("date", "2000-05-06"), "gYear", xs("gYear", "2000")),
        (xs("duration", "P1Y2M3DT4H"), "yearMonthDuration", xs("yearMonthDuration", "P14M")),
        (xs("duration", "P1Y2M3DT4H"), "dayTimeDuration", xs("dayTimeDuration", "P3DT4H")),
        (xs("yearMonthDuration", "P1Y"), "dayTimeDuration", xs("dayTimeDuration", "PT0S")),
        (xs("hexBinary", "00FF"), "base64Binary", xs("base64Binary", "AP8=")), (QName("u", "l", "p"), "string", "p:l"),
    ],
)  # fmt: skip
def test_values_become_values(value: Any, name: str, expected: Any) -> None:
    result = cast(value, TYPES[name])
    assert (type(result), result) == (type(expected), expected)


@pytest.mark.parametrize(
    ("value", "name", "code"),
    [
        (float("nan"), "integer", "FOCA0002"), (float("inf"), "decimal", "FOCA0002"), (300, "byte", "FORG0001"),
        (1, "date", "XPTY0004"), (xs("time", "10:00:00"), "date", "XPTY0004"), (True, "duration", "XPTY0004"),
        (xs("gYear", "2000"), "gMonth", "XPTY0004"), (xs("anyURI", "1"), "integer", "XPTY0004"),
        (1, "QName", "XPTY0004"), (xs("hexBinary", "00"), "integer", "XPTY0004"), ("p:a", "QName", "FONS0004"),
        ("a", "error", "FORG0001"), ("a", "anyAtomicType", "XPST0080"), ("a", "NOTATION", "XPST0080"),
        ("1" * 5000, "integer", "FOCA0003"), ("25252734927766555-07-28T23:00:00", "dateTime", "FODT0001"),
        ("P9223372036854775808Y", "yearMonthDuration", "FODT0002"),
    ],
)  # fmt: skip
def test_what_cannot_be_cast_says_why(value: Any, name: str, code: str) -> None:
    with pytest.raises(XStreamError) as caught:
        cast(value, TYPES[name])
    assert caught.value.code == code


def test_qnames_need_namespaces() -> None:
    name = cast("p:l", TYPES["QName"], {"p": "u", "": "d"})
    assert (name.uri, name.local, name.prefix) == ("u", "l", "p")
    assert cast("l", TYPES["QName"], {"": "d"}).uri == "d"


def test_a_list_type_gives_a_list() -> None:
    assert cast(" a  b ", LIST_TYPES["NMTOKENS"]) == ["a", "b"]
    assert not castable(" ", LIST_TYPES["IDREFS"])


@given(st.floats(allow_nan=False))
def test_doubles_read_back_what_they_print(value: float) -> None:
    assert xs("double", to_string(value)) == value


@given(st.floats(width=32, allow_nan=False))
def test_floats_read_back_what_they_print(value: float) -> None:
    assert xs("float", to_string(Float(value))) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=10))
def test_decimals_read_back_what_they_print(value: D) -> None:
    assert xs("decimal", to_string(value)) == value


def _type(name: str, sign: str = "") -> SequenceType:
    return SequenceType(TYPES[name], sign)


def test_function_conversion_atomises_casts_and_promotes() -> None:
    assert convert([Untyped("1.5")], _type("double"), "x") == [1.5]
    assert convert([Untyped("2")], _type("numeric"), "x") == [2.0]
    assert convert([1], _type("double"), "x") == [1.0]
    assert convert([Array([[1, 2], [3]])], _type("integer", "*"), "x") == [1, 2, 3]
    (text,) = convert([xs("anyURI", "u")], _type("string"), "x")
    assert type(text) is str
    for value, expected in (([1], _type("string")), ([], _type("integer")), ([1, 2], _type("integer", "?"))):
        with pytest.raises(XStreamError) as caught:
            convert(value, expected, "x")
        assert caught.value.code == "XPTY0004"
    with pytest.raises(XStreamError) as untyped_name:
        convert([Untyped("a")], _type("QName"), "x")
    assert untyped_name.value.code == "XPTY0117"


def test_function_coercion_checks_calls_later() -> None:
    expected = SequenceType(FunctionTest((_type("integer"),), _type("string")))
    twice = FunctionItem(None, 1, lambda args: [args[0][0] * 2])
    (coerced,) = convert([twice], expected, "x")
    with pytest.raises(XStreamError) as result:
        coerced.invoke([[1]])
    assert result.value.code == "XPTY0004"
    with pytest.raises(XStreamError) as argument:
        coerced.invoke([["a"]])
    assert argument.value.code == "XPTY0004"
    with pytest.raises(XStreamError, match="XPTY0004"):
        convert([FunctionItem(None, 2, lambda args: [])], expected, "x")


def test_functions_have_no_typed_value() -> None:
    with pytest.raises(XStreamError) as caught:
        atomize([Map()])
    assert caught.value.code == "FOTY0013"
