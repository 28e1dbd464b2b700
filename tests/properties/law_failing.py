"""Queries of which an error is the answer now and then: one kind of error each, in a part that must be evaluated.

XQuery 3.1 §2.3.4 leaves it open whether an error is met in a part that need not be evaluated, and which of several is
met first. These leave neither open: every item counts in the answer, and all errors have the same code.
"""

from __future__ import annotations

from random import Random

from law_paths import Nodes, Paths
from law_streams import Shape


class Failing(Paths):
    """Queries over some streams that fail while the streams are such and such."""

    def query(self) -> str:
        kinds = (self.divided, self.divided, self.cast, self.cast, self.counted, self.raised, self.typed, self.made)
        body = self.r.choice(kinds)()
        if self.chance(0.15):
            body = f"({body}, {self.elements().text}/@n/string())"
        return "".join(self.functions.values()) + body

    def elements(self) -> Nodes:
        """Elements, by steps that cannot fail."""
        at = self.source()
        for number in range(self.r.choice([1, 1, 2])):
            children = self.children(at)
            if not children:
                break
            below = at.shape.below(children) | children
            at = self.named(at, "//", below, leaves=False) if not number else self.named(at, "/", children, leaves=True)
        return at

    def divided(self) -> str:
        """FOAR0001."""
        over = self.elements()
        text, at = self.clauses(over)
        by = f"(count({at.text}/{self.r.choice(['*', '@n', 'node()'])}) - {self.r.randint(0, 2)})"
        kind = self.r.random()
        if kind < 0.3:
            return f"{text}return 12 idiv {by}"
        if kind < 0.45:
            return f"{text}where 12 mod {by} >= 0 return {at.text}/@n/string()"
        if kind < 0.6:
            return f"{text}return <o n='{{ 12 idiv {by} }}'>{{ {at.text}/@n }}</o>"
        if kind < 0.75:
            return f"{text}order by 12 idiv {by} return {at.text}/@n/string()"
        if kind < 0.9:
            return f"{self.r.choice(['sum', 'max', 'min', 'avg'])}({text}return 12 idiv {by})"
        return f"12 idiv (count({over.text}) - {self.r.randint(1, 3)})"

    def cast(self) -> str:
        """FORG0001."""
        over = self.elements()
        text, at = self.clauses(over)
        key, to = f"{at.text}/@n/string()", self.r.choice(["xs:integer", "xs:date", "xs:double", "xs:boolean"])
        kind = self.r.random()
        if kind < 0.25:
            return f"{text}return {key} ! {to}(.)"
        if kind < 0.4:
            return f"{over.text}/@n/string() ! xs:integer(.)"
        if kind < 0.55:
            return f"{self.r.choice(['sum', 'avg', 'max'])}({over.text}/@n ! xs:decimal(string(.)))"
        if kind < 0.7:
            return f"{text}order by xs:integer(({key})[1]) return {key}"
        if kind < 0.85:
            return f"{text}group by $g := xs:integer(({key})[1]) order by $g return <g>{{ $g, count({at.text}) }}</g>"
        return f"{text}where xs:integer(({key})[1]) >= 2 return {key}"

    def counted(self) -> str:
        """FORG0003, FORG0004, FORG0005: how many there are."""
        over = self.elements()
        kind = self.r.choice(["exactly-one", "zero-or-one", "one-or-more"])
        if self.chance(0.5):
            return f"{kind}({over.text})/@n/string()"
        text, at = self.clauses(over)
        return f"{text}return {kind}({at.text}/{self.r.choice(['*', '@n'])}) ! name()"

    def raised(self) -> str:
        """FOER0000, by fn:error; caught, nothing."""
        over = self.elements()
        text, at = self.clauses(over)
        test = self.r.choice([f"count({at.text}/*) = 2", f"{at.text}/@n = '2'", f"empty({at.text}/*)"])
        if self.chance(0.3):
            return f"{text}return try {{ if ({test}) then error() else 1 }} catch * {{ name({at.text}) }}"
        return f"{text}return if ({test}) then error() else {at.text}/@n/string()"

    def typed(self) -> str:
        """XPTY0004, XPDY0050: one where there are several, another where it is this."""
        over = self.elements()
        kind = self.r.random()
        if kind < 0.4:
            return f"string({over.text})"
        if kind < 0.7:
            self.functions["one"] = "declare function local:one($e as element()) { name($e) }; "
            return f"local:one({over.text})"
        return f"name({over.text})" if kind < 0.85 else f"string({over.text}/@n)"

    def made(self) -> str:
        """XQDY0025: an attribute twice."""
        return f"<e>{{ {self.elements().text}/@n }}</e>"


def draw_failing(r: Random, shapes: dict[str, Shape]) -> str:
    """A query over streams of these shapes that fails at times."""
    return Failing(r, shapes).query()
