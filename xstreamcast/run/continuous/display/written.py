"""Items as the text of a region of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from xstreamcast.model.atomic import Item
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.lexical import to_string
from xstreamcast.model.names import COMMENT, ELEMENT, PI, TEXT
from xstreamcast.model.serialise import Parameters, serialise
from xstreamcast.model.serialise_xml import XMLWriter, escape_text
from xstreamcast.model.tree import Node
from xstreamcast.run.continuous.display.sewn import Pieces, flattened, sewn, text_of

_CHILDREN: Final = frozenset({ELEMENT, TEXT, COMMENT, PI})


@dataclass(frozen=True, slots=True)
class Written:
    """Items as text; whether they begin and end with atomic values. ``pieces``: the same, cut at its seams."""

    text: str
    begins: bool
    ends: bool
    pieces: Pieces = field(default=(), compare=False)


def written(items: Iterable[Item], cut: bool = False) -> Written | None:
    """The text of items side by side; None where there is nothing, not even an empty text."""
    flat = list(flattened(items))
    if not flat:
        return None
    if len(flat) == 1 and not isinstance(flat[0], Node | FunctionItem):
        return Written(escape_text(to_string(flat[0])), True, True)
    pieces = sewn(flat) if cut else ()
    text = text_of(pieces) if pieces else serialise(flat)
    return Written(text, not isinstance(flat[0], Node), not isinstance(flat[-1], Node), pieces)


def written_each(many: Iterable[list[Item]], cut: bool = False) -> Iterator[Written | None]:
    """The texts of many lists of items. Those of nodes have one writer, which looks at a tree's names once.

    ``cut``: those that have seams are cut at them.
    """
    pieces: list[str] = []
    writer = XMLWriter(Parameters(), pieces)
    for items in many:
        if not items:
            yield None
        elif cut and any(type(item) is Node and item[0].seams_within(item[1]) for item in items):
            yield written(items, cut)
        elif all(type(item) is Node and item[0].kind[item[1]] in _CHILDREN for item in items):
            for tree, row in items:
                writer.subtree(tree, row)
            yield Written("".join(pieces), False, False)
            pieces.clear()
        else:
            yield written(items)
