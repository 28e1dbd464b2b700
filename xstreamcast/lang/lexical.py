"""Reading at a position: names, literals, references, whitespace and comments.

There is no token list: what a character means depends on the rule that meets it (``<`` starts a constructor
where an operand is due and compares where an operator is due), so each rule matches a regular expression at
the current position. Invariant: between tokens ``pos`` stands on the next significant character and ``last``
is the end of the token before it; inside direct constructors there is no insignificant whitespace.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import NoReturn, cast

from xstreamcast.lang.ast import (
    DecimalLiteral,
    DoubleLiteral,
    Expr,
    IntegerLiteral,
    Literal,
    Name,
    Sequence,
    Source,
    Span,
    StringLiteral,
)
from xstreamcast.model.namespaces import XMLNS

# XML 1.0 (5th ed.) NameStartChar and NameChar without the colon, exact for Latin-1 and lenient beyond: as
# complements within Latin-1 they compile twenty times faster. Scanner.check_name is exact about the rest.
NAME_START = r"^\x00-@\[-\^`{-\xbf\xd7\xf7"
NAME_CHAR = r"^\x00-,/:-@\[-\^`{-\xb6\xb8-\xbf\xd7\xf7"
NCNAME = f"[{NAME_START}][{NAME_CHAR}]*+"
EXACT_NCNAME = (
    "[A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff]"
    "[\\-.0-9A-Z_a-z\xb7\xc0-\xd6\xd8-\xf6\xf8-\u037d\u037f-\u1fff\u200c-\u200d\u203f-\u2040\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff]*+"
)

match_ncname = re.compile(NCNAME).match
match_qname = re.compile(f"({NCNAME})(?::({NCNAME}))?").match
match_space = cast("Callable[[str, int], re.Match[str]]", re.compile(r"[ \t\r\n]*+").match)  # it matches "" too
match_string = re.compile(r"""(?s)"((?:[^"]++|"")*+)"|'((?:[^']++|'')*+)'""").match
match_number = re.compile(
    rf"(?:(\d++)(?![.eE])|(\d++\.\d*+|\.\d++)(?![eE])|((?:\d++(?:\.\d*+)?|\.\d++)[eE][+-]?\d++))"
    rf"(?![{NAME_START}])",
    re.ASCII,
).match
match_digits = re.compile("[0-9]+").match
match_braced_uri = re.compile(r"Q\{([^{}]*+)\}").match
match_comment_piece = re.compile(r"(?:[^(:]++|\((?!:)|:(?!\)))*+(\(:|:\))?").match
search_illegal = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]").search
match_reference = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#([0-9]++)|#x([0-9a-fA-F]++));").match

ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
MAX_DEPTH = 200
DEPTH_HINT = "bind inner expressions to variables with let, or move them into functions"

HABITS = {
    "==": "equality is '=' (any pair) or 'eq' (single values)",
    "&&": "conjunction is written 'and'",
    "<>": "inequality is '!=' or 'ne'",
    "->": "a function is applied by '=>'",
    "//": "a path has one '/' or '//' between its steps; comments are written (: … :)",
    ";": "a semicolon ends a declaration of the prolog, not an expression",
    "%": "the remainder is written 'mod'",
    "!": "negation is written not(e)",
    "elseif": "write 'else if'",
    "elsif": "write 'else if'",
    "sortby": "write 'order by' before 'return'",
    "where": "'where' comes before 'return'",
    "order": "'order by' comes before 'return'",
}
"""What people write who think in another language, and what it is here."""

make_span = partial(tuple.__new__, Span)
"""A Span from a pair, at half the price of calling the class."""


def is_xml_char(code: int) -> bool:
    """XML 1.0 production Char."""
    return 0x20 <= code <= 0xD7FF or code in (9, 10, 13) or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF


def unknown_character(text: str) -> str:
    """How an error names the thing at the start of ``text``."""
    if not text or text[0] == "\0":
        return "the end of the query"
    found = match_qname(text) or match_digits(text)
    return f"'{found.group() if found else text[0]}'"


