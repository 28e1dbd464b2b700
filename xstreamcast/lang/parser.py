"""Expressions above paths: operators by precedence climbing, FLWOR and the control expressions."""

from __future__ import annotations

import re
from typing import NoReturn

from xstreamcast.lang.ast import (
    ALLEN,
    AllenComparison,
    And,
    Arithmetic,
    CastableAs,
    CastAs,
    Catch,
    Concat,
    DynamicCall,
    Except,
    Expr,
    Extension,
    FunctionCall,
    GeneralComparison,
    If,
    InstanceOf,
    Intersect,
    Name,
    NameTest,
    NodeComparison,
    Or,
    Pragma,
    Quantified,
    QuantifiedBinding,
    Range,
    Sequence,
    SimpleMap,
    Span,
    Switch,
    SwitchCase,
    TreatAs,
    TryCatch,
    TypeCase,
    Typeswitch,
    Unary,
    Union,
    ValueComparison,
    VarRef,
    Wildcard,
)
from xstreamcast.lang.flwor import FLWORParser
from xstreamcast.lang.lexical import NAME_CHAR, make_span, match_ncname, match_space
from xstreamcast.lang.types import RESERVED_FUNCTIONS

OR, AND, COMPARISON, CONCAT, RANGE, ADDITIVE, MULTIPLICATIVE, UNION, INTERSECT = range(1, 10)
INSTANCE, TREAT, CASTABLE, CAST, ARROW = range(10, 15)

LEVELS = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "eq", "ne", "lt", "le", "gt", "ge"), COMPARISON),
    **dict.fromkeys(("is", "<<", ">>", *ALLEN), COMPARISON),
    "||": CONCAT,
    "to": RANGE,
    **dict.fromkeys(("+", "-"), ADDITIVE),
    **dict.fromkeys(("*", "div", "idiv", "mod"), MULTIPLICATIVE),
    **dict.fromkeys(("union", "|"), UNION),
    **dict.fromkeys(("intersect", "except"), INTERSECT),
    "instance": INSTANCE,
    "treat": TREAT,
    "castable": CASTABLE,
    "cast": CAST,
    "=>": ARROW,
}
"""Binary operators by how tightly they bind (XQuery 3.1 A.4)."""

ALONE = frozenset({COMPARISON, RANGE, INSTANCE, TREAT, CASTABLE, CAST})
"""Levels whose operators do not chain: ``a = b = c`` is no expression."""

_CLASSES = {
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), GeneralComparison),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), ValueComparison),
    **dict.fromkeys(("is", "<<", ">>"), NodeComparison),
    **dict.fromkeys(ALLEN, AllenComparison),
    **dict.fromkeys(("+", "-", "*", "div", "idiv", "mod"), Arithmetic),
}
_CHAINS = {OR: Or, AND: And, CONCAT: Concat, UNION: Union}
_PAIRS = {"to": Range, "intersect": Intersect, "except": Except}

_symbols = sorted((op for op in LEVELS if not op.isalpha()), key=len, reverse=True)
_words = sorted(op for op in LEVELS if op.isalpha())
match_operator = re.compile(f"(?:{'|'.join(map(re.escape, _symbols))})|(?:{'|'.join(_words)})(?![{NAME_CHAR}])").match
match_statement = re.compile(f"(?:for|let|some|every|switch|typeswitch|if|try)(?!:|[{NAME_CHAR}])").match
CHAIN_LIMIT = 400


