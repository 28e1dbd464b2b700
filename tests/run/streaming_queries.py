"""Random queries of the kinds that stream: loops over records, aggregates, slices, folds, groups, nests, two passes."""

from __future__ import annotations

import random

NAMES = "abcd"
VALUES = ("1", "2", "3", "10", "x")


class Streaming:
    """One sequence of documents and queries over them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def some(self, share: float) -> bool:
        return self.random.random() < share

    # --------------------------------------------------------------------------------------------------- documents

    def document(self) -> str:
        inner = "".join(self.element(1) for _ in range(self.random.randint(1, 6)))
        return f'<r i="{self.one(*VALUES)}">{self.one("", "t")}{inner}</r>'

    def element(self, level: int) -> str:
        name = self.one(*NAMES)
        keys = "".join(f' {key}="{self.one(*VALUES)}"' for key in "ij" if self.some(0.5))
        if level > 3 or self.some(0.3):
            return f"<{name}{keys}>{self.one('', *VALUES)}</{name}>"
        mixed = self.some(0.15)
        parts = [self.element(level + 1) for _ in range(self.random.randint(0, 4))]
        return f"<{name}{keys}>{self.one('t', ' ', '<!--c-->').join(parts) if mixed else ''.join(parts)}</{name}>"

    # ----------------------------------------------------------------------------------------------------- queries

    def name(self) -> str:
        return self.one(*NAMES, "*")

    def condition(self) -> str:
        return self.one(
            "@i", "b", "not(c)", "b = '2'", "@j = 1", "count(*) > 1", ".//d = 'x'", "../@i = '1'", "ancestor::a",
            "b[1] = 'x'", "a or @i = 3", "contains(., '1')", "some $s in * satisfies $s/@i", ". = '1'", "*[last()]/@j",
        )  # fmt: skip

    def position(self) -> str:
        return self.one("1", "2", "3", "last()", "position() > 1", "position() <= 2")

    def path(self, start: str = "") -> str:
        steps = self.random.randint(1, 3)
        text = start
        for number in range(steps):
            deep = self.some(0.35)
            text += "//" if deep else "/"
            text += "r" if not start and not number and not deep else self.name()
            if self.some(0.25):
                text += f"[{self.condition()}]"
            elif self.some(0.12):
                text += f"[{self.position()}]"
        return text + (self.one("/@i", "/text()", "/string()", "/..", "//@j", "/(b, c)") if self.some(0.3) else "")

    def body(self, x: str) -> str:
        return self.one(
            x, f"{x}/b", f"count({x}//*)", f"<e>{{{x}/@i, {x}/b}}</e>", f"string({x}/../@i)", f"{x}/*[1]/name()",
            f"if ({x}[{self.condition()}]) then name({x}) else <n/>", f"({x}/@j, {x}/c ! string())", f"{x}/*[last()]",
            f"sum(for $k in {x}/* return count($k/*))", f"for $k in {x}/* order by name($k) return name($k)",
            self.path(x),
        )  # fmt: skip

    def loop(self) -> str:
        first = "let $n := count(//b) " if self.some(0.2) else ""
        text = f"{first}for $x in {self.path()} "
        x = "$x"
        if self.some(0.25):
            text += self.one("for $y in $x/* ", "let $y := $x/b ", "for $y in $x//c ")
            x = "$y"
        if self.some(0.4):
            text += f"where $x[{self.condition()}] "
        if first and self.some(0.7):
            text += "where count($x/*) < $n "
        if self.some(0.06):
            text += "order by string($x) "
        return f"{text}return {self.body(x)}"

    def sequence(self) -> str:
        kind = self.random.random()
        if kind < 0.4:
            return self.path()
        if kind < 0.8:
            return self.loop()
        if kind < 0.9:
            return f"({self.path()} {self.one('|', 'intersect', 'except')} {self.path()})"
        return f"({self.path()}) ! ({self.one('name(.)', 'b', 'count(*)', '../@i')})"

    def query(self) -> str:
        e, other = self.sequence(), self.sequence()
        return self.one(
            e, e, e, f"count({e})", f"exists({e})", f"empty({e})", f"string-join(({e}) ! string(.), '+')",
            f"distinct-values({e})", f"({e})[{self.position()}]", f"head({e})", f"subsequence({e}, 2, 2)",
            f"max(({e}) ! string(.))", f"sum(({e}) ! count(.))", f"<w n='{{count({e})}}'>{{{other}}}</w>",
            f"({e}), count({other})", f"count({e}), ({other})", f"let $all := {e} return (count($all), {other})",
            f"fold-left({e}, 0, function($s, $x) {{ 2 * $s + count($x) }})", f"{e} = '1'",
            f"for $i in 1 to 3 return count(//{self.name()}[count(*) = $i])",
            f"for $i in ('1', '2', 'x') return <g>{{//{self.name()}[@i = $i]/{self.name()}}}</g>",
            f"for $i in ('1', '2') for $j in ('1', '3') return count(//{self.name()}[@i = $i and @j = $j])",
            f"every $q in {self.path()} satisfies $q/@i", f"if ({e}) then 1 else ({other})",
            f"for $q in /r/* return <q>{{name($q), count($q//{self.name()})}}</q>",
            f"/r[{self.condition()}]/{self.name()}", f"/r/*[{self.position()}]/{self.name()}",
        )  # fmt: skip
