"""What elements an answer can consist of: an abstract run of the query over the tag structures of its streams.

    shape(<a>{ e }</a>) = {a with shape(e) inside}      shape(stream("s")//b) = {copies of the tags b of s}
    shape(if (c) then e else f) = shape(e) ∪ shape(f)   shape(1 + 1) = {a leaf}

Conditions are not looked at, so a shape holds in every emission mode, and of every prefix. Where an expression may give
an element that is not told of, its shape is None: nothing is claimed of it. A structure is taken at its word: below a
tag there are no other elements than its children. Beside the root element there may be the error that stands for the
answer of another query, which no structure mentions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.lang.structures import above, below, split
from xstreamcast.lang.walk import bound_by
from xstreamcast.model.namespaces import FN, STREAM, XS
from xstreamcast.model.structure import Structure
from xstreamcast.model.types import AtomicType
from xstreamcast.plan.algebra import VarName

ERROR_NAMESPACE: Final = "urn:xstreamcast:error"
ERROR: Final = (ERROR_NAMESPACE, "error")
"""The element that stands for an answer that is an error."""


class Copy(NamedTuple):
    """An element of a stream, or a copy of it; ``tsid`` None: its document node.

    ``fixed``: the query says its name, so that a structure to which something is added gives it no other.
    """

    stream: str
    tsid: int | None
    fixed: bool = True


class Made(NamedTuple):
    """A new element: the constructor, and the calls of functions on the way to it, by identity."""

    calls: tuple[int, ...]
    constructor: int


class Odd(Enum):
    """What is no element, and what stands at the top of a document outside of its structure."""

    LEAF = 0
    FOREIGN = 1


Kind: TypeAlias = Copy | Made | Odd
Shape: TypeAlias = frozenset[Kind] | None
Variables: TypeAlias = dict[VarName, Shape]

_LEAF: Final[Shape] = frozenset({Odd.LEAF})
_LEAVES: Final = (
    ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral, ast.StringConstructor,
    ast.Or, ast.And, ast.GeneralComparison, ast.ValueComparison, ast.NodeComparison, ast.AllenComparison,
    ast.Concat, ast.Range, ast.Arithmetic, ast.Unary, ast.InstanceOf, ast.CastableAs, ast.CastAs, ast.Quantified,
    ast.DirectComment, ast.DirectPI, ast.ComputedAttribute, ast.ComputedText, ast.ComputedComment, ast.ComputedPI,
    ast.ComputedNamespace, ast.Now, ast.Start, ast.InstantLiteral, ast.DurationLiteral,
)  # fmt: skip
"""Expressions that give no elements, whatever is in them."""
_PASSED_ON: Final[Mapping[str, tuple[int, ...]]] = {
    **dict.fromkeys(("head", "tail", "reverse", "unordered", "subsequence", "remove", "trace"), (0,)),
    **dict.fromkeys(("zero-or-one", "one-or-more", "exactly-one", "innermost", "outermost"), (0,)),
    "insert-before": (0, 2),
}
"""Which arguments come back."""
_DOWN: Final = ("descendant", "descendant-or-self")
_UP: Final = ("ancestor", "ancestor-or-self")


class Shapes:
    """The abstract run of a module. ``made``: of each new element its name and what may be in it; ``spans``: where."""

    def __init__(self, module: ast.Module, structures: Mapping[str, Structure]) -> None:
        self.structures = structures
        self.made: dict[Made, tuple[str, Shape]] = {}
        self.spans: dict[Made, ast.Span] = {}
        self._rank: dict[Made, int] = {}
        self._functions: dict[tuple[VarName, int], ast.FunctionDecl] = {}
        self._declared: dict[VarName, ast.VariableDecl] = {}
        self._globals: Variables = {}
        self._calls: list[ast.FunctionCall] = []
        self._within: list[ast.FunctionDecl] = []
        self._body = module.body
        for one in (*module.imported, module):
            for declaration in one.prolog:
                if isinstance(declaration, ast.FunctionDecl):
                    self._functions[declaration.name.expanded, len(declaration.params)] = declaration
                elif isinstance(declaration, ast.VariableDecl):
                    self._declared[declaration.name.expanded] = declaration

    def answer(self) -> Shape:
        """The shape of the query's answer."""
        return None if self._body is None else self.shape(self._body, {}, None)

    def inside(self, kind: Kind) -> Shape:
        """What may be directly below an element, or come from a document node."""
        if isinstance(kind, Made):
            return self.made[kind][1]
        if isinstance(kind, Copy) and kind.tsid is not None:
            children = self.structures[kind.stream].tag(kind.tsid).children
            return frozenset([Copy(kind.stream, child) for child in children])
        return None

    def name(self, kind: Copy | Made) -> str:
        """The name of an element as ``{uri}local``."""
        if isinstance(kind, Made):
            return self.made[kind][0]
        return self.structures[kind.stream].tag(kind.tsid or 0).name

    def is_apart(self, copy: Copy, inside: bool) -> bool:
        """Whether a copied element, if it is ``inside`` of another, or what is directly in it, may be in a hole."""
        structure = self.structures[copy.stream]
        tag = structure.tag(copy.tsid or 0)
        return any(one.type != "snapshot" for one in [*map(structure.tag, tag.children), *([tag] if inside else ())])

    def order(self, kind: Copy | Made) -> tuple[str, int]:
        """So that the same query tells its tags in the same order: new elements first, as the query has them."""
        return ("", self._rank[kind]) if isinstance(kind, Made) else (f"/{kind.stream}", kind.tsid or 0)

    # ------------------------------------------------------------------------------------------------- expressions

    def shape(self, e: ast.Node, variables: Variables, focus: Shape) -> Shape:
        """The shape of an expression, given those of its variables and of its context item."""
        match e:
            case ast.FLWOR():
                return self._flwor(e, dict(variables), focus)
            case ast.DirectElement(name=name, content=content):
                parts = [one for one in content if isinstance(one, ast.Expr)]
                return self._element(e, name, parts, variables, focus)
            case ast.ComputedElement(name=ast.Name() as name, content=content):
                return self._element(e, name, [content], variables, focus)
            case ast.Path(steps=steps) | ast.SimpleMap(steps=steps):
                for step in steps:
                    focus = self.shape(step, variables, focus)
                return focus
            case ast.AxisStep(axis=axis, test=test):
                return self._step(axis, test, focus)
            case ast.Filter(base=base) | ast.IntervalProjection(base=base) | ast.VersionProjection(base=base):
                return self.shape(base, variables, focus)
            case ast.TreatAs(operand=base) | ast.Ordering(body=base) | ast.Intersect(left=base) | ast.Except(left=base):
                return self.shape(base, variables, focus)
            case ast.VarRef(name=name):
                known = name.expanded
                return variables[known] if known in variables else self._global(known)
            case ast.ContextItem():
                return focus
            case ast.Sequence(items=parts) | ast.Union(operands=parts):
                return self._union(parts, variables, focus)
            case ast.If(then=then, otherwise=otherwise):
                return self._union((then, otherwise), variables, focus)
            case ast.Switch(cases=cases, default=default):
                return self._union([*[case.result for case in cases], default], variables, focus)
            case ast.FunctionCall():
                return self._call(e, variables, focus)
        return _LEAF if isinstance(e, _LEAVES) else None

    def _union(self, parts: Iterable[ast.Expr], variables: Variables, focus: Shape) -> Shape:
        return joined([self.shape(part, variables, focus) for part in parts])

    def _element(
        self, e: ast.Expr, name: ast.Name, parts: Iterable[ast.Expr], variables: Variables, focus: Shape
    ) -> Shape:
        uri, local = name.expanded
        made = Made(tuple(map(id, self._calls)), id(e))
        content = self._union(parts, variables, focus)
        if made in self.made:  # an expression that is looked at again: either may be meant
            content = joined([content, self.made[made][1]])
        self.made[made] = f"{{{uri}}}{local}" if uri else local, content
        self._rank.setdefault(made, len(self._rank))
        self.spans[made] = e.span
        return frozenset({made})

    def _global(self, name: VarName) -> Shape:
        if name not in self._globals:
            self._globals[name] = None  # while it is looked at, and if it is given from outside
            declaration = self._declared.get(name)
            if declaration is not None and declaration.value is not None and not declaration.external:
                self._globals[name] = self.shape(declaration.value, {}, None)
        return self._globals[name]

    def _call(self, call: ast.FunctionCall, variables: Variables, focus: Shape) -> Shape:
        name, args = call.name.expanded, call.args
        if name == (STREAM, "stream"):
            stream = args[0].value if isinstance(args[0], ast.StringLiteral) else None
            return frozenset({Copy(stream, None)}) if stream in self.structures and stream is not None else None
        if name[0] == FN and name[1] in _PASSED_ON:
            places = [place for place in _PASSED_ON[name[1]] if place < len(args)]
            return self._union([args[place] for place in places], variables, focus)
        own = self._functions.get((name, len(args)))
        if own is None:
            entry = lookup(*name, len(args)) if name[0] in (FN, XS) else None
            return _LEAF if entry is not None and isinstance(entry.result.item, AtomicType) else None
        if own.body is None or any(own is one for one in self._within):
            return None
        given = {
            param.name.expanded: self.shape(arg, variables, focus) for param, arg in zip(own.params, args, strict=True)
        }
        self._calls.append(call)
        self._within.append(own)
        found = self.shape(own.body, given, None)
        self._calls.pop()
        self._within.pop()
        return found

    def _flwor(self, e: ast.FLWOR, variables: Variables, focus: Shape) -> Shape:
        for clause in e.clauses:
            source, items, atomic = bound_by(clause)
            if source is not None:
                variables |= dict.fromkeys([name.expanded for name in items], self.shape(source, variables, focus))
            variables |= dict.fromkeys([name.expanded for name in atomic], _LEAF)
        return self.shape(e.result, variables, focus)

    # ------------------------------------------------------------------------------------------------- steps

    def _step(self, axis: str, test: ast.NodeTest, focus: Shape) -> Shape:
        if axis == "attribute" or isinstance(test, ast.AttributeTest | ast.PITest):
            return _LEAF
        if isinstance(test, ast.KindTest) and test.kind != "node":
            return _LEAF if test.kind in ("text", "comment") else None
        if focus is None or isinstance(test, ast.DocumentTest | ast.SchemaTest):
            return None
        if any(self._along(axis, kind) is None for kind in focus):
            return None
        found = {self._tested(one, test) for kind in focus for one in self._along(axis, kind) or ()}
        return frozenset(kind for kind in found if kind is not None)

    def _along(self, axis: str, kind: Kind) -> set[Kind] | None:
        """Where an axis leads, leaves included; None if that is not known."""
        if kind is Odd.LEAF:
            return {kind} if axis in ("self", "descendant-or-self", "child", "descendant") else None
        if kind is Odd.FOREIGN:
            return {kind, Odd.LEAF} if axis in ("self", "child", *_DOWN) else None
        if axis == "self":
            return {kind}
        if isinstance(kind, Made):
            return None  # what is below it has another parent than where it was copied from
        stream, tsid, _ = kind
        structure = self.structures[stream]
        inside: set[Kind] = {Odd.LEAF} if tsid is not None else {Odd.LEAF, Odd.FOREIGN}
        if axis == "child":
            return inside | {Copy(stream, child, False) for child in below(structure, tsid)}
        if axis in _DOWN:
            tops = below(structure, tsid)
            inside |= {Copy(stream, tag, False) for tag in (*tops, *structure.descendants(tops))}
            return inside | {kind} if axis == "descendant-or-self" else inside
        if axis == "parent":
            return {Copy(stream, tag, False) for tag in above(structure, tsid)} if tsid is not None else set()
        if axis in _UP:
            seen: set[Kind] = set()
            waiting = [tsid]
            while waiting:
                tag = waiting.pop()
                for parent in above(structure, tag) if tag is not None else ():
                    if Copy(stream, parent, False) not in seen:
                        seen.add(Copy(stream, parent, False))
                        waiting.append(parent)
            return seen | {kind} if axis == "ancestor-or-self" else seen
        return None

    def _tested(self, kind: Kind, test: ast.NodeTest) -> Kind | None:
        """What is left of a node if it must pass a test."""
        if isinstance(test, ast.KindTest):
            return kind
        name = test.name if isinstance(test, ast.NameTest | ast.ElementTest) else None
        if kind is Odd.LEAF:
            return None
        if isinstance(kind, Odd):
            uri, local = ERROR
        elif isinstance(kind, Copy) and kind.tsid is None:
            return None
        else:
            uri, local = split(self.name(kind))
        if isinstance(test, ast.Wildcard):
            return kind if test.local in (None, local) and test.uri in (None, uri) else None
        if name is None:
            return kind
        if name.expanded != (uri, local):
            return None
        return kind._replace(fixed=True) if isinstance(kind, Copy) else kind


def joined(shapes: Iterable[Shape]) -> Shape:
    """Either of several: known only if each is."""
    found: set[Kind] = set()
    for shape in shapes:
        if shape is None:
            return None
        found |= shape
    return frozenset(found)
