"""A plan run by hand on the pieces of a document: E(a ⊎ b) = E(a) ++ E(b).

Open elements are closed at the end of a piece and open again, with their attributes, at the beginning of the next. The
units' expressions run on each piece by the ordinary evaluator; what is made of their items is written as XQuery again.
Nothing of the scan, and nothing of what runs plans, has a part in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from lxml import etree

from xstreamcast.errors import XStreamError
from xstreamcast.functions.registry import known_function
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.link import parse as parse_query
from xstreamcast.model.atomic import Item
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.namespaces import FN
from xstreamcast.model.serialise import serialise
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Concat, Fold, Group, Nest, Plan, Reduce, Slice, Strategy, Unit, VarName
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.run.evaluate import EvaluationContext, Executable
from xstreamcast.run.library import moment_of
from xstreamcast.scan.parse import parse
from xstreamcast.scan.path import Path

NOW = moment_of("2005-09-01")
Values = dict[VarName, list[Item] | None]
"""None: its computation has failed, which matters to who reads it."""


def module_of(text: str) -> ast.Module:
    return parse_query(text, static=StaticContext(base_uri="file:///"), known_functions=known_function)


# ------------------------------------------------------------------------------------------------------- documents


@dataclass(frozen=True)
class Element:
    """An element of a document to be cut; ``content`` has elements and the text between them."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    content: tuple[Element | str, ...] = ()

    @property
    def start(self) -> str:
        return "<" + " ".join([self.name, *(f'{name}="{value}"' for name, value in self.attributes)]) + ">"


Event = tuple[str, Any]


def events(element: Element) -> list[Event]:
    found: list[Event] = [("start", element)]
    for part in element.content:
        found.extend(events(part) if isinstance(part, Element) else [("text", part)])
    return [*found, ("end", element)]


def from_xml(text: str) -> Element:
    def made(node: Any) -> Element:
        content: list[Element | str] = [node.text] if node.text else []
        for child in node:
            content.append(made(child))
            if child.tail:
                content.append(child.tail)
        escaped = [part if isinstance(part, Element) else escape(part) for part in content]
        return Element(node.tag, tuple((k, escape(v)) for k, v in node.attrib.items()), tuple(escaped))

    return made(etree.fromstring(text.encode(), etree.XMLParser(remove_comments=True, remove_pis=True)))


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def matches(path: Path, chain: list[Element]) -> bool:
    """Whether a path leads to the last element of a chain from the root."""
    positions = {0}
    for element in chain:
        reached = set()
        for j in positions:
            if j < len(path.steps):
                step = path.steps[j]
                if step.deep:
                    reached.add(j)
                if step.test.matches(ELEMENT, "", element.name):
                    reached.add(j + 1)
        positions = reached
    return len(path.steps) in positions


def cut_places(found: list[Event], records: tuple[Path, ...]) -> list[int]:
    """The numbers of events before which a cut may fall: within the root element, outside of all records."""
    places = []
    chain: list[Element] = []
    inside = 0
    for number, (kind, value) in enumerate(found):
        if chain and not inside:
            places.append(number)
        if kind == "start":
            chain.append(value)
            inside += any(matches(path, chain) for path in records)
        elif kind == "end":
            inside -= any(matches(path, chain) for path in records)
            chain.pop()
    return places


@dataclass(frozen=True)
class Piece:
    """A document that is part of one; ``began`` and ``open``: the elements cut at its two ends, from the root."""

    root: Node
    began: dict[Node, int]
    open: dict[Node, int]


def pieces(found: list[Event], cuts: list[int]) -> list[Piece]:
    made = []
    chain: list[tuple[int, Element]] = []
    ends = [*cuts, len(found)]
    number = 0
    for end in ends:
        began = [place for place, _ in chain]
        text = "".join(element.start for _, element in chain)
        while number < end:
            kind, value = found[number]
            if kind == "start":
                chain.append((number, value))
                text += value.start
            elif kind == "end":
                chain.pop()
                text += f"</{value.name}>"
            else:
                text += value
            number += 1
        text += "".join(f"</{element.name}>" for _, element in reversed(chain))
        root = parse(text)
        made.append(
            Piece(
                root,
                dict(zip(_chain(root, 0), began, strict=False)),
                dict(zip(_chain(root, -1), [place for place, _ in chain], strict=False)),
            )
        )
    return made


def _chain(node: Node, which: int) -> list[Node]:
    """The first (or last) element child, its first (or last) one, and so on."""
    found: list[Node] = []
    while True:
        below = [child for child in node.children() if child.kind == ELEMENT]
        if not below:
            return found
        node = below[which]
        found.append(node)


# ------------------------------------------------------------------------------------------------------ evaluation


PROGRAMS: dict[int, tuple[ast.Expr, Executable]] = {}
"""The programs of one check, by their expressions."""


def evaluate(module: ast.Module, body: ast.Expr, given: Values, most: int | None = None) -> list[Item]:
    if id(body) not in PROGRAMS:
        declared = [ast.VariableDecl(ast.Name(None, local, uri), None, None, external=True) for uri, local in given]
        PROGRAMS[id(body)] = body, Executable(replace(module, prolog=(*module.prolog, *declared), body=body))
    program = PROGRAMS[id(body)][1]
    known = {name: value for name, value in given.items() if value is not None}
    return list(islice(program.run(EvaluationContext(program.program, NOW, None, known)), most))


def variable(name: VarName) -> ast.VarRef:
    return ast.VarRef(ast.Name(None, name[1], name[0]))


