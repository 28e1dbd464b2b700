"""Atomic values: types, equality, order, arithmetic, dates, maps and arrays as values."""

from __future__ import annotations

import pickle
from decimal import Decimal as D
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.model import arithmetic as ar
from xstreamcast.model.atomic import AnyURI, Float, HexBinary, Int, QName, Token, Untyped
from xstreamcast.model.cast import cast, to_string
from xstreamcast.model.compare import GENERAL, NAN_KEY, VALUE, effective_boolean, hash_key, order_keys
from xstreamcast.model.datetime import DateTime, Duration, civil, ordinal, parse_duration, parse_moment
from xstreamcast.model.function import Array, Map, same_key
from xstreamcast.model.types import (
    ANY_ATOMIC,
    DECIMAL,
    INTEGER,
    NUMERIC,
    STRING,
    TYPES,
    AtomicType,
    FunctionTest,
    MapTest,
    NodeTest,
    SequenceType,
    type_of,
)

INF, NAN = float("inf"), float("nan")


def xs(name: str, text: str) -> Any:
    return cast(text, TYPES[name])


def code_of(action: Any, *args: Any) -> str:
    with pytest.raises(XStreamError) as caught:
        action(*args)
    return caught.value.code


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("a", "string"), (True, "boolean"), (1, "integer"), (D(1), "decimal"), (1.0, "double"), (Float(1), "float"),
        (Untyped("a"), "untypedAtomic"), (AnyURI("a"), "anyURI"), (Int(1), "int"), (Token("a"), "token"),
        (QName("", "a"), "QName"), (HexBinary(b""), "hexBinary"),
    ],
)  # fmt: skip
def test_each_class_is_one_type(value: Any, name: str) -> None:
    assert type_of(value) is TYPES[name]
    assert TYPES[name].matches(value)
    assert ANY_ATOMIC.matches(value)


def test_types_derive_as_xsd_says() -> None:
    assert TYPES["byte"].subtype_of(INTEGER)
    assert TYPES["byte"].subtype_of(DECIMAL)
    assert TYPES["byte"].subtype_of(NUMERIC)
    assert TYPES["NCName"].subtype_of(STRING)
    assert not TYPES["anyURI"].subtype_of(STRING)
    assert not TYPES["boolean"].subtype_of(NUMERIC)
    assert TYPES["error"].subtype_of(INTEGER)
    assert TYPES["unsignedByte"].primitive is DECIMAL
    assert not INTEGER.matches(True)


def _one(kind: AtomicType, sign: str = "") -> SequenceType:
    return SequenceType(kind, sign)


def test_sequence_types_match_and_nest() -> None:
    assert _one(INTEGER, "?").matches([])
    assert not _one(INTEGER, "+").matches([])
    assert _one(INTEGER, "*").matches([1, Int(2)])
    assert not _one(INTEGER).matches([1, 2])
    assert not SequenceType(STRING, "0").matches(["a"])
    assert _one(INTEGER).subtype_of(_one(DECIMAL, "*"))
    assert not _one(INTEGER, "?").subtype_of(_one(INTEGER))
    narrow = FunctionTest((_one(DECIMAL),), _one(INTEGER))
    wide = FunctionTest((_one(INTEGER),), _one(DECIMAL))
    assert narrow.subtype_of(wide)
    assert not wide.subtype_of(narrow)
    values = Map([("a", [1]), ("b", [2])])
    assert MapTest(STRING, _one(INTEGER)).matches(values)
    assert not MapTest(STRING, _one(STRING)).matches(values)
    assert FunctionTest((_one(ANY_ATOMIC),), _one(INTEGER, "?")).matches(values)
    assert FunctionTest((_one(INTEGER),), _one(INTEGER)).matches(Array([[1]]))
    assert NodeTest().subtype_of(NodeTest())
    assert not NodeTest().matches("a")


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        ("eq", 1, 1.0, True), ("eq", D("0.1"), 0.1, True), ("eq", Float(0.1), 0.1, False), ("lt", 1, D("1.5"), True),
        ("eq", Untyped("1"), "1", True), ("eq", AnyURI("a"), "a", True), ("eq", NAN, NAN, False),
        ("ne", NAN, NAN, True), ("gt", True, False, True), ("lt", "a", "b", True),
        ("eq", 2**53 + 1, float(2**53), True), ("eq", 2**53 + 1, 2**53, False),
    ],
)  # fmt: skip
def test_value_comparison(op: str, a: Any, b: Any, expected: bool) -> None:
    assert VALUE[op](a, b) is expected


def test_values_of_different_families_do_not_compare() -> None:
    assert code_of(VALUE["eq"], 1, "1") == "XPTY0004"
    assert code_of(VALUE["eq"], Untyped("1"), 1) == "XPTY0004"
    assert code_of(VALUE["lt"], QName("", "a"), QName("", "b")) == "XPTY0004"
    assert code_of(VALUE["lt"], xs("gYear", "2000"), xs("gYear", "2001")) == "XPTY0004"
    assert code_of(VALUE["lt"], xs("duration", "P1D"), xs("duration", "P2D")) == "XPTY0004"
    assert VALUE["eq"](xs("yearMonthDuration", "P0M"), xs("dayTimeDuration", "PT0S"))
    assert VALUE["eq"](xs("date", "2000-01-01Z"), xs("date", "2000-01-01"))
    assert VALUE["lt"](xs("hexBinary", "00"), xs("hexBinary", "01"))


