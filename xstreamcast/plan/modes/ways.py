"""Ways: where an open hole would matter. The calls that ask for one, and what a projection must know of them.

A hole is *open* while it may take a filler. Whether an expression's value could still grow by a fill is the question
whether there is an open hole on the way of its path, through which the rest of the path can be reached:

    open($b, "child::{}author/child::{}name")

asks for holes in ``$b`` that may hold an author, and for holes in its authors that may hold a name. Steps behind a
``|`` are not walked: they narrow down which holes matter (the author must be one that can have a name). A way that ends
in `` text`` or `` copy`` asks besides for holes within the nodes it leads to: what makes their text, or a copy of them
(to which a lifespan that a further version would end belongs too), incomplete. A time after that, of a window's end:
versions and events that begin later do not matter, and earlier ones do not come once the watermark has passed it. So
with its begin, fixed or moving with the clock: what has ended before is left out, with all holes in it.

The functions have names that no query can spell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.model.names import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT
from xstreamcast.model.namespaces import FN
from xstreamcast.model.time import NOW, START, Instant
from xstreamcast.plan.projection.paths import Kinds, follow, kinds_of
from xstreamcast.scan.path import NODE, NodeTest

if TYPE_CHECKING:
    from xstreamcast.plan.projection.flow import Flow
    from xstreamcast.plan.projection.values import Value

MODES: Final = "urn:xstreamcast:modes"
OPEN: Final = "open holes"

Within = Literal["", "text", "copy"]

FORWARD: Final = frozenset(("child", "descendant", "descendant-or-self", "self", "attribute"))
UPWARD: Final = frozenset(("parent", "ancestor", "ancestor-or-self"))
_KINDS: Final = {"text()": TEXT, "node()": NODE, "comment()": COMMENT, "processing-instruction()": PI}
_KIND_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
_STEP: Final = re.compile(r"([a-z-]+)::(?:(@?)\{([^}]*)\}([^/|{} ]+)|([a-z-]+\(\)))([/|]?)")


@dataclass(frozen=True, slots=True)
class WayStep:
    """One step of a way."""

    axis: str
    test: NodeTest

    def __str__(self) -> str:
        kind = self.test.kind
        if kind not in (ELEMENT, ATTRIBUTE):
            return f"{self.axis}::{_KIND_NAMES[kind]}"
        uri, local = self.test.uri, self.test.local
        sign = "@" if kind == ATTRIBUTE else ""
        return f"{self.axis}::{sign}{{{'*' if uri is None else uri}}}{'*' if local is None else local}"


@dataclass(frozen=True, slots=True)
class Way:
    """Steps, the first ``walked`` of which are followed, and how much of the nodes at the end matters.

    ``until``: what begins later does not matter, of versions and events that the last step leads to or that are within.
    ``since``, ``back``: nor does what has ended before a time, or more than so many microseconds ago. ``newest``: of
    the versions in a hole, the newest matters.
    """

    steps: tuple[WayStep, ...]
    walked: int
    within: Within = ""
    until: Instant | None = None
    since: Instant | None = None
    back: int | None = None
    newest: bool = False

    def fused(self) -> Way:
        """``//x`` as one step: not everything there is on the way to an x.

        >>> str(parse_way("descendant-or-self::node()/child::{}x/child::{}y").fused())
        'descendant::{}x/child::{}y'
        """
        steps: list[WayStep] = []
        walked = self.walked
        for number, step in enumerate(self.steps):
            if steps and number != self.walked and step.axis == "child" and steps[-1] == _ANYWHERE:
                steps[-1] = WayStep("descendant", step.test)
                walked -= number < self.walked
            else:
                steps.append(step)
        return replace(self, steps=tuple(steps), walked=walked)

    @property
    def windowed(self) -> bool:
        """Whether what has ended before some time does not matter."""
        return self.since is not None or self.back is not None

    def passes(self, end: Instant, closed: bool) -> Instant:
        """From when on what ends at a time does not matter; never, if it is one without a window."""
        if end in (START, NOW) or not self.windowed or (self.since is not None and end + closed > self.since):
            return NOW
        return end + closed + (self.back or 0)

    def __str__(self) -> str:
        walked = "/".join(map(str, self.steps[: self.walked]))
        rest = "/".join(map(str, self.steps[self.walked :]))
        times = (("until", self.until), ("since", self.since), ("back", self.back), ("newest", self.newest or None))
        window = "".join([f" {name}={value:d}" for name, value in times if value is not None])
        return walked + (f"|{rest}" if rest else "") + (f" {self.within}" if self.within else "") + window


_ANYWHERE: Final = WayStep("descendant-or-self", NodeTest(NODE))


@lru_cache(maxsize=1024)
def parse_way(text: str) -> Way:
    """The way that a text spells.

    >>> way = parse_way("child::{}author|attribute::@{}id")
    >>> len(way.steps), way.walked, str(way)
    (2, 1, 'child::{}author|attribute::@{}id')
    """
    spelled, *others = text.split(" ")
    times = dict(one.split("=") for one in others if "=" in one)
    steps: list[WayStep] = []
    walked: int | None = None
    for axis, sign, uri, local, kind, mark in _STEP.findall(spelled):
        if kind:
            test = NodeTest(_KINDS[kind])
        else:
            names = (None if uri == "*" else uri, None if local == "*" else local)
            test = NodeTest(ATTRIBUTE if sign else ELEMENT, *names)
        steps.append(WayStep(axis, test))
        if mark == "|":
            walked = len(steps)
    depth: Within = "text" if "text" in others else "copy" if "copy" in others else ""
    until, since, back = [int(times[name]) if name in times else None for name in ("until", "since", "back")]
    return Way(tuple(steps), len(steps) if walked is None else walked, depth, until, since, back, "newest" in times)


def way_step(step: ast.AxisStep) -> WayStep:
    """A forward step, without its predicates."""
    wanted = kinds_of(step.test, step.axis).tests or (NodeTest(NODE),)
    fitting = [test for test in wanted if (test.kind == ATTRIBUTE) == (step.axis == "attribute")]
    return WayStep(step.axis, (fitting or wanted)[0])


def forward(steps: Iterable[ast.Expr]) -> list[WayStep]:
    """As many steps as lead forward, without their predicates: whoever is to be reached must get through these."""
    found = []
    for step in steps:
        if not isinstance(step, ast.AxisStep) or step.axis not in FORWARD:
            break
        found.append(way_step(step))
    return found


def ask(nodes: ast.Expr, way: Way) -> ast.Expr:
    """``open($nodes, "way")``."""
    return ast.FunctionCall(ast.Name(None, OPEN, MODES), (nodes, ast.StringLiteral(str(way))), span=nodes.span)


def looked_at(flow: Flow, args: Sequence[Value], site: ast.Node) -> None:
    """What such a call looks at: the nodes on the way must be there, and if it matters what is in those at its end."""
    assert isinstance(site, ast.FunctionCall)
    asked = site.args[1]
    assert isinstance(asked, ast.StringLiteral)
    way = parse_way(asked.value)
    places = args[0].in_order
    for step in way.steps[: way.walked]:
        places = [
            to for place in places for to in follow(place, step.axis, Kinds((step.test,), step.test.kind == NODE))
        ]
        for place in places:
            flow.keep(place)
    if way.within:
        for place in places:
            flow.kept[place] = True


# ------------------------------------------------------------------------------------------------ small expressions


def call(local: str, *args: ast.Expr) -> ast.FunctionCall:
    """A call of a function of the library."""
    return ast.FunctionCall(ast.Name("fn", local, FN), args, span=args[0].span if args else ast.NOWHERE)


TRUE: Final = call("true")
FALSE: Final = call("false")
NOTHING: Final = ast.Sequence(())


def both(*conditions: ast.Expr) -> ast.Expr:
    """All of some conditions."""
    parts = [c for c in dict.fromkeys(conditions) if c != TRUE]
    if FALSE in parts:
        return FALSE
    return TRUE if not parts else parts[0] if len(parts) == 1 else ast.And(tuple(parts))


def either(*conditions: ast.Expr) -> ast.Expr:
    """Any of some conditions."""
    parts = [c for c in dict.fromkeys(conditions) if c != FALSE]
    if TRUE in parts:
        return TRUE
    return FALSE if not parts else parts[0] if len(parts) == 1 else ast.Or(tuple(parts))


def negated(condition: ast.Expr) -> ast.Expr:
    """Not so. Of something that is a condition: ``not(not(c))`` is ``c``."""
    if condition == TRUE:
        return FALSE
    if condition == FALSE:
        return TRUE
    if isinstance(condition, ast.FunctionCall) and condition.name.uri == FN:
        (argument, *_) = (*condition.args, None)
        if condition.name.local == "not" and _is_condition(argument):
            assert argument is not None
            return argument
        if condition.name.local in ("exists", "empty"):
            return call("empty" if condition.name.local == "exists" else "exists", *condition.args)
    return call("not", condition)


def _is_condition(e: ast.Expr | None) -> bool:
    if isinstance(e, ast.FunctionCall):
        return e.name.uri == MODES or (e.name.uri == FN and e.name.local in ("not", "exists", "empty", "true", "false"))
    return isinstance(e, ast.And | ast.Or | ast.GeneralComparison | ast.Quantified)


def choose(condition: ast.Expr, then: ast.Expr, otherwise: ast.Expr = NOTHING) -> ast.Expr:
    """``if (condition) then … else …``."""
    if condition == TRUE:
        return then
    return otherwise if condition == FALSE else ast.If(condition, then, otherwise, span=then.span)


def exists(items: ast.Expr) -> ast.Expr:
    """Whether there are items."""
    return FALSE if items == NOTHING else call("exists", items)


def path(base: ast.Expr, *steps: ast.Expr) -> ast.Expr:
    """``base/step/step``; from the context item, the steps alone."""
    if not steps:
        return base
    if isinstance(base, ast.ContextItem):
        if len(steps) == 1 and isinstance(steps[0], ast.AxisStep):
            return steps[0]
        return ast.Path((base, *steps), span=base.span) if len(steps) == 1 else ast.Path(steps, span=base.span)
    first = base.steps if isinstance(base, ast.Path) else (base,)
    return ast.Path((*first, *steps), span=base.span)


def those(nodes: ast.Expr, condition: ast.Expr) -> ast.Expr:
    """``nodes[condition]``."""
    if condition == TRUE:
        return nodes
    if condition == FALSE or nodes == NOTHING:
        return NOTHING
    if isinstance(nodes, ast.AxisStep):
        return ast.AxisStep(nodes.axis, nodes.test, (*nodes.predicates, condition), span=nodes.span)
    if isinstance(nodes, ast.Path) and isinstance(nodes.steps[-1], ast.AxisStep):
        return ast.Path((*nodes.steps[:-1], those(nodes.steps[-1], condition)), span=nodes.span)
    return ast.Filter(nodes, (condition,), span=nodes.span)
