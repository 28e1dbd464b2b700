"""The abstract syntax of XQuery 3.1 (without schema import) and XCQL.

A node is a frozen declaration; behaviour lives in the passes. Every node has a keyword-only ``span``, the
offsets of its text, which equality ignores: two nodes are equal when they mean the same.

What the parser already simplifies, so that later stages see one form:

* ``a//b`` is ``a/descendant-or-self::node()/b``, ``..`` is ``parent::node()``, ``@x`` is ``attribute::x``;
  a leading ``/`` is the step :class:`Root` (W3C XPath 3.1, §3.3.5).
* ``e => f(x)`` is ``f(e, x)``; ``e => $f(x)`` is ``$f(e, x)`` (§3.16).
* ``for $a in x, $b in y`` is two clauses; ``---e`` is one :class:`Unary`; parentheses leave no node.
* Boundary whitespace is already stripped or kept, entity and character references are already expanded.
* ``or``, ``and``, ``||``, ``,``, ``|``, ``!`` and ``/`` are n-ary: long chains stay flat.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, dataclass_transform

from xstreamcast.errors import Place, XStreamError, error

if TYPE_CHECKING:
    from xstreamcast.lang.context import StaticContext


class Span(NamedTuple):
    """A piece of the query text: offsets from 0, the end excluded."""

    start: int
    end: int


NOWHERE = Span(-1, -1)
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Source:
    """The text that spans point into."""

    name: str
    text: str

    def place(self, span: Span) -> Place:
        """Line and column, both from 1, of a span's start."""
        if span.start < 0:
            return Place(self.name)
        before = self.text.count("\n", 0, span.start)
        return Place(self.name, before + 1, span.start - self.text.rfind("\n", 0, span.start))

    def excerpt(self, span: Span) -> str:
        """The line a span starts on, with a caret under the place."""
        if span.start < 0:
            return ""
        first = self.text.rfind("\n", 0, span.start) + 1
        last = self.text.find("\n", span.start)
        line = self.text[first : last if last >= 0 else len(self.text)].rstrip("\r")
        column = span.start - first
        if len(line) > 100:  # show the neighbourhood of the place, not a whole one-line query
            cut = max(0, column - 60)
            line, column = line[cut : cut + 100], column - cut
        return f"  {line.replace(chr(9), ' ')}\n  {' ' * column}^"

    def fault(self, code: str, message: str, span: Span, hint: str = "") -> XStreamError:
        """The error to raise about a piece of the text."""
        return error(code, message, self.place(span), hint, self.excerpt(span))


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: type[N]) -> type[N]:
    """Declares a node class: a slotted dataclass that the type checker treats as frozen.

    Not frozen at run time: a frozen dataclass takes four times as long to build, and building nodes is
    most of what a parser does. One ``__eq__``, ``__hash__`` and ``__repr__`` serve all the classes.
    """
    return dataclass(slots=True, eq=False, repr=False)(cls)


@node
class Node:
    """Anything that has a place in the query text."""

    span: Span = field(default=NOWHERE, kw_only=True)

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in parts(self.__class__))

    def __hash__(self) -> int:
        return hash((self.__class__, *[getattr(self, name) for name in parts(self.__class__)]))

    def __repr__(self) -> str:
        shown = ", ".join(repr(getattr(self, name)) for name in parts(self.__class__))
        return f"{self.__class__.__name__}({shown})"


_PARTS: dict[type[Node], tuple[str, ...]] = {}


def parts(cls: type[Node]) -> tuple[str, ...]:
    """The names of a node class' own fields, in order: what it consists of besides its place."""
    if cls not in _PARTS:
        _PARTS[cls] = tuple(f.name for f in fields(cls) if f.name != "span" and f.compare)
    return _PARTS[cls]


@node
class Expr(Node):
    """An expression."""


# ------------------------------------------------------------------------------------------------ names


@node
class Name(Node):
    """A QName: prefix None for ``Q{uri}local``; uri None until resolved, "" for no namespace."""

    prefix: str | None
    local: str
    uri: str | None = None

    @property
    def expanded(self) -> tuple[str, str]:
        """(uri, local): what two names are compared by."""
        return self.uri or "", self.local

    @property
    def lexical(self) -> str:
        """As a user would write it."""
        if self.prefix is None:
            return f"Q{{{self.uri}}}{self.local}"
        return f"{self.prefix}:{self.local}" if self.prefix else self.local


# ------------------------------------------------------------------------------------- tests and types


@node
class NameTest(Node):
    """``name``: nodes of the axis' principal kind with that name."""

    name: Name


