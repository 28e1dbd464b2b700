"""Queries drawn otherwise: where a grammar by operators is silent.

Sequences in an order of their own that are named and then looked into; nodes that are no elements, at any place; values
that come to no text; every axis behind every condition; positions among all children beside children by name.
"""

from __future__ import annotations

from random import Random

from law_paths import Nodes, Paths
from law_streams import Shape

AXES = (
    "child", "descendant", "descendant-or-self", "self", "parent", "ancestor", "ancestor-or-self", "following-sibling",
    "preceding-sibling", "following", "preceding",
)  # fmt: skip
KINDS = (
    "processing-instruction()", "processing-instruction(p)", "processing-instruction('q')", "comment()", "text()",
    "node()",
)  # fmt: skip
EMPTY = ('""', "()", "string(@none)", '("", "")', 'text { "" }', "@none", '("", 1)', '(1, "")', '"x"', "1")


class Other(Paths):
    """Queries over some streams; each method draws one form."""

    def other(self) -> str:
        kinds = {self.reordered: 5, self.no_elements: 4, self.without_text: 4, self.any_axis: 6, self.among_all: 4}
        return self.r.choices(list(kinds), list(kinds.values()))[0]()

    # ---------------------------------------------------------------------------------------------- order

    def in_another_order(self) -> str:
        """A sequence of elements that is, perhaps, not in document order."""
        over = self.path()
        text, at = self.clauses(over)
        key = self.r.choice([f"string({at.text}/@n)", f"{at.text}/@n", f"count({at.text}/*)", f"string({at.text})"])
        descending = self.r.choice(["", " descending"])
        n = self.variable()
        forms = [
            f"reverse({over.text})", f"reverse({over.text})", f"tail(reverse({over.text}))",
            f"({text}order by {key}{descending} return {at.text})",
            f"({text}order by {key}{descending} return {self.relative(at).text})",
            f"sort({over.text}, (), function($e) {{ string($e/@n) }})", f"sort({over.text}, (), string#1)",
            f"({over.text}, {self.path().text})", f"({over.text})[last()], {over.text}",
            f"insert-before({over.text}, 1, ({self.path().text})[last()])", f"remove(reverse({over.text}), 1)",
            f"for {n} in reverse(1 to 3) return ({over.text})[{n}]", f"subsequence(reverse({over.text}), 1, 2)",
            f"({text}group by {n} := string({at.text}/@n) order by {n} descending return {at.text})",
            f"fold-right({over.text}, (), function($e, $s) {{ $s, $e }})", f"reverse(({over.text})[position() < 4])",
            f"reverse(({over.text})[@n])", f"for-each(reverse({over.text}), function($e) {{ $e/* }})",
        ]  # fmt: skip
        return self.r.choice(forms)

    def looked_into(self, name: str) -> str:
        """What is asked of a sequence that has a name."""
        self.functions["of"] = "declare function local:of($s) { $s/@n/string() }; "
        forms = [
            f"{name}/@n/string()", f"{name}/@n/string()", f"{name}/*", f"{name}//k", f"{name}/..", f"{name}/name()",
            f"{name}/.", f"{name}[1]/@n/string()", f"{name}[last()]/*", f"{name} ! name()", f"{name}/(. | *)/name()",
            f"({name} | {name})/name()", f"count({name}/*)", f"for $e in {name} return <o>{{ $e/@n, name($e) }}</o>",
            f"for $e in {name}/* return name($e)", f"string-join({name}/@n, '-')", f"head({name})/*/name()",
            f"{name}[@n]/@n/string()", f"local:of({name})", f"{name}/string(@n)", f"<o>{{ {name}/* }}</o>",
            f"typeswitch ({name}) case $c as element()+ return $c/name() default $d return count($d)",
            f"for $e in {name} group by $g := exists($e/@n) order by $g return <g>{{ $e/@n/string() }}</g>",
            f"some $e in {name}/k satisfies $e = '2'", f"sum({name}//v[. castable as xs:double])",
            f"{name}/descendant-or-self::*/name()", f"({name}/k, {name}/@n/string())", f"{name}[2]/../name()",
        ]  # fmt: skip
        return self.r.choice(forms)

    def reordered(self) -> str:
        """A variable bound to a sequence in another order, and what is asked of it."""
        kind = self.r.random()
        if kind < 0.6:
            name = self.variable()
            asked = self.looked_into(name)
            if self.chance(0.3):
                asked = f"({asked}, {self.looked_into(name)})"
            return f"let {name} := ({self.in_another_order()}) return {asked}"
        if kind < 0.8:
            text, at = self.clauses(self.path())
            key, name = self.variable(), self.variable()
            inner = self.r.choice([f"reverse({at.text})", f"sort({at.text}, (), string#1)", f"({at.text})[last()]"])
            return (
                f"{text}group by {key} := string({at.text}/@m) let {name} := {inner} order by {key} "
                f"return <g>{{ {self.looked_into(name)} }}</g>"
            )
        text, at = self.clauses(self.path(steps=1))
        name, below = self.variable(), self.relative(at).text
        inner = self.r.choice([f"reverse({below})", f"sort({below}, (), string#1)", f"({below}, {below})"])
        return f"{text}let {name} := {inner} return <o>{{ {self.looked_into(name)} }}</o>"

    # ---------------------------------------------------------------------------------------------- kinds

    def no_elements(self) -> str:
        """Comments, instructions and texts: anywhere, by name, by position, in conditions, around elements."""
        kind = self.r.choice(KINDS)
        over = self.source() if self.chance(0.5) else self.path()
        found = f"{over.text}{self.r.choice(['//', '//', '/'])}{kind}"
        forms = [
            found, found, f"count({found})", f"exists({found})", f"{found}/..", f"{found}/string()", f"({found})[1]",
            f"{found}/name()", f"({found})[last()]/string()", f"for $c in {found} return <c>{{ $c }}</c>",
            f"string-join({found}, '-')", f"distinct-values({found})", f"for $c in {found} order by $c return $c",
        ]  # fmt: skip
        if self.chance(0.4):
            text, at = self.clauses(self.path())
            inner = f"{at.text}{self.r.choice(['/', '//'])}{kind}"
            where = self.r.choice(["", f"where {inner} ", f"where not({inner}) ", f"where count({inner}) > 1 "])
            made = self.r.choice([f"count({inner})", inner, f"<o>{{ {inner} }}</o>", f"name({at.text})"])
            return f"{text}{where}return {made}"
        return self.r.choice(forms)

    # ---------------------------------------------------------------------------------------------- no text

    def without_text(self) -> str:
        """Values that come to no text, in and around new elements, among other values."""
        text, at = self.clauses(self.path())
        values = [self.r.choice(EMPTY) for _ in range(self.r.choice([1, 1, 2]))]
        value = ", ".join(one.replace("@none", f"{at.text}/@none") for one in values)
        if self.chance(0.3):
            value = f"if ({self.condition(at)}) then {self.r.choice(EMPTY[:2])} else {self.r.choice(EMPTY[6:])}"
            value = value.replace("@none", f"{at.text}/@none")
        loop = f"{text}{f'where {self.condition(at)} ' if self.chance(0.3) else ''}return ({value})"
        forms = [
            f"<o>{{ {loop} }}</o>", f"<o>{{ {loop} }}</o>", loop, f"<o>{{ {loop} }}<i/>{{ {loop} }}</o>",
            f"<o a='{{ {loop} }}'/>", f"<o>{{ {loop}, {self.path().text}/@n/string() }}</o>", f"string-join(({loop}))",
            f"<o><i>{{ {loop} }}</i>{{ {self.path().text} }}</o>", f"<o>x{{ {loop} }}y</o>",
            f"<o>{{ ({loop}, '') }}</o>",
        ]  # fmt: skip
        return self.r.choice(forms)

    # ---------------------------------------------------------------------------------------------- axes

    def any_axis(self) -> str:
        """Any axis, behind any condition, of the root element too."""
        source = self.source()
        every = frozenset(source.shape.tags)
        if self.chance(0.25):
            roots = frozenset(source.shape.roots)
            one = source.to(f"{source.text}/{source.shape.tags[min(roots)].name}", roots)
        else:
            one = self.named(source, self.r.choice(["//", "//", "/*/"]), every, leaves=self.chance(0.3))
        names = sorted({tag.name for tag in source.shape.tags.values()})
        near = one.to(".", one.tags)
        condition = self.r.choice([". != 'u'", "@n", self.condition(near), self.condition(near), self.predicate(near)])
        test = self.r.choice([*names, "*", "node()", "element()"])
        later = self.r.choice(["", "", f"[{self.r.choice(['1', 'last()', '2', '@n', '. = 2', 'k'])}]"])
        step = f"{self.r.choice(AXES)}::{test}{later}"
        made = f"{one.text}[{condition}]/{step}" if self.chance(0.8) else f"{one.text}[{step}][{condition}]"
        made += self.r.choice(["", "", "/name()", "/@n/string()", "/*", "/..", f"/{self.r.choice(AXES)}::*"])
        if made.endswith("()"):
            return made
        forms = [made, f"exists({made})", f"count({made})", f"for $e in {made} return <e>{{ $e/@n, name($e) }}</e>"]
        return self.r.choice([*forms, f"({made})[1]", f"({made})[last()]/name()", f"not({made})"])

    # ---------------------------------------------------------------------------------------------- positions

    def among_all(self) -> str:
        """Children by their number among all, beside children by name."""
        over = self.path() if self.chance(0.5) else self._all_with()
        text, at = self.clauses(over)
        x = at.text
        number = self.r.choice(["1", "2", "last()", "position() = 2", "last() - 1", "position() < 3"])
        child = self.r.choice(["*", "*", "node()", "element()"])
        one = f"{x}/{child}[{number}]"
        named = self.relative(at, leaf=self.r.choice("kvt")).text
        told = self.r.choice([f"{one}/name()", f"{one}/string()", f"count({one})", one, f"{one}/@n/string()"])
        if self.chance(0.25):
            cases = "case element(k) return 'K' case element(v) return 'V' case text() return 'T'"
            told = f"typeswitch (({one})[1]) {cases} default return 'D'"
        body = self.r.choice([f"({told}, {named}/string())", f"<o>{{ {told}, {named} }}</o>", f"({named}, {told})"])
        kind = self.r.random()
        if kind < 0.5:
            return f"{text}return {body}"
        if kind < 0.7:
            return f"subsequence(({text}return {body}), 1, {self.r.randint(2, 4)})"
        if kind < 0.85:
            leaf = self.r.choice("kvt")
            return f"{over.text}/({child}[{number}]/name(), {leaf}/string())"
        shown = self.r.choice(["name()", "*", "k"])
        return f"{over.text}[{child}[{number}]/name() = '{self.r.choice('kvtab')}']/{shown}"

    def _all_with(self) -> Nodes:
        """``//*[k]``: all elements with a child of a name."""
        source = self.source()
        return source.to(f"{source.text}//*[{self.r.choice('kvt')}]", frozenset(source.shape.tags) - {1})


def draw_other(r: Random, shapes: dict[str, Shape], longest: int = 500) -> str:
    """A query over streams of these shapes."""
    while True:
        grammar = Other(r, shapes)
        body = grammar.other()
        declared = "".join(text for name, text in grammar.functions.items() if f"local:{name}(" in body)
        if len(declared + body) <= longest:
            return declared + body
