"""Random queries over streams of known shapes: a grammar of every operator of the algebra."""

from __future__ import annotations

from random import Random

from law_paths import ALLEN, OPERATORS, SPANS, Paths
from law_streams import LEAVES, Shape

AGGREGATES = ("count", "sum", "avg", "min", "max", "exists", "empty", "distinct-values", "string-join")


class Grammar(Paths):
    """Queries over some streams."""

    def query(self) -> str:
        """A whole query."""
        shapes = {
            self.selection: 3, self.aggregate: 4, self.loop: 6, self.join: 4, self.grouped: 3, self.sorted: 3,
            self.nested: 4, self.merged: 3, self.sliced: 2, self.quantified: 2, self.recursive: 2, self.windowed: 3,
            self.bound: 3, self.constructed: 3, self.chosen: 1, self.mapped: 1, self.numbered: 3, self.placed: 2,
            self.around: 4, self.keyed: 2, self.outer: 2, self.descended: 1, self.tabled: 1,
        }  # fmt: skip
        if self.temporal:
            shapes[self.coincident] = 4
        if len(self.shapes) > 1:
            shapes[self.threefold] = 2
        body = self.r.choices(list(shapes), list(shapes.values()))[0]()
        if self.chance(0.12):
            body = f"({body}, {self.aggregate()})"
        return "".join(self.functions.values()) + body

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
        """Windows of a number of items, from what begins to what ends, and up to the next that begins."""
        over = self.path()
        at = over.to("$e", over.tags)
        kind = self.r.choice(["tumbling", "sliding"])
        only = "only " if kind == "sliding" else ""
        ends = self.r.choice(["count", "count", "begin", "end", "beside"])
        if ends == "count":
            span = f"start at $i when true() {only}end at $j when $j = $i + {self.r.randint(1, 2)}"
        elif ends == "begin":
            kind, span = "tumbling", f"start $e when {self.condition(at)}"
        elif ends == "end":
            span = f"start when true() {only}end $e when {self.condition(at)}"
        else:
            span = f"start $e previous $p when $e/@n = $p/@n {only}end $f next $n when $f/@n != $n/@n"
        return f"for {kind} window $w in {over.text} {span} return <w>{{ count($w), $w/@n/string() }}</w>"

    def keyed(self) -> str:
        """Groups by several keys, perhaps of groups."""
        text, at = self.clauses(self.path())
        one, two = self.variable(), self.variable()
        first = self.r.choice([f"string({at.text}/@n)", f"name({at.text})", f"count({at.text}/*)"])
        second = self.r.choice([f"exists({self.relative(at).text})", f"{self.value(at)} ! string()[1]"])
        if self.chance(0.4):
            text += f"where {self.condition(at)} "
        inside = self.r.choice(
            [f"count({at.text})", f"sum({self.relative(at, leaf='v').text})", f"{at.text}/@n/string()"]
        )
        text += f"group by {one} := {first}, {two} := string-join(({second}) ! string(), '') "
        text += self.r.choice([f"order by {one}, {two} descending ", f"order by count({at.text}), {one}, {two} ", ""])
        made = f'{text}return <g a="{{{one}}}" b="{{{two}}}">{{ {inside} }}</g>'
        return made if self.chance(0.7) else f"for $h in ({made}) group by $m := string($h/@a) return count($h)"

    def outer(self) -> str:
        """Those with a partner and those without; and whether all have one."""
        names = list(self.shapes)
        first, a = self.clauses(self.path(stream=names[0]))
        right = self.path(stream=names[-1])
        b = right.to(self.variable(), right.tags)
        one, other = (self.relative(at, leaf="k").text for at in (a, right.to(".", right.tags)))
        matching = f"{right.text}[{other.removeprefix('./')} = {one}]"
        if self.chance(0.4):
            return f"{first}for {b.text} allowing empty in {matching} return <j>{{ {self.value(a)}, {b.text} }}</j>"
        if self.chance(0.5):
            c = right.to(self.variable(), right.tags)
            test = f"{self.relative(a, leaf='k').text} = {self.relative(b, leaf='k').text} and {self.condition(c)}"
            over = f"{self.r.choice(['some', 'every'])} {b.text} in {right.text}, {c.text} in {b.text}/*"
            return f"{first}where {over} satisfies {test} return {a.text}/@n"
        return f"{first}let $m := {matching} return if (exists($m)) then <j>{{ $m }}</j> else {self.value(a)}"

    def coincident(self) -> str:
        """Joins of what happens at about the same time, and what has nothing soon after it."""
        names = list(self.shapes)
        first, a = self.clauses(self.path(stream=names[0]))
        right = self.path(stream=names[-1])
        b = right.to(self.variable(), right.tags)
        around = self.r.choice(["PT1S", "PT12H", "P1D", "PT9H30M"])
        span = self.r.choice(
            [f"vtFrom({a.text})-{around},vtTo({a.text})+{around}", f"vtFrom({a.text}),vtFrom({a.text})+{around}"]
        )
        near = f"{b.text} in {right.text}?[{span}]"
        key = f"{self.relative(a, leaf='k').text} = {self.relative(b, leaf='k').text}"
        kind = self.r.random()
        if kind < 0.35:
            where = f"where {key} " if self.chance(0.5) else ""
            return f"{first}for {near} {where}return <j>{{ {self.value(a)}, {self.value(b)} }}</j>"
        if kind < 0.55:
            test = f"{self.r.choice(['some', 'not(some'])} {near} satisfies {key}"
            return f"{first}where {test}{')' if test.startswith('not') else ''} return {self.value(a)}"
        if kind < 0.75:
            test = f"{a.text} {self.r.choice(ALLEN)} {b.text}"
            return f"{first}for {b.text} in {right.text} where {test} return {self.value(b)}"
        if kind < 0.9:
            return f"{first}return <n>{{ count({right.text}?[{span}]), {self.value(a)} }}</n>"
        moving = f"?[{self.r.choice(SPANS)}]"
        return f"{first}where count({self.relative(a).text}{moving}) >= {self.r.randint(1, 2)} return {self.value(a)}"

    def threefold(self) -> str:
        """Three streams, or one twice."""
        names = [*self.shapes, *self.shapes][:3]
        clauses, ats = zip(*[self.clauses(self.path(stream=name, steps=1)) for name in names], strict=True)
        keys = [f"{at.text}/@n" if self.chance(0.3) else self.relative(at, leaf="k").text for at in ats]
        where = f"{keys[0]} = {keys[1]} and {self.r.choice(keys[:2])} = {keys[2]}"
        if self.chance(0.3):
            return f"count({''.join(clauses)}where {where} return 1)"
        return f"{''.join(clauses)}where {where} return <j>{{ {', '.join(self.value(at) for at in ats)} }}</j>"

    def descended(self) -> str:
        """Functions that call themselves on all that is below, or each other."""
        over = self.path(steps=self.r.choice([1, 1, 2]))
        kind = self.r.choice(["depth", "copy", "leaves"])
        if kind == "depth":
            self.functions[kind] = "declare function local:depth($e) { 1 + max((0, $e/* ! local:depth(.))) }; "
            return f"{over.text} ! local:depth(.)"
        if kind == "copy":
            copied = "element { name($e) } { $e/@n, $e/* ! local:copy(.), count($e/*) }"
            self.functions[kind] = f"declare function local:copy($e as element()) as element() {{ {copied} }}; "
            return f"{over.text}[. instance of element()] ! local:copy(.)"
        self.functions["odd"] = "declare function local:odd($e) { if ($e/*) then $e/* ! local:even(.) else 1 }; "
        self.functions["even"] = "declare function local:even($e) { if ($e/*) then $e/* ! local:odd(.) else 2 }; "
        return f"sum({over.text} ! local:odd(.))"

    def tabled(self) -> str:
        """Maps and arrays of what is found."""
        over = self.path()
        kind = self.r.random()
        if kind < 0.4:
            made = f'map:merge({over.text} ! map {{ string(@n) : string(.) }}, map {{ "duplicates" : "use-last" }})'
            return f"let $m := {made} for $k in map:keys($m) order by $k return concat($k, ':', $m($k))"
        if kind < 0.7:
            return f"let $a := array {{ {over.text}/string() }} return (array:size($a), array:flatten($a))"
        return f"for $k in distinct-values({over.text}/@n) return count({over.text}[@n = $k])"

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