class Scanner(ABC):
    """A text and a position in it. The grammar's rules are methods of its subclasses."""

    __slots__ = ("brackets", "depth", "last", "pos", "source", "strip", "text")

    def __init__(self, source: Source, strip: bool = True) -> None:
        self.source = source
        self.text = source.text + "\0"  # a character no rule accepts saves every test for the end
        self.pos = 0
        self.last = 0
        self.depth = 0
        self.brackets = False  # inside ?[ ] or #[ ], where now, dates and durations are tokens
        self.strip = strip  # boundary-space policy
        illegal = search_illegal(source.text)
        if illegal:
            code = ord(illegal.group())
            self.fail(f"character U+{code:04X} is not allowed in a query", illegal.start())
        self.skip(0)

    @abstractmethod
    def single(self) -> Expr:
        """ExprSingle."""

    @abstractmethod
    def expr(self) -> Expr:
        """Expr: one or more ExprSingle, separated by commas."""

    # -------------------------------------------------------------------------------------- faults

    def fail(self, message: str, at: int | None = None, hint: str = "", code: str = "XPST0003") -> NoReturn:
        """Raises the error of a place (the current one by default)."""
        start = self.pos if at is None else at
        raise self.source.fault(code, message, Span(start, start + 1), hint)

    def unexpected(self, wanted: str, hint: str = "") -> NoReturn:
        """Raises: something else was due here."""
        found = unknown_character(self.text[self.pos : self.pos + 80])
        self.fail(f"expected {wanted}, found {found}", hint=hint or self.habit())

    def habit(self) -> str:
        """A hint for what people bring along from other languages."""
        here = self.pos
        for habit in (self.text[here : here + 2], self.text[max(0, here - 1) : here + 1], self.text[here]):
            if habit in HABITS:
                return HABITS[habit]
        if self.text[self.last - 8 : self.last] == "function" and match_ncname(self.text, here):
            return "a function is declared by 'declare function local:name($x) { … };'"
        return HABITS.get(self.word(), "")

    def enter(self) -> None:
        """One level deeper; the limit keeps every later pass within the stack."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"expressions are nested more than {MAX_DEPTH} deep", hint=DEPTH_HINT)

    # ------------------------------------------------------------------------------ space and words

    def skip(self, pos: int) -> None:
        """Ends a token at ``pos`` and moves over whitespace and comments to the next."""
        self.last = pos
        text = self.text
        pos = match_space(text, pos).end()
        while text.startswith("(:", pos):
            pos = match_space(text, self.comment(pos)).end()
        self.pos = pos

    def comment(self, start: int) -> int:
        """The end of the comment that begins at ``start``; comments nest."""
        depth = 1
        pos = start + 2
        while depth:
            piece = match_comment_piece(self.text, pos)
            assert piece is not None
            if piece.group(1) is None:
                self.fail("this comment is not closed", start, "a comment ends with ':)', and comments nest")
            depth += 1 if piece.group(1) == "(:" else -1
            pos = piece.end()
        return pos

    def span(self, start: int) -> Span:
        """From ``start`` to the end of the last token."""
        return make_span((start, self.last))

    def at(self, token: str) -> bool:
        """Whether the text goes on with ``token``."""
        return self.text.startswith(token, self.pos)

    def take(self, token: str) -> bool:
        """Consumes a delimiter if it comes next."""
        if self.text.startswith(token, self.pos):
            self.skip(self.pos + len(token))
            return True
        return False

    def expect(self, token: str, hint: str = "") -> None:
        """Consumes a delimiter or fails."""
        if not self.text.startswith(token, self.pos):
            self.unexpected(f"'{token}'", hint)
        self.skip(self.pos + len(token))

    def word(self) -> str:
        """The NCName that comes next, or ""; not consumed."""
        found = match_ncname(self.text, self.pos)
        return found.group() if found else ""

    def take_word(self, *words: str) -> str:
        """Consumes a keyword if one of ``words`` comes next, and returns it."""
        found = match_ncname(self.text, self.pos)
        if found is None or found.group() not in words:
            return ""
        self.skip(found.end())
        return found.group()

    def expect_word(self, *words: str, hint: str = "") -> str:
        """Consumes one of the keywords or fails."""
        taken = self.take_word(*words)
        if not taken:
            self.unexpected(" or ".join(f"'{word}'" for word in words), hint)
        return taken

    # ------------------------------------------------------------------------------------------ names

    def check_name(self, start: int, end: int) -> None:
        """Fails unless the name at ``start``, which is not all ASCII, has only characters of XML names."""
        for part in self.text[start:end].split(":"):
            exact = re.match(EXACT_NCNAME, part)
            length = exact.end() if exact else 0
            if length < len(part):
                char = part[length]
                hint = "quotes are straight: \" or '" if char in "“”„‘’" else ""
                self.fail(f"the character '{char}' (U+{ord(char):04X}) cannot be here", start + length, hint)
            start += len(part) + 1

    def ncname(self, what: str = "a name") -> str:
        """An NCName."""
        found = match_ncname(self.text, self.pos)
        if found is None:
            self.unexpected(what)
        if not found.group().isascii():
            self.check_name(*found.span())
        self.skip(found.end())
        return found.group()

    def name(self, what: str = "a name") -> Name:
        """An EQName: ``local``, ``prefix:local`` or ``Q{uri}local``."""
        start = self.pos
        found = match_qname(self.text, start)
        if found is None:
            self.unexpected(what)
        if not found.group().isascii():
            self.check_name(*found.span())
        if found.group() == "Q" and self.text[start + 1] == "{":
            uri, after = self.braced_uri(start)
            local = match_ncname(self.text, after)
            if local is None:
                self.pos = after
                self.unexpected("a name after Q{…}")
            if not local.group().isascii():
                self.check_name(*local.span())
            self.skip(local.end())
            return Name(None, local.group(), uri, span=self.span(start))
        self.skip(found.end())
        prefix, local_name = found.groups()
        if local_name is None:
            return Name("", prefix, span=self.span(start))
        return Name(prefix, local_name, span=self.span(start))

    def braced_uri(self, start: int) -> tuple[str, int]:
        """``Q{uri}`` at ``start``: the whitespace-normalised URI and where it ends."""
        found = match_braced_uri(self.text, start)
        if found is None:
            self.fail("'Q{' without its '}'", start, "write Q{uri}local")
        uri = " ".join(self.expand(found.group(1), start + 2).split())
        if uri == XMLNS:
            self.fail("no name can be in the xmlns namespace", start, code="XQST0070")
        return uri, found.end()

    def variable(self) -> Name:
        """``$name``, the dollar included."""
        if self.text[self.pos] != "$":
            self.unexpected("a variable", "variables start with '$'")
        start = self.pos
        self.skip(start + 1)
        name = self.name("a variable name")
        return Name(name.prefix, name.local, name.uri, span=self.span(start))

    # --------------------------------------------------------------------------------------- literals

    def string(self, what: str = "a string literal") -> str:
        """A string literal, references expanded and doubled quotes undone."""
        start = self.pos
        found = match_string(self.text, start)
        if found is None:
            if self.text[start] in "\"'":
                self.fail("this string literal is not closed", hint="a string ends with the quote it began with")
            self.unexpected(what)
        double, single = found.groups()
        value: str = double if single is None else single
        if "&" in value:
            value = self.expand(value, start + 1)
        self.skip(found.end())
        if double is None:
            return value.replace("''", "'")
        return value.replace('""', '"')

    def uri(self) -> str:
        """A URILiteral: a string with its whitespace normalised."""
        return " ".join(self.string("a URI in quotes").split())

    def expand(self, text: str, offset: int) -> str:
        """``text``, which stands at ``offset``, with its entity and character references replaced."""
        pieces: list[str] = []
        done = 0
        while (here := text.find("&", done)) >= 0:
            value, after = self.reference(offset + here)
            pieces += (text[done:here], value)
            done = after - offset
        pieces.append(text[done:])
        return "".join(pieces)

    def reference(self, start: int) -> tuple[str, int]:
        """The character(s) of the reference at ``start``, and where it ends."""
        found = match_reference(self.text, start)
        if found is None:
            self.fail("'&' does not begin a reference", start, "write '&amp;' for an ampersand")
        entity, decimal, hexadecimal = found.groups()
        if entity:
            return ENTITIES[entity], found.end()
        digits = decimal or hexadecimal
        code = int(digits, 10 if decimal else 16) if len(digits) < 12 else -1
        if not is_xml_char(code):
            self.fail(f"{found.group()} is not an XML character", start, code="XQST0090")
        return chr(code), found.end()

    def number(self) -> Literal:
        """An integer, decimal or double literal."""
        start = self.pos
        found = match_number(self.text, start)
        if found is None:
            self.fail("a number runs into a name", hint="put a space between a number and a word")
        integer, decimal, double = found.groups()
        self.skip(found.end())
        span = self.span(start)
        if integer:
            if len(integer) > 4000:  # int() refuses longer ones, and nobody means them
                self.fail("this integer is too large", start, code="FOAR0002")
            return IntegerLiteral(int(integer), span=span)
        if decimal:
            return DecimalLiteral(Decimal(decimal), span=span)
        return DoubleLiteral(float(double), span=span)

    def literal(self) -> Literal:
        """A string or a number."""
        start = self.pos
        if self.text[start] in "\"'":
            value = self.string()
            return StringLiteral(value, span=self.span(start))
        if not (match_digits(self.text, start) or self.text[start] == "."):
            self.unexpected("a literal")
        return self.number()

    # -------------------------------------------------------------------------------- enclosed expressions

    def enclosed(self, hint: str = "") -> Expr:
        """``{ e }`` as part of a larger construct; ``{}`` is the empty sequence."""
        start = self.pos
        self.expect("{", hint)
        body = self.enclosed_rest(start)
        self.skip(self.pos + 1)
        return body

    def enclosed_rest(self, start: int) -> Expr:
        """What follows a ``{`` at ``start`` up to its ``}``, which is left to the caller to consume."""
        outer = self.brackets
        self.brackets = False
        body: Expr
        if self.text[self.pos] == "}":
            body = Sequence(span=make_span((start, self.pos + 1)))
        else:
            body = self.expr()
            if self.text[self.pos] != "}":
                line = self.source.place(Span(start, start)).line
                self.unexpected("'}'", self.habit() or f"it closes the '{{' of line {line}")
        self.brackets = outer
        return body
