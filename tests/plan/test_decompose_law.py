"""E(a ⊎ b) = E(a) ++ E(b): a plan run on the pieces of a document gives what the query gives on the whole.

The pieces are made by hand, at every place the plan allows a cut: open elements are closed at the end of a piece and
open again, with their attributes, at the beginning of the next. The units' expressions run on each piece by the
ordinary evaluator; what is made of their items is written as XQuery again. Nothing of the scan, and nothing of what
runs plans, has a part in it.
"""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from xstreamcast.errors import XStreamError
from xstreamcast.generate import items, microscope, satellite, xmark
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.link import parse as parse_query
from xstreamcast.model.atomic import Item
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.namespaces import FN
from xstreamcast.model.parse import parse
from xstreamcast.model.serialise import serialise
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Concat, Fold, Group, Nest, Plan, Reduce, Slice, Strategy, Unit, VarName
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.run.evaluate import EvaluationContext, Executable
from xstreamcast.run.library import known_function, moment_of
from xstreamcast.scan.path import Path

Random: Any = runpy.run_path(str(FilePath(__file__).parents[1] / "run" / "random_queries.py"))["Random"]
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
    etree = pytest.importorskip("lxml.etree")

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
    found = []
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
        case Reduce(function, argument):
            return call(function, items, argument)
        case Slice(first, None):
            return call("subsequence", items, ast.IntegerLiteral(first))
        case Slice(first, last):
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


# ------------------------------------------------------------------------------------------------ random documents


@st.composite
def elements(draw: Any, depth: int) -> Element:
    name = draw(st.sampled_from("aaabbbccd"))
    given = draw(st.sampled_from([(), (("i", "1"),), (("i", "2"),), (("j", "x"),), (("i", "1"), ("j", "3"))]))
    if depth == 0 or (name in "bc" and draw(st.integers(0, 3))):
        return Element(name, given, (draw(st.sampled_from(["1", "1", "2", "3", "x"])),))
    content: list[Element | str] = []
    for _ in range(draw(st.integers(0, 4))):
        content.append(draw(elements(depth - 1)))
        if not draw(st.integers(0, 5)):
            content.append(" t ")
    return Element(name, given, tuple(content))


def documents() -> st.SearchStrategy[Element]:
    contents = st.lists(elements(2), min_size=1, max_size=5)
    return st.builds(lambda content: Element("r", (("i", "1"),), tuple(content)), contents)


# -------------------------------------------------------------------------------------------------- random queries

TESTS = st.sampled_from(["a", "b", "c", "d", "*"])
CONDITION = st.sampled_from(
    [
        *("b", "@i", "not(b)", "b = 2", "@i = '1'", "b > 1", ".//c", "count(b) > 1", "b and @j", "c or @i != 2"),
        *("name(..) = 'a'", "../@i = 1", "ancestor::a", "some $z in b satisfies $z = '1'", "contains(., '1')"),
        *("b[1] = 2", "b[last()]", ". = '1'", "exists(ancestor::*/@j)", "empty(b) and 1", "count(//a) > count(.//b)"),
        *("@i = //b[1]/@i", "position() < 3", "following-sibling::b", "root()/r"),
    ]
)
POSITION = st.sampled_from(["1", "2", "last()", "position() < 3", "position() > 1", "position() = 2 to 3"])


ENDS = st.sampled_from(
    ["", "", "", "", "", "/@i", "/text()", "/..", "/string()", "/(b | c)", "/ancestor::a", "//@j", "/../@i"]
)


@st.composite
def paths(draw: Any, start: str = "") -> str:
    text = start
    for number in range(draw(st.integers(1, 3))):
        separator = draw(st.sampled_from(["/", "/", "//"]))
        text += separator + ("r" if not start and not number and separator == "/" else draw(TESTS))
        kind = draw(st.integers(0, 9))
        if kind < 3:
            text += f"[{draw(CONDITION)}]"
        elif kind == 3:
            text += f"[{draw(POSITION)}]"
    return text + draw(ENDS)


