"""What of a looked-up element the query can see: no more of it travels.

A look-up gives elements, and of an element given all may be read, so the unit by itself asks for all of it. The query
as it was written tells more (Marian and Siméon's theorem, :mod:`xstreamcast.plan.projection.project`):

    Q(D) = Q(P(D))            P: what Q can see of D

and the plan is Q on any document, P(D) as well. So where a unit wants a whole element, what P has below it will do.
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.model.names import ELEMENT
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.path import NODE, Step


def narrowed(wanted: tuple[Target, ...], seen: tuple[Target, ...]) -> tuple[Target, ...]:
    """What a unit wants of a document, of which the query can see so much.

    >>> from xstreamcast.plan.projection.project import describe
    >>> from xstreamcast.scan.path import parse_path
    >>> def kept(path):
    ...     return Target(parse_path(path), Action.KEEP)
    >>> whole = Target(parse_path("/r/item"), Action.PROJECT)
    >>> describe(narrowed((whole,), (kept("/r/item/@id"), kept("/r/item/name/text()"), kept("/r/person/@id"))))
    ['/r/item/@id', '/r/item/name/text()']
    >>> describe(narrowed((whole,), (kept("/r/item/@id"), whole))) == describe((whole,))
    True
    """
    made: dict[Target, None] = {}
    for each in wanted:
        below = _below(each, seen) if each.action is Action.PROJECT else None
        made.update(dict.fromkeys((each,) if below is None else below))
    return tuple(made)


def _below(whole: Target, seen: tuple[Target, ...]) -> list[Target] | None:
    """What can be seen within the elements of a target; None: all of it, or one cannot tell by the paths."""
    steps = whole.path.steps
    if not all(map(_certain, steps)):
        return None
    found: list[Target] = []
    for each in seen:
        own = each.path.steps
        for one, other in zip(own, steps, strict=False):
            if one != other:
                if one.test.kind in (ELEMENT, NODE) and not _certain(one):
                    return None
                break
        else:
            if each.action is Action.PROJECT and len(own) <= len(steps):
                return None
            if len(own) >= len(steps):
                found.append(replace(each, sparse=False))
    return found or None


def _certain(step: Step) -> bool:
    """Whether a step leads to children of one name, so that another such step leads to others."""
    test = step.test
    return not step.deep and test.kind == ELEMENT and test.uri is not None and test.local is not None