@node
class Wildcard(Node):
    """``*`` (all None), ``*:local`` (uri and prefix None), ``prefix:*`` and ``Q{uri}*`` (local None)."""

    prefix: str | None
    uri: str | None
    local: str | None


@node
class KindTest(Node):
    """``node()``, ``text()``, ``comment()``, ``namespace-node()``: kind is that word."""

    kind: str


@node
class ElementTest(Node):
    """``element(name, type?)``; name None stands for ``*`` or nothing."""

    name: Name | None = None
    type: Name | None = None
    nillable: bool = False


@node
class AttributeTest(Node):
    """``attribute(name, type)``; name None stands for ``*`` or nothing."""

    name: Name | None = None
    type: Name | None = None


@node
class DocumentTest(Node):
    """``document-node(element(…)?)``."""

    content: ElementTest | SchemaTest | None = None


@node
class PITest(Node):
    """``processing-instruction(target?)``."""

    target: str | None = None


@node
class SchemaTest(Node):
    """``schema-element(name)``, ``schema-attribute(name)``: the static phase refuses it (XPST0008)."""

    kind: str
    name: Name


NodeTest: TypeAlias = NameTest | Wildcard | KindTest | ElementTest | AttributeTest | DocumentTest | PITest | SchemaTest


@node
class AnyItem(Node):
    """``item()``."""


@node
class AtomicType(Node):
    """``xs:integer`` and the like: an atomic or a pure union type by name."""

    name: Name


@node
class FunctionTest(Node):
    """``function(*)`` (params and result None) or ``function(T1, T2) as R``."""

    params: tuple[SequenceType, ...] | None = None
    result: SequenceType | None = None
    annotations: tuple[Annotation, ...] = ()


@node
class MapTest(Node):
    """``map(*)`` (both None) or ``map(K, V)``."""

    key: AtomicType | None = None
    value: SequenceType | None = None


@node
class ArrayTest(Node):
    """``array(*)`` (None) or ``array(T)``."""

    member: SequenceType | None = None


ItemType: TypeAlias = (
    AnyItem
    | AtomicType
    | KindTest
    | ElementTest
    | AttributeTest
    | DocumentTest
    | PITest
    | SchemaTest
    | FunctionTest
    | MapTest
    | ArrayTest
)


@node
class SequenceType(Node):
    """An item type with "", "?", "*" or "+"; item None is ``empty-sequence()``."""

    item: ItemType | None
    occurrence: str = ""


@node
class SingleType(Node):
    """The target of ``cast`` and ``castable``: a simple type, perhaps with ``?``."""

    name: Name
    optional: bool = False


# ---------------------------------------------------------------------------------------------- primaries


@node
class StringLiteral(Expr):
    """``"text"``, references expanded."""

    value: str


@node
class IntegerLiteral(Expr):
    """``42``."""

    value: int


@node
class DecimalLiteral(Expr):
    """``4.2``."""

    value: Decimal


@node
class DoubleLiteral(Expr):
    """``4.2e0``."""

    value: float


Literal: TypeAlias = StringLiteral | IntegerLiteral | DecimalLiteral | DoubleLiteral


@node
class VarRef(Expr):
    """``$name``."""

    name: Name


@node
class ContextItem(Expr):
    """``.``."""


@node
class Sequence(Expr):
    """``e1, e2, …``; ``()`` when there are none; exactly one only for ``{<b/>}`` in a direct element's content."""

    items: tuple[Expr, ...] = ()


@node
class Placeholder(Expr):
    """``?`` as an argument: partial application."""


@node
class FunctionCall(Expr):
    """``name(args)``; ``stream("n")``, ``vtFrom(e)``, ``now()`` are ordinary calls."""

    name: Name
    args: tuple[Expr, ...] = ()


@node
class NamedFunctionRef(Expr):
    """``name#arity``."""

    name: Name
    arity: int


@node
class Param(Node):
    """``$name as T``."""

    name: Name
    type: SequenceType | None = None


@node
class Annotation(Node):
    """``%name("literal", …)``."""

    name: Name
    values: tuple[Literal, ...] = ()


@node
class InlineFunction(Expr):
    """``function($a as T) as R { body }``."""

    params: tuple[Param, ...]
    result: SequenceType | None
    body: Expr
    annotations: tuple[Annotation, ...] = ()


@node
class DynamicCall(Expr):
    """``e(args)``."""

    function: Expr
    args: tuple[Expr, ...] = ()


