"""The tag structure of a feed: it grows with what the records turn out to hold.

A structure is a promise that there are no other elements, so a tag is announced before the first record that has it. As
in :mod:`xstreamcast.cast.infer`, an element inside one of the same name is that tag again.
"""

from __future__ import annotations

from collections.abc import Iterable

from xstreamcast.model.names import ELEMENT, intern, name_local, name_uri
from xstreamcast.model.structure import Structure, Tag, TagType
from xstreamcast.model.tree import Node


class Tags:
    """The elements around the records, the record's tag, and all tags seen below it."""

    def __init__(self, around: Iterable[str], record: str, type: TagType) -> None:
        self.type = type
        self.names: list[str] = [*around, record]
        self.children: list[dict[int, int]] = [{} for _ in self.names]  # by interned name
        self.record = len(self.names)
        self.announced = 0

    def restore(self, structure: Structure) -> None:
        """Go on with the tags that were announced before."""
        tags = [structure.tag(number) for number in sorted(structure.tags)]
        self.names = [tag.name for tag in tags]
        self.children = [{} for _ in tags]
        for tag, below in zip(tags[self.record - 1 :], self.children[self.record - 1 :], strict=True):
            for child in tag.children:
                uri, _, local = structure.tag(child).name.removeprefix("{").rpartition("}")
                below[intern(ELEMENT, uri, local)] = child
        self.announced = sum(len(tag.children) for tag in tags)

    def look(self, record: Node) -> None:
        """Take in the elements of a record."""
        tree, first = record.tree, record.row
        kind, name, up, children = tree.kind, tree.name, tree.up, self.children
        found = {first: self.record}
        for row in range(first + 1, first + tree.size[first] + 1):
            if kind[row] == ELEMENT:
                parent = found[row - up[row]]
                tag = children[parent - 1].get(name[row])
                found[row] = tag if tag is not None else self._enter(record, row, parent, found)

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
            uri, local = name_uri[interned], name_local[interned]
            self.names.append(f"{{{uri}}}{local}" if uri else local)
            self.children.append({})
            tag = len(self.names)
        self.children[parent - 1][interned] = tag
        return tag

    def news(self) -> Structure | None:
        """The structure, where it has something that was not announced yet."""
        links = self.record - 1 + sum(map(len, self.children))
        if links == self.announced:
            return None
        self.announced = links
        tags = {}
        for number, (name, below) in enumerate(zip(self.names, self.children, strict=True), 1):
            type: TagType = self.type if number == self.record else "snapshot"
            children = (number + 1,) if number < self.record else tuple(dict.fromkeys(below.values()))
            tags[number] = Tag(number, name, type, children)
        return Structure(tags, 1)
