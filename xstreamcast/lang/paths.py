"""Paths, steps, postfix expressions and whatever begins with a name (XQuery 3.1 §3.1.5–3.3)."""

from __future__ import annotations

from collections.abc import Callable

from xstreamcast.lang.ast import (
    AxisStep,
    ContextItem,
    CurlyArray,
    DynamicCall,
    Expr,
    Filter,
    FunctionCall,
    KindTest,
    Lookup,
    Name,
    NamedFunctionRef,
    NameTest,
    NodeTest,
    Ordering,
    Path,
    Root,
    Wildcard,
)
from xstreamcast.lang.lexical import HABITS, make_span, match_digits, match_ncname, match_qname
from xstreamcast.lang.primaries import PrimaryParser
from xstreamcast.lang.types import KINDS, RESERVED_FUNCTIONS

AXES = frozenset(
    {
        *("child", "descendant", "attribute", "self", "descendant-or-self", "following-sibling", "following"),
        *("parent", "ancestor", "preceding-sibling", "preceding", "ancestor-or-self"),
    }
)

CONSTRUCTORS = frozenset(
    {
        *("element", "attribute", "document", "text", "comment", "processing-instruction", "namespace"),
        *("map", "array", "ordered", "unordered", "validate"),
    }
)
"""Words that begin a constructor when a brace, or a name and a brace, follow; else plain names."""

STEP_STARTS = frozenset("$\"'.(<@*[?%`0123456789_")