@node
class Lookup(Expr):
    """``base?key``, ``base?*`` (key None), ``base?(e)``; base None is the unary lookup."""

    base: Expr | None
    key: Expr | None


@node
class MapEntry(Node):
    """``key : value``."""

    key: Expr
    value: Expr


@node
class MapConstructor(Expr):
    """``map { k : v, … }``."""

    entries: tuple[MapEntry, ...] = ()


@node
class SquareArray(Expr):
    """``[e1, e2]``: one member per expression."""

    members: tuple[Expr, ...] = ()


@node
class CurlyArray(Expr):
    """``array { e }``: one member per item."""

    content: Expr


@node
class LiteralText(Node):
    """Fixed text inside a direct constructor or a string constructor."""

    value: str


@node
class StringConstructor(Expr):
    """```` ``[text `{e}` text]`` ````."""

    parts: tuple[LiteralText | Expr, ...] = ()


@node
class Ordering(Expr):
    """``ordered { e }``, ``unordered { e }``."""

    ordered: bool
    body: Expr


@node
class Pragma(Node):
    """``(# name content #)``."""

    name: Name
    content: str = ""


@node
class Extension(Expr):
    """``(# p #) { e }``; no pragma is known, so the value is that of the body (None: XQST0079)."""

    pragmas: tuple[Pragma, ...]
    body: Expr | None


# -------------------------------------------------------------------------------------- paths and filters


@node
class Root(Expr):
    """A leading ``/``: ``root(self::node()) treat as document-node()``."""


@node
class AxisStep(Expr):
    """``axis::test[p1][p2]``."""

    axis: str
    test: NodeTest
    predicates: tuple[Expr, ...] = ()


@node
class Path(Expr):
    """``s1/s2/…``: at least two steps, each an AxisStep or any expression; a leading ``/`` is a Root."""

    steps: tuple[Expr, ...]


@node
class Filter(Expr):
    """``e[p1][p2]`` where e is not an axis step."""

    base: Expr
    predicates: tuple[Expr, ...]


@node
class SimpleMap(Expr):
    """``e1 ! e2 ! …``."""

    steps: tuple[Expr, ...]


# ----------------------------------------------------------------------------------------------- operators


@node
class Or(Expr):
    """``e1 or e2 or …``."""

    operands: tuple[Expr, ...]


@node
class And(Expr):
    """``e1 and e2 and …``."""

    operands: tuple[Expr, ...]


@node
class GeneralComparison(Expr):
    """``=  !=  <  <=  >  >=``."""

    op: str
    left: Expr
    right: Expr


@node
class ValueComparison(Expr):
    """``eq ne lt le gt ge``."""

    op: str
    left: Expr
    right: Expr


@node
class NodeComparison(Expr):
    """``is  <<  >>``."""

    op: str
    left: Expr
    right: Expr


@node
class Concat(Expr):
    """``e1 || e2 || …``."""

    operands: tuple[Expr, ...]


@node
class Range(Expr):
    """``first to last``."""

    first: Expr
    last: Expr


@node
class Arithmetic(Expr):
    """``+  -  *  div  idiv  mod``."""

    op: str
    left: Expr
    right: Expr


@node
class Unary(Expr):
    """``-e`` or ``+e``; several signs are one, by parity."""

    op: str
    operand: Expr


@node
class Union(Expr):
    """``e1 union e2 | …``."""

    operands: tuple[Expr, ...]


@node
class Intersect(Expr):
    """``left intersect right``."""

    left: Expr
    right: Expr


@node
class Except(Expr):
    """``left except right``."""

    left: Expr
    right: Expr


@node
class InstanceOf(Expr):
    """``e instance of T``."""

    operand: Expr
    type: SequenceType


@node
class TreatAs(Expr):
    """``e treat as T``."""

    operand: Expr
    type: SequenceType


@node
class CastableAs(Expr):
    """``e castable as T?``."""

    operand: Expr
    type: SingleType


@node
class CastAs(Expr):
    """``e cast as T?``."""

    operand: Expr
    type: SingleType


# ----------------------------------------------------------------------------------------- FLWOR and control


@node
class ForClause(Node):
    """``for $var as T allowing empty at $position in source``."""

    var: Name
    type: SequenceType | None
    allowing_empty: bool
    position: Name | None
    source: Expr


@node
class LetClause(Node):
    """``let $var as T := value``."""

    var: Name
    type: SequenceType | None
    value: Expr


@node
class WindowCondition(Node):
    """``start|end $current at $position previous $previous next $next when condition``."""

    current: Name | None
    position: Name | None
    previous: Name | None
    next: Name | None
    when: Expr


