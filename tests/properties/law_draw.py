"""One case for each seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from law_case import TICK, Case, Step
from law_failing import draw_failing
from law_oracle import Scratch
from law_other import draw_other
from law_queries import draw_query
from law_streams import TIMES, Shape, draw_streams
from law_wide import draw_wide

DULL = ("", "0", '""', "false()", "NaN", "<all/>")
"""Answers that show little; another query is drawn, some times, where the last one is one of these."""


LATENESS = (0, 3600, 86400, 2 * 86400)
BEHIND = (
    'count(stream("answer")//*)',
    'string(stream("answer"))',
    'stream("answer")/*[2]',
    'for $x in stream("answer")//* where $x/@n return <y>{ $x/@n, count($x/*) }</y>',
    'for $x in stream("answer")/node() order by string($x) return string($x)',
    'sum(stream("answer")//v[. castable as xs:double])',
    'for $x in stream("answer")//* group by $k := name($x) order by $k return <g k="{$k}">{ count($x) }</g>',
    'exists(stream("answer")//*:error)',
    '(stream("answer")//*)[last()]/name()',
    'for $x at $i in stream("answer")/* return <y n="{$i}">{ $x/*[1] }</y>',
)
"""Queries over the answer of another."""


def draw_case(seed: int, most: int = 16, draw: Callable[..., str] = draw_query, rich: bool = False) -> Case:
    """The case of a seed; ``most``: about how many changes there are after the document; ``draw`` draws the query;
    ``rich``: contents have all kinds of nodes."""
    r = Random(seed)
    shapes, steps = draw_streams(r, r.choice([most // 2, most, most, most * 3 // 2]), rich)
    if not _timed(shapes) or r.random() < 0.7:
        return Case(_telling(r, shapes, steps, "event", draw), steps).heard()
    ticked: list[Step] = []
    times = sorted(r.choices([*TIMES, "2003-11-09", "2003-11-03T20:00:00"], k=4))
    for step in steps:
        if times and r.random() < 0.3:
            ticked.append(Step("", TICK + times.pop(0)))
        ticked.append(step)
    ticked += [Step("", TICK + time) for time in times]
    return Case(_telling(r, shapes, tuple(ticked), "manual", draw), tuple(ticked), "manual").heard()


def draw_varied(seed: int, most: int = 16) -> Case:
    """The case of a seed; now and then one that fails, is read by another query, leaves out what is late, or
    is of a form of its own."""
    r = Random(-seed)
    kind = r.random()
    if kind < 0.08:
        return draw_failing_case(seed, most)
    draw = draw_other if kind > 0.8 else draw_wide if kind > 0.55 else draw_query
    case = draw_case(seed, most, draw, rich=r.random() < 0.3)
    if kind < 0.16:
        return replace(case, behind=r.choice(BEHIND), listens=r.choice([0, 0, len(case.steps) // 2]))
    if kind < 0.28 and case.clock == "event" and any("validTime" in step.wire for step in case.steps):
        return replace(case, lateness=r.choice(LATENESS))
    return case


def draw_failing_case(seed: int, most: int = 16) -> Case:
    """A case that is an error for a time, if one is found soon."""
    r = Random(seed)
    for _ in range(4):
        shapes, steps = draw_streams(r, r.choice([most // 2, most]))
        case = Case(draw_failing(r, shapes), steps, strict=True).heard()
        scratch, failed = Scratch(case.query), []
        for step in case.steps:
            scratch.take(step)
            failed.append(bool(scratch.streams) and scratch.answer().failed)
        if any(failed) and not all(failed[len(failed) // 2 :]):
            break
    return case


def _timed(shapes: dict[str, Shape]) -> bool:
    return any(shape.timed and shape.declared for shape in shapes.values())


def _telling(r: Random, shapes: dict[str, Shape], steps: tuple[Step, ...], clock: str, draw: Callable[..., str]) -> str:
    """A query that has something to say in the end, if one is found soon."""
    text = draw(r, shapes)
    for _ in range(3):
        scratch = Scratch(text, clock)
        for step in steps:
            scratch.take(step)
        if scratch.answer().adaptive not in DULL:
            break
        text = draw(r, shapes)
    return text
