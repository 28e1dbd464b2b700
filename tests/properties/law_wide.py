"""More of XQuery than the algebra's operators: forms that people write, which the planner knows by their look.

Node comparisons, neighbours, clauses inside of a record's body, switches around parts of the answer, loops around
aggregates, recursion in all its spellings, kind tests, globals, function items, ancestors in conditions.
"""

from __future__ import annotations

from random import Random

from law_paths import OPERATORS, Nodes, Paths
from law_streams import Shape

AXES = ("preceding-sibling", "following-sibling")


class Wide(Paths):
    """Queries over some streams; each method draws one form."""

    def wide(self) -> str:
        kinds = {
            self.compared: 2, self.neighbours: 3, self.inside: 5, self.switched: 3, self.looped: 4, self.tested: 2,
            self.spelled: 3, self.declared: 2, self.given: 3, self.below_some: 4, self.together: 3, self.counted: 3,
            self.shown: 3, self.matched: 4, self.threshold: 3, self.written: 2, self.sided: 3, self.caught: 2,
        }  # fmt: skip
        return self.r.choices(list(kinds), list(kinds.values()))[0]()

    def key(self, at: Nodes) -> str:
        """Something to tell elements apart by."""
        return self.r.choice([f"{at.text}/@n", f"{at.text}/@m", self.relative(at, leaf="k").text])

    def compared(self) -> str:
        """By identity and by order in the document."""
        a, b = self.path(), self.path()
        op = self.r.choice(["is", "<<", ">>", "<<", ">>"])
        one = f"({b.text})[{self.r.choice(['1', 'last()', '2'])}]"
        kind = self.r.random()
        if kind < 0.4:
            return f"{a.text}[. {op} {one}]/{self.r.choice(['name()', '@n/string()', 'string()'])}"
        if kind < 0.7:
            first, x = self.clauses(a)
            second, y = self.clauses(b)
            return f"{first}{second}where {x.text} {op} {y.text} return <o>{{ name({x.text}), {self.value(y)} }}</o>"
        first, x = self.clauses(a)
        return f"{first}return <o>{{ {self.value(x)}, count({b.text}[. {op} {x.text}]) }}</o>"

    def sided(self) -> str:
        """Before and behind in the whole document."""
        source = self.source()
        every = frozenset(source.shape.tags)
        one, other = (self.named(source, "//", every, leaves=True) for _ in range(2))
        axis, name = self.r.choice(["following", "preceding"]), other.text.rpartition("/")[2]
        if self.chance(0.3):
            one = one.to(f"{one.text}[{self.condition(one.to('.', one.tags))}]", one.tags)
        test = self.r.choice([f"{axis}::{name}", f"not({axis}::{name})", f"{axis}::{name}[@n = '2']"])
        forms = [f"{one.text}/{axis}::{name}", f"{one.text}[{test}]", f"count({one.text}/{axis}::{name})"]
        made = self.r.choice([*forms, f"({one.text})[1]/{axis}::*"])
        return made if made[-1] == ")" else made + self.r.choice(["", "/@n/string()", "/name()", "/*"])

    def caught(self) -> str:
        """Errors that are caught."""
        over = self.path()
        value = self.relative(over, leaf=self.r.choice("kv")).text
        risky = self.r.choice(
            [f"sum({value})", f"max({value} ! xs:integer(.))", f"12 idiv count({over.text})", f"exactly-one({value})"]
        )
        caught = self.r.choice(["'none'", f"count({over.text})", "<e/>"])
        made = f"try {{ {risky} }} catch * {{ {caught} }}"
        return made if self.chance(0.6) else f"<all>{{ {made}, {self.path().text}/@n/string() }}</all>"

    def neighbours(self) -> str:
        """What stands before and behind."""
        over = self.path()
        text, at = self.clauses(over)
        kind = self.r.random()
        if kind < 0.3:
            n, by = self.variable(), self.r.choice(["- 1", "+ 1"])
            text = text.replace(" in ", f" at {n} in ", 1)
            return f"{text}return <o>{{ {self.value(at)}, string(({over.text})[{n} {by}]/@n) }}</o>"
        if kind < 0.5:
            made = self.r.choice(["concat($a/@n, $b/@n)", "<p>{ $a/@n, name($b) }</p>", "count($a/*) - count($b/*)"])
            return f"for-each-pair({over.text}, tail({over.text}), function($a, $b) {{ {made} }})"
        if kind < 0.7:
            n = self.variable()
            item = f"({over.text})[{n}]"
            return f'for {n} in 1 to count({over.text}) return <o n="{{{n}}}">{{ {item}/@n, name({item}) }}</o>'
        axis, name = self.r.choice(AXES), self.r.choice(["*", over.text.rpartition("/")[2].partition("[")[0]])
        if not name.isalpha() and name != "*":
            name = "*"
        return f"{text}return <o>{{ {self.value(at)}, {at.text}/{axis}::{name}[1]/@n/string() }}</o>"

    def inside(self) -> str:
        """Clauses in the body of a record."""
        text, at = self.clauses(self.path(steps=self.r.choice([1, 2])))
        over = self.relative(at)
        inner, one = self.clauses(over)
        kind = self.r.random()
        if kind < 0.25:
            made = f"{inner}order by string({one.text}){self.r.choice(['', ' descending'])} return {self.value(one)}"
        elif kind < 0.45:
            k = self.variable()
            made = f"{inner}group by {k} := name({one.text}) order by {k} "
            made += f'return <g k="{{{k}}}">{{ count({one.text}) }}</g>'
        elif kind < 0.6:
            n = self.variable()
            made = inner.replace(" in ", f" at {n} in ", 1) + f"return ({n}, {self.value(one)})"
        elif kind < 0.7:
            n = self.variable()
            made = f"{inner}order by string({one.text}/@n) count {n} return concat({n}, name({one.text}))"
        elif kind < 0.8:
            made = f"for tumbling window $w in {over.text} start at $s when true() end at $e when $e - $s = 1 "
            made += "return <w>{ count($w), $w/@n/string() }</w>"
        elif kind < 0.9:
            made = f"let $all := {over.text} return ($all[1]/@n/string(), count($all), $all[last()]/name())"
        else:
            made = f"for {one.text} allowing empty in {over.text} return <e>{{ {self.value(one)} }}</e>"
        where = f"where {self.condition(at)} " if self.chance(0.3) else ""
        return f'{text}{where}return <o n="{{ {at.text}/@n }}">{{ {made} }}</o>'

    def switched(self) -> str:
        """A choice around what the answer is made of."""
        many, one, other = self.path(), self.path(), self.path()
        kind = self.r.random()
        if kind < 0.3:
            cases = f"case 1 return {one.text} case 2 return <two>{{ {other.text} }}</two>"
            made = f"switch (count({many.text})) {cases} default return count({one.text})"
        elif kind < 0.5:
            test = self.r.choice(["element()", "element()+", "empty-sequence()", "element(a)*"])
            made = f"typeswitch ({many.text}) case $c as {test} return (count($c), {one.text})"
            made += f" default $d return <d>{{ $d/@n/string(), {other.text}/name() }}</d>"
        elif kind < 0.8:
            condition = self.r.choice([f"exists({many.text})", f"count({many.text}) > 1", f"{many.text}/@n = '2'"])
            made = f"if ({condition}) then {one.text} else {self.r.choice(['()', other.text, '<none/>'])}"
        else:
            text, at = self.clauses(many)
            made = f"{text}return typeswitch ({at.text}) case $e as element(a) return $e/@n/string()"
            made += f" case $e as element(b) return <b>{{ $e/* }}</b> default $e return {self.value(at)}"
        return made if self.chance(0.5) else f"<all>{{ {made} }}</all>"

    def looped(self) -> str:
        """Loops over what is no stream, around what is looked up by it."""
        over = self.path(steps=self.r.choice([1, 2]))
        near = over.to(".", over.tags)
        here = self.r.choice(
            [*[self.tidy(self.relative(near, leaf=leaf)) for leaf in "kv"], "@n", "../@n", "..", "../k"]
        )
        i, values = self.variable(), self.r.choice(["(1, 2, 3)", "1 to 3", '("1", "2", "x")', "(3, 2)"])
        more = f"[{self.condition(near)}]" if self.chance(0.4) else ""
        found = self.r.choice([f"{over.text}{more}[{here} = {i}]", f"{over.text}[{here} = {i}]{more}"])
        found += self.r.choice(["", "", "/@n/string()", "/*", "/name()"])
        made = self.r.choice([f"count({found})", found, f"<g>{{ {found} }}</g>", f"string-join({found}, ',')"])
        if self.chance(0.2):
            return f"({values}) ! (let {i} := . return {made})"
        return f"for {i} in {values} return {made}"

    def tested(self) -> str:
        """Tests of kinds, types and all that is not an element."""
        over = self.path(steps=self.r.choice([1, 2]))
        kinds = ["element()", "element(b)", "text()", "comment()", "processing-instruction()", "node()", "element(k)"]
        kind = self.r.random()
        if kind < 0.5:
            below = self.r.choice(["/", "//"]) + self.r.choice(kinds)
            return f"{over.text}{below}{self.r.choice(['', '/..', '/string()', '[1]'])}"
        if kind < 0.7:
            return f"{over.text}/{self.r.choice(['attribute(n)', 'attribute()', '@*', '@*[. = 2]'])}/name()"
        if kind < 0.85:
            return f"{over.text}/{self.r.choice(['(k | v)', '(v, k)', '(a | b)/@n', '(.|*)'])}/string()"
        wanted = self.r.choice(["element()+", "element(a)*", "empty-sequence()", "element()"])
        return f"{over.text} instance of {wanted}"

    def spelled(self) -> str:
        """Recursion over a sequence, as it is written here and there."""
        over = self.path()
        end = self.r.choice(["empty($s)", "count($s) = 0", "not(exists($s))", "count($s) lt 1"])
        first = self.r.choice(["$s[1]", "head($s)", "subsequence($s, 1, 1)"])
        rest = self.r.choice(["tail($s)", "subsequence($s, 2)", "remove($s, 1)", "$s[position() > 1]"])
        kind = self.r.choice(["list", "count", "keep", "longest", "steps"])
        bodies = {
            "list": f"<l>{{ {first}/@n, local:list({rest}) }}</l>",
            "count": f"count({first}/*) + local:count({rest})",
            "keep": f"(if ({first}/@n) then name({first}) else (), local:keep({rest}))",
            "longest": f"let $t := local:longest({rest}) return max((string-length({first}), $t))",
        }
        zeros = {"list": "()", "count": "0", "keep": '"end"', "longest": "0"}
        if kind == "steps":
            step = self.r.choice([f"concat($a, name({first}))", f"if ({first}/@n) then concat($a, '.') else $a"])
            body = f"if ({end}) then $a else local:steps({rest}, {step})"
            self.functions[kind] = f"declare function local:steps($s, $a) {{ {body} }}; "
            return f"local:steps({over.text}, '')"
        self.functions[kind] = (
            f"declare function local:{kind}($s) {{ if ({end}) then {zeros[kind]} else {bodies[kind]} }}; "
        )
        return f"local:{kind}({over.text})"

    def declared(self) -> str:
        """Variables and functions of the prolog that look at streams."""
        one = self.path()
        self.functions["all"] = f"declare variable $all := {self.r.choice([one.text, f'count({one.text})'])}; "
        text, at = self.clauses(self.path())
        kind = self.r.random()
        if kind < 0.4:
            return f"{text}where count($all) > 1 return ({self.value(at)}, $all[1] ! string())"
        if kind < 0.7:
            self.functions["of"] = "declare function local:of($e) { count($e/*) + count($all) }; "
            return f"{text}return local:of({at.text})"
        return f"(count($all), {text}return <o>{{ {self.value(at)} }}</o>, $all ! string())"

    def given(self) -> str:
        """Functions as values, arrows, and orders that are left open."""
        over = self.path()
        forms = [
            f"for-each({over.text}, name#1)", f"filter({over.text}, function($e) {{ $e/@n = '2' }})",
            f"{over.text} => count()", f"{over.text}/@n => distinct-values() => count()",
            f"{over.text} ! string() => string-join('|')", f"count(unordered({over.text}))",
            f"ordered {{ {over.text}/@n/string() }}", f"({over.text} treat as element()*)/name()",
            f"let $f := count#1 return {over.text} ! $f(*)", f"data({over.text}/@n)",
            f"apply(concat#2, [count({over.text}), 'x'])",
            f"fold-right({over.text}, '', function($e, $s) {{ name($e) || $s }})",
            f"index-of({over.text}/name(), 'b')", f"deep-equal({over.text}, {self.path().text})",
            f"{over.text} ! (name(), @n/string())", f"sort({over.text}/string())",
            f"sort({over.text}, (), count#1)[1]/name()",
        ]  # fmt: skip
        return self.r.choice(forms)

    def below_some(self) -> str:
        """Conditions on parents and ancestors, and what is found from these."""
        source = self.source()
        every = frozenset(source.shape.tags)
        one = self.named(source, "//", every, leaves=self.chance(0.4))
        names = sorted({tag.name for tag in source.shape.tags.values()})
        other, leaf = self.r.choice([*names, "*"]), self.r.choice("kvt")
        up = self.r.choice([f"ancestor::{other}", "..", f"parent::{other}", f"ancestor::{other}[@n]"])
        tests = [f"{up}/{leaf} = '{self.r.choice('12x')}'", f"{up}/{leaf}", f"{up}/@n = '2'", up, f"not({up}/{leaf})"]
        test = self.r.choice([*tests, f"count({up}/*) > 1", f"{up}/{leaf} = {leaf}", f"{self.r.choice(tests)} and @n"])
        kind = self.r.random()
        if kind < 0.5:
            return f"{one.text}[{test}]{self.r.choice(['', '/@n/string()', '/*', '/..', '/name()'])}"
        text, at = self.clauses(one)
        if kind < 0.7:
            above = self.variable()
            where = self.r.choice(["", f"[{leaf} = '2']", "[1]", "[last()]"])
            text += f"for {above} in {at.text}/ancestor::{other}{where} "
            return f"{text}return <o>{{ name({above}), {self.value(at)} }}</o>"
        if kind < 0.85:
            return f"{text}where {at.text}/{test} return <o>{{ {self.value(at)}, {at.text}/../@n }}</o>"
        found = f"{one.text}/ancestor::{other}[{self.r.choice(['1', 'last()', leaf])}]"
        return f"{found}/{self.r.choice(['name()', '@n', leaf])}"

    def together(self) -> str:
        """Aggregates of several sequences at once."""
        a, b = self.path(), self.path()
        x, y = (self.relative(at, leaf="v").text for at in (a, b))
        forms = [
            f"count(({a.text}, {b.text}))", f"exists(({a.text}, {b.text}))", f"empty(({a.text}/k, {b.text}))",
            f"max(({x}, {y}) ! number())", f"min((max({x} ! number()), {y} ! number()))",
            f"distinct-values(({a.text}/@n, {b.text}/@n))", f"count({a.text}) - count({b.text})",
            f"(count({a.text}), {b.text}, exists({a.text}))", f"string-join(({a.text}/@n, '/', {b.text}/@n), ' ')",
            f"for $z in ({a.text}, {b.text}) return <z>{{ name($z), $z/@n }}</z>",
            f"({a.text}, {b.text})[position() mod 2 = 1]/name()", f"({a.text} | {b.text})[position() = (1, 3)]/name()",
            f"head(({b.text}, {a.text}))/*", f"({a.text}/(., *))/name()", f"sum(({x}, {y}) ! number()[. = .])",
        ]  # fmt: skip
        return self.r.choice(forms)

    def counted(self) -> str:
        """Aggregates of loops, and loops in the order of aggregates."""
        text, at = self.clauses(self.path())
        value = self.relative(at, leaf="v").text
        where = f"where {self.condition(at)} " if self.chance(0.5) else ""
        kind = self.r.random()
        if kind < 0.3:
            name = self.r.choice(["max", "min", "sum", "count", "avg"])
            return f"{name}({text}{where}return count({self.relative(at).text}))"
        if kind < 0.5:
            return f"string-join({text}{where}order by {at.text}/@n, string({at.text}) return name({at.text}), ';')"
        if kind < 0.75:
            order = self.r.choice([f"sum({value} ! number()[. = .])", f"count({at.text}//*)", f"max({at.text}//@n)"])
            made = f"{text}{where}order by {order} descending return {at.text}/@n/string()"
            return f"({made}){self.r.choice(['', '[1]', '[last()]'])}"
        return (
            f"distinct-values({text}{where}return {at.text}/{self.r.choice(['name()', '@n', '*/name()', 'string()'])})"
        )

    def shown(self) -> str:
        """What is named first and put into the answer after."""
        text, at = self.clauses(self.path())
        over = self.path()
        test = self.r.choice([f"count({over.text}) > 1", f"exists({over.text}/@n)", "true()"])
        kind = self.r.random()
        if kind < 0.3:
            return f"let $e := <e>{{ {over.text} }}</e> return if ({test}) then <in>{{ $e }}</in> else $e/*[1]"
        if kind < 0.55:
            return (
                f"let $l := ({text}return <i>{{ {self.value(at)} }}</i>) return <all n='{{ count($l) }}'>{{ $l }}</all>"
            )
        if kind < 0.8:
            rows = f"<rows>{{ {text}return <row>{{ {self.result(at)} }}</row> }}</rows>"
            foot = f"<foot>{{ {self.path().text}/@n/string() }}</foot>"
            return f"<all>{{ <head>{{ count({over.text}) }}</head>, {rows}, {foot} }}</all>"
        return f"for $e in ({text}return <i n='{{ {at.text}/@n }}'>{{ {at.text}/* }}</i>) where $e/@n != '' return $e/*"

    def matched(self) -> str:
        """Joins in forms of their own."""
        names = list(self.shapes)
        first, a = self.clauses(self.path(stream=names[0]))
        right = self.path(stream=names[-1])
        second, b = self.clauses(right)
        there = self.key(right.to(".", right.tags)).removeprefix("./")
        one, other = self.key(a), self.key(b)
        kind = self.r.random()
        if kind < 0.25:
            after = self.r.choice(["/k", "/*", "/@n", "//v", "/.."])
            made = f"{right.text}[{there} = {one}]{after}"
            return f"{first}return <j>{{ {self.r.choice([made, f'count({made})', f'exists({made})'])} }}</j>"
        if kind < 0.4:
            function = self.r.choice(["contains", "starts-with"])
            return f"{first}{second}where {function}(string(({one})[1]), string(({other})[1])) return {self.value(a)}"
        if kind < 0.6:
            op = self.r.choice(OPERATORS)
            where = f"where count({a.text}/*) {op} count({b.text}/*) "
            return f"{first}{second}{where}return <j>{{ {one}, {self.value(b)} }}</j>"
        if kind < 0.75:
            over = f"{self.r.choice(['every', 'some'])} {b.text} in {right.text}"
            return f"{first}where {over} satisfies {other} != {one} return {self.value(a)}"
        if kind < 0.9:
            made = f"{second}where {other} = {one} group by $g := name({b.text}) order by $g "
            made += f"return <g>{{ $g, count({b.text}) }}</g>"
            return f"{first}return <j>{{ {made} }}</j>"
        found = f"let $m := {right.text}[{there} = {one}] "
        return f"{first}{found}order by count($m) descending, name({a.text}) return count($m)"

    def threshold(self) -> str:
        """Items against what all of them come to."""
        over = self.path()
        text, at = self.clauses(over)
        value = f"count({self.relative(at).text})"
        total = self.r.choice(
            [f"avg({over.text} ! count(*))", f"max({over.text}/count(*))", f"count({self.path().text})"]
        )
        compared = f"{value} {self.r.choice(OPERATORS)} "
        kind = self.r.random()
        if kind < 0.4:
            return f"let $m := {total} {text}where {compared}$m return {self.result(at)}"
        if kind < 0.7:
            return f"{text}where {compared}{total} return {self.value(at)}"
        return f"{text}return <o>{{ {value}, {total}, {self.value(at)} }}</o>"

    def written(self) -> str:
        """Constructors of every kind."""
        text, at = self.clauses(self.path())
        forms = [
            f"<o>{{ comment {{ {self.value(at)} ! string() => string-join() => translate('-', '_') }} }}</o>",
            f"<o>a{{ {self.value(at)} }}b<i/>{{ {at.text}/text() }}</o>", f"text {{ {self.value(at)} }}",
            f"element {{ concat('e', count({at.text}/*)) }} {{ attribute m {{ name({at.text}) }}, {at.text}/* }}",
            f"<x:o xmlns:x='urn:u'>{{ {at.text}/@n, <x:i>{{ {self.value(at)} }}</x:i> }}</x:o>",
            f"<o>{{ {at.text}/@*, {at.text}/node() }}</o>", f"document {{ {at.text} }}/*/name()",
            f"map {{ 'n' : string({at.text}/@n), 'c' : count({at.text}/*) }}?{self.r.choice('nc')}",
            f"[ {self.value(at)}, name({at.text}) ]?{self.r.choice('12')}",
            f"processing-instruction p {{ name({at.text}) }}",
        ]  # fmt: skip
        return f"{text}return {self.r.choice(forms)}"


def draw_wide(r: Random, shapes: dict[str, Shape], longest: int = 500) -> str:
    """A query over streams of these shapes."""
    while True:
        grammar = Wide(r, shapes)
        body = grammar.wide()
        text = "".join(grammar.functions.values()) + body
        if len(text) <= longest:
            return text
