"""What stands in a query, for who shows it in colours: the grammar's own rules say which word is a keyword where.

``for`` begins a loop in one place and is an element's name in another; only the rule that meets a word knows. So the
parser itself is listened to. Behind an error the rest is told by its form alone.

>>> [(text, kind) for text, kind in painted('for $for in stream("s")/for return $for')]
[('for', 'keyword'), ('$for', 'variable'), ('in', 'keyword'), ('stream', 'function'), ('"s"', 'string'), \
('for', 'name'), ('return', 'keyword'), ('$for', 'variable')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from xstreamcast.errors import XStreamError
from xstreamcast.lang.ast import AxisStep, Expr, FunctionCall, LiteralText, Name, NamedFunctionRef, Source
from xstreamcast.lang.constructors import Part
from xstreamcast.lang.lexical import (
    NCNAME,
    match_comment_piece,
    match_digits,
    match_ncname,
    match_number,
    match_qname,
    match_space,
    match_string,
)
from xstreamcast.lang.parser import LEVELS
from xstreamcast.lang.paths import CONSTRUCTORS
from xstreamcast.lang.prolog import ModuleParser
from xstreamcast.lang.types import RESERVED_FUNCTIONS

Kind = Literal["keyword", "name", "function", "variable", "string", "number", "comment", "tag"]

KEYWORDS: Final = frozenset(
    {
        *("for", "let", "where", "order", "by", "group", "count", "return", "in", "at", "stable", "ascending"),
        *("descending", "allowing", "empty", "greatest", "least", "if", "then", "else", "some", "every", "satisfies"),
        *("switch", "case", "default", "typeswitch", "try", "catch", "declare", "variable", "function", "namespace"),
        *("option", "import", "module", "external", "as", "of", "now", "tumbling", "sliding", "window", "start"),
        *("when", "end"),
        *(word for word in LEVELS if word.isalpha()),
        *CONSTRUCTORS,
    }
)
"""Words that are keywords somewhere: how the rest of a query is told behind an error."""

match_variable: Final = re.compile(rf"\${NCNAME}(?::{NCNAME})?").match


class Token(NamedTuple):
    """A piece of a query: from one character to another, and what it is. Signs and blanks are none."""

    start: int
    end: int
    kind: Kind


def tokens(text: str) -> list[Token]:
    """The tokens of a query, in order, also of one that is not finished."""
    plain = text.replace("\r", " ")  # as many characters
    found: dict[int, Token] = {}
    listening = None
    try:
        listening = _Listening(Source("query", plain), found)
        listening.module()
        reached = len(plain)
    except (XStreamError, RecursionError):
        reached = 0 if listening is None else max([listening.last, *(token.end for token in found.values())])
    for token in _by_form(plain, reached):
        found[token.start] = token
    made: list[Token] = []
    for start in sorted(found):
        if not made or start >= made[-1].end:
            made.append(found[start])
    return made


def painted(text: str) -> Iterator[tuple[str, Kind]]:
    """The texts of the tokens, and what they are."""
    for start, end, kind in tokens(text):
        yield text[start:end], kind


class _Listening(ModuleParser):
    """The parser, which notes what it meets: ``found`` has tokens by where they begin. A rule that is tried in vain
    is followed by the one that fits, which notes the same place anew."""

    __slots__ = ("expected", "found")

    def __init__(self, source: Source, found: dict[int, Token]) -> None:
        self.found = found
        self.expected: dict[int, Kind] = {}
        super().__init__(source)

    def note(self, start: int, end: int, kind: Kind) -> None:
        self.found[start] = Token(start, end, kind)

    def skip(self, pos: int) -> None:
        start = self.pos
        first = self.text[start]
        if pos > start and (kind := self.kind(start, pos, first)) is not None:
            self.note(start, pos, kind)
        super().skip(pos)

    def kind(self, start: int, end: int, first: str) -> Kind | None:
        """What a piece is that some rule has taken."""
        if first in "\"'":
            return "string"
        if first.isdigit() or (first == "." and end > start + 1 and self.text[start + 1].isdigit()):
            return "number"
        word = match_qname(self.text, start)
        if word is None or self.text[end - 1] == "{":  # the text of an element, up to an expression in it
            return None
        if self.brackets and start not in self.expected:  # now, dates and durations
            return "keyword" if self.text[start:end] in KEYWORDS else "number"
        return self.expected.get(start, "keyword") if word.end() <= end else None

    def comment(self, start: int) -> int:
        end = super().comment(start)
        self.note(start, end, "comment")
        return end

    def name(self, what: str = "a name") -> Name:
        found = match_qname(self.text, self.pos)
        if found is not None:
            self.expected[self.pos] = "function" if self.called(found.end()) else "name"
        return super().name(what)

    def called(self, end: int) -> bool:
        """Whether an opening parenthesis follows, or the number of parameters."""
        following = match_space(self.text, end).end()
        if self.text[following] == "#":
            return match_digits(self.text, following + 1) is not None
        return self.text[following] == "(" and self.text[following + 1] != ":"

    def ncname(self, what: str = "a name") -> str:
        self.expected[self.pos] = "name"
        return super().ncname(what)

    def variable(self) -> Name:
        start = self.pos
        name = super().variable()
        self.found.pop(start + 1, None)
        self.note(start, name.span.end, "variable")
        return name

    def named(self) -> Expr:
        start = self.pos
        found = match_qname(self.text, start)
        if found is not None:
            following = match_space(self.text, found.end()).end()
            if self.text.startswith("::", following) or (self.called(found.end()) and found[0] in RESERVED_FUNCTIONS):
                self.expected[start] = "keyword"
            else:
                self.expected[start] = "function" if self.called(found.end()) else "name"
        made = super().named()
        if found is not None and not isinstance(made, AxisStep | FunctionCall | NamedFunctionRef):
            self.note(start, found.end(), "keyword")  # a constructor
        return made

    def direct_name(self, pos: int, what: str) -> Name:
        name = super().direct_name(pos, what)
        self.note(pos, name.span.end, "tag")
        return name

    def attribute_value(self, start: int) -> tuple[Part, ...]:
        value = super().attribute_value(start)
        for part in value:
            if isinstance(part, LiteralText):
                self.note(part.span.start, part.span.end, "string")
        return value


def _by_form(text: str, pos: int) -> Iterator[Token]:
    """What the rest of a text looks like, where no rule can say."""
    while pos < len(text):
        pos = match_space(text, pos).end()
        if pos == len(text):
            return
        start = pos
        kind: Kind | None = None
        if text.startswith("(:", pos):
            pos, kind = _comment_end(text, pos), "comment"
        elif (found := match_string(text, pos)) is not None:
            pos, kind = found.end(), "string"
        elif text[pos] in "\"'":  # not closed
            pos, kind = len(text), "string"
        elif (found := match_variable(text, pos)) is not None:
            pos, kind = found.end(), "variable"
        elif (found := match_number(text, pos)) is not None:
            pos, kind = found.end(), "number"
        elif (found := match_qname(text, pos)) is not None:
            pos = found.end()
            following = match_space(text, pos).end()
            if text.startswith("(", following) and found[0] not in RESERVED_FUNCTIONS:
                kind = "function"
            else:
                kind = "keyword" if found[0] in KEYWORDS else "name"
        elif text[pos] == "<" and (found := match_ncname(text, pos + 1)) is not None:
            start, pos, kind = pos + 1, found.end(), "tag"
        else:
            pos += 1
        if kind is not None:
            yield Token(start, pos, kind)


def _comment_end(text: str, start: int) -> int:
    """The end of a comment, or of the text where it has none."""
    depth, pos = 1, start + 2
    while depth:
        piece = match_comment_piece(text, pos)
        if piece is None or piece[1] is None:
            return len(text)
        depth += 1 if piece[1] == "(:" else -1
        pos = piece.end()
    return pos
