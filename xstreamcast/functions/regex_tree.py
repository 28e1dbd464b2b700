"""The parts of a regular expression as a tree, each with its text in Python's syntax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set; ``cased``: written as itself, and matched in any case."""

    ranges: Ranges
    text: str
    cased: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A place: the beginning or the end, of the text or of a line."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Back:
    """What a group has matched, once more; nothing if it has not."""

    number: int

    @property
    def text(self) -> str:
        return f"(?({self.number})\\{self.number}|)"


@dataclass(frozen=True, slots=True)
class Chain:
    """One after the other."""

    parts: tuple[Node, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Choice:
    """The first of them that leads to a match."""

    branches: tuple[Node, ...]

    @property
    def text(self) -> str:
        return "|".join(branch.text for branch in self.branches)


@dataclass(frozen=True, slots=True)
class Group:
    """A group; without a number it captures nothing."""

    number: int | None
    body: Node

    @property
    def text(self) -> str:
        return f"({'?:' if self.number is None else ''}{self.body.text})"


@dataclass(frozen=True, slots=True)
class Repeat:
    """``low`` to ``high`` times, without end if that is None; as few as possible if ``lazy``. ``sign``: as written."""

    body: Node
    low: int
    high: int | None
    lazy: bool
    sign: str

    @property
    def text(self) -> str:
        return self.body.text + self.sign


Node = Characters | Edge | Back | Chain | Choice | Group | Repeat
NOTHING: Final = Chain(())


def capturing(groups: int, node: Node) -> bool:
    """Whether a tree of so many groups refers back to one."""
    if not groups:
        return False
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Back):
            return True
        waiting.extend(inner(one))
    return False


def inner(node: Node) -> tuple[Node, ...]:
    """The parts of a part."""
    if isinstance(node, Chain):
        return node.parts
    if isinstance(node, Choice):
        return node.branches
    return (node.body,) if isinstance(node, Group | Repeat) else ()
