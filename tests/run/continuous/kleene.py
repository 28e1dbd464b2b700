"""A reference for emission modes: Kleene's logic, read off the syntax of a query, over T with its open holes in it.

Nothing here is shared with the engine but the parser and the table of regions. A value is a list of entries: an item
that is there for certain, one that may be there, the doubt whether there is one, or ⊥, which stands for any number of
unknown items (with the tag, if known, of the hole that they would come from).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from kleene_documents import (
    BOTTOM,
    OPERATORS,
    Attribute,
    Element,
    Entry,
    Text,
    Value,
    bottoms,
    built,
    compared,
    doubted,
    items,
    known,
    one,
    printed,
    serialised,
    settled,
    some,
    text,
    whole,
)
from kleene_functions import BY_FORM, PASSING, STRICT, single, string
from kleene_paths import KleenePaths

from xstreamcast.lang import ast
from xstreamcast.lang.walk import children

# ----------------------------------------------------------------------------------------------------------- evaluation


class Kleene(KleenePaths):
    """The value of expressions."""

    # -- the answer

    def certain(self, body: ast.Expr) -> str:
        return serialised(self.shown(body, {}))

    def guess(self, body: ast.Expr) -> str:
        self.optimistic = True
        try:
            return serialised(items(self.value(body, {}, None)))
        finally:
            self.optimistic = False

    def shown(self, e: ast.Expr, env: dict[Any, Value]) -> list[Any]:
        """The certain items in the answer's own elements."""
        match e:
            case ast.DirectElement():
                attributes = self._attributes(e, env, None)
                if attributes is None:
                    return []
                content: list[Any] = []
                for part in e.content:
                    content += [Text(part.value)] if isinstance(part, ast.LiteralText) else self.shown(part, env)
                return [built(e.name.local, attributes, content)]
            case ast.Sequence():
                return [item for part in e.items for item in self.shown(part, env)]
            case ast.If():
                truth = self.truth(e.condition, env, None)
                if truth is not None:
                    return self.shown(e.then if truth else e.otherwise, env)
            case ast.FLWOR() if all(isinstance(clause, ast.LetClause) for clause in e.clauses):
                bound = dict(env)
                for clause in e.clauses:
                    assert isinstance(clause, ast.LetClause)
                    value = self.value(clause.value, bound, None)
                    if not known(value):
                        return []
                    bound[clause.var.expanded] = value
                return self.shown(e.result, bound)
        return [entry.item for entry in self.value(e, env, None) if entry.sure and whole(entry.item, copy=True)]

    # -- values

    def value(self, e: ast.Expr, env: dict[Any, Value], focus: Any) -> Value:
        match e:
            case ast.StringLiteral() | ast.IntegerLiteral():
                return one(e.value)
            case ast.VarRef():
                return env[e.name.expanded]
            case ast.ContextItem():
                return one(focus)
            case ast.Sequence():
                return [entry for part in e.items for entry in self.value(part, env, focus)]
            case ast.Union():
                return self.sorted_nodes([entry for part in e.operands for entry in self.value(part, env, focus)])
            case ast.AxisStep():
                return self.step(e, env, one(focus))
            case ast.Path() | ast.SimpleMap():
                return self.path(e, env, focus)
            case ast.Filter():
                return self.filter(e, env, focus)
            case ast.FLWOR():
                return self.loop(e, env, focus)
            case ast.If():
                return self.choice(e, env, focus)
            case ast.DirectElement():
                return self.element(e, env, focus)
            case ast.ComputedAttribute() | ast.ComputedText() | ast.ComputedElement():
                return self.computed(e, env, focus)
            case ast.Arithmetic():
                return self.arithmetic(e, env, focus)
            case ast.Concat() | ast.Range() | ast.Unary() | ast.CastAs() | ast.CastableAs():
                parts = [child for child in children(e) if isinstance(child, ast.Expr)]
                return self.strict(BY_FORM[type(e)], [self.value(part, env, focus) for part in parts])
            case ast.FunctionCall() if e.name.local not in ("not", "exists", "empty", "boolean", "true", "false"):
                return self.call(e, env, focus)
            case ast.ValueComparison() if not _counts(e):
                left, right = self.value(e.left, env, focus), self.value(e.right, env, focus)
                if not (settled(left) and settled(right)):
                    return [BOTTOM]
                pair = [*items(left), *items(right)]
                if max(len(left), len(right)) > 1:
                    raise ValueError("more than one item")
                return one(compared(e.op, *pair)) if len(pair) == 2 else []
        truth = self.truth(e, env, focus)
        return [BOTTOM] if truth is None else one(truth)

    # -- loops

    def loop(self, e: ast.FLWOR, env: dict[Any, Value], focus: Any) -> Value:
        tuples: list[tuple[dict[Any, Value] | None, bool]] = [(env, True)]  # None: a tuple of which nothing is known
        for clause in e.clauses:
            made: list[tuple[dict[Any, Value] | None, bool]] = []
            if isinstance(clause, ast.OrderClause):
                tuples = self.sorted(clause, tuples, focus)
                continue
            for bound, sure in tuples:
                if bound is None:
                    made.append((None, False))
                    continue
                match clause:
                    case ast.ForClause():
                        value = self.value(clause.source, bound, focus)
                        if clause.position is not None and not known(value):
                            made.append((None, False))
                            continue
                        for number, entry in enumerate(value, 1):
                            inner = bound | {clause.var.expanded: one(entry.item)}
                            if clause.position is not None:
                                inner[clause.position.expanded] = one(number)
                            made.append((None, False) if entry.item is None else (inner, sure and entry.sure))
                    case ast.LetClause():
                        value = self.value(clause.value, bound, focus)
                        made.append((bound | {clause.var.expanded: value}, sure) if known(value) else (None, False))
                    case ast.WhereClause():
                        truth = self.judged(clause.condition, bound, focus)
                        if truth is not False:
                            made.append((bound, sure and truth is True))
                    case _:
                        raise NotImplementedError(clause)
            tuples = made
        found: Value = []
        for bound, sure in tuples:
            if bound is None:
                found.append(BOTTOM)
            else:
                value = self.value(e.result, bound, focus)
                found += value if sure else [Entry(None, False), *[doubted(entry) for entry in value]]
        return found

    def sorted(self, clause: ast.OrderClause, tuples: list[Any], focus: Any) -> list[Any]:
        keyed = []
        for bound, sure in tuples:
            if bound is None:
                keyed.append(((1,), (None, False)))
                continue
            key: list[Any] = [0]
            for by in clause.keys:
                value = self.value(by.key, bound, focus)
                sure = sure and settled(value)
                atomic = [text(item) for item in items(value)]
                key += [(1, atomic[0]) if atomic else (0,)]
                assert not by.descending
            keyed.append((tuple(key), (bound, sure)))
        return [made for _, made in sorted(keyed, key=lambda pair: pair[0])]

    # -- the rest

    def choice(self, e: ast.If, env: dict[Any, Value], focus: Any) -> Value:
        truth = self.truth(e.condition, env, focus)
        if truth is not None:
            return self.value(e.then if truth else e.otherwise, env, focus)
        then, otherwise = self.value(e.then, env, focus), self.value(e.otherwise, env, focus)
        agree = settled(then, True) and settled(otherwise, True)
        return then if agree and serialised(items(then)) == serialised(items(otherwise)) else [BOTTOM]

    def _attributes(self, e: ast.DirectElement, env: dict[Any, Value], focus: Any) -> dict[str, str] | None:
        made = {}
        for attribute in e.attributes:
            parts = []
            for part in attribute.value:
                if isinstance(part, ast.LiteralText):
                    parts.append(part.value)
                else:
                    value = self.value(part, env, focus)
                    if not settled(value):
                        return None
                    parts.append(" ".join(printed(text(item)) for item in items(value)))
            made[attribute.name.local] = "".join(parts)
        return made

    def element(self, e: ast.DirectElement, env: dict[Any, Value], focus: Any) -> Value:
        attributes = self._attributes(e, env, focus)
        content: list[Any] = []
        for part in e.content:
            if isinstance(part, ast.LiteralText):
                content.append(Text(part.value))
                continue
            value = self.value(part, env, focus)
            if not settled(value, copy=True) and not self.optimistic:
                return [BOTTOM]
            content += items(value)
        return [BOTTOM] if attributes is None else one(built(e.name.local, attributes, content))

    def computed(
        self, e: ast.ComputedAttribute | ast.ComputedText | ast.ComputedElement, env: dict[Any, Value], focus: Any
    ) -> Value:
        content = self.value(e.content, env, focus)
        name = [] if isinstance(e, ast.ComputedText) or isinstance(e.name, ast.Name) else self.value(e.name, env, focus)
        if not self.optimistic and not (settled(content, copy=True) and settled(name)):
            return [BOTTOM]
        atomic = " ".join(printed(text(item)) for item in items(content))
        if isinstance(e, ast.ComputedText):
            return one(Text(atomic)) if items(content) else []
        local = e.name.local if isinstance(e.name, ast.Name) else string([text(item) for item in items(name)])
        if not local:
            raise ValueError("a name that is none")
        if isinstance(e, ast.ComputedAttribute):
            return one(Attribute(local, atomic, Element("", {})))
        return one(built(local, {}, items(content)))

    def arithmetic(self, e: ast.Arithmetic, env: dict[Any, Value], focus: Any) -> Value:
        left, right = self.value(e.left, env, focus), self.value(e.right, env, focus)
        if not (settled(left) and settled(right)) and not self.optimistic:
            return [BOTTOM]
        numbers = [float(v) if isinstance(v, str) else v for v in (text(x) for x in [*items(left), *items(right)])]
        return (
            one({"+": operator.add, "-": operator.sub, "*": operator.mul}[e.op](*numbers)) if len(numbers) > 1 else []
        )

    def call(self, e: ast.FunctionCall, env: dict[Any, Value], focus: Any) -> Value:
        name = e.name.local
        if name == "stream":
            assert isinstance(e.args[0], ast.StringLiteral)
            return one(self.documents[e.args[0].value])
        if name in ("position", "last"):
            return one(0)  # looked at where predicates are
        values = [self.value(arg, env, focus) for arg in e.args] or [one(focus)]
        if name not in ("count", "name", *PASSING):
            return self.strict(STRICT[name], values)
        if not self.optimistic and not all(known(value) for value in values):
            return [BOTTOM]
        if name in PASSING:
            return [Entry(item) for item in PASSING[name](*[items(value) for value in values])]
        found = items(values[0])
        if name == "count":
            return one(len(found))
        node = single(found)
        return one("" if node is None else node.name)

    def strict(self, function: Callable[..., list[Any]], values: list[Value]) -> Value:
        """Of what needs all its operands in full."""
        if not self.optimistic and not all(settled(value) for value in values):
            return [BOTTOM]
        return [Entry(item) for item in function(*[[text(item) for item in items(value)] for value in values])]

    # -- conditions

    def truth(self, e: ast.Expr, env: dict[Any, Value], focus: Any) -> bool | None:
        match e:
            case ast.And():
                found = [self.truth(part, env, focus) for part in e.operands]
                return False if False in found else None if None in found else True
            case ast.Or():
                found = [self.truth(part, env, focus) for part in e.operands]
                return True if True in found else None if None in found else False
            case ast.FunctionCall() if e.name.local in ("not", "exists", "empty", "boolean", "true", "false"):
                match e.name.local:
                    case "true" | "false":
                        return e.name.local == "true"
                    case "boolean":
                        return self.truth(e.args[0], env, focus)
                    case "not":
                        inner = self.truth(e.args[0], env, focus)
                        return None if inner is None else not inner
                    case "exists":
                        return some(self.value(e.args[0], env, focus))
                    case _:
                        inner = some(self.value(e.args[0], env, focus))
                        return None if inner is None else not inner
            case ast.Quantified():
                inner = self.quantified(e, 0, env, focus)
                return inner if not e.every or inner is None else not inner
            case ast.If():
                condition = self.truth(e.condition, env, focus)
                then, otherwise = self.truth(e.then, env, focus), self.truth(e.otherwise, env, focus)
                if condition is None:
                    return then if then == otherwise else None
                return then if condition else otherwise
            case ast.GeneralComparison() | ast.ValueComparison() if _counts(e):
                return self.bounded(e, env, focus)
            case ast.GeneralComparison():
                return self.comparison(e, env, focus)
            case ast.AxisStep() | ast.Path() | ast.Filter() | ast.Sequence():
                return some(self.value(e, env, focus))
        value = self.value(e, env, focus)
        if not settled(value):
            return None
        found = items(value)
        return bool(found) and (isinstance(found[0], Element | Text | Attribute) or bool(found[0]))

    def comparison(self, e: ast.GeneralComparison, env: dict[Any, Value], focus: Any) -> bool | None:
        left, right = self.value(e.left, env, focus), self.value(e.right, env, focus)
        witnesses = [[entry.item for entry in side if entry.sure and whole(entry.item)] for side in (left, right)]
        if any(compared(e.op, a, b) for a in witnesses[0] for b in witnesses[1]):
            return True
        if any(not items(side) and not bottoms(side) for side in (left, right)):
            return False
        if any(bottoms(side) or not all(whole(item) for item in items(side)) for side in (left, right)):
            return None
        return None if any(compared(e.op, a, b) for a in items(left) for b in items(right)) else False

    def bounded(self, e: Any, env: dict[Any, Value], focus: Any) -> bool | None:
        """``count(x) op n``."""
        value = self.value(e.left.args[0], env, focus)
        least = sum(entry.sure for entry in value)
        most = None if bottoms(value) else len(items(value))
        candidates = range(least, (least + e.right.value + 2 if most is None else most) + 1)
        found = {OPERATORS[e.op](count, e.right.value) for count in candidates}
        return found.pop() if len(found) == 1 else None

    def quantified(self, e: ast.Quantified, number: int, env: dict[Any, Value], focus: Any) -> bool | None:
        """Whether some tuple fulfils the condition (of ``every``: fails it)."""
        if number == len(e.bindings):
            truth = self.truth(e.condition, env, focus)
            return truth if not e.every or truth is None else not truth
        binding = e.bindings[number]
        found: set[bool | None] = set()
        for entry in self.value(binding.source, env, focus):
            if entry.item is None:
                found.add(None if entry.bottom else False)
            else:
                truth = self.quantified(e, number + 1, env | {binding.var.expanded: one(entry.item)}, focus)
                found.add(truth if entry.sure or truth is False else None)
        return True if True in found else None if None in found else False


def _counts(e: Any) -> bool:
    left = e.left
    return isinstance(left, ast.FunctionCall) and left.name.local == "count" and isinstance(e.right, ast.IntegerLiteral)
