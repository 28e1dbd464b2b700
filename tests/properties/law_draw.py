"""One case for each seed."""

from __future__ import annotations

from random import Random

from law_case import TICK, Case, Step
from law_oracle import Scratch
from law_queries import draw_query
from law_streams import TIMES, Shape, draw_streams

DULL = ("", "0", '""', "false()", "NaN", "<all/>")
"""Answers that show little; another query is drawn, some times, where the last one is one of these."""


def draw_case(seed: int, most: int = 16) -> Case:
    """The case of a seed; ``most``: about how many changes there are after the document."""
    r = Random(seed)
    shapes, steps = draw_streams(r, r.choice([most // 2, most, most, most * 3 // 2]))
    timed = any(shape.timed and shape.declared for shape in shapes.values())
    if not timed or r.random() < 0.7:
        return Case(_telling(r, shapes, steps, "event"), steps)
    ticked: list[Step] = []
    times = sorted(r.choices([*TIMES, "2003-11-09", "2003-11-03T20:00:00"], k=4))
    for step in steps:
        if times and r.random() < 0.3:
            ticked.append(Step("", TICK + times.pop(0)))
        ticked.append(step)
    ticked += [Step("", TICK + time) for time in times]
    return Case(_telling(r, shapes, tuple(ticked), "manual"), tuple(ticked), "manual")


def _telling(r: Random, shapes: dict[str, Shape], steps: tuple[Step, ...], clock: str) -> str:
    """A query that has something to say in the end, if one is found soon."""
    text = draw_query(r, shapes)
    for _ in range(3):
        scratch = Scratch(text, clock)
        for step in steps:
            scratch.take(step)
        if scratch.answer().adaptive not in DULL:
            break
        text = draw_query(r, shapes)
    return text
