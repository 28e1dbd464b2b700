"""Random small documents and queries over them: paths on all axes, predicates, FLWORs, joins, quantifiers."""

from __future__ import annotations

import random

AXES = (
    "child", "descendant", "parent", "ancestor", "following-sibling", "preceding-sibling", "following", "preceding",
    "descendant-or-self", "ancestor-or-self", "self",
)  # fmt: skip
TESTS = ("a", "b", "c", "d", "*", "node()", "text()", "a", "b")
LONGEST = 400  # characters; longer queries take long and find nothing more


class Random:
    """One sequence of documents and queries."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def pick(self, *choices: str) -> str:
        return self.r.choice(choices)

    def document(self, level: int = 0) -> str:
        name = self.pick(*"abcd")
        keys = self.r.sample(["i", "j", "k"], self.r.randint(0, 2))
        start = name + "".join(f' {key}="{self.pick("1", "2", "3", "x", "")}"' for key in keys)
        if level > 3 or self.chance(0.3):
            return f"<{start}>{self.pick('', '1', '2', '3.5', 'x', '10')}</{name}>"
        parts = [
            self.document(level + 1) if self.chance(0.75) else self.pick("1", "t", " ", "<!--c-->", "<?p q?>")
            for _ in range(self.r.randint(1, 3))
        ]
        return f"<{start}>{''.join(parts)}</{name}>"

    def query(self) -> str:
        while len(text := self.expression([])) > LONGEST:
            pass
        return text

    # ------------------------------------------------------------------------------------------------- paths

    def step(self, scope: list[str], level: int) -> tuple[str, str]:
        """A separator and a step."""
        kind = self.r.random()
        separator = "/"
        if kind < 0.5:
            step = f"{self.pick(*AXES)}::{self.pick(*TESTS)}"
        elif kind < 0.8:
            step = self.pick(*TESTS)
        elif kind < 0.9:
            step = "@" + self.pick(*"ijk*")
        else:
            separator, step = "//", self.pick(*TESTS)
        if self.chance(0.35):
            step += f"[{self.predicate(scope, level + 1)}]"
        return separator, step

    def path(self, scope: list[str], level: int, start: str | None = None) -> str:
        if start is None:
            start = self.pick("/", "//", "", *[f"${name}" for name in scope] * 2)
        text = start
        for number in range(self.r.randint(1, 3)):
            separator, step = self.step(scope, level)
            text += step if not number and start in ("/", "//", "") else separator + step
        if self.chance(0.08):
            text = f"({text})[{self.pick('1', 'last()', '2', 'position() < 3')}]"
        if self.chance(0.06):
            text = f"({text} | {self.path(scope, level + 1) if level < 2 else '//a'})"
        if self.chance(0.08):
            text = f"({text})/{self.pick('(a|b)', '(@i, b)', '..')}"
        if level == 0 and self.chance(0.2):
            text += self.pick("/name()", "/position()", "/string(@i)", "/last()", "/count(*)")
        return text

    def predicate(self, scope: list[str], level: int) -> str:
        kind = self.r.random()
        if level > 2:
            return self.pick("1", "@i", "b", "last()", "position()=2", ". = 1")
        if kind < 0.15:
            return str(self.r.randint(1, 3))
        if kind < 0.36:
            number = self.r.randint(1, 3)
            compared = f"position() {self.pick('<', '>', '=', '!=')} {number}"
            return self.pick("last()", compared, "position() = last() - 1")
        if kind < 0.55:
            return self.path(scope, level, "")
        return self.condition(scope, level)

    # -------------------------------------------------------------------------------------- conditions, FLWORs

    def value(self, scope: list[str], level: int) -> str:
        kind = self.r.random()
        if kind < 0.25:
            return self.pick('"1"', '"x"', '"a"', '("1", "x")')
        if kind < 0.4:
            return self.pick("string(.)", "name()", "string(@i)", "@i", "@j", ".")
        return self.path(scope, level, self.pick("", *[f"${name}" for name in scope]))

    def condition(self, scope: list[str], level: int) -> str:
        kind = self.r.random()
        if kind < 0.5 or level > 3:
            sign = self.pick("=", "!=", "=", "<", ">=")
            return f"{self.value(scope, level + 1)} {sign} {self.value(scope, level + 1)}"
        if kind < 0.6:
            return f"not({self.condition(scope, level + 1)})"
        if kind < 0.7:
            return f"{self.condition(scope, level + 1)} {self.pick('and', 'or')} {self.condition(scope, level + 1)}"
        if kind < 0.8:
            return f"{self.pick('exists', 'empty')}({self.path(scope, level + 1)})"
        if kind < 0.9:
            return f"count({self.path(scope, level + 1)}) {self.pick('=', '>', '<')} {self.r.randint(0, 3)}"
        name = f"q{len(scope)}"
        source, test = self.path(scope, level + 1), self.condition([*scope, name], level + 2)
        return f"({self.pick('some', 'every')} ${name} in {source} satisfies {test})"

    def flwor(self, scope: list[str], level: int) -> str:
        text, scope = "", list(scope)
        for _ in range(self.r.randint(1, 3)):
            name = f"v{len(scope)}"
            text += f"for ${name} in " if self.chance(0.75) else f"let ${name} := "
            text += f"{self.path(scope, level + 1)} "
            scope.append(name)
            if self.chance(0.5):
                text += f"where {self.condition(scope, level + 1)} "
        last = f"${scope[-1]}"
        if self.chance(0.15):
            text += f"order by string({last}[1]), count({last}/*) "
        if self.chance(0.1):
            text += "count $c "
        results = (f"<r>{{{self.pick('name', 'count', 'string')}({last}[1])}}</r>", f"count({last}/*)")
        result = self.pick(*results) if self.chance(0.5) else self.expression(scope, level + 1)
        return f"({text}return {result})"

    def expression(self, scope: list[str], level: int = 0) -> str:
        kind = self.r.random()
        if level > 2 or kind < 0.35:
            return self.path(scope, level)
        if kind < 0.75:
            return self.flwor(scope, level)
        if kind < 0.82:
            return f"count({self.expression(scope, level + 1)})"
        if kind < 0.9:
            test, then = self.condition(scope, level + 1), self.expression(scope, level + 1)
            return f"(if ({test}) then {then} else {self.path(scope, level + 1)})"
        if kind < 0.95:
            return f"({self.expression(scope, level + 1)}, {self.expression(scope, level + 1)})"
        return f"<e>{{{self.expression(scope, level + 1)}}}</e>"
