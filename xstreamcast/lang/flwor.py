"""FLWOR expressions with all their clauses (XQuery 3.1 §3.12)."""

from __future__ import annotations

from xstreamcast.lang.ast import (
    FLWOR,
    Clause,
    CountClause,
    Expr,
    ForClause,
    GroupClause,
    GroupKey,
    LetClause,
    Name,
    OrderClause,
    OrderKey,
    WhereClause,
    WindowClause,
    WindowCondition,
)
from xstreamcast.lang.paths import PathParser

GROUP_HINT = "group by takes variables: group by $key := expression"
RETURN_HINT = "a FLWOR ends with a return clause"


class FLWORParser(PathParser):
    """The rules of clauses."""

    __slots__ = ()

    def flwor(self) -> Expr:
        """Clauses up to ``return``, then the result."""
        start = self.pos
        clauses: list[Clause] = []
        while True:
            word = self.word()
            if word == "return":
                self.take_word("return")
                return FLWOR(tuple(clauses), self.single(), span=self.span(start))
            if word == "for":
                self.for_clause(clauses)
            elif word == "let":
                self.let_clause(clauses)
            elif word == "where":
                here = self.pos
                self.take_word("where")
                clauses.append(WhereClause(self.single(), span=self.span(here)))
            elif word == "group":
                clauses.append(self.group_clause())
            elif word in ("order", "stable"):
                clauses.append(self.order_clause())
            elif word == "count":
                here = self.pos
                self.take_word("count")
                clauses.append(CountClause(self.variable(), span=self.span(here)))
            else:
                self.unexpected("a clause or 'return'", self.habit() or RETURN_HINT)

    def for_clause(self, clauses: list[Clause]) -> None:
        """``for`` with its bindings, one clause each; or a window."""
        start = self.pos
        self.take_word("for")
        kind = self.take_word("tumbling", "sliding")
        if kind:
            clauses.append(self.window_clause(kind == "sliding", start))
            return
        while True:
            var = self.variable()
            type_ = self.type_declaration()
            allowing_empty = bool(self.take_word("allowing"))
            if allowing_empty:
                self.expect_word("empty")
            position = self.variable() if self.take_word("at") else None
            self.expect_word("in", hint="for binds with 'in', let with ':='" if self.at(":=") else "")
            source = self.single()
            clauses.append(ForClause(var, type_, allowing_empty, position, source, span=self.span(start)))
            if not self.take(","):
                return
            start = self.pos

    def let_clause(self, clauses: list[Clause]) -> None:
        """``let`` with its bindings, one clause each."""
        start = self.pos
        self.take_word("let")
        while True:
            var = self.variable()
            type_ = self.type_declaration()
            self.expect(":=", "let binds with ':=', for with 'in'")
            clauses.append(LetClause(var, type_, self.single(), span=self.span(start)))
            if not self.take(","):
                return
            start = self.pos

    def window_clause(self, sliding: bool, start: int) -> WindowClause:
        """``for tumbling`` or ``for sliding`` has been read."""
        self.expect_word("window")
        var = self.variable()
        type_ = self.type_declaration()
        self.expect_word("in")
        source = self.single()
        opening = self.pos
        self.expect_word("start", hint="a window has a start condition: 'start $s when …'")
        begin = self.window_condition(opening)
        only = bool(self.take_word("only"))
        closing = self.pos
        end = None
        if only or sliding:
            self.expect_word("end", hint="a sliding window has an end condition: 'end $e when …'")
            end = self.window_condition(closing)
        elif self.take_word("end"):
            end = self.window_condition(closing)
        return WindowClause(sliding, var, type_, source, begin, end, only, span=self.span(start))

    def window_condition(self, start: int) -> WindowCondition:
        """The variables of a condition, then ``when`` and the condition."""
        current: Name | None = self.variable() if self.at("$") else None
        position = self.variable() if self.take_word("at") else None
        previous = self.variable() if self.take_word("previous") else None
        following = self.variable() if self.take_word("next") else None
        self.expect_word("when", hint="a window condition is 'start $s at $p previous $b next $n when …'")
        return WindowCondition(current, position, previous, following, self.single(), span=self.span(start))

    def group_clause(self) -> GroupClause:
        """``group by $k := e, …``."""
        start = self.pos
        self.take_word("group")
        self.expect_word("by")
        keys: list[GroupKey] = []
        while True:
            here = self.pos
            if not self.at("$"):
                self.unexpected("a variable", GROUP_HINT)
            var = self.variable()
            if self.text[self.pos] in "/[(":
                self.unexpected("':='", GROUP_HINT)
            type_ = self.type_declaration()
            value = None
            if type_ is not None or self.at(":="):
                self.expect(":=")
                value = self.single()
            collation = self.uri() if self.take_word("collation") else None
            keys.append(GroupKey(var, type_, value, collation, span=self.span(here)))
            if not self.take(","):
                return GroupClause(tuple(keys), span=self.span(start))

    def order_clause(self) -> OrderClause:
        """``stable? order by e descending empty least collation "c", …``."""
        start = self.pos
        stable = bool(self.take_word("stable"))
        self.expect_word("order")
        self.expect_word("by")
        keys: list[OrderKey] = []
        while True:
            here = self.pos
            key = self.single()
            descending = self.take_word("ascending", "descending") == "descending"
            empty_least = None
            if self.take_word("empty"):
                empty_least = self.expect_word("greatest", "least") == "least"
            collation = self.uri() if self.take_word("collation") else None
            keys.append(OrderKey(key, descending, empty_least, collation, span=self.span(here)))
            if not self.take(","):
                return OrderClause(stable, tuple(keys), span=self.span(start))
