"""Elements whose form is known before the query runs: only their texts are not.

``<person name="{ … }"><age>{ … }</age></person>`` makes the same rows every time, but for those of empty texts. The
columns are made once for each combination of texts that are there, and shared by all the trees: finished trees never
change.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from operator import itemgetter
from typing import Final

from xstreamcast.dataclass import dataclass
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT, name_local
from xstreamcast.model.serialise_xml import escape_attribute, escape_text
from xstreamcast.model.tree import Tree
from xstreamcast.run.runtime.construct import ContentBuilder

Event = tuple[int, int]
"""(ELEMENT, name): begin. (ATTRIBUTE, name) and (TEXT, TEXT): with the next of the texts. (-1, 0): end."""
END: Event = (-1, 0)


@dataclass(frozen=True, slots=True)
class Columns:
    """The rows of a shape with certain texts: ``pick`` takes their values from the texts, ``""`` and None.

    ``form`` is a tree with these columns, by which whoever writes elements of this form knows them.
    """

    kind: bytearray
    name: array[int]
    prefix: array[int]
    up: array[int]
    size: array[int]
    form: Tree
    pick: Callable[[tuple[str | None, ...]], tuple[str | None, ...]]


Filled = tuple[tuple[str, ...], Columns, tuple[str | None, ...]]
"""The texts of an element, the columns for them, and the values of its rows."""
_NOTED: Final = 8
"""Rows of an element whose form a tree remembers: it is written at once."""


def _picker(places: list[int]) -> Callable[[tuple[str | None, ...]], tuple[str | None, ...]]:
    if len(places) == 1:  # of one place, an itemgetter gives no tuple
        return lambda pool: (pool[places[0]],)
    return itemgetter(*places)


class Shape:
    """The form of an element without namespaces; called with its texts it gives the element."""

    __slots__ = ("base_uri", "events", "known", "written")

    def __init__(self, events: tuple[Event, ...], base_uri: str | None) -> None:
        self.events = events
        self.base_uri = base_uri
        self.known: dict[tuple[bool, ...], Columns] = {}
        self.written: dict[tuple[bool, ...], tuple[str, Callable[[tuple[str, ...]], tuple[str, ...]]]] = {}

    def columns(self, texts: tuple[str, ...]) -> Columns:
        """The columns for these texts."""
        there = tuple(map(bool, texts))
        found = self.known.get(there)
        if found is None:
            found = self.known[there] = self._made(there)
        return found

    def _made(self, there: tuple[bool, ...]) -> Columns:
        """Built once as any tree is, with the numbers of the texts as their values."""
        kinds = [kind for kind, _ in self.events if kind in (ATTRIBUTE, TEXT)]
        numbers = [str(n) if given or kinds[n] == ATTRIBUTE else "" for n, given in enumerate(there)]
        builder = TreeBuilder()
        self._replay(builder, tuple(numbers))
        tree, empty, none = builder.finish(), len(there), len(there) + 1
        places = [none if value is None else int(value) if value else empty for value in tree.value]
        return Columns(tree.kind, tree.name, tree.prefix, tree.up, tree.size, tree, _picker(places))

    def _replay(self, builder: TreeBuilder, texts: tuple[str, ...]) -> None:
        rest = iter(texts)
        for kind, name in self.events:
            if kind == ELEMENT:
                builder.open(name)
            elif kind == ATTRIBUTE:
                builder.put_attribute(name, next(rest))
            elif kind == TEXT:
                builder.text(next(rest))
            else:
                builder.end()

    def __call__(self, *texts: str) -> Tree:
        """A tree of its own."""
        found = self.columns(texts)
        columns = (found.kind, found.name, found.prefix, found.up, found.size, found.pick((*texts, "", None)))
        return Tree.of_columns(columns, self.base_uri)

    def markup(self, rows: list[tuple[str, ...]]) -> str:
        """What the xml method writes of the elements with these texts, one after the other."""
        if not rows or not rows[0]:
            return self._written(())[0] * len(rows)
        kinds = [kind for kind, _ in self.events if kind in (ATTRIBUTE, TEXT)]
        columns = []
        whole = True
        for kind, column in zip(kinds, zip(*rows, strict=True), strict=True):
            whole = whole and all(column)
            escape = escape_attribute if kind == ATTRIBUTE else escape_text
            plain = "".join(column)
            columns.append(column if escape(plain) is plain else tuple(map(escape, column)))
        escaped = zip(*columns, strict=True)
        if whole:
            return "".join(map(self._written((True,) * len(kinds))[0].__mod__, escaped))
        made = []
        for texts in escaped:
            template, pick = self._written(tuple(map(bool, texts)))
            made.append(template % pick(texts))
        return "".join(made)

    def _written(self, there: tuple[bool, ...]) -> tuple[str, Callable[[tuple[str, ...]], tuple[str, ...]]]:
        """The markup with certain texts, and which of all texts stand in it."""
        found = self.written.get(there)
        if found is None:
            made: list[str] = []
            names: list[str] = []
            places: list[int] = []
            number, within = -1, False  # a start tag
            for kind, name in self.events:
                number += kind in (ATTRIBUTE, TEXT)
                if kind == ATTRIBUTE:
                    made.append(f' {name_local[name]}="%s"')
                    places.append(number)
                    continue
                if kind == TEXT and not there[number]:
                    continue
                if (kind, name) == END:
                    made.append("/>" if within else f"</{names[-1]}>")
                    names.pop()
                    within = False
                    continue
                made.append(">" * within)
                within = kind == ELEMENT
                if kind == ELEMENT:
                    names.append(name_local[name])
                    made.append(f"<{names[-1]}")
                else:
                    made.append("%s")
                    places.append(number)
            pick = _picker(places) if places else (lambda _: ())
            found = self.written[there] = "".join(made), pick  # type: ignore[assignment]  # texts are there
        assert found is not None
        return found

    def filled(self, *texts: str) -> Filled:
        """The element as it can be added to any content, any number of times."""
        found = self.columns(texts)
        return texts, found, found.pick((*texts, "", None))

    def add_to(self, builder: ContentBuilder, *texts: str) -> None:
        """The element as content of the open one."""
        self.add(builder, self.filled(*texts))

    def add(self, builder: ContentBuilder, filled: Filled) -> None:
        """An element that was :meth:`filled`, as content of the open one."""
        tree = builder.tree
        texts, found, values = filled
        if tree.namespaces:  # a default namespace may have to be undone
            self._replay(builder, texts)
            builder.closed, builder.spaced = True, False
            return
        row = len(tree.kind)
        tree.kind += found.kind
        tree.name += found.name
        tree.prefix += found.prefix
        tree.up += found.up
        tree.up[row] = row - builder.here
        tree.size += found.size
        tree.value += values
        if len(values) >= _NOTED:
            tree.forms[row] = found.form
        builder.closed, builder.spaced = True, False
