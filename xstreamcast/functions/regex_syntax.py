"""XPath regular expressions (F&O 3.1 §5.6.1, XSD 1.1 Part 2 appendix G) as trees, with their text for Python's ``re``.

Character classes are computed as sets of codepoint ranges, so that subtraction, negation, categories and
case-insensitivity are exact; the rest maps construct by construct. What is not an XPath regular expression is
FORX0002, though ``re`` might take it; a bad flag is FORX0001.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from typing import Final, NoReturn

from xstreamcast.errors import error
from xstreamcast.functions.regex_tree import Back, Chain, Characters, Choice, Edge, Group, Node, Ranges, Repeat

_LAST: Final = sys.maxunicode
_WHITESPACE: Final = " \t\r\n"
_MOST_REPETITIONS: Final = 2**32 - 1  # re's own bound
_TIMES: Final[dict[str, tuple[int, int | None]]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_NOT_LINE_ENDS: Final = ((0, 9), (11, 12), (14, _LAST))
_SINGLE_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"} | {c: c for c in "\\|.?*+(){}-[]^$"}


def _merged(ranges: list[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    gaps = []
    start = 0
    for low, high in ranges:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        gaps.append((start, _LAST))
    return tuple(gaps)


def _difference(a: Ranges, b: Ranges) -> Ranges:
    return _complement(_merged([*_complement(a), *b]))


@cache
def _categories() -> dict[str, Ranges]:
    """Codepoints by general category. Planes 4 to 13 are unassigned and planes 15 and 16 private throughout, but
    for two noncharacters at the end of each; looking at every codepoint would take five times as long."""
    found: dict[str, list[tuple[int, int]]] = {}
    category = unicodedata.category
    looked_at = [*range(0x40000), *range(0xE0000, 0xE1000), 0xF0000, 0xFFFFE, 0x100000, 0x10FFFE]
    start, current = 0, category("\0")
    for code in looked_at:
        name = category(chr(code))
        if name != current:
            found.setdefault(current, []).append((start, code - 1))
            start, current = code, name
    found.setdefault(current, []).append((start, _LAST))
    return {name: tuple(ranges) for name, ranges in found.items()}


@cache
def _category(name: str) -> Ranges | None:
    if len(name) == 2:
        return _categories().get(name) if name != "Cs" else None
    if len(name) == 1 and name in "LMNPZSC":
        return _merged([r for key, ranges in _categories().items() if key[0] == name and key != "Cs" for r in ranges])
    return None


@cache
def _block(name: str) -> Ranges | None:
    """A Unicode block by its name without spaces."""
    from xstreamcast.functions.unicode_blocks import block

    found = block(name)
    return None if found is None else _merged(found)


_NAME_START: Final = _merged(
    [(58, 58), (65, 90), (95, 95), (97, 122), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF), (0x370, 0x37D),
     (0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF),
     (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF)]
)  # fmt: skip
_NAME: Final = _merged([*_NAME_START, (45, 46), (48, 57), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)])


@cache
def _multi_escape(letter: str) -> Ranges:
    """``\\s \\i \\c \\d \\w`` and, in upper case, their complements."""
    if letter.isupper():
        return _complement(_multi_escape(letter.lower()))
    if letter == "s":
        return _merged([(ord(c), ord(c)) for c in _WHITESPACE])
    if letter == "i":
        return _NAME_START
    if letter == "c":
        return _NAME
    if letter == "d":
        return _category("Nd") or ()
    outside = [r for name in "PZC" for r in _category(name) or ()]
    return _complement(_merged(outside))


def _cased(ranges: Ranges) -> Ranges:
    """The set with all case variants of its members."""
    more: list[tuple[int, int]] = list(ranges)
    for low, high in ranges:
        if high - low > 0x3000:  # a huge range of a class such as [^x]: variants lie inside or do not matter
            continue
        for code in range(low, high + 1):
            character = chr(code)
            for variant in (character.lower(), character.upper(), character.casefold()):
                if len(variant) == 1:
                    more.append((ord(variant), ord(variant)))
    # Characters whose own variants fall into the set, such as the Kelvin sign for k.
    closed = _merged(more)
    for odd in "\u212a\u212b\u017f\u2126\u1e9e":
        if any(low <= ord(v) <= high for v in (odd.lower(), odd.upper()) if len(v) == 1 for low, high in closed):
            more.append((ord(odd), ord(odd)))
    return _merged(more)


def _written(ranges: Ranges) -> str:
    """A character class in Python's syntax."""
    if not ranges:
        return "(?!)"
    if ranges == ((0, _LAST),):
        return "(?s:.)"
    parts = []
    for low, high in ranges:
        parts.append(_code(low) if low == high else f"{_code(low)}-{_code(high)}")
    return "[" + "".join(parts) + "]"


