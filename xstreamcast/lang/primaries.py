"""Primary expressions: variables, literals, parentheses, arrays, maps, lookups, inline functions (XQuery 3.1 §3.1)."""

from __future__ import annotations

from xstreamcast.lang.ast import (
    Annotation,
    Expr,
    InlineFunction,
    IntegerLiteral,
    Lookup,
    MapConstructor,
    MapEntry,
    Param,
    Placeholder,
    Sequence,
    SquareArray,
    StringLiteral,
    VarRef,
)
from xstreamcast.lang.lexical import make_span, match_digits
from xstreamcast.lang.xcql import ProjectionParser


class PrimaryParser(ProjectionParser):
    """The rules of primary expressions, but for those a name begins."""

    __slots__ = ()

    def var_ref(self) -> Expr:
        """``$name``."""
        start = self.pos
        name = self.variable()
        return VarRef(name, span=self.span(start))

    def string_literal(self) -> Expr:
        """A string literal as an expression."""
        start = self.pos
        value = self.string()
        return StringLiteral(value, span=self.span(start))

    def parenthesized(self) -> Expr:
        """``(e)`` or ``()``."""
        start = self.pos
        if self.text[start + 1] == "#":
            self.fail("an extension expression cannot be a step or an operand of '!'", hint="put it in parentheses")
        self.skip(start + 1)
        if self.take(")"):
            return Sequence(span=self.span(start))
        first = self.single()
        if self.text[self.pos] != ",":
            if self.text[self.pos] != ")":
                self.unclosed(start)
            self.skip(self.pos + 1)
            return first
        items = [first]
        while self.take(","):
            items.append(self.single())
        if self.text[self.pos] != ")":
            self.unclosed(start)
        self.skip(self.pos + 1)
        return Sequence(tuple(items), span=self.span(start))

    def unclosed(self, start: int) -> None:
        """Fails: something else stands where a parenthesis should close."""
        place = self.source.place(make_span((start, start)))
        self.unexpected("')'", self.habit() or f"it closes the '(' of {place.line}:{place.column}")

    def square_array(self) -> Expr:
        """``[e1, e2]``."""
        start = self.pos
        self.skip(start + 1)
        members: list[Expr] = []
        if not self.at("]"):
            members.append(self.single())
            while self.take(","):
                members.append(self.single())
        self.expect("]", "it closes an array")
        return SquareArray(tuple(members), span=self.span(start))

    def unary_lookup(self) -> Expr:
        """``?key`` on the context item."""
        start = self.pos
        return Lookup(None, self.lookup_key(), span=self.span(start))

    def lookup_key(self) -> Expr | None:
        """``?name``, ``?1``, ``?(e)`` or, as None, ``?*``; the question mark comes next."""
        self.skip(self.pos + 1)
        start = self.pos
        char = self.text[start]
        if char == "*":
            self.skip(start + 1)
            return None
        if char == "(":
            return self.parenthesized()
        digits = match_digits(self.text, start)
        if digits:
            self.skip(digits.end())
            return IntegerLiteral(int(digits.group()[:4000]), span=self.span(start))
        name = self.ncname("a key: a name, a number, '*' or '(…)'")
        return StringLiteral(name, span=self.span(start))

    def tick(self) -> Expr:
        """A string constructor."""
        if not self.at("``["):
            self.unexpected("an expression", "a string constructor is written ``[ … ]``")
        return self.string_constructor()

    def annotated_function(self) -> Expr:
        """``%annotation function(…) {…}``."""
        start = self.pos
        annotations = self.annotations()
        self.expect_word("function", hint="an annotation here belongs to an inline function")
        return self.inline_function(start, annotations)

    def inline_function(self, start: int, annotations: tuple[Annotation, ...] = ()) -> Expr:
        """``function`` has been read; ``(params) as R { body }`` comes next."""
        params = self.params()
        result = self.type_declaration()
        body = self.enclosed("a function's body stands in braces")
        return InlineFunction(params, result, body, annotations, span=self.span(start))

    def params(self) -> tuple[Param, ...]:
        """``($a as T, $b)``."""
        self.expect("(")
        found: list[Param] = []
        while not self.at(")"):
            start = self.pos
            name = self.variable()
            found.append(Param(name, self.type_declaration(), span=self.span(start)))
            if not self.take(","):
                break
            if self.at(")"):
                self.unexpected("a parameter")
        self.expect(")")
        return tuple(found)

    def arguments(self) -> tuple[Expr, ...]:
        """``(e1, ?, e2)``."""
        text = self.text
        start = self.pos
        if text[start] != "(":
            self.unexpected("'('")
        self.skip(start + 1)
        if text[self.pos] == ")":
            self.skip(self.pos + 1)
            return ()
        found: list[Expr] = []
        while True:
            if text[self.pos] == "?" and self.at_placeholder():
                here = self.pos
                self.skip(here + 1)
                found.append(Placeholder(span=self.span(here)))
            else:
                found.append(self.single())
            char = text[self.pos]
            if char == ",":
                self.skip(self.pos + 1)
            elif char == ")":
                self.skip(self.pos + 1)
                return tuple(found)
            else:
                self.unclosed(start)

    def at_placeholder(self) -> bool:
        """Whether the ``?`` that comes next is a whole argument."""
        before = self.pos, self.last
        self.skip(self.pos + 1)
        whole = self.text[self.pos] in ",)"
        self.pos, self.last = before
        return whole

    def map_constructor(self, start: int) -> Expr:
        """``map { k : v, … }``."""
        self.expect("{")
        outer = self.brackets
        self.brackets = False
        entries: list[MapEntry] = []
        if not self.at("}"):
            while True:
                here = self.pos
                key = self.single()
                self.expect(":", "a map entry is 'key : value'; put spaces around ':' after a name")
                entries.append(MapEntry(key, self.single(), span=self.span(here)))
                if not self.take(","):
                    break
        self.expect("}", "it closes a map")
        self.brackets = outer
        return MapConstructor(tuple(entries), span=self.span(start))