def test_general_comparison_is_existential_and_types_untyped_values() -> None:
    assert GENERAL["="]([1, 2], [2, 3])
    assert GENERAL["!="]([1, 2], [2])
    assert not GENERAL["="]([], [1])
    assert GENERAL["="]([Untyped("3.0")], [3])
    assert not GENERAL["="]([Untyped("3.0")], ["3"])
    assert GENERAL["<"]([Untyped("10")], [Untyped("9")])
    assert not GENERAL["<"]([Untyped("10")], [9])
    assert GENERAL["="]([True], [Untyped("true")])
    assert GENERAL["="](list("abcdef"), list("xyzf"))
    assert code_of(GENERAL["="], [Untyped("x")], [1]) == "FORG0001"
    assert code_of(GENERAL["="], ["1"], [1]) == "XPTY0004"


NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6),
    st.floats(),
)


@given(NUMBERS, NUMBERS)
def test_hash_keys_of_numbers_are_equal_exactly_when_eq_holds(a: Any, b: Any) -> None:
    equal = hash_key(a) == hash_key(b)
    if a != a or b != b:
        assert equal is ((a != a) and (b != b))
        return
    assert equal is VALUE["eq"](a, b)
    if equal:
        assert hash(hash_key(a)) == hash(hash_key(b))


def test_hash_keys_of_other_values() -> None:
    assert hash_key(NAN) is NAN_KEY
    assert hash_key(True) != hash_key(1)
    assert hash_key(Untyped("a")) == hash_key("a") == hash_key(AnyURI("a"))
    noon, same = xs("dateTime", "2000-01-01T12:00:00Z"), xs("dateTime", "2000-01-01T14:00:00+02:00")
    assert hash_key(noon) == hash_key(same)
    assert hash_key(xs("date", "2000-01-01")) != hash_key(xs("dateTime", "2000-01-01T00:00:00"))


def test_map_keys_are_the_same_by_exact_value() -> None:
    assert same_key(1) == same_key(1.0) == same_key(D("1.0"))
    assert same_key(D("0.1")) != same_key(0.1)
    assert same_key(NAN) == same_key(NAN)
    assert same_key(True) != same_key(1)
    assert same_key(xs("date", "2000-01-01")) != same_key(xs("date", "2000-01-01Z"))


def test_order_keys_place_empty_and_nan() -> None:
    column = [2, None, NAN, 1]
    least, greatest = order_keys(column, False), order_keys(column, True)
    assert sorted(range(4), key=least.__getitem__) == [1, 2, 3, 0]
    assert sorted(range(4), key=greatest.__getitem__) == [3, 0, 2, 1]
    assert code_of(order_keys, [1, "a"], False) == "XPTY0004"


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], False),
        ([""], False),
        ([Untyped("x")], True),
        ([0], False),
        ([NAN], False),
        ([False], False),
        ([D(2)], True),
    ],
)
def test_effective_boolean_value(items: list[Any], expected: bool) -> None:
    assert effective_boolean(items) is expected


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        (ar.add, 1, D("0.5"), D("1.5")), (ar.add, 1, 0.5, 1.5), (ar.add, Untyped("1"), 1, 2.0),
        (ar.subtract, Int(1), 2, -1), (ar.multiply, D("1.1"), D("1.1"), D("1.21")), (ar.divide, 6, 2, D(3)),
        (ar.divide, 1, 3, D("0.333333333333333333")), (ar.divide, 1.0, 0.0, INF), (ar.divide, -1.0, 0.0, -INF),
        (ar.divide, 1.0, -0.0, -INF), (ar.integer_divide, -7, 2, -3), (ar.integer_divide, 7.5, 2, 3),
        (ar.integer_divide, 5, INF, 0), (ar.modulo, -7, 3, -1), (ar.modulo, 7, -3, 1),
        (ar.modulo, D("1.5"), 1, D("0.5")),
        (ar.modulo, 5.0, INF, 5.0),
        (ar.add, 10**30, 1, 10**30 + 1), (ar.divide, 10**30, 3, D("333333333333333333333333333333.333333333333333333")),
    ],
)  # fmt: skip
def test_arithmetic(op: Any, a: Any, b: Any, expected: Any) -> None:
    result = op(a, b)
    assert (type(result), to_string(result)) == (type(expected), to_string(expected))


