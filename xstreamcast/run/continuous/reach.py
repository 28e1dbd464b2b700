"""What a tag structure tells about paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.model.names import ELEMENT
from xstreamcast.model.structure import UNNAMED
from xstreamcast.scan.path import NODE

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.scan.path import Path


def reached_tags(path: Path, structure: Structure) -> set[int]:
    """The tags of the elements that a path can lead to."""
    reached: set[int] | None = None
    for step in path.steps:
        if reached is None:
            tops = set(structure.tag(UNNAMED).children) if structure.unnamed else {structure.root}
            candidates = set(structure.tags) - {UNNAMED} if step.deep else tops
        elif step.deep:
            candidates = structure.descendants(reached)
        else:
            candidates = {child for tsid in reached for child in structure.tags[tsid].children}
        if step.test.kind not in (ELEMENT, NODE):
            return set()
        reached = set()
        for tsid in candidates:
            uri, _, local = structure.tags[tsid].name.rpartition("}")
            if step.test.matches(ELEMENT, uri.removeprefix("{"), local):
                reached.add(tsid)
    return reached or set()


def never_nested(path: Path, structure: Structure | None) -> bool:
    """Whether no element that a path leads to is inside another one."""
    if not any(step.deep for step in path.steps):
        return True
    if structure is None:
        return False
    reached = reached_tags(path, structure)
    return not reached & structure.descendants(reached)
