"""The tag structure of a feed: it grows with what the records turn out to hold.

A structure is a promise that there are no other elements, so a tag is announced before the first record that has it. As
in :mod:`xstreamcast.cast.infer`, an element inside one of the same name is that tag again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xstreamcast.model.names import ELEMENT, intern, name_local, name_uri
from xstreamcast.model.structure import Structure, Tag, TagType
from xstreamcast.model.tree import Node


class Tags:
    """The elements around the records, the tags of the records, and all tags seen below them.

    ``records`` are the names that records have; None: those that come.
    """

    def __init__(self, around: Iterable[str], records: Sequence[str] | None, type: TagType) -> None:
        self.type = type
        self.names: list[str] = list(around)
        self.parent = len(self.names)
        """The tag of the element that the records are in."""
        self.children: list[dict[int, int]] = [{} for _ in self.names]  # by interned name
        for name in records or ():
            self._add(self.parent, intern(ELEMENT, *_parts(name)))
        self.only = self.parent + 1 if records is not None and len(records) == 1 else None
        """The tag of every record, if all have the same."""
        self.announced = 0

    def restore(self, structure: Structure) -> None:
        """Go on with the tags that were announced before."""
        tags = [structure.tag(number) for number in sorted(structure.tags)]
        self.names = [tag.name for tag in tags]
        self.children = [{} for _ in tags]
        for tag, below in zip(tags[self.parent - 1 :], self.children[self.parent - 1 :], strict=True):
            for child in tag.children:
                below[intern(ELEMENT, *_parts(structure.tag(child).name))] = child
        self.announced = sum(len(tag.children) for tag in tags)

    def look(self, record: Node) -> int:
        """Take in the elements of a record; its tag."""
        tree, first = record.tree, record.row
        kind, name, up, children = tree.kind, tree.name, tree.up, self.children
        own = children[self.parent - 1].get(name[first])
        found = {first: own if own is not None else self._add(self.parent, name[first])}
        for row in range(first + 1, first + tree.size[first] + 1):
            if kind[row] == ELEMENT:
                parent = found[row - up[row]]
                tag = children[parent - 1].get(name[row])
                found[row] = tag if tag is not None else self._enter(record, row, parent, found)
        return found[first]

    def _add(self, parent: int, interned: int) -> int:
        uri, local = name_uri[interned], name_local[interned]
        self.names.append(f"{{{uri}}}{local}" if uri else local)
        self.children.append({})
        tag = self.children[parent - 1][interned] = len(self.names)
        return tag

    def _enter(self, record: Node, row: int, parent: int, found: dict[int, int]) -> int:
        tree = record.tree
        interned = tree.name[row]
        above = row
        while above != record.row:
            above -= tree.up[above]
            if tree.name[above] == interned:
                tag = found[above]
                break
        else:
            return self._add(parent, interned)
        self.children[parent - 1][interned] = tag
        return tag

    def news(self) -> Structure | None:
        """The structure, where it has something that was not announced yet."""
        links = self.parent - 1 + sum(map(len, self.children))
        if links == self.announced:
            return None
        self.announced = links
        tags = {}
        records = self.children[self.parent - 1].values()
        for number, (name, below) in enumerate(zip(self.names, self.children, strict=True), 1):
            type: TagType = self.type if number in records else "snapshot"
            children = (number + 1,) if number < self.parent else tuple(dict.fromkeys(below.values()))
            tags[number] = Tag(number, name, type, children)
        return Structure(tags, 1, grows=True)


def _parts(name: str) -> tuple[str, str]:
    """``{uri}local`` → uri and local."""
    uri, _, local = name.removeprefix("{").rpartition("}")
    return uri, local
