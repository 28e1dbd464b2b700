"""Random queries over streams of known shapes: a grammar of every operator of the algebra.

Paths follow the tag structure most of the time, so that they find something; the rest steps anywhere. What compares or
adds numbers does so on elements that hold numbers, so that errors are answers now and then, but not mostly.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from law_streams import LEAVES, Shape

AGGREGATES = ("count", "sum", "avg", "min", "max", "exists", "empty", "distinct-values", "string-join")
REVERSE = (
    "/..", "/../..", "/..", "/ancestor::*", "/parent::*", "/ancestor-or-self::*", "/preceding-sibling::*",
    "/following-sibling::*[1]", "/preceding-sibling::*[1]", "/following-sibling::node()", "/following::*",
    "/preceding::*",
)  # fmt: skip
SPANS = ("now", "now-PT36H,now", "now-P1D,now", "2003-11-02,2003-11-04", "start,2003-11-03", "2003-11-02T09:30:00")
NUMBERED = ("1", "last", "last-1,last", "2", "1,2")
ALLEN = ("before", "after", "meets", "overlaps", "during", "contains", "equals", "startedBy")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Nodes:
    """An expression that gives elements: its text, of which shape they are, and with which tags they may be."""

    text: str
    shape: Shape
    tags: frozenset[int]

    def to(self, text: str, tags: frozenset[int]) -> Nodes:
        return Nodes(text, self.shape, tags)


class Grammar:
    """Queries over some streams. ``functions`` are declared as they come to be called."""

    def __init__(self, r: Random, shapes: dict[str, Shape]) -> None:
        self.r = r
        self.shapes = shapes
        self.functions: dict[str, str] = {}
        self.names = 0
        self.temporal = any(shape.timed and shape.declared for shape in shapes.values())

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def variable(self) -> str:
        self.names += 1
        return f"$x{self.names}"

    def query(self) -> str:
        """A whole query."""
        shapes = {
            self.selection: 3, self.aggregate: 4, self.loop: 6, self.join: 4, self.grouped: 3, self.sorted: 3,
            self.nested: 4, self.merged: 3, self.sliced: 2, self.quantified: 2, self.recursive: 2, self.windowed: 1,
            self.bound: 3, self.constructed: 3, self.chosen: 1, self.mapped: 1, self.numbered: 3, self.placed: 2,
            self.around: 4,
        }  # fmt: skip
        body = self.r.choices(list(shapes), list(shapes.values()))[0]()
        if self.chance(0.12):
            body = f"({body}, {self.aggregate()})"
        return "".join(self.functions.values()) + body

    # ---------------------------------------------------------------------------------------------- paths

    def source(self, stream: str | None = None) -> Nodes:
        name = stream or self.r.choice(list(self.shapes))
        shape = self.shapes[name]
        return Nodes(f'stream("{name}")', shape, frozenset({0}))

    def path(self, of: Nodes | None = None, steps: int | None = None, stream: str | None = None) -> Nodes:
        """A path of elements from some, or from a stream: mostly to what has children of its own."""
        at = of or self.source(stream)
        for number in range(steps or self.r.choice([1, 1, 2, 2, 3])):
            inner = [child for child in self.children(at) if at.shape.tags[child].children]
            if number and not inner:
                break
            at = self.step(at, first=of is None and number == 0, leaves=self.chance(0.2) or not inner)
        return at

    def step(self, at: Nodes, *, first: bool = False, filters: float = 0.15, leaves: bool = True) -> Nodes:
        shape, everything = at.shape, frozenset(at.shape.tags)
        children = self.children(at)
        below = shape.below(children) | children
        kind = self.r.random()
        if kind < 0.08 and not first:
            made = at.to(at.text + self.r.choice(REVERSE), everything)
        elif kind < 0.13:
            made = at.to(at.text + "//*", below)
        elif kind < 0.2 or not children:
            made = at.to(at.text + "/*", children) if children else at.to(at.text + "/..", everything)
        elif kind < (0.75 if first else 0.45):
            made = self.named(at, "//", below, leaves)
        else:
            made = self.named(at, "/", children, leaves)
        if self.chance(filters):
            made = at.to(f"{made.text}[{self.predicate(made)}]", made.tags)
        if self.temporal and self.chance(0.08):
            made = at.to(made.text + self.projection(), made.tags)
        return made

    def children(self, at: Nodes) -> frozenset[int]:
        if 0 in at.tags:
            return frozenset(at.shape.roots)
        return frozenset(child for tag in at.tags for child in at.shape.tags[tag].children)

    def named(self, at: Nodes, axis: str, among: frozenset[int], leaves: bool) -> Nodes:
        inner = [at.shape.tags[tag].name for tag in sorted(among) if at.shape.tags[tag].children and tag != 1]
        if leaves or not inner:
            inner = [at.shape.tags[tag].name for tag in sorted(among)]
        name = self.r.choice([*inner, *inner, inner[0]])
        return at.to(f"{at.text}{axis}{name}", frozenset(tag for tag in among if at.shape.tags[tag].name == name))

    def projection(self) -> str:
        return f"?[{self.r.choice(SPANS)}]" if self.chance(0.7) else f"#[{self.r.choice(NUMBERED)}]"

    def relative(self, at: Nodes, *, leaf: str = "") -> Nodes:
        """A path from some elements, their own text to begin with; to a leaf of a name, if there is one."""
        below = at.shape.below(at.tags - {0}) if 0 not in at.tags else frozenset(at.shape.tags)
        wanted = [tag for tag in sorted(below) if at.shape.tags[tag].name == leaf]
        if wanted and self.chance(0.95):
            name = at.shape.tags[wanted[0]].name
            direct = any(child in wanted for tag in at.tags if tag for child in at.shape.tags[tag].children)
            made = at.to(f"{at.text}{'/' if direct else '//'}{name}", frozenset(wanted))
        else:
            made = self.step(at, filters=0.1) if self.children(at) else at
        if self.temporal and self.chance(0.1):
            made = at.to(made.text + self.projection(), made.tags)
        return made

    # ---------------------------------------------------------------------------------------------- conditions

    def predicate(self, at: Nodes) -> str:
        """Inside brackets: the context item is one of ``at``."""
        kind = self.r.random()
        if kind < 0.12:
            return self.r.choice(["1", "2", "last()", "position() = 2", "position() > 1", "last() - 1"])
        return self.condition(at.to(".", at.tags))

    def condition(self, at: Nodes, level: int = 0) -> str:
        kind = self.r.random()
        if kind < 0.15:
            return self.tidy(self.relative(at))
        if kind < 0.45:
            return f"{self.tidy(self.relative(at, leaf='v'))} {self.r.choice(OPERATORS)} {self.literal()}"
        if kind < 0.6:
            key = self.tidy(self.relative(at, leaf="k"))
            return f'{key} {self.r.choice(OPERATORS)} "{self.r.choice("123x")}"'
        if kind < 0.67:
            return f'{at.text}/@n = "{self.r.choice("123x")}"'.replace("./@", "@")
        if kind < 0.77:
            return f"count({self.tidy(self.relative(at))}) {self.r.choice(OPERATORS)} {self.r.randint(0, 2)}"
        if kind < 0.84:
            return f"{self.r.choice(['not', 'exists', 'empty'])}({self.tidy(self.relative(at))})"
        if kind < 0.88:
            return f'contains(string({at.text}), "{self.r.choice("12x")}")'
        if kind < 0.92 and self.temporal:
            other = self.r.choice(['xs:date("2003-11-03")', f"{at.text}/*"])
            return f"{at.text} {self.r.choice(ALLEN)} {other}"
        if level > 1:
            return f"not({self.tidy(self.relative(at))})"
        if kind < 0.95:
            inner = self.variable()
            over = self.relative(at)
            where = self.condition(over.to(inner, over.tags), level + 1)
            return f"({self.r.choice(['some', 'every'])} {inner} in {self.tidy(over)} satisfies {where})"
        return f"({self.condition(at, level + 1)} {self.r.choice(['and', 'or'])} {self.condition(at, level + 1)})"

    @staticmethod
    def tidy(nodes: Nodes) -> str:
        """A path from the context item as it is mostly written: without ``./``."""
        return nodes.text[2:] if nodes.text.startswith("./") and not nodes.text.startswith(".//") else nodes.text

    def literal(self) -> str:
        return str(self.r.choice([1, 2, 3, 5, 7, 2.5, 0]))

    def value(self, at: Nodes) -> str:
        """An atomic value, or none, of an element."""
        leaf = self.relative(at, leaf=self.r.choice("kvt")).text
        made = [
            f"string({at.text})", f"count({self.relative(at).text})", f"string(({leaf})[1])", f"name({at.text})",
            f"{at.text}/@n/string()", f"string-join({leaf}, '-')", f"sum({self.relative(at, leaf='v').text})",
            f"string-length({at.text})", f"exists({leaf})", f"max({self.relative(at, leaf='v').text} ! number())",
        ]  # fmt: skip
        if self.temporal and self.chance(0.3):
            made = [f"vtFrom({at.text})", f"vtTo({at.text})"]
        return self.r.choice(made)

    def result(self, at: Nodes, level: int = 0) -> str:
        """What a loop returns for one of its items."""
        kind = self.r.random()
        if kind < 0.25:
            return at.text
        if kind < 0.45:
            return self.relative(at).text
        if kind < 0.6:
            return self.value(at)
        if kind < 0.75:
            return f'<o n="{{{self.value(at)}}}">{{ {self.relative(at).text} }}</o>'
        if kind < 0.85:
            return f"<o>{{ {self.value(at)}, {self.value(at)} }}</o>"
        if kind < 0.9:
            return f"if ({self.condition(at)}) then {self.value(at)} else {at.text}"
        if level > 0:
            return f"element o {{ {self.relative(at).text} }}"
        inner = self.variable()
        over = self.relative(at)
        made = self.result(over.to(inner, over.tags), level + 1)
        return f"(for {inner} in {over.text} where {self.condition(over.to(inner, over.tags))} return {made})"

    # ---------------------------------------------------------------------------------------------- queries

    def selection(self) -> str:
        return self.path().text + self.r.choice(
            ["", "", "", "/text()", "/string()", "/@n/string()", "/name()", "/node()"]
        )

    def aggregate(self) -> str:
        name = self.r.choice(AGGREGATES)
        over = self.path(steps=self.r.choice([1, 2]))
        if name in ("sum", "avg", "min", "max"):
            text = self.relative(over, leaf="v").text
            return f"{name}({self.r.choice([text, f'{text}/number()', f'{text} ! xs:decimal(.)'])})"
        text = self.relative(over, leaf=self.r.choice(LEAVES)).text if self.chance(0.6) else over.text
        return f'string-join({text}, ",")' if name == "string-join" else f"{name}({text})"

    def clauses(self, over: Nodes) -> tuple[str, Nodes]:
        one = self.variable()
        at = over.to(one, over.tags)
        return f"for {one} in {over.text} ", at

    def loop(self) -> str:
        text, at = self.clauses(self.path())
        if self.chance(0.25):
            at_name = self.variable()
            text = text.replace(" in ", f" at {at_name} in ", 1)
            if self.chance(0.5):
                return f"{text}where {self.condition(at)} return <o at='{{{at_name}}}'>{{ {self.value(at)} }}</o>"
            return f"{text}where {at_name} mod 2 = 1 return {self.result(at)}"
        if self.chance(0.3):
            more, inner = self.clauses(self.relative(at))
            text, at = text + more, inner
        if self.chance(0.2):
            bound = self.variable()
            text += f"let {bound} := {self.value(at)} where exists({bound}) return ({bound}, {self.result(at)})"
            return text
        if self.chance(0.6):
            text += f"where {self.condition(at)} "
        return f"{text}return {self.result(at)}"

    def join(self) -> str:
        names = list(self.shapes)
        left = self.path(stream=names[0])
        right = self.path(stream=names[-1])
        first, a = self.clauses(left)
        second, b = self.clauses(right)
        key = self.r.choice(["k", "k", "v", "@n"])
        one, other = (f"{at.text}/@n" if key == "@n" else self.relative(at, leaf=key).text for at in (a, b))
        equal = f"{one} {'=' if self.chance(0.8) else self.r.choice(OPERATORS)} {other}"
        kind = self.r.random()
        if kind < 0.3:
            extra = f" and {self.condition(b)}" if self.chance(0.3) else ""
            return f"{first}{second}where {equal}{extra} return <j>{{ {self.value(a)}, {self.result(b)} }}</j>"
        inner = f"{second}where {equal} return {self.r.choice([b.text, self.relative(b).text])}"
        if kind < 0.5:
            return f"{first}return <j>{{ {self.value(a)}, ({inner}) }}</j>"
        if kind < 0.65:
            return f"{first}return ({self.value(a)}, {self.r.choice(['count', 'exists', 'empty'])}({inner}))"
        if kind < 0.75:
            matching = f"{right.text}[{self.tidy(self.relative(right.to('.', right.tags), leaf='k'))} = {one}]"
            return f"{first}return <j>{{ {matching} }}</j>"
        test = f"some {b.text} in {right.text} satisfies {equal}"
        if kind < 0.9:
            return f"{first}where {self.r.choice(['', 'not'])}({test}) return {self.result(a)}"
        ordered = f"let $m := ({inner}) where exists($m) order by count($m), string({a.text}) return <j>{{ $m }}</j>"
        return first + ordered

    def grouped(self) -> str:
        text, at = self.clauses(self.path())
        key, value = self.variable(), self.r.choice(["/@n", "/k[1]", "/name()", "/count(*)", "//k[1]"])
        if value in ("/k[1]", "//k[1]"):
            value = f"/string(({'.' + value})[1])"
        text += f"group by {key} := string({at.text}{value}) "
        if self.chance(0.5):
            order = self.r.choice([key, f"count({at.text})"])
            text += f"order by {order}{self.r.choice(['', ' descending'])}, {key} "
        inside = self.r.choice(
            [f"count({at.text})", at.text, f"sum({self.relative(at, leaf='v').text})", f"({at.text})[last()]/*"]
        )
        if self.temporal and self.chance(0.3):
            inside = f"{at.text}#[last]"
        return f'{text}return <g k="{{{key}}}">{{ {inside} }}</g>'

    def sorted(self) -> str:
        text, at = self.clauses(self.path())
        if self.chance(0.4):
            text += f"where {self.condition(at)} "
        keys = [
            f"number(({self.relative(at, leaf='v').text})[1])", f"string({at.text})", f"count({at.text}/*)",
            f"({self.relative(at, leaf='k').text})[1]", f"{at.text}/@n",
        ]  # fmt: skip
        chosen = [
            key + self.r.choice(["", " descending", " empty greatest", " empty least"])
            for key in self.r.sample(keys, self.r.choice([1, 1, 2]))
        ]
        return f"{text}stable order by {', '.join(chosen)} return {self.result(at)}"

    def nested(self) -> str:
        """A body that sums over its record, perhaps against another part of it."""
        text, at = self.clauses(self.path(steps=self.r.choice([1, 2])))
        inner = self.relative(at, leaf="v")
        total = f"{self.r.choice(['sum', 'count', 'avg', 'max'])}({inner.text})"
        if self.chance(0.5):
            return f"{text}where {total} {self.r.choice(OPERATORS)} {self.literal()} return {self.result(at)}"
        return f"{text}return <o>{{ {total}, {self.result(at)} }}</o>"

    def merged(self) -> str:
        a, b = self.path(), self.path()
        kind = self.r.choice(["|", ",", "intersect", "union", "except", "intersect"])
        text = f"({a.text} {kind} {b.text})".replace(" ,", ",")
        if kind != "," and self.chance(0.3):
            return f"count({text})"
        return text if self.chance(0.6) else f"{text}{self.r.choice(['/*', '/string()', '[1]', '[last()]', '//v'])}"

    def sliced(self) -> str:
        over = self.path()
        kind = self.r.choice(["[1]", "[2]", "[last()]", "[position() < 3]", "[position() > 1]", "subsequence", "tail"])
        if kind == "subsequence":
            return f"subsequence({over.text}, {self.r.randint(1, 3)}, {self.r.randint(1, 3)})"
        return f"{kind}({over.text})" if kind in ("tail",) else f"({over.text}){kind}"

    def numbered(self) -> str:
        """Tuples by their number, and choices that may be long."""
        over = self.path()
        text, at = self.clauses(over)
        n, bound = self.variable(), self.r.randint(1, 3)
        kind = self.r.random()
        if kind < 0.3:
            choices: tuple[str, ...] = (
                f"reverse({over.text})",
                f"remove({over.text}, {bound})",
                f"subsequence({over.text}, {bound})",
            )
            choices += (f"insert-before({over.text}, {bound}, <i/>)", f"({over.text})[last() - {bound}]")
            choices += (f"sort({over.text}/@n)", f"sort({over.text}, (), function($e) {{ string($e/@n) }})")
            return self.r.choice(choices)
        if kind < 0.5:
            chosen = self.r.choice([f"tail({over.text})", f"reverse({over.text})", f"({over.text})[position() > 1]"])
            return f"for {at.text} in {chosen} where {self.condition(at)} return {self.result(at)}"
        if kind < 0.6:
            key = f"string({at.text}/@n)"
            chosen = self.r.choice(["[last()]", f"[last() - {bound}]", f"[position() > {bound}]", f"[{bound}]"])
            return f"({text}order by {key} return {self.relative(at).text}){chosen}"
        if kind < 0.8:
            condition = self.r.choice([f"{n} > {bound}", f"{n} <= {bound}", f"{n} = {bound}", f"{n} mod 2 = 0"])
            text = text.replace(" in ", f" at {n} in ", 1)
            return f'{text}where {condition} return <o n="{{{n}}}">{{ {self.result(at)} }}</o>'
        order = f"order by string({at.text}/@n) " if self.chance(0.5) else f"where {self.condition(at)} "
        return f'{text}{order}count {n} return <o n="{{{n}}}">{{ {self.value(at)} }}</o>'

    def placed(self) -> str:
        """Positions among the children of each of some elements, and conditions on these."""
        over = self.path(steps=self.r.choice([1, 2]))
        position = self.r.choice(["[1]", "[2]", "[last()]", "[position() < 3]", "[position() > 1]", "[last() - 1]"])
        kind = self.r.random()
        if kind < 0.3:
            return self.relative(over).text + position + self.r.choice(["", "/*", "/string()"])
        if kind < 0.5:
            inner = self.tidy(self.relative(over.to(".", over.tags)))
            test, shown = self.r.choice(["", " = 2", "/*"]), self.r.choice(["@n/string()", "*"])
            return f"{over.text}[{inner}{position}{test}]/{shown}"
        text, at = self.clauses(over)
        if kind < 0.8:
            return f"{text}return <o>{{ {self.relative(at).text}{position}, {self.value(at)} }}</o>"
        step = self.r.choice(["$a + count($b/*)", "max(($a, count($b/*)))", "$a * 2 + count($b/*)"])
        return f"fold-left({over.text}, 1, function($a as xs:integer, $b) as xs:integer {{ {step} }})"

    def around(self) -> str:
        """What is about the place of elements at any depth: parents, ancestors, numbers, siblings; or of all."""
        source = self.source()
        every = frozenset(source.shape.tags)
        one = self.named(source, "//", every, leaves=True)
        if self.chance(0.2):
            one = source.to(source.text + "//*", every)
        name, others = one.text.rpartition("/")[2], sorted({tag.name for tag in source.shape.tags.values()})
        other = self.r.choice([*others, "*"])
        condition = f"[{self.condition(one.to('.', one.tags))}]" if self.chance(0.4) else ""
        axis = self.r.choice(["following-sibling", "preceding-sibling"])
        kind = self.r.random()
        if kind < 0.3:
            up = ["/..", "/parent::*", f"/parent::{other}", f"/ancestor::{other}", "/ancestor-or-self::*"]
            made = one.text + condition + self.r.choice(up)
        elif kind < 0.6:
            numbers = ["1", "2", "last()", "last() - 1", "position() > 1", "position() < 3", "position() < last()"]
            made = f"{one.text}{condition}[{self.r.choice(numbers)}]"
        elif kind < 0.7:
            made = f"{one.text}/{axis}::{self.r.choice([name, name, other])}{self.r.choice(['', '[1]', condition])}"
        elif kind < 0.8:
            beside = f"{axis}::{self.r.choice([name, name, other])}"
            made = f"{one.text}[{self.r.choice([beside, f'not({beside})'])}]"
        else:
            made = f"{source.text}//*[{self.condition(source.to('.', every))}]"
        made += self.r.choice(["", "", "/name()", "/@n/string()", "/count(*)"])
        if self.chance(0.2):
            return f"count({made})"
        if made[-1] == ")" or self.chance(0.6):
            return made
        text, at = self.clauses(one.to(made, every))
        return f"{text}return <o>{{ {self.value(at)} }}</o>"

    def quantified(self) -> str:
        over = self.path()
        one = self.variable()
        test = self.condition(over.to(one, over.tags))
        made = f"{self.r.choice(['some', 'every'])} {one} in {over.text} satisfies {test}"
        if self.chance(0.5):
            return made
        return f"if ({made}) then {self.path().text} else {self.aggregate()}"

    def recursive(self) -> str:
        """Linear recursive functions, and folds: associative and not."""
        numbers = f"{self.relative(self.path(steps=1), leaf='v').text}[. castable as xs:double]"
        kind = self.r.choice(["sum", "max", "join", "alternate", "fold"])
        steps = {
            "sum": "number($s[1]) + local:sum(tail($s))",
            "max": "max((number($s[1]), local:max(tail($s))))",
            "join": 'concat("(", string($s[1]), local:join(tail($s)), ")")',
        }
        if kind == "fold":
            return f"fold-left({numbers}, 0, function($a, $b) {{ $a * 2 + number($b) }})"
        if kind == "alternate":
            declared = "declare function local:alternate($acc, $s) { if (empty($s)) then $acc"
            declared += " else local:alternate(number($s[1]) - $acc, tail($s)) }; "
            self.functions["alternate"] = declared
            return f"local:alternate(0, {numbers})"
        zero = '""' if kind == "join" else "0" if kind == "sum" else "-1e9"
        self.functions[kind] = (
            f"declare function local:{kind}($s) {{ if (empty($s)) then {zero} else {steps[kind]} }}; "
        )
        return f"local:{kind}({numbers})"

    def windowed(self) -> str:
        kind = self.r.choice(["tumbling", "sliding"])
        return (
            f"for {kind} window $w in {self.path().text} start at $i when true() "
            f"{'only ' if kind == 'sliding' else ''}end at $j when $j = $i + 1 "
            "return <w>{ count($w), $w/@n/string() }</w>"
        )

    def bound(self) -> str:
        """A let of a whole sequence that is used more than once."""
        over = self.path()
        one, two = self.variable(), self.variable()
        kind = self.r.random()
        if kind < 0.3:
            return f"let {one} := {over.text} return (count({one}), {one}[1], {one}/*)"
        if kind < 0.6:
            at = over.to(two, over.tags)
            return f"let {one} := count({self.path().text}) for {two} in {over.text} return ({one}, {self.value(at)})"
        value = self.relative(over, leaf="v").text
        return f"let {one} := {value} for {two} in {one} where number({two}) >= avg({one} ! number()) return {two}"

    def constructed(self) -> str:
        over = self.path()
        text, at = self.clauses(over)
        kind = self.r.random()
        if kind < 0.4:
            return f"<all>{{ {text}where {self.condition(at)} return {self.result(at)} }}</all>"
        if kind < 0.6:
            return f'<all n="{{{self.aggregate()}}}"><in>{{ {over.text} }}</in>{{ {self.aggregate()} }}</all>'
        if kind < 0.8:
            return f"element {{ 'all' }} {{ attribute n {{ {self.aggregate()} }}, {text}return {self.result(at)} }}"
        return f"document {{ <all>{{ {over.text} }}</all> }}/all/{self.r.choice(['*', 'node()', '*[1]', 'count(*)'])}"

    def chosen(self) -> str:
        over = self.path()
        text, at = self.clauses(over)
        name = self.r.choice(["a", "b", "v", "k"])
        kind = self.r.random()
        if kind < 0.4:
            return f"{text}return typeswitch({at.text}) case element({name}) return {self.value(at)} default return 0"
        if kind < 0.7:
            cases = f"case '1' return 'one' case '2' return {at.text} default return ()"
            return f"{text}return switch (string({at.text}/@n)) {cases}"
        return f"{text}return try {{ xs:integer({at.text}) }} catch * {{ -1 }}"

    def mapped(self) -> str:
        over = self.path()
        kind = self.r.random()
        if kind < 0.4:
            self.functions["f"] = "declare function local:f($e as node()*) as xs:integer { count($e/*) + 1 }; "
            return f"{over.text} ! local:f(.)"
        if kind < 0.7:
            return f"let $f := function($e) {{ string($e/@n) }} return {over.text} ! $f(.)"
        return f"for-each({over.text}, function($e) {{ {self.result(over.to('$e', over.tags))} }})"


def draw_query(r: Random, shapes: dict[str, Shape], longest: int = 500) -> str:
    """A query over streams of these shapes."""
    while len(text := Grammar(r, shapes).query()) > longest:
        pass
    return text