@node
class WindowClause(Node):
    """``for tumbling|sliding window $var as T in source start … (only) end …``."""

    sliding: bool
    var: Name
    type: SequenceType | None
    source: Expr
    start: WindowCondition
    end: WindowCondition | None
    only_end: bool


@node
class WhereClause(Node):
    """``where condition``."""

    condition: Expr


@node
class GroupKey(Node):
    """``$var as T := value collation "uri"``; value None groups by the variable in scope."""

    var: Name
    type: SequenceType | None = None
    value: Expr | None = None
    collation: str | None = None


@node
class GroupClause(Node):
    """``group by k1, k2``."""

    keys: tuple[GroupKey, ...]


@node
class OrderKey(Node):
    """``key descending empty least collation "uri"``; empty_least None follows the prolog."""

    key: Expr
    descending: bool = False
    empty_least: bool | None = None
    collation: str | None = None


@node
class OrderClause(Node):
    """``stable order by k1, k2``."""

    stable: bool
    keys: tuple[OrderKey, ...]


@node
class CountClause(Node):
    """``count $var``."""

    var: Name


Clause: TypeAlias = ForClause | LetClause | WindowClause | WhereClause | GroupClause | OrderClause | CountClause


@node
class FLWOR(Expr):
    """Clauses, then ``return result``."""

    clauses: tuple[Clause, ...]
    result: Expr


@node
class QuantifiedBinding(Node):
    """``$var as T in source``."""

    var: Name
    type: SequenceType | None
    source: Expr


@node
class Quantified(Expr):
    """``some|every $x in e, … satisfies condition``."""

    every: bool
    bindings: tuple[QuantifiedBinding, ...]
    condition: Expr


@node
class If(Expr):
    """``if (condition) then … else …``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@node
class SwitchCase(Node):
    """``case v1 case v2 return result``."""

    values: tuple[Expr, ...]
    result: Expr


@node
class Switch(Expr):
    """``switch (operand) case … default return default``."""

    operand: Expr
    cases: tuple[SwitchCase, ...]
    default: Expr


@node
class TypeCase(Node):
    """``case $var as T1 | T2 return result``."""

    var: Name | None
    types: tuple[SequenceType, ...]
    result: Expr


@node
class Typeswitch(Expr):
    """``typeswitch (operand) case … default $default_var return default``."""

    operand: Expr
    cases: tuple[TypeCase, ...]
    default_var: Name | None
    default: Expr


@node
class Catch(Node):
    """``catch err:X | *:Y { handler }``; tests are names and wildcards."""

    tests: tuple[NameTest | Wildcard, ...]
    handler: Expr


@node
class TryCatch(Expr):
    """``try { body } catch … { … }``."""

    body: Expr
    catches: tuple[Catch, ...]


# ---------------------------------------------------------------------------------------------- constructors


@node
class NamespaceDeclaration(Node):
    """``xmlns:prefix="uri"`` of a direct element; prefix "" is ``xmlns``, uri "" undeclares."""

    prefix: str
    uri: str


@node
class DirectAttribute(Node):
    """``name="text{e}text"``."""

    name: Name
    value: tuple[LiteralText | Expr, ...]


@node
class DirectElement(Expr):
    """``<name …>content</name>``: text, enclosed expressions, and nested constructors as they are.

    An enclosed ``{<b/>}`` is a Sequence of one: its element is copied (copy-namespaces applies), a nested one is not.
    """

    name: Name
    namespaces: tuple[NamespaceDeclaration, ...]
    attributes: tuple[DirectAttribute, ...]
    content: tuple[LiteralText | Expr, ...]


@node
class DirectComment(Expr):
    """``<!--text-->``."""

    text: str


@node
class DirectPI(Expr):
    """``<?target text?>``."""

    target: str
    text: str


@node
class ComputedDocument(Expr):
    """``document { e }``."""

    content: Expr


@node
class ComputedElement(Expr):
    """``element name { e }``, ``element { name } { e }``."""

    name: Name | Expr
    content: Expr


@node
class ComputedAttribute(Expr):
    """``attribute name { e }``, ``attribute { name } { e }``."""

    name: Name | Expr
    content: Expr


@node
class ComputedText(Expr):
    """``text { e }``."""

    content: Expr


@node
class ComputedComment(Expr):
    """``comment { e }``."""

    content: Expr


@node
class ComputedPI(Expr):
    """``processing-instruction target { e }``, ``processing-instruction { target } { e }``."""

    target: str | Expr
    content: Expr


@node
class ComputedNamespace(Expr):
    """``namespace prefix { uri }``, ``namespace { prefix } { uri }``."""

    prefix: str | Expr
    uri: Expr


# ------------------------------------------------------------------------------------------------------ XCQL


@node
class IntervalProjection(Expr):
    """``base?[begin, end]``, ``base?[begin]`` (end None: the instant); binds like a predicate."""

    base: Expr
    begin: Expr
    end: Expr | None = None


@node
class VersionProjection(Expr):
    """``base#[first, last]``, ``base#[first]`` (last None); base is the whole path on its left."""

    base: Expr
    first: Expr
    last: Expr | None = None