def _code(code: int) -> str:
    if 48 <= code <= 57 or 65 <= code <= 90 or 97 <= code <= 122:
        return chr(code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class Reader:
    """A recursive-descent reader of an expression with flags from ``smix``.

    ``parents[n]`` is the group that group n stands in, 0 the whole.
    """

    def __init__(self, source: str, flags: str) -> None:
        self.source = source
        self.at = 0
        self.spaced = "x" in flags
        self.ignore_case = "i" in flags
        self.dot_all = "s" in flags
        self.multi_line = "m" in flags
        self.parents: list[int] = [0]
        self.open: list[int] = [0]
        self.closed: set[int] = set()

    def fail(self, why: str) -> NoReturn:
        raise error("FORX0002", f"regular expression {self.source!r}: {why} at character {self.at + 1}")

    def skip(self) -> None:
        while self.spaced and self.at < len(self.source) and self.source[self.at] in _WHITESPACE:
            self.at += 1

    def peek(self) -> str:
        self.skip()
        return self.source[self.at] if self.at < len(self.source) else ""

    def take(self) -> str:
        character = self.peek()
        if not character:
            self.fail("unexpected end")
        self.at += 1
        return character

    def whole(self) -> Node:
        node = self.alternatives()
        if self.peek():
            self.fail(f"unexpected {self.peek()!r}")
        return node

    def alternatives(self) -> Node:
        branches = [self.branch()]
        while self.peek() == "|":
            self.take()
            branches.append(self.branch())
        return Choice(tuple(branches)) if len(branches) > 1 else branches[0]

    def branch(self) -> Node:
        pieces = []
        while self.peek() not in ("", "|", ")"):
            pieces.append(self.quantified(self.atom()))
        return pieces[0] if len(pieces) == 1 else Chain(tuple(pieces))

    def quantified(self, atom: Node) -> Node:
        sign = self.peek()
        if not sign or sign not in "?*+{":
            return atom
        self.take()
        low, high, text = (*_TIMES[sign], sign) if sign != "{" else self.quantity()
        lazy = self.peek() == "?"
        if lazy:
            self.take()
            text += "?"
        if self.peek() and self.peek() in "?*+{":
            self.fail("a quantifier after a quantifier")
        return Repeat(atom, low, high, lazy, text)

    def quantity(self) -> tuple[int, int | None, str]:
        digits = ""
        while self.peek() != "}":
            digits += self.take()
        self.take()
        match = re.fullmatch("([0-9]+)(,([0-9]*))?", digits)
        if match is None:
            self.fail("not a quantity")
        low, high = match[1], match[3]
        if high and int(low) > int(high):
            self.fail("the least number exceeds the greatest")
        if int(high or low) >= _MOST_REPETITIONS:
            self.fail("too many repetitions")
        most = int(low) if match[2] is None else int(high) if high else None
        return int(low), most, "{" + digits + "}"

    def atom(self) -> Node:
        character = self.take()
        if character == "(":
            return self.group()
        if character == "[":
            return self.in_case(self.character_class())
        if character == "\\":
            return self.escape()
        if character == ".":
            return Characters(((0, _LAST),), "(?s:.)") if self.dot_all else Characters(_NOT_LINE_ENDS, "[^\\n\\r]")
        if character == "^":
            return Edge("^m", r"(?:\A|(?<=\n)(?!\Z))") if self.multi_line else Edge("^", r"(?:\A)")
        if character == "$":
            return Edge("$m", r"(?:(?=\n)|\Z)") if self.multi_line else Edge("$", r"(?:\Z)")
        if character in "?*+{}])":
            self.at -= 1
            self.fail(f"unexpected {character!r}")
        return self.literal(character)

    def literal(self, character: str) -> Characters:
        return Characters(((ord(character), ord(character)),), re.escape(character), self.ignore_case)

    def group(self) -> Node:
        if self.source.startswith("?:", self.at):
            self.at += 2
            number = None
            body = self.alternatives()
        elif self.peek() == "?":
            self.fail("only (?: may follow a parenthesis")
        else:
            self.parents.append(self.open[-1])
            number = len(self.parents) - 1
            self.open.append(number)
            body = self.alternatives()
            self.open.pop()
        if self.peek() != ")":
            self.fail("a parenthesis is not closed")
        self.take()
        if number is not None:
            self.closed.add(number)
        return Group(number, body)

    def in_case(self, ranges: Ranges) -> Characters:
        text = _written(ranges)
        return Characters(ranges, f"(?-i:{text})" if self.ignore_case and text[0] == "[" else text)

    def escape(self) -> Node:
        self.skip()
        character = self.source[self.at] if self.at < len(self.source) else ""
        if character.isdigit() and character != "0" and character.isascii():
            return self.back_reference()
        if character in ("d", "D"):
            self.at += 1
            return Characters(_multi_escape(character), f"\\{character}")  # Python's is \\p{Nd} too
        if character in "sSiIcCwW" and character:
            self.at += 1
            return self.in_case(_multi_escape(character))
        if character in ("p", "P"):
            return self.in_case(self.category())
        return self.literal(self.single_escape())

    def single_escape(self) -> str:
        character = self.source[self.at] if self.at < len(self.source) else ""
        if character not in _SINGLE_ESCAPES:
            self.fail(f"\\{character} is not an escape")
        self.at += 1
        return _SINGLE_ESCAPES[character]

    def back_reference(self) -> Back:
        """As many digits as still name a group; the group must be closed. An unmatched group matches nothing."""
        number = int(self.source[self.at])
        self.at += 1
        while self.at < len(self.source) and self.source[self.at] in "0123456789":
            longer = number * 10 + int(self.source[self.at])
            if longer >= len(self.parents):
                break
            number = longer
            self.at += 1
        if number not in self.closed:
            self.fail(f"there is no finished group {number} to refer back to")
        return Back(number)

    def category(self) -> Ranges:
        negative = self.source[self.at] == "P"
        end = self.source.find("}", self.at)
        if not self.source.startswith("{", self.at + 1) or end < 0:
            self.fail("\\p needs a category in braces")
        name = self.source[self.at + 2 : end]
        if self.spaced:
            name = name.translate({ord(c): None for c in _WHITESPACE})
        self.at = end + 1
        ranges = _block(name[2:]) if name.startswith("Is") else _category(name)
        if ranges is None:
            self.fail(f"there is no category or block {name}")
        return _complement(ranges) if negative else ranges

    def character_class(self) -> Ranges:
        """What is between ``[`` and ``]``; the bracket is already read. Whitespace counts, even under flag x."""
        negative = self.source.startswith("^", self.at)
        if negative:
            self.at += 1
        named: list[tuple[int, int]] = []  # sets that case does not change
        listed: list[tuple[int, int]] = []
        subtracted: Ranges | None = None
        first = True
        while True:
            character = self.source[self.at] if self.at < len(self.source) else ""
            if not character:
                self.fail("a character class is not closed")
            if character == "]":
                if first:
                    self.fail("an empty character class")
                self.at += 1
                break
            if character == "-" and self.source.startswith("-[", self.at) and not first:
                self.at += 2
                subtracted = self.character_class()
                if not self.source.startswith("]", self.at):
                    self.fail("a subtraction must end its class")
                self.at += 1
                break
            first = False
            self.class_part(character, named, listed)
        own = _merged(listed)
        ranges = _merged([*named, *(_cased(own) if self.ignore_case else own)])
        if negative:
            ranges = _complement(ranges)
        return _difference(ranges, subtracted) if subtracted is not None else ranges

    def class_part(self, character: str, named: list[tuple[int, int]], listed: list[tuple[int, int]]) -> None:
        if character == "\\":
            following = self.source[self.at + 1 : self.at + 2]
            if following and following in "sSiIcCdDwW":
                self.at += 2
                named.extend(_multi_escape(following))
                self.no_range("a class escape")
                return
            if following and following in "pP":
                self.at += 1
                named.extend(self.category())
                self.no_range("a category")
                return
        low = self.class_character(at_start=True)
        if self.source.startswith("-", self.at) and not self.source.startswith(("-]", "-["), self.at):
            self.at += 1
            high = self.class_character(at_start=False)
            if ord(low) > ord(high):
                self.fail(f"the range {low}-{high} is backwards")
            listed.append((ord(low), ord(high)))
            if self.source.startswith("-", self.at) and not self.source.startswith("-[", self.at):
                self.at += 1  # behind a range a hyphen can only be itself
                listed.append((ord("-"), ord("-")))
        else:
            listed.append((ord(low), ord(low)))

    def no_range(self, what: str) -> None:
        if self.source.startswith("-", self.at) and not self.source.startswith(("-]", "-["), self.at):
            self.fail(f"{what} cannot begin a range")

    def class_character(self, at_start: bool) -> str:
        character = self.source[self.at] if self.at < len(self.source) else ""
        if character == "\\":
            self.at += 1
            return self.single_escape()
        if not character or character in "[]":
            self.fail(f"unexpected {character!r} in a character class")
        if character == "-":
            before = self.source[self.at - 1]
            at_edge = before == "[" or (before == "^" and self.source[self.at - 2] == "[")
            at_edge = at_edge or self.source[self.at + 1 : self.at + 2] in ("]", "-")
            if at_start and not at_edge:
                self.fail("a hyphen stands at the beginning or end of a class")
        self.at += 1
        return character
