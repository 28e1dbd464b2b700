"""The trees of contents: parsed once for all who look at them, many at a time by the kernel, kept within a budget.

A tree is only a cache. The content itself is in the table of regions (in memory, in the file it came from, or on disk),
so a tree that has been dropped is made again when a member of it must look again. Rows of a content count from its
wrapper, so that they are the same in a tree of its own and in one that it shares with others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from xstreamcast.cast.regions import Grown
from xstreamcast.model.namespaces import STREAM
from xstreamcast.scan.parse import parse
from xstreamcast.wire.content import Opened, declarations, write_content

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling, Regions
    from xstreamcast.model.tree import Tree

TREE_BUDGET: Final = 32 << 20
"""Bytes of trees that are kept, unless another budget is given; beyond, the oldest are dropped."""
TOGETHER: Final = 1 << 20
"""Bytes of content that the kernel parses at a time."""
KERNEL_FROM: Final = 1 << 16
"""Bytes of content from which it is worth calling the kernel, once it is loaded."""
LOAD_FROM: Final = 1 << 20
"""Bytes of content from which it is worth loading it."""

_WRAP: Final = f'<w xmlns:stream="{STREAM}">'.encode()
_MANY: Final = f'<ws xmlns:stream="{STREAM}"><w>'.encode()
_NEXT: Final = b"</w><w>"
_NO_NAMES: Final[Mapping[str, str]] = {}
_ROW: Final = 40  # bytes of a row: the columns, and the value's place


def _worth(size: int) -> bool:
    """Whether the kernel is to parse so many bytes."""
    return size >= (KERNEL_FROM if "xstreamcast.scan.kernel" in sys.modules else LOAD_FROM)


def parse_document(data: bytes) -> Tree:
    """The tree of a document that is known to be well-formed."""
    if not _worth(len(data)):
        return parse(data)[0]
    from xstreamcast.scan.tree import parse_tree

    return parse_tree(data)


def _is_bare(filling: Filling) -> bool:
    """Whether there is no tree of a filling."""
    return filling.grown is None or filling.grown.tree is None


class Grove:
    """The trees of one table of regions. ``held``: their bytes, about; ``parsed``: how many contents were parsed."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._grown: dict[Grown, None] = {}
        self.budget = TREE_BUDGET
        self.held = 0
        self.parsed = 0

    def tree(self, filling: Filling) -> tuple[Tree, int]:
        """The tree of a filling, and the row of the wrapper around its content."""
        grown = filling.grown
        if grown is None or grown.tree is None:
            grown = self._alone(filling)
        assert grown.tree is not None
        return grown.tree, filling.row

    def content(self, filling: Filling) -> bytes:
        """What a filling says, its holes prefixed."""
        found = self._regions.find(filling)
        assert found is not None
        return found.data if isinstance(found, Opened) else write_content(found, {})

    def _alone(self, filling: Filling) -> Grown:
        data = self.content(filling)
        if not filling.native and _worth(len(data)):
            self._together([(filling, data)])
            assert filling.grown is not None
            return filling.grown
        return self.plant(filling, self.sprout(data, filling.native or {}), len(data))

    def sprout(self, data: bytes, around: Mapping[str, str] = _NO_NAMES) -> Tree:
        """The tree of a small content, its wrapper in row 1, on which the namespaces ``around`` it are declared."""
        self.parsed += 1
        wrap = _WRAP if not around else _WRAP[:-1] + declarations(around) + b">"
        tree: Tree = parse(wrap + data + b"</w>", wrapped=1)[0]
        return tree

    def plant(self, filling: Filling, tree: Tree, length: int) -> Grown:
        """Keep the tree of a filling's content, which has been parsed alone."""
        grown = self._take(tree, length)
        grown.fillings, filling.grown, filling.row = 1, grown, 1
        return grown

    def _take(self, tree: Tree, length: int) -> Grown:
        for row in [row for row, declared in tree.namespaces.items() if STREAM in declared.values()]:
            others = {p: u for p, u in tree.namespaces.pop(row).items() if u != STREAM}
            if others:
                tree.namespaces[row] = others
        grown = Grown(tree, _ROW * len(tree) + length)
        self._grown[grown] = None
        self.held += grown.size
        while self.held > self.budget and len(self._grown) > 1:
            self._fell(next(iter(self._grown)))
        return grown

    def _fell(self, grown: Grown) -> None:
        del self._grown[grown]
        self.held -= grown.size
        grown.tree = None

    def drop(self, filling: Filling) -> None:
        """Nobody looks at a filling any more, where it was seen."""
        grown, filling.grown = filling.grown, None
        if grown is not None and grown.tree is not None:
            grown.fillings -= 1
            if not grown.fillings:
                self._fell(grown)

    def ready(self, fillings: Iterable[Filling]) -> None:
        """Parse what is to be looked at, together, where that is worth while."""
        waiting = {id(one): one for one in fillings if not one.native and _is_bare(one)}
        if len(waiting) < 2:
            return
        contents = [(one, self.content(one)) for one in waiting.values()]
        size = sum(len(content) for _, content in contents)
        if not _worth(size):
            return
        batch: list[tuple[Filling, bytes]] = []
        size = 0
        for one, content in contents:
            batch.append((one, content))
            size += len(content)
            if size >= TOGETHER:
                self._together(batch)
                batch, size = [], 0
        if batch:
            self._together(batch)

    def _together(self, batch: list[tuple[Filling, bytes]]) -> None:
        from xstreamcast.scan.tree import parse_tree

        self.parsed += len(batch)
        data = b"".join((_MANY, _NEXT.join([content for _, content in batch]), b"</w></ws>"))
        tree = parse_tree(data, wrapped=2)
        grown = self._take(tree, len(data))
        grown.fillings = len(batch)
        size, row = tree.size, 2
        for filling, _ in batch:
            filling.grown, filling.row = grown, row
            row += size[row] + 1
