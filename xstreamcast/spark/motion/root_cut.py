"""A root's content, cut for buckets: each gets what is around its own records, and these.

What the root holds are holes, and elements that could be fragments and are there themselves: *atoms*, each of which is
in one bucket. All the rest, elements whose tags are never fragments, is around them, in every bucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

from xstreamcast.errors import error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xstreamcast.model.structure import Structure

_HOLE: Final = "stream:hole"
_BEGIN: Final = b"<_>"


@dataclass(frozen=True, slots=True)
class Atom:
    """``holes``: the hole that it is, or those that are in it."""

    begin: int
    end: int
    holes: tuple[int, ...]
    is_hole: bool


def fragments_of_root(structure: Structure) -> frozenset[int]:
    """The tags of the fragments that the root's own fragment holds."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting = list(structure.tags[structure.root].children)
    while waiting:
        tsid = waiting.pop()
        if tsid in seen:
            continue
        seen.add(tsid)
        if structure.tags[tsid].type == "snapshot":
            waiting += structure.tags[tsid].children
        else:
            found.add(tsid)
    return frozenset(found)


def atoms(content: bytes, structure: Structure) -> list[Atom]:
    """The atoms of a root's content, in order."""
    apart = fragments_of_root(structure)
    found: list[Atom] = []
    around: list[int | None] = []
    """The tags of the elements that are open around atoms; None: one that the structure does not have."""
    begun, depth = 0, 0
    inside: list[int] = []
    is_hole = is_empty = False
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal begun, depth, is_hole, is_empty
        is_empty = not depth
        if depth:
            depth += 1
        else:
            tag = _tag(name)
            is_hole = name == _HOLE
            if not is_hole and tag not in apart:
                around.append(tag)
                return
            begun, depth = parser.CurrentByteIndex - len(_BEGIN), 1
        if name == _HOLE:
            inside.append(int(attributes["id"]))

    def end(name: str) -> None:
        nonlocal depth
        if not depth:
            around.pop()
            return
        depth -= 1
        if not depth:
            at = parser.CurrentByteIndex - len(_BEGIN)
            if not (is_empty and content.endswith(b"/>", begun, at)):  # of <a/> the end is told behind it
                at = content.index(b">", at) + 1
            found.append(Atom(begun, at, tuple(inside), is_hole))
            inside.clear()

    def text(_: str) -> None:
        nonlocal is_empty
        is_empty = False

    def _tag(name: str) -> int | None:
        local = name.rpartition(":")[2]
        if len(around) == 1:
            root = structure.tags[structure.root]
            return root.id if root.name.rpartition("}")[2] == local else None
        above = around[-1] if around else None
        children = () if above is None else structure.tags[above].children
        return next((one for one in children if structure.tags[one].name.rpartition("}")[2] == local), None)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    try:
        parser.Parse(_BEGIN + content + b"</_>", True)
    except expat.ExpatError as failure:
        raise error("XSC0069", f"the root's content cannot be cut: {failure}") from None
    return found


def parts(content: bytes, found: Sequence[Atom], buckets: Sequence[int], count: int) -> list[bytes]:
    """The content for each of so many buckets; ``buckets``: those of the atoms, which do not decrease.

    Characters between atoms are of no record, and left out: what has many holes is not written again for each bucket.
    """
    edges = [0, *[edge for atom in found for edge in (atom.begin, atom.end)], len(content)]
    spaces = [content[a:b] for a, b in list(pairwise(edges))[::2]]
    frame = [(number, text) for number, text in enumerate(spaces) if b"<" in text]
    mine: list[list[tuple[int, bytes]]] = [[] for _ in range(count)]
    for number, (atom, bucket) in enumerate(zip(found, buckets, strict=True)):
        mine[bucket].append((number, content[atom.begin : atom.end]))
    # An atom stands behind the space of its own number.
    return [
        b"".join([text for _, _, text in sorted([*[(n, 0, t) for n, t in frame], *[(n, 1, t) for n, t in own]])])
        for own in mine
    ]
