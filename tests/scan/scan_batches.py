"""Batch documents judged without the scanner's help: paths walked node by node, batches joined again."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT
from xstreamcast.model.tree import Node, Tree
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.documents import BatchDocument
from xstreamcast.scan.path import Path

Joined = tuple[int, str, str | None, dict[str, str], list["Joined"]]
"""Kind, name, value of its own, declarations, attributes and children."""


def select(root: Node, path: Path) -> list[Node]:
    """The nodes a path leads to, in document order."""
    nodes = [root]
    for step in path.steps:
        found: set[Node] = set()
        for node in nodes:
            owners = [node, *node.descendants()] if step.deep else [node]
            for owner in owners:
                reached = owner.attributes() if step.test.kind == ATTRIBUTE else owner.children()
                found.update(other for other in reached if step.test.matches(other.kind, other.uri, other.local))
        nodes = sorted(found)
    return nodes


def shown(node: Node, action: Action) -> object:
    """All that a target keeps of a node."""
    if action == Action.PROJECT and node.kind != ATTRIBUTE:
        return node.kind, node.lexical, node.uri, node.string, node.namespaces(), node.xml()
    return node.kind, node.lexical, node.uri, None if node.kind == ELEMENT else node.string


def found(batches: Iterable[BatchDocument], targets: Sequence[Target]) -> list[list[object]]:
    """What each target finds in batches, one after the other."""
    answers: list[list[object]] = [[] for _ in targets]
    for batch in batches:
        sound(batch.tree)
        for answer, target in zip(answers, targets, strict=True):
            answer.extend(shown(node, target.action) for node in select(batch.tree.root, target.path))
    return answers


def sound(tree: Tree) -> None:
    """The columns of a tree agree with each other."""
    assert tree.size[0] == len(tree) - 1
    for row in range(1, len(tree)):
        parent = row - tree.up[row]
        assert parent < row <= row + tree.size[row] <= parent + tree.size[parent]
        if tree.kind[row] == ELEMENT:
            children = tree.children(row)
            only = children[0] if len(children) == 1 and tree.kind[children[0]] == TEXT else None
            expected = "" if not children else tree.value[only] if only is not None else None
            assert tree.value[row] == expected


def joined(batches: Sequence[BatchDocument]) -> Joined:
    """The document that batches are parts of, when nothing is carried."""
    document: Joined = (0, "", None, {}, [])
    spanning: dict[int, Joined] = {}
    last: list[int] = []
    for batch in batches:
        tree = batch.tree
        assert [element.offset for element in batch.began] == last
        last = [element.offset for element in batch.open]
        made: dict[int, Joined] = {0: document}
        old = {element.row: spanning[element.offset] for element in batch.began}
        for row in range(1, len(tree)):
            parent = row - tree.up[row]
            if row in old:
                made[row] = old[row]
            elif not (tree.kind[row] == ATTRIBUTE and parent in old):
                value = None if tree.kind[row] == ELEMENT else tree.value[row]
                made[row] = (tree.kind[row], tree.lexical(row), value, tree.namespaces.get(row, {}), [])
                made[parent][4].append(made[row])
        spanning = {element.offset: made[element.row] for element in batch.open}
    assert batches[-1].final
    assert not last
    return document


class Pieces(io.RawIOBase):
    """A file whose every read gives the next of some pieces."""

    name = "pieces"

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = iter(pieces)
        self.rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, given: Any) -> int:
        buffer, piece = memoryview(given), self.rest or next(self.pieces, b"")
        size = min(len(piece), len(buffer))
        buffer[:size] = piece[:size]
        self.rest = piece[size:]
        return size