@node
class Now(Expr):
    """``now`` inside brackets: the query's one current instant."""


@node
class Start(Expr):
    """``start`` inside brackets: the beginning of time."""


@node
class Last(Expr):
    """``last`` inside brackets: the number of the newest version."""


@node
class InstantLiteral(Expr):
    """``2003-11-01`` or ``2003-11-01T12:00:00`` inside brackets, as an xs:dateTime (UTC if no zone)."""

    value: str


@node
class DurationLiteral(Expr):
    """``PT1H``, ``P1D`` inside brackets: an xs:dayTimeDuration, xs:yearMonthDuration or xs:duration."""

    value: str


@node
class AllenComparison(Expr):
    """``left relation right``, relation one of ``ALLEN``; operands: element, dateTime, ``[t1, t2]``."""

    relation: str
    left: Expr
    right: Expr


ALLEN = (
    *("before", "after", "meets", "metBy", "overlaps", "overlappedBy", "starts", "startedBy"),
    *("during", "contains", "finishes", "finishedBy", "equals"),
)
"""Allen's thirteen relations: infix words at the level of comparisons, plain names everywhere else."""


# ---------------------------------------------------------------------------------------------------- modules


@node
class NamespaceDecl(Node):
    """``declare namespace prefix = "uri";``."""

    prefix: str
    uri: str


@node
class DefaultNamespaceDecl(Node):
    """``declare default element|function namespace "uri";``, kind "element" or "function"."""

    kind: str
    uri: str


@node
class SetterDecl(Node):
    """``declare <setting> <value>;``: boundary-space, base-uri, default-collation …"""

    setting: str
    value: str


@node
class DecimalFormatDecl(Node):
    """``declare decimal-format name prop = "x";``; name None is the default format."""

    name: Name | None
    properties: tuple[tuple[str, str], ...]


@node
class OptionDecl(Node):
    """``declare option name "value";``."""

    name: Name
    value: str


@node
class ModuleImport(Node):
    """``import module namespace prefix = "uri" at "l1", "l2";``; prefix "" when not given."""

    prefix: str
    uri: str
    locations: tuple[str, ...] = ()


@node
class ContextItemDecl(Node):
    """``declare context item as T := value;`` or ``external := value``."""

    type: SequenceType | None
    value: Expr | None
    external: bool = False


@node
class VariableDecl(Node):
    """``declare variable $name as T := value;``, ``external``, ``external := default``."""

    name: Name
    type: SequenceType | None
    value: Expr | None
    external: bool = False
    annotations: tuple[Annotation, ...] = ()


@node
class FunctionDecl(Node):
    """``declare function name(params) as R { body };``; body None is ``external``."""

    name: Name
    params: tuple[Param, ...]
    result: SequenceType | None
    body: Expr | None
    annotations: tuple[Annotation, ...] = ()


Declaration: TypeAlias = (
    NamespaceDecl
    | DefaultNamespaceDecl
    | SetterDecl
    | DecimalFormatDecl
    | OptionDecl
    | ModuleImport
    | ContextItemDecl
    | VariableDecl
    | FunctionDecl
)


@node
class Warning(Node):
    """Something legal that is probably a mistake."""

    message: str
    hint: str = ""


@node
class Module(Node):
    """A main module (body) or a library module (namespace, no body).

    ``static`` is what the prolog declared, ``imported`` the resolved library modules in order of import;
    ``version`` and ``encoding`` are those of the version declaration, if any.
    """

    prolog: tuple[Declaration, ...]
    body: Expr | None
    namespace: NamespaceDecl | None = None
    version: str | None = None
    encoding: str | None = None
    static: StaticContext | None = field(default=None, compare=False)
    imported: tuple[Module, ...] = field(default=(), compare=False)
    warnings: tuple[Warning, ...] = field(default=(), compare=False)
    source: Source = field(default=Source("query", ""), compare=False)