class PathParser(PrimaryParser):
    """The rules from a path down to a node test."""

    __slots__ = ()

    # ------------------------------------------------------------------------------------------ paths

    def path(self) -> Expr:
        """``/``, ``/a``, ``//a``, ``a/b//c``; a lone step is returned as it is."""
        text = self.text
        start = self.pos
        steps: list[Expr] = []
        if text[start] == "/":
            self.slash(steps, Root(span=make_span((start, start + 1))))
            if text[start + 1] != "/":
                char = text[self.pos]
                if char not in STEP_STARTS and match_ncname(text, self.pos) is None:
                    return steps[0]
            steps.append(self.step())
        elif self.brackets:
            steps.append(self.moment() or self.step())
        else:
            steps.append(self.step())
        while True:
            char = text[self.pos]
            if char == "/":
                self.slash(steps)
                steps.append(self.step())
            elif char == "#" and text[self.pos + 1] == "[":
                # docs/semantics.md, "Time": a version projection numbers the items of the whole path on its left
                whole = steps[0] if len(steps) == 1 else Path(tuple(steps), span=self.span(start))
                steps = [self.postfix(self.version_projection(whole, start), start)]
            elif len(steps) == 1:
                return steps[0]
            else:
                return Path(tuple(steps), span=self.span(start))

    def slash(self, steps: list[Expr], root: Root | None = None) -> None:
        """Consumes ``/`` or ``//``, adding the steps they stand for."""
        start = self.pos
        if root is not None:
            steps.append(root)
        if self.text[start + 1] == "/":
            self.skip(start + 2)
            span = make_span((start, start + 2))
            steps.append(AxisStep("descendant-or-self", KindTest("node", span=span), span=span))
        else:
            self.skip(start + 1)

    def step(self) -> Expr:
        """StepExpr: an axis step or a postfix expression."""
        start = self.pos
        char = self.text[start]
        rule = _RULES.get(char)
        node = rule(self) if rule is not None else self.named()
        following = self.text[self.pos]
        if following in "[(?":
            if node.__class__ is AxisStep and char != "(":  # (a)[1] filters the whole sequence
                return self.step_rest(node, start)
            return self.postfix(node, start)
        return node

    def step_rest(self, node: Expr, start: int) -> Expr:
        """The predicates of an axis step; behind a projection it goes on as a postfix expression."""
        assert isinstance(node, AxisStep)
        predicates: list[Expr] = []
        while self.text[self.pos] == "[":
            predicates.append(self.predicate())
        if predicates:
            node = AxisStep(node.axis, node.test, tuple(predicates), span=self.span(start))
        if self.at_interval_projection():
            return self.postfix(self.interval_projection(node, start), start)
        return node

    def predicate(self) -> Expr:
        """``[ e ]``."""
        self.skip(self.pos + 1)
        outer = self.brackets
        self.brackets = False
        condition = self.expr()
        self.brackets = outer
        self.expect("]", "it closes a predicate")
        return condition

    def postfix(self, node: Expr, start: int) -> Expr:
        """Predicates, dynamic calls, lookups and interval projections behind a primary."""
        text = self.text
        outer = self.depth
        while True:
            self.enter()  # each link nests the one before it
            char = text[self.pos]
            if char == "[":
                predicates = [self.predicate()]
                while text[self.pos] == "[":
                    predicates.append(self.predicate())
                node = Filter(node, tuple(predicates), span=self.span(start))
            elif char == "(":
                node = DynamicCall(node, self.arguments(), span=self.span(start))
            elif char == "?":
                if self.at_interval_projection():
                    node = self.interval_projection(node, start)
                else:
                    key = self.lookup_key()
                    node = Lookup(node, key, span=self.span(start))
            else:
                self.depth = outer
                return node

    # ---------------------------------------------------------------------------- steps written with a sign

    def dot(self) -> Expr:
        """``.``, ``..`` or a number that begins with a point."""
        start = self.pos
        following = self.text[start + 1]
        if following == ".":
            self.skip(start + 2)
            span = self.span(start)
            return AxisStep("parent", KindTest("node", span=span), span=span)
        if following in "0123456789":
            return self.number()
        self.skip(start + 1)
        return ContextItem(span=self.span(start))

    def at_sign(self) -> Expr:
        """``@name``."""
        start = self.pos
        self.skip(start + 1)
        return AxisStep("attribute", self.node_test("an attribute name"), span=self.span(start))

    def star(self) -> Expr:
        """``*`` or ``*:name`` where an operand is due."""
        start = self.pos
        return AxisStep("child", self.node_test("a name"), span=self.span(start))

    def slash_again(self) -> Expr:
        """A slash where a step is due."""
        self.unexpected("a step", HABITS["//"])

    # ------------------------------------------------------------------------------- what a name begins

    def named(self) -> Expr:
        """A name test, function call, function reference, axis, kind test or computed constructor."""
        text = self.text
        start = self.pos
        found = match_qname(text, start)
        if found is None:
            self.unexpected("an expression")
        prefix, local = found.groups()
        end = found.end()
        if not found.group().isascii():
            self.check_name(start, end)
        if prefix == "Q" and local is None and text[end] == "{":
            return self.braced_name(start)
        self.skip(end)
        following = text[self.pos]
        if local is None:
            if following == ":":
                if text[end : end + 2] == ":*":
                    self.skip(end + 2)
                    span = self.span(start)
                    return AxisStep("child", Wildcard(prefix, None, None, span=span), span=span)
                if text[self.pos + 1] == ":":
                    return self.axis_step(prefix, start)
            if prefix in CONSTRUCTORS:
                constructed = self.constructor(prefix, start)
                if constructed is not None:
                    return constructed
            if following == "(":
                if prefix in RESERVED_FUNCTIONS:
                    return self.reserved(prefix, start)
                name = Name("", prefix, span=make_span((start, end)))
                return FunctionCall(name, self.arguments(), span=self.span(start))
            name = Name("", prefix, span=make_span((start, end)))
        else:
            name = Name(prefix, local, span=make_span((start, end)))
            if following == "(":
                return FunctionCall(name, self.arguments(), span=self.span(start))
        return self.name_step(name, start)

    def braced_name(self, start: int) -> Expr:
        """``Q{uri}…`` as a call, a reference or a name test."""
        uri, after = self.braced_uri(start)
        if self.text[after] == "*":
            self.skip(after + 1)
            span = self.span(start)
            return AxisStep("child", Wildcard(None, uri, None, span=span), span=span)
        name = self.name()
        if self.text[self.pos] == "(":
            return FunctionCall(name, self.arguments(), span=self.span(start))
        return self.name_step(name, start)

    def name_step(self, name: Name, start: int) -> Expr:
        """``name`` on the child axis, or ``name#arity``."""
        if self.text[self.pos] == "#" and self.text[self.pos + 1] != "[":
            hash_sign = self.pos
            self.skip(hash_sign + 1)
            digits = match_digits(self.text, self.pos)
            if digits is None:
                self.unexpected("an arity", "a function reference is name#arity, a version projection e#[v]")
            if name.prefix == "" and name.local in RESERVED_FUNCTIONS:
                self.fail(f"'{name.local}' is reserved and no function's name", start)
            self.skip(digits.end())
            if match_ncname(self.text, digits.end()):
                self.fail("a number runs into a name", digits.end(), "put a space after the arity")
            arity = int(digits.group()) if len(digits.group()) < 10 else 10**9
            return NamedFunctionRef(name, arity, span=self.span(start))
        return AxisStep("child", NameTest(name, span=name.span), span=self.span(start))

    def axis_step(self, axis: str, start: int) -> Expr:
        """``axis`` has been read, ``::`` comes next."""
        if axis == "namespace":
            self.fail("the namespace axis is not part of XQuery", start, "use in-scope-prefixes()")
        if axis not in AXES:
            from difflib import get_close_matches

            near = get_close_matches(axis, sorted(AXES), 1)
            self.fail(f"there is no axis '{axis}'", start, f"did you mean {near[0]}::?" if near else "")
        self.skip(self.pos + 2)
        return AxisStep(axis, self.node_test("a node test"), span=self.span(start))

    def node_test(self, what: str) -> NodeTest:
        """``name``, ``*``, ``p:*``, ``*:n``, ``Q{u}*`` or a kind test."""
        text = self.text
        start = self.pos
        if text[start] == "*":
            if text[start + 1] == ":":
                found = match_ncname(text, start + 2)
                if found:
                    if not found.group().isascii():
                        self.check_name(*found.span())
                    self.skip(found.end())
                    return Wildcard(None, None, found.group(), span=self.span(start))
            self.skip(start + 1)
            return Wildcard(None, None, None, span=self.span(start))
        if text.startswith("Q{", start):
            uri, after = self.braced_uri(start)
            if text[after] == "*":
                self.skip(after + 1)
                return Wildcard(None, uri, None, span=self.span(start))
        name = self.name(what)
        if name.prefix == "" and text[self.pos] == "(":
            if name.local not in KINDS:
                self.fail(f"'{name.local}(' is not a node test", start, "a function call takes no axis")
            return self.kind_test(name.local, start)
        if name.prefix == "" and text[name.span.end : name.span.end + 2] == ":*":
            self.skip(name.span.end + 2)
            return Wildcard(name.local, None, None, span=self.span(start))
        return NameTest(name, span=name.span)

    def reserved(self, word: str, start: int) -> Expr:
        """``word(`` where word cannot be a function's name."""
        if word == "function":
            return self.inline_function(start)
        if word not in KINDS:
            hint = "such an expression is no operand: put it in parentheses" if word in EXPRESSION_WORDS else ""
            self.fail(f"'{word}(' cannot stand here", start, hint)
        test = self.kind_test(word, start)
        if word == "namespace-node":
            self.fail("the namespace axis is not part of XQuery", start, "use in-scope-prefixes()", "XQST0134")
        axis = "attribute" if word in ("attribute", "schema-attribute") else "child"
        return AxisStep(axis, test, span=self.span(start))

    def constructor(self, word: str, start: int) -> Expr | None:
        """``word {…}`` and ``word name {…}``; None if the word is only a name."""
        if word in ("map", "array", "ordered", "unordered"):
            if self.text[self.pos] != "{":
                return None
            if word == "map":
                return self.map_constructor(start)
            body = self.enclosed()
            if word == "array":
                return CurlyArray(body, span=self.span(start))
            return Ordering(word == "ordered", body, span=self.span(start))
        if word == "validate":
            if self.text[self.pos] == "{" or self.word() in ("lax", "strict", "type"):
                self.fail("validation needs schemas, which are not supported", start, code="XQST0075")
            return None
        return self.computed(word, start)


EXPRESSION_WORDS = frozenset({"if", "switch", "typeswitch"})

_RULES: dict[str, Callable[[PathParser], Expr]] = {
    "$": PathParser.var_ref,
    '"': PathParser.string_literal,
    "'": PathParser.string_literal,
    ".": PathParser.dot,
    "(": PathParser.parenthesized,
    "<": PathParser.direct,
    "@": PathParser.at_sign,
    "*": PathParser.star,
    "[": PathParser.square_array,
    "?": PathParser.unary_lookup,
    "%": PathParser.annotated_function,
    "`": PathParser.tick,
    "/": PathParser.slash_again,
    **dict.fromkeys("0123456789", PathParser.number),
}
