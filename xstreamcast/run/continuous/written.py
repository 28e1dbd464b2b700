"""Items as the text of a region of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.lexical import to_string
from xstreamcast.model.names import COMMENT, ELEMENT, PI, TEXT
from xstreamcast.model.serialise import Parameters, serialise
from xstreamcast.model.serialise_xml import XMLWriter, escape_text
from xstreamcast.model.tree import Node

_CHILDREN: Final = frozenset({ELEMENT, TEXT, COMMENT, PI})


@dataclass(frozen=True, slots=True)
class Written:
    """Items as text; whether they begin and end with atomic values."""

    text: str
    begins: bool
    ends: bool


def written(items: Iterable[Item]) -> Written | None:
    """The text of items side by side; None where there is nothing, not even an empty text."""
    flat = list(_flat(items))
    if not flat:
        return None
    if len(flat) == 1 and not isinstance(flat[0], Node | FunctionItem):
        return Written(escape_text(to_string(flat[0])), True, True)
    return Written(serialise(flat), not isinstance(flat[0], Node), not isinstance(flat[-1], Node))


def _flat(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Array):
            for member in item.members():
                yield from _flat(member)
        else:
            yield item


def written_each(many: Iterable[list[Item]]) -> Iterator[Written | None]:
    """The texts of many lists of items. Those of nodes have one writer, which looks at a tree's names once."""
    pieces: list[str] = []
    writer = XMLWriter(Parameters(), pieces)
    for items in many:
        if all(type(item) is Node and item[0].kind[item[1]] in _CHILDREN for item in items):
            for tree, row in items:
                writer.subtree(tree, row)
            yield Written("".join(pieces), False, False)
            pieces.clear()
        else:
            yield written(items)