@st.composite
def bodies(draw: Any, name: str) -> str:
    kind = draw(st.integers(0, 15))
    x = f"${name}"
    simple = [
        x, f"{x}/b", f"<e>{{{x}/b, {x}/@i}}</e>", f"count({x}//b)", f"string({x}/../@i)", f"name({x}/..)",
        f"{x}/b[1]", f"string({x})", f"if ({x}/b) then {x}/@i else <n/>", f"sum({x}/b[. castable as xs:double])",
        f"({x}/@i, {x}/b/text())", f"let $k := {x}/c return <k>{{$k, count($k)}}</k>",
        f"for $y in {x}/* order by string($y) return name($y)", f"{x}/*[last()]", f"{x} ! (b, c)",
    ]  # fmt: skip
    if kind < len(simple):
        return simple[kind]
    return draw(paths(x))


@st.composite
def loops(draw: Any) -> str:
    source = draw(paths())
    where = draw(st.sampled_from(["", "", "where $x/b", "where $x/@i = 1", "where $x/b = 2 and $x/c", "where $n > 1"]))
    before = "let $n := count(//b) " if "$n" in where or draw(st.booleans()) else ""
    second = draw(st.sampled_from(["", "", "for $y in $x/b ", "let $y := $x/b ", "for $y at $p in $x/* "]))
    order = draw(st.sampled_from([""] * 7 + ["order by string($x)"]))
    body = draw(bodies("y" if second else "x"))
    return f"{before}for $x in {source} {second}{where} {order} return {body}"


STEPS = st.sampled_from(["name()", "b", "string()", "count(b)", "../@i", "position()"])
CHOICES = st.sampled_from(["true()", "//a", "count(//b) > 2", "/r/@i = 1"])
SEQUENCES = st.one_of(
    paths(),
    loops(),
    st.builds("({} {} {})".format, paths(), st.sampled_from(["|", "intersect", "except"]), paths()),
    st.builds("({}) ! ({})".format, paths(), STEPS),
    st.builds("({})[{}]".format, paths(), CONDITION),
    st.builds("(if ({}) then {} else ())".format, CHOICES, paths()),
    st.builds("(for $z in /r where {} return $z/{})".format, CHOICES, TESTS),
)
AGGREGATES = st.sampled_from(
    [
        "count({})", "exists({})", "empty({})", "not({})", "string-join({}, '-')", "distinct-values({})", "head({})",
        "tail({})", "subsequence({}, 2, 2)", "({})[2]", "({})[position() <= 2]", "({})[last()]", "({})[1]/b",
        "max(({}) ! string())", "fold-left({}, 0, function($s, $x) {{ $s + count($x/b) }})", "(({})[2], count({}))",
        "some $q in {} satisfies $q = '2'", "every $q in {} satisfies $q/@i", "{} = '1'", "sum(({}) ! count(*))",
        "<w>{{{}}}</w>", "<w n='{{count({})}}'>{{{}}}</w>", "(count({}), {})", "avg(({}) ! count(b))", "({})[2][b]",
        "if ({}) then 1 else 2", "let $all := {} return (count($all), $all)", "reverse({})",
        "for-each({}, function($f) {{ $f/b }})", "for $i in 1 to 3 return count(({})[@i = $i])",
        "for $i in 1 to 3 return <g>{{//a[b = $i]/c}}</g>", "for $i in ('1', '2') return sum(//b[@i = $i] ! 1)",
        "for $i in 1 to 2 let $p := //a[@i = $i] return count($p/b)", "for $x in {} return count(//a)",
        "for $i in 1 to 2, $j in ('1', 'x') return count(for $t in //a where $t/b = $i and $t/@j = $j return $t/c)",
        "fold-right({}, (), function($x, $r) {{ (name($x), $r) }})",
        "let $m := count({}) for $x in //a return $x/b[$m]",
        "for $x in subsequence({}, 1, 2) return ($x/.., $x/b)", "(({})[1] | ({})[2])", "({})[2][../b]",
        "let $f := head({}) return ($f/../@i, $f/b)", "let $f := ({})[2] let $g := head({}) return $f is $g",
        "declare function local:up($x) {{ $x/../b }}; local:up(head({}))", "head({})/b[../../b]",
        "for $i in 0 to 2 for $j in (1, 2) return count(//a[b = $i and @i = $j]/c)",
        "declare variable $z := 2; for $i in 1 to $z return <n>{{//a[c = $i]/b}}</n>",
        "for $i in 1 to 2 let $k := $i + 1 return count(//a[b = $k])",
        "(head(//a), for $x in //b where $x/@i = head(//a)/@i return $x)", "count(({}, {}))",
        "exists(({}, //d))", "max((//a/b, //b) ! string())", "for $s in ({}, {}) return name($s)",
        "declare function local:n($p) {{ if (empty($p)) then 0 else max((count($p[1]/*), local:n(tail($p)))) }};"
        " local:n({})",
        "declare function local:n($p, $a) {{ if (exists($p)) then local:n(tail($p), ($a, name(head($p)))[last()])"
        " else $a }}; local:n({}, 'none')",
        "declare variable $v := {}; declare function local:f($x) {{ $x/b, count($v) }}; local:f({})",
    ]
)  # fmt: skip


