"""A tag structure as HTML: the tags as a tree that can be opened and closed."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from xstreamcast.page import page

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure


def structure_html(structure: Structure) -> str:
    """The tags as a tree; a tag that stands within itself is named, and not opened again."""
    top = structure.tops
    name = f'<div class="note">stream {escape(structure.stream)}</div>' if structure.stream else ""
    return page(name, "<ul>", *(part for tsid in top for part in _branch(structure, tsid)), "</ul>")


def _branch(structure: Structure, top: int) -> Iterator[str]:
    """A tag and those below it, without recursion: structures may be as deep as documents."""
    waiting: list[tuple[int, tuple[int, ...]] | None] = [(top, ())]
    while waiting:
        entered = waiting.pop()
        if entered is None:
            yield "</ul></details></li>"
            continue
        tsid, above = entered
        tag = structure.tag(tsid)
        badge = f' <span class="badge {tag.type}">{tag.type}</span>' if tag.type not in (None, "snapshot") else ""
        label = f'{escape(structure.lexical(tag.name))} <span class="note">{tsid}</span>{badge}'
        if tsid in above:
            yield f"<li>{label} ↑</li>"
        elif not tag.children:
            yield f"<li>{label}</li>"
        else:
            yield f"<li><details open><summary>{label}</summary><ul>"
            waiting.append(None)
            waiting += [(child, (*above, tsid)) for child in reversed(tag.children)]