def test_arithmetic_errors() -> None:
    assert code_of(ar.divide, 1, 0) == "FOAR0001"
    assert code_of(ar.modulo, 1, 0) == "FOAR0001"
    assert code_of(ar.integer_divide, 1.0, 0) == "FOAR0001"
    assert code_of(ar.integer_divide, INF, 2) == "FOAR0002"
    assert code_of(ar.add, "1", 1) == "XPTY0004"
    assert code_of(ar.add, True, 1) == "XPTY0004"
    assert code_of(ar.multiply, xs("dayTimeDuration", "P1D"), NAN) == "FOCA0005"
    assert code_of(ar.multiply, xs("dayTimeDuration", "P1D"), INF) == "FODT0002"
    assert code_of(ar.add, xs("duration", "P1D"), xs("duration", "P1D")) == "XPTY0004"
    assert code_of(ar.multiply, xs("yearMonthDuration", "P700000000000000000Y"), 2) == "FODT0002"
    assert code_of(ar.add, xs("date", "9999999999-12-31"), xs("yearMonthDuration", "P1M")) == "FODT0001"


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        (ar.add, xs("date", "2000-01-31"), xs("yearMonthDuration", "P1M"), "2000-02-29"),
        (ar.subtract, xs("date", "2000-03-01"), xs("dayTimeDuration", "P1D"), "2000-02-29"),
        (ar.add, xs("date", "0001-01-01"), xs("dayTimeDuration", "-P1D"), "0000-12-31"),
        (ar.add, xs("dateTime", "9999-12-31T23:59:59Z"), xs("dayTimeDuration", "PT1S"), "10000-01-01T00:00:00Z"),
        (ar.add, xs("time", "23:00:00"), xs("dayTimeDuration", "PT2H"), "01:00:00"),
        (ar.subtract, xs("date", "2000-03-01Z"), xs("date", "2000-02-28Z"), "P2D"),
        (ar.subtract, xs("time", "10:00:00+01:00"), xs("time", "10:00:00Z"), "-PT1H"),
        (ar.multiply, xs("yearMonthDuration", "P1M"), 1.5, "P2M"),
        (ar.multiply, 2, xs("dayTimeDuration", "PT1.5S"), "PT3S"),
        (ar.divide, xs("yearMonthDuration", "P1Y"), xs("yearMonthDuration", "P5M"), "2.4"),
        (ar.divide, xs("dayTimeDuration", "P1D"), 3, "PT8H"),
    ],
)
def test_date_arithmetic(op: Any, a: Any, b: Any, expected: str) -> None:
    assert to_string(op(a, b)) == expected


@given(st.integers(-5_000_000, 5_000_000))
def test_day_numbers_and_civil_dates_are_inverse(number: int) -> None:
    assert ordinal(*civil(number)) == number


@given(st.integers(-(10**22), 10**22), st.one_of(st.none(), st.integers(-840, 840)))
def test_date_times_read_back_what_they_print(local: int, zone: int | None) -> None:
    value = DateTime(local, zone)
    again = parse_moment(DateTime, str(value))
    assert again is not None
    assert (again.local, again.tz) == (local, zone)


@given(st.integers(0, 10**6), st.integers(0, 10**20), st.booleans())
def test_durations_read_back_what_they_print(months: int, ticks: int, negative: bool) -> None:
    sign = -1 if negative else 1
    value = Duration(sign * months, sign * ticks)
    assert parse_duration(str(value)) == value


def test_values_survive_pickling() -> None:
    for value in (QName("u", "a", "p"), Untyped("x"), Float(0.5), xs("dateTime", "2000-01-01T00:00:00Z"), Int(3)):
        again = pickle.loads(pickle.dumps(value))
        assert type(again) is type(value)
        assert again == value


@given(st.lists(st.tuples(st.integers(0, 60), st.integers()), max_size=200))
def test_a_map_agrees_with_a_dictionary_at_every_version(puts: list[tuple[int, int]]) -> None:
    current, versions = Map(), []
    plain: dict[int, int] = {}
    for key, value in puts:
        if value % 5 == 0:
            current, _ = current.remove([key]), plain.pop(key, None)
        else:
            current = current.put(key, [value])
            plain[key] = value
        versions.append((current, dict(plain)))
    for version, model in versions:
        assert {key: value[0] for key, value in version.items()} == model
        assert len(version) == len(model)


def test_appending_to_one_array_twice_gives_two_arrays() -> None:
    start = Array([[1]])
    left, right = start.append([2]), start.append([3])
    assert (start.members(), left.members(), right.members()) == ([[1]], [[1], [2]], [[1], [3]])


@pytest.mark.parametrize(
    "text",
    ["20031023T122334000", "2003-W43-4T12:23:34", "2003-10-23 12:23:34", "2003-10-23T12:23:60", "2003-13-01T00:00:00",
     "2003-10-23T12:23:3\u0664", "2003-10-23T12:23:34z", "+003-10-23T12:23:34", "2003-10-23T1a:23:34"],
)  # fmt: skip
def test_the_quick_reader_takes_no_more_than_xsd_does(text: str) -> None:
    assert parse_moment(DateTime, text) is None


@given(st.datetimes(), st.booleans())
def test_the_quick_reader_agrees_with_the_whole_one(moment: Any, zulu: bool) -> None:
    text = moment.replace(microsecond=0).isoformat() + ("Z" if zulu else "")
    quick = parse_moment(DateTime, text)
    whole = parse_moment(DateTime, text[:19] + ".0" + text[19:])
    assert quick is not None
    assert whole is not None
    assert (quick.local, quick.tz) == (whole.local, whole.tz)
