"""What a tag structure tells about paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.model.names import ELEMENT, intern
from xstreamcast.model.structure import UNNAMED
from xstreamcast.plan.result.shape import ERROR
from xstreamcast.scan.path import NODE, Path

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure


def top_tags(structure: Structure) -> tuple[int, ...]:
    """The tags of the elements at the top. The structure of an answer declares, in its root, the error that may stand
    beside that."""
    if structure.unnamed:
        return structure.tops
    error = structure.child(structure.root, "{{{}}}{}".format(*ERROR))
    return structure.tops if error is None else (*structure.tops, error)


def reached_tags(path: Path, structure: Structure) -> set[int]:
    """The tags of the elements that a path can lead to."""
    reached: set[int] | None = None
    for step in path.steps:
        if reached is None:
            candidates = set(structure.tags) - {UNNAMED} if step.deep else set(top_tags(structure))
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


def may_be_apart(above: Path, below: Path, structure: Structure | None, declared: bool = False) -> bool:
    """Whether nodes of a path may come in other fragments than those of a path above them: there may be many.

    ``declared``: only if the structure says that they do.
    """
    if structure is None:
        return not declared
    for length in range(len(above.steps) + 1, len(below.steps) + 1):
        reached = reached_tags(Path(below.steps[:length]), structure)
        if below.steps[length - 1].deep:
            reached |= structure.descendants(reached_tags(Path(below.steps[: length - 1]), structure))
        types = {structure.tags[tsid].type for tsid in reached}
        if types - {"snapshot", None} if declared else types - {"snapshot"}:
            return True
    return False


def name_of(expanded: str) -> int:
    """The interned name of an element, from ``{uri}local``."""
    uri, _, local = expanded.rpartition("}")
    return intern(ELEMENT, uri.removeprefix("{"), local)