class ExpressionParser(FLWORParser):
    """The rules from Expr down to the operands of operators."""

    __slots__ = ()

    def expr(self) -> Expr:
        """Expr."""
        start = self.pos
        first = self.single()
        if self.text[self.pos] != ",":
            return first
        items = [first]
        while self.take(","):
            items.append(self.single())
        return Sequence(tuple(items), span=self.span(start))

    def single(self) -> Expr:
        """ExprSingle: a FLWOR or control expression, or operators and operands."""
        self.enter()
        start = self.pos
        found = match_statement(self.text, start)
        if found is not None:
            statement = self.statement(found.group(), start, found.end())
            if statement is not None:
                self.depth -= 1
                return statement
        node = self.binary(OR)
        self.depth -= 1
        return node

    def statement(self, word: str, start: int, end: int) -> Expr | None:
        """An expression that begins with a keyword; None if ``word`` is a mere name here."""
        self.skip(end)
        following = self.text[self.pos]
        if word in ("for", "let"):
            if following == "$" or (word == "for" and self.word() in ("tumbling", "sliding")):
                self.pos = start
                return self.flwor()
        elif word in ("some", "every"):
            if following == "$":
                return self.quantified(word, start)
        elif word == "try":
            if following == "{":
                return self.try_catch(start)
        elif following == "(":
            if word == "if":
                return self.conditional(start)
            return self.switch(start) if word == "switch" else self.typeswitch(start)
        self.pos = start
        return None

    # ---------------------------------------------------------------------------------------- operators

    def binary(self, floor: int) -> Expr:
        """An operand and every operator behind it that binds at least as tightly as ``floor``."""
        text = self.text
        start = self.pos
        char = text[start]
        if char in "+-" or (char == "(" and text[start + 1] == "#"):
            left = self.signed(start)
        else:
            left = self.path()
            if text[self.pos] == "!" and text[self.pos + 1] != "=":
                left = self.simple_map(left, start)
        ceiling = ARROW
        chain = 0
        while True:
            found = match_operator(text, self.pos)
            if found is None:
                return left
            op = found.group()
            level = LEVELS[op]
            if level < floor:
                return left
            if level > ceiling:
                self.unchained(op, level, start)
            chain += 1
            if chain > CHAIN_LIMIT:
                hint = "sum a sequence, or split the expression with let"
                self.fail(f"more than {CHAIN_LIMIT} operators in a row", hint=hint)
            self.skip(found.end())
            ceiling = level - 1 if level in ALONE else level
            left = self.operation(op, level, left, start)

    def unchained(self, op: str, level: int, start: int) -> NoReturn:
        """Fails: this operator cannot follow the one before it."""
        hint = f"'{op}' does not chain: use parentheses" if level in ALONE else "use parentheses"
        if op == ">" and "</" in self.text[start : self.pos]:
            hint = "an end tag inside braces is a comparison: close the '{' first"
        self.unexpected("the end of the expression", hint)

    def operation(self, op: str, level: int, left: Expr, start: int) -> Expr:
        """``left op …``: the operator has been read."""
        if op in _CLASSES:
            return _CLASSES[op](op, left, self.binary(level + 1), span=self.span(start))
        if level in _CHAINS:
            operands = [left, self.binary(level + 1)]
            while (found := match_operator(self.text, self.pos)) and LEVELS[found.group()] == level:
                self.skip(found.end())
                operands.append(self.binary(level + 1))
            return _CHAINS[level](tuple(operands), span=self.span(start))
        if op in _PAIRS:
            return _PAIRS[op](left, self.binary(level + 1), span=self.span(start))
        if level == ARROW:
            return self.arrow(left, start)
        if level == INSTANCE:
            self.expect_word("of")
            return InstanceOf(left, self.sequence_type(), span=self.span(start))
        self.expect_word("as")
        if level == TREAT:
            return TreatAs(left, self.sequence_type(), span=self.span(start))
        if level == CASTABLE:
            return CastableAs(left, self.single_type(), span=self.span(start))
        return CastAs(left, self.single_type(), span=self.span(start))

    def arrow(self, left: Expr, start: int) -> Expr:
        """``left => f(args)``, with f a name, a variable or an expression in parentheses."""
        here = self.pos
        char = self.text[here]
        if char == "$":
            target: Expr = VarRef(self.variable(), span=self.span(here))
        elif char == "(":
            target = self.parenthesized()
        else:
            name = self.name("a function")
            if name.prefix == "" and name.local in RESERVED_FUNCTIONS:
                self.fail(f"'{name.local}' is reserved and no function's name", here)
            return FunctionCall(name, (left, *self.arguments()), span=self.span(start))
        return DynamicCall(target, (left, *self.arguments()), span=self.span(start))

    def signed(self, start: int) -> Expr:
        """UnaryExpr: signs, then a path with its maps or an extension expression."""
        text = self.text
        minus = plus = 0
        while (char := text[self.pos]) in "+-":
            minus += char == "-"
            plus += char == "+"
            self.skip(self.pos + 1)
        operand_start = self.pos
        if text.startswith("(#", operand_start):
            operand = self.extension()
        else:
            operand = self.path()
            if text[self.pos] == "!" and text[self.pos + 1] != "=":
                operand = self.simple_map(operand, operand_start)
        if not minus and not plus:
            return operand
        return Unary("-" if minus % 2 else "+", operand, span=self.span(start))

    def simple_map(self, left: Expr, start: int) -> Expr:
        """``left ! e ! …``."""
        steps = [left]
        while self.text[self.pos] == "!" and self.text[self.pos + 1] != "=":
            self.skip(self.pos + 1)
            steps.append(self.path())
        return SimpleMap(tuple(steps), span=self.span(start))

    def extension(self) -> Expr:
        """``(# pragma #) … { e }``."""
        start = self.pos
        pragmas: list[Pragma] = []
        while self.at("(#"):
            here = self.pos
            self.pos = match_space(self.text, here + 2).end()
            name, behind = self.pragma_name()
            end = self.text.find("#)", behind)
            if end < 0:
                self.fail("this pragma is not closed", here, "a pragma ends with '#)'")
            content = self.text[behind:end]
            if content and content[0] not in " \t\r\n":
                self.fail("expected a space or '#)'", behind)
            self.skip(end + 2)
            pragmas.append(Pragma(name, content.lstrip(" \t\r\n"), span=self.span(here)))
        self.expect("{", "pragmas are followed by '{ expression }'")
        if self.take("}"):
            return Extension(tuple(pragmas), None, span=self.span(start))
        body = self.enclosed_rest(start)
        self.skip(self.pos + 1)
        return Extension(tuple(pragmas), body, span=self.span(start))

    def pragma_name(self) -> tuple[Name, int]:
        """The name of a pragma and where it ends: behind it, ``(:`` is content and not a comment."""
        start = self.pos
        if self.at("Q{"):
            uri, after = self.braced_uri(start)
            found = match_ncname(self.text, after)
            if found:
                return Name(None, found.group(), uri, span=make_span((start, found.end()))), found.end()
        name = self.direct_name(start, "the name of a pragma")
        return name, self.pos

    # ------------------------------------------------------------------------------- control expressions

    def quantified(self, word: str, start: int) -> Expr:
        """``some`` or ``every`` has been read."""
        bindings: list[QuantifiedBinding] = []
        while True:
            here = self.pos
            var = self.variable()
            type_ = self.type_declaration()
            self.expect_word("in")
            source = self.single()
            bindings.append(QuantifiedBinding(var, type_, source, span=self.span(here)))
            if not self.take(","):
                break
        self.expect_word("satisfies", hint=f"'{word} $x in e' is followed by 'satisfies condition'")
        return Quantified(word == "every", tuple(bindings), self.single(), span=self.span(start))

    def conditional(self, start: int) -> Expr:
        """``if`` has been read. ``else if`` chains are read in a loop, so that long ones stay shallow."""
        opened: list[tuple[int, Expr, Expr]] = []
        while True:
            self.skip(self.pos + 1)
            condition = self.expr()
            self.expect(")", "it closes the condition of an if")
            self.expect_word("then", hint="'if (condition)' is followed by 'then'")
            opened.append((start, condition, self.single()))
            self.expect_word("else", hint=self.habit() or "an if has both branches: 'else ()' for nothing")
            start = self.pos
            found = match_statement(self.text, start)
            if found is None or found.group() != "if":
                break
            self.skip(found.end())
            if self.text[self.pos] != "(":
                self.pos = start
                break
        if len(opened) > CHAIN_LIMIT:
            self.fail(f"more than {CHAIN_LIMIT} 'else if' in a row", hint="use switch or a map")
        result = self.single()
        for begin, condition, then in reversed(opened):
            result = If(condition, then, result, span=self.span(begin))
        return result

    def parenthesized_operand(self) -> Expr:
        """``( e )`` of switch and typeswitch."""
        self.expect("(")
        operand = self.expr()
        self.expect(")")
        return operand

    def switch(self, start: int) -> Expr:
        """``switch`` has been read."""
        operand = self.parenthesized_operand()
        cases: list[SwitchCase] = []
        while self.word() == "case":
            here = self.pos
            values: list[Expr] = []
            while self.take_word("case"):
                values.append(self.single())
            self.expect_word("return", hint="a case ends with 'return'")
            cases.append(SwitchCase(tuple(values), self.single(), span=self.span(here)))
        if not cases:
            self.unexpected("'case'", "a switch has at least one case")
        self.expect_word("default", hint="a switch ends with 'default return …'")
        self.expect_word("return")
        return Switch(operand, tuple(cases), self.single(), span=self.span(start))

    def typeswitch(self, start: int) -> Expr:
        """``typeswitch`` has been read."""
        operand = self.parenthesized_operand()
        cases: list[TypeCase] = []
        while self.word() == "case":
            here = self.pos
            self.take_word("case")
            var = None
            if self.at("$"):
                var = self.variable()
                self.expect_word("as", hint="a case variable is followed by 'as' and a type")
            types = [self.sequence_type()]
            while self.take("|"):
                types.append(self.sequence_type())
            self.expect_word("return", hint="a case ends with 'return'")
            cases.append(TypeCase(var, tuple(types), self.single(), span=self.span(here)))
        if not cases:
            self.unexpected("'case'", "a typeswitch has at least one case")
        self.expect_word("default", hint="a typeswitch ends with 'default return …'")
        default_var = self.variable() if self.at("$") else None
        self.expect_word("return")
        return Typeswitch(operand, tuple(cases), default_var, self.single(), span=self.span(start))

    def try_catch(self, start: int) -> Expr:
        """``try`` has been read."""
        body = self.enclosed()
        catches: list[Catch] = []
        while self.word() == "catch":
            here = self.pos
            self.take_word("catch")
            tests = [self.catch_test()]
            while self.take("|"):
                tests.append(self.catch_test())
            handler = self.enclosed("a catch is 'catch * { … }' or 'catch err:CODE { … }'")
            catches.append(Catch(tuple(tests), handler, span=self.span(here)))
        if not catches:
            self.unexpected("'catch'", "a try has at least one 'catch * { … }'")
        return TryCatch(body, tuple(catches), span=self.span(start))

    def catch_test(self) -> NameTest | Wildcard:
        """A NameTest."""
        start = self.pos
        test = self.node_test("an error name or '*'")
        if not isinstance(test, NameTest | Wildcard):
            raise self.source.fault("XPST0003", "a catch takes names, not kind tests", Span(start, start + 1))
        return test