@st.composite
def queries(draw: Any) -> str:
    first = draw(SEQUENCES)
    return draw(AGGREGATES).format(first, draw(SEQUENCES)) if draw(st.booleans()) else first


LAW = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize=True,
)


@given(queries(), documents(), st.data())
@LAW
def test_a_query_on_the_pieces_is_the_query_on_the_whole(query: str, document: Element, data: Any) -> None:
    assume(len(query) < 400)

    def some(places: list[int]) -> list[int]:
        return sorted(data.draw(st.sets(st.sampled_from(places), max_size=3))) if places else []

    check(query, document, everywhere)
    check(query, document, some)


# ------------------------------------------------------------------------------------------- the papers' queries, XMark

FIXTURES = FilePath(__file__).parents[1] / "fixtures"


@cache
def generated(name: str) -> Element:
    match name:
        case "xmark":
            return from_xml(b"".join(xmark.document(0.0004, 7)).decode())
        case "satellite":
            return from_xml(b"".join(satellite.document(0.0002, 3)).decode())
        case "microscope":
            return from_xml(b"".join(microscope.document(0.0002, 3)).decode())
        case "items":
            return from_xml(b"".join(items.document(0.0001, 3)).decode())
        case _:
            places = [(1, 2), (0, 4), (2, 2), (1, 3), (3, 3)]
            pixels = [f"<pixel><x>{x}</x><y>{y}</y></pixel>" for x, y in places]
            return from_xml(f"<stream>{''.join(pixels)}</stream>")


def some_of(places: list[int]) -> list[int]:
    """A handful of places, all over the document."""
    return sorted({places[len(places) * n // 7] for n in range(7)}) if places else []


@pytest.mark.parametrize("path", sorted((FIXTURES / "xmark").glob("*.xq")), ids=lambda path: str(path.stem))
def test_xmark_in_pieces(path: FilePath) -> None:
    check(path.read_text(), generated("xmark"), some_of)


@pytest.mark.parametrize("path", sorted((FIXTURES / "papers").glob("vldb05-*.xq")), ids=lambda path: str(path.stem))
def test_queries_of_vldb05_in_pieces(path: FilePath) -> None:
    text = path.read_text()
    name = text[3 : text.index(".")]
    check(re.sub(r'stream\("\w+"\)', ".", text), generated(name), everywhere if name == "pixels" else some_of)


@pytest.mark.parametrize(
    "query",
    [
        "(/r/a//@i) ! name()",  # an attribute stands with its element in every piece
        "//b/ancestor::*/string(@i)",  # each step of a path merges its nodes
        "for $i in 1 to 3 return count(//a[b = $i]/c)",  # the key and the item are parts of one record
        "for $x in subsequence(//b, 1, 2) return $x/../c",  # what was kept of the document is not all of it
        "sum(/r/@i)",
        "for $x in //a return <e>{$x/../@i}</e>",
        "head(//c)/preceding-sibling::b",
    ],
)
def test_what_went_wrong_once(query: str) -> None:
    text = '<r i="1"><a i="1"><b>1</b><c>x</c><a i="2"><b>2</b><c/><b>1</b></a></a><b/><c/><a><b>1</b><c/></a></r>'
    check(query, from_xml(text), everywhere)


@pytest.mark.parametrize("seed", range(60))
def test_queries_on_all_axes_are_split_rightly_or_not_at_all(seed: int) -> None:
    random = Random(seed)
    document = from_xml(f"<r>{random.document()}{random.document()}</r>")
    for _ in range(3):
        check(random.query(), document, everywhere)