def call(function: str, *args: ast.Expr) -> ast.Expr:
    return ast.FunctionCall(ast.Name("fn", function, FN), args)


def reduced(reduction: Any, items: ast.Expr) -> ast.Expr:
    """The reduction, as the query it is."""
    match reduction:
        case Concat():
            return items
        case Reduce(function, None):
            return call(function, items)
        case Reduce(function, ast.Expr() as argument):
            return call(function, items, argument)
        case Slice(first, None):
            return call("subsequence", items, ast.IntegerLiteral(first))
        case Slice(first, int() as last):
            length = ast.IntegerLiteral(max(0, last - first + 1))
            return call("subsequence", items, ast.IntegerLiteral(first), length)
        case Fold(zero, accumulator, item, step):
            params = (ast.Param(variable(accumulator).name), ast.Param(variable(item).name))
            return call("fold-left", items, zero, ast.InlineFunction(params, None, step))
        case Group(item, keys, inner):
            names = [ast.Name(None, f"key-{n}", "urn:test") for n, _ in enumerate(keys)]
            equal = [ast.GeneralComparison("=", key, ast.VarRef(n)) for key, n in zip(keys, names, strict=True)]
            loop = ast.ForClause(variable(item).name, None, False, None, items)
            members = ast.FLWOR((loop, *[ast.WhereClause(e) for e in equal]), variable(item))
            return ast.InlineFunction(tuple(ast.Param(n) for n in names), None, reduced(inner, members))
    raise AssertionError(reduction)


class Work:
    """A unit on piece after piece."""

    def __init__(self, module: ast.Module, unit: Unit, given: Values) -> None:
        self.module, self.unit, self.given = module, unit, given
        self.items: list[Item] = []
        self.open: dict[int, list[Work]] = {}
        self.waiting: list[tuple[int, list[Item] | None]] = []  # in the order they begin; items if known
        self.failed = False
        self.exists = call("exists", unit.items)

    def take(self, root: Node, piece: Piece) -> None:
        try:
            self.take_items(root, piece)
        except XStreamError:
            self.failed = True

    def wanted(self) -> int | None:
        """How many more items matter: the evaluator does not compute the others either."""
        match self.unit.reduction:
            case Slice(_, last) if last is not None:
                return max(0, last - len(self.items))
            case _:
                return None

    def take_items(self, root: Node, piece: Piece) -> None:
        given = {**self.given, self.unit.root: [root]}
        nest = self.unit.nest
        if nest is None and self.unit.reduction in (Reduce("exists"), Reduce("empty")):
            if not self.items and evaluate(self.module, self.exists, given) == [True]:
                self.items = [True]
        elif nest is None:
            self.items += evaluate(self.module, self.unit.items, given, self.wanted())
        else:
            self.take_instances(nest, given, piece)

    def take_instances(self, nest: Nest, given: Values, piece: Piece) -> None:
        assert isinstance(self.unit.items, ast.FLWOR)
        loop = self.unit.items.clauses[0]
        assert isinstance(loop, ast.ForClause)
        for instance in evaluate(self.module, loop.source, given):
            number = piece.began.get(instance, piece.open.get(instance))
            if number is None:
                whole = evaluate(self.module, self.unit.items.result, {**given, nest.variable: [instance]})
                self.waiting.append((-1, whole))
                continue
            if number not in self.open:
                self.open[number] = [Work(self.module, unit, self.given) for unit in nest.units]
                self.waiting.append((number, None))
            works = self.open[number]
            for work in works:
                work.take(instance, piece)
            if instance not in piece.open:
                values = {work.unit.variable: work.value() for work in works}
                found = evaluate(self.module, nest.body, {**given, nest.variable: [instance], **values})
                self.waiting[self.waiting.index((number, None))] = number, found
                del self.open[number]
        while self.waiting and (items := self.waiting[0][1]) is not None:
            self.items += items
            self.waiting.pop(0)

    def value(self) -> list[Item] | None:
        items = "urn:test", "items"
        if self.failed:
            return None
        body = reduced(self.unit.reduction, variable(items))
        try:
            return evaluate(self.module, body, {**self.given, items: self.items})
        except XStreamError:
            return None


def run_in_pieces(made: Plan, found: list[Event], choose: Any) -> list[Item]:
    """The plan's answer, each pass over the document cut at places of its own."""
    given: Values = {}
    for step in made.passes:
        records = tuple(path for unit in step.units for path in unit.records)
        allowed = cut_places(found, records)
        works = [Work(made.module, unit, given) for unit in step.units]
        for piece in pieces(found, choose(allowed)):
            for work in works:
                work.take(piece.root, piece)
        given = {**given, **{work.unit.variable: work.value() for work in works}}
    parts = [variable(part.variable) if isinstance(part, Unit) else part for part in made.output]
    return evaluate(made.module, ast.Sequence(tuple(parts)), given)


def shown(items: list[Item]) -> str:
    return "\n".join(serialise([item], method="adaptive") for item in items)


def check(text: str, document: Element, choose: Any) -> None:
    """The law, for one query, one document and one choice of cuts."""
    made = plan(module_of(text))
    if made.strategy is not Strategy.STREAM:
        return
    PROGRAMS.clear()
    found = events(document)
    whole = pieces(found, [])[0].root
    try:
        program = Executable(module_of(text))
        expected = shown(list(program.run(EvaluationContext(program.program, NOW, whole))))
    except XStreamError:
        return  # some error, of those there are
    assert shown(run_in_pieces(made, found, choose)) == expected, text


def everywhere(places: list[int]) -> list[int]:
    return places
