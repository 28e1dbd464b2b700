"""Mutability (ICDE'08 §V): which regions may still change, and so which of them must be kept.

A region is *closed* when no change can have an effect on it: it is frozen, or it has its content and the consumer has
declared its tag fixed ("I ignore updates to names"). What lies in closed regions all the way from the root can only
stay as it is: what an operator has made of it stays, and the content itself need not be kept.

>>> from xstreamcast.model.structure import parse_structure
>>> books = parse_structure('<stream:structure><tag id="1" name="list"><tag id="2" name="book" type="filler">'
...     '<tag id="3" name="price" type="filler"/></tag></tag></stream:structure>')
>>> sorted(Fixed(("book", "/list")).tags(books))
[1, 2]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import error

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure

ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class Fixed:
    """What a consumer declares fixed: the regions of some tags, by names or paths, or all of them (``*``)."""

    paths: tuple[str, ...]

    @property
    def everything(self) -> bool:
        """Whether all regions are."""
        return ALL in self.paths

    def tags(self, structure: Structure | None) -> frozenset[int]:
        """The tags whose regions are."""
        if structure is None:
            return frozenset()
        if self.everything:
            return frozenset(structure.tags)
        return frozenset([tag for path in self.paths for tag in structure.expand(path)])

    def unknown(self, structure: Structure) -> list[str]:
        """The paths that lead to no tag of a structure."""
        return [path for path in self.paths if path != ALL and not structure.expand(path)]


def fixed_of(given: str | Iterable[str] | None) -> Fixed | None:
    """What is declared, as it is given: one path, several, or ``*``."""
    if given is None:
        return None
    paths = (given,) if isinstance(given, str) else tuple(given)
    if not all(paths):
        hint = 'fixed="*", or names and paths: ["name", "/site/people"]'
        raise error("XSC0091", "fixed: a tag without a name", hint=hint)
    return Fixed(paths) if paths else None


def mutability(needed: Iterable[int], structure: Structure, fixed: Fixed | None) -> tuple[list[int], list[int]]:
    """Of the tags that a query needs, those whose regions may change, and those of which nothing is kept once told.

    A region is let go of only where those around it are closed, too: a parent that is sent again shows it again.
    """
    tags = fixed.tags(structure) if fixed is not None else frozenset()
    wanted = sorted(needed)
    mutable = [tag for tag in wanted if tag not in tags or structure.tag(tag).timed]
    open_below = structure.descendants(mutable)
    return mutable, [tag for tag in wanted if tag not in mutable and tag not in open_below]
