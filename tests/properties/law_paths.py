"""Random paths, conditions and values over streams of known shapes: what queries are made of.

Paths follow the tag structure most of the time, so that they find something; the rest steps anywhere. What compares or
adds numbers does so on elements that hold numbers, so that errors are answers now and then, but not mostly.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from law_streams import Shape

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


class Paths:
    """Paths over some streams, and what is said of their items. ``functions`` are declared as they are called."""

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

    def clauses(self, over: Nodes) -> tuple[str, Nodes]:
        one = self.variable()
        at = over.to(one, over.tags)
        return f"for {one} in {over.text} ", at
