"""fn:format-integer (F&O 3.1 §4.6.1), and the numberings that fn:format-date shares. Words are English."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from xstreamcast.errors import error
from xstreamcast.functions.registry import function
from xstreamcast.model.lexical import to_string

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = (
    (10**18, "quintillion"),
    (10**15, "quadrillion"),
    (10**12, "trillion"),
    (10**9, "billion"),
    (10**6, "million"),
    (10**3, "thousand"),
)
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
    (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip


def words(value: int) -> str:
    """A number in English words, lower case."""
    if value < 20:
        return _UNITS[value]
    if value < 100:
        tens, units = divmod(value, 10)
        return _TENS[tens] + (f"-{_UNITS[units]}" if units else "")
    if value < 1000:
        hundreds, rest = divmod(value, 100)
        return f"{_UNITS[hundreds]} hundred" + (f" and {words(rest)}" if rest else "")
    for size, name in _SCALES:
        if value >= size:
            count, rest = divmod(value, size)
            joiner = " and " if 0 < rest < 100 else " "
            return f"{words(count)} {name}" + (joiner + words(rest) if rest else "")
    raise AssertionError("every number from 1000 on has a scale")


def ordinal_words(value: int) -> str:
    text = words(value)
    head, separator, last = re.fullmatch(r"(.*?)([ -]?)([a-z]+)", text).groups()  # type: ignore[union-attr]  # words
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = last[:-1] + "ieth"
    else:
        last += "th"
    return str(head + separator + last)


def ordinal_suffix(value: int) -> str:
    if value % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


def roman(value: int) -> str:
    text = ""
    for size, letters in _ROMAN:
        count, value = divmod(value, size)
        text += letters * count
    return text


def alphabetic(value: int, first: str, size: int) -> str:
    """a, b, … z, aa, ab, …"""
    text = ""
    while value > 0:
        value, rest = divmod(value - 1, size)
        text = chr(ord(first) + rest) + text
    return text


_ALPHABETS = {"a": 26, "A": 26, "α": 25, "Α": 25, "а": 32, "А": 32}
#: First members of numberings without a place system: (first codepoint, first number, last number).
_SEQUENCES = {
    "①": (0x2460, 1, 20), "⑴": (0x2474, 1, 20), "⒈": (0x2488, 1, 20), "❶": (0x2776, 1, 10), "➀": (0x2780, 1, 10),
    "➊": (0x278A, 1, 10), "㊀": (0x3280, 1, 10), "㈠": (0x3220, 1, 10), "⓵": (0x24F5, 1, 10),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DigitPattern:
    """A decimal-digit-pattern: ``zero`` begins its digit family, ``groups`` are (digits to the right, separator)."""

    zero: int
    mandatory: int
    places: int
    groups: tuple[tuple[int, str], ...]

    def format(self, value: int) -> str:
        digits = to_string(value).rjust(self.mandatory, "0")
        digits = "".join(chr(self.zero + int(d)) for d in digits)
        return self.grouped(digits)

    def grouped(self, digits: str) -> str:
        if not self.groups:
            return digits
        positions = dict(self.groups)
        distance = regular_interval(sorted(positions), [s for _, s in self.groups], self.places)
        out = []
        for index, digit in enumerate(reversed(digits)):
            if index and (index in positions or (distance and index % distance == 0)):
                out.append(positions.get(index) or self.groups[0][1])
            out.append(digit)
        return "".join(reversed(out))


def regular_interval(positions: list[int], separators: list[str], places: int) -> int:
    """The distance of separators that repeat at one distance over all the places of a picture, else 0."""
    if not positions or len(set(separators)) > 1 or places - positions[-1] > positions[0]:
        return 0
    first = positions[0]
    return first if positions == [first * n for n in range(1, len(positions) + 1)] else 0


def digit_zero(character: str) -> int | None:
    """The zero of a decimal digit's family."""
    if unicodedata.category(character) != "Nd":
        return None
    return ord(character) - unicodedata.digit(character)


def parse_digits(pattern: str, code: str = "FODF1310") -> DigitPattern:
    """A decimal-digit-pattern such as ``#,##0``; ``code`` is raised if it is none."""
    zero: int | None = None
    mandatory = optional = 0
    groups: list[tuple[int, str]] = []
    previous_separator = True  # none may come first
    for character in pattern:
        family = digit_zero(character)
        if family is not None:
            if zero is not None and family != zero:
                raise error(code, f"{pattern!r} mixes digits of several scripts")
            zero = family
            mandatory += 1
            groups = [(at + 1, s) for at, s in groups]
            previous_separator = False
        elif character == "#":
            if mandatory:
                raise error(code, f"{pattern!r}: an optional digit after a mandatory one")
            optional += 1
            groups = [(at + 1, s) for at, s in groups]
            previous_separator = False
        elif unicodedata.category(character)[0] in "NL":
            raise error(code, f"{pattern!r} is not a digit pattern")
        else:
            if previous_separator:
                raise error(code, f"{pattern!r}: a grouping separator without digits around it")
            groups.append((0, character))
            previous_separator = True
    if zero is None or previous_separator:
        raise error(code, f"{pattern!r} is not a digit pattern")
    return DigitPattern(zero, mandatory, mandatory + optional, tuple(reversed(groups)))


def numbered(value: int, token: str, ordinal: bool, code: str = "FODF1310") -> str:
    """A non-negative number by a primary format token (``1``, ``01``, ``a``, ``I``, ``Ww`` …)."""
    if token in ("w", "W", "Ww"):
        text = ordinal_words(value) if ordinal else words(value)
        if token == "Ww":
            return " ".join(word if word == "and" else word.title() for word in text.split(" "))
        return text.upper() if token == "W" else text
    if token in ("i", "I") and 0 < value < 5000:
        text = roman(value)
        return text if token == "I" else text.lower()
    if token in _ALPHABETS and value > 0:
        return alphabetic(value, token, _ALPHABETS[token])
    if token in _SEQUENCES:
        first, low, high = _SEQUENCES[token]
        if low <= value <= high:
            return chr(first + value - low)
    if any(digit_zero(c) is not None for c in token):
        return parse_digits(token, code).format(value) + (ordinal_suffix(value) if ordinal else "")
    return str(value) + (ordinal_suffix(value) if ordinal else "")


_MODIFIER = re.compile(r"(?:([co])(\([^()]*(?:\([^()]*\))?[^()]*\))?)?([at])?")


@function("fn:format-integer", "xs:integer?, xs:string", "xs:string")
@function("fn:format-integer", "xs:integer?, xs:string, xs:string?", "xs:string")
def format_integer(value: int | None, picture: str, language: str | None = None) -> str:
    token, semicolon, modifier = picture.rpartition(";")
    if not semicolon:
        token, modifier = picture, ""
    match = _MODIFIER.fullmatch(modifier)
    if not token or match is None:
        raise error("FODF1310", f"fn:format-integer: bad picture {picture!r}")
    if any(digit_zero(c) is not None for c in token):
        parse_digits(token)
    if value is None:
        return ""
    text = numbered(abs(value), token, match[1] == "o")
    return f"-{text}" if value < 0 else text
