"""The other classic mistake: a name that the document does not have, though it has one that is nearly the same."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

from xstreamcast.lang.ast import AxisStep, Module, NameTest, Warning, Wildcard
from xstreamcast.lang.walk import descendants

_NEAR: Final = 0.75


def misspelt_names(
    module: Module, elements: Collection[str], attributes: Collection[str], where: str
) -> tuple[Warning, ...]:
    """A warning for each name in a step that is not there, by local names, but nearly one of those that are."""
    made: dict[str, Warning] = {}
    for part in (module, *module.imported):
        for step in descendants(part):
            if not isinstance(step, AxisStep):
                continue
            named = step.test.name.local if isinstance(step.test, NameTest) else None
            if isinstance(step.test, Wildcard):
                named = step.test.local
            known = attributes if step.axis == "attribute" else elements
            if named is None or named in known or not (near := _near(named, known)):
                continue
            sign = "@" if step.axis == "attribute" else ""
            message = f"there is no {sign}{named} in {where}"
            made.setdefault(sign + named, Warning(message, f"did you mean {sign}{near[0]}?", span=step.test.span))
    return tuple(made.values())


def _near(name: str, known: Collection[str]) -> list[str]:
    """What is written alike: but for capitals the same, else nearly."""
    same = [other for other in sorted(known) if other.casefold() == name.casefold()]
    return same or get_close_matches(name, sorted(known), 1, _NEAR)
