"""Writing Python source: indentation, fresh names, places to come back to, and early exits.

Names of local variables are a few letters and a number, every number used once in a program, so that the free
variables of a piece of code are found by looking at its text (:meth:`Emitter.outline`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from xstreamcast.dataclass import dataclass
from xstreamcast.lang.ast import NOWHERE, Source, Span

_LOCAL = re.compile(r"\b[a-z]+\d+\b")
_PLAIN = re.compile(r"[ -&(-\[\]-~]*", re.ASCII)

Spot = tuple[Source, Span]


class Slot(list["Line | Slot"]):
    """A place in the text that is filled later."""

    def __init__(self, indent: int, depth: int) -> None:
        super().__init__()
        self.indent = indent
        self.depth = depth  # of captures, see Emitter.home


@dataclass(slots=True)
class Line:
    indent: int
    text: str
    spot: Spot


@dataclass(slots=True)
class Exit:
    """A region of loops that can be left early: ``flag`` tells why the loops ended."""

    flag: str
    loops: int
    used: bool = False


@dataclass(slots=True)
class Frame:
    """One Python function in the making: the slots in front of its open loops, for what does not vary in them."""

    entry: Slot
    loops: list[Slot] = field(default_factory=list)


class Emitter:
    """The text of one generated module."""

    def __init__(self, source: Source) -> None:
        self.module: list[Line | Slot] = []
        self.lines: list[Line | Slot] = self.module
        self.indent = 0
        self.constants: dict[str, Any] = {}
        self.spot: Spot = (source, NOWHERE)
        self.frames: list[Frame] = []
        self.exits: list[Exit] = []
        self.loop_depth = 0
        self.block_depth = 0
        self.captures = 0
        self.home: dict[str, int] = {}
        self._count = 0
        self._interned: dict[tuple[type, Any], str] = {}

    # ------------------------------------------------------------------------------------------------ names

    def fresh(self, letter: str = "v") -> str:
        """A new local name."""
        self._count += 1
        name = f"{letter}{self._count}"
        self.home[name] = self.captures
        return name

    def number(self) -> int:
        self._count += 1
        return self._count

    def constant(self, value: Any, hashable: bool = False) -> str:
        """A global name for a value that exists at compile time."""
        if hashable:
            known = self._interned.get((type(value), value))
            if known is not None:
                return known
        name = f"K_{len(self.constants)}"
        self.constants[name] = value
        if hashable:
            self._interned[type(value), value] = name
        return name

    def literal(self, value: str) -> str:
        """A string as source text; what looks like a local name, or is long, becomes a constant."""
        if len(value) < 60 and _PLAIN.fullmatch(value) and not _LOCAL.search(value):
            return repr(value)
        return self.constant(value, hashable=True)

    # ------------------------------------------------------------------------------------------------- lines

    def line(self, text: str) -> None:
        self.lines.append(Line(self.indent, text, self.spot))

    def slot(self) -> Slot:
        made = Slot(self.indent, self.captures)
        self.lines.append(made)
        return made

    def fill(self, slot: Slot, text: str) -> None:
        slot.append(Line(slot.indent, text, self.spot))

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """A compound statement."""
        self.line(header)
        before = len(self.lines)
        self.indent += 1
        try:
            yield
        finally:
            if len(self.lines) == before or all(isinstance(made, Slot) for made in self.lines[before:]):
                self.line("pass")
            self.indent -= 1

    @contextmanager
    def loop(self, header: str) -> Iterator[None]:
        """A loop; leaving it early leaves the loops around it too, as far as the exit region reaches."""
        frame = self.frames[-1]
        frame.loops.append(self.slot())
        self.loop_depth += 1
        self.block_depth += 1
        with self.block(header):
            yield
        self.block_depth -= 1
        self.loop_depth -= 1
        frame.loops.pop()
        for region in self.exits:
            if region.used and self.loop_depth > region.loops:
                self.line(f"if {region.flag}: break")

    @contextmanager
    def region(self, flag: str) -> Iterator[Exit]:
        """The loops opened inside can be left together by :meth:`leave`."""
        made = Exit(flag, self.loop_depth)
        self.exits.append(made)
        yield made
        self.exits.pop()

    @contextmanager
    def sealed(self) -> Iterator[None]:
        """Loops inside are not left early by the regions around."""
        hidden, self.exits = self.exits, []
        yield
        self.exits = hidden

    def leave(self, region: Exit) -> None:
        """Set the flag and leave the loops of a region."""
        self.line(f"{region.flag} = True")
        if self.loop_depth > region.loops:
            region.used = True
            self.line("break")

    @contextmanager
    def capture(self, indent: int | None = None) -> Iterator[list[Line | Slot]]:
        """Write into a list of its own; the caller decides where it goes."""
        kept, kept_indent = self.lines, self.indent
        made: list[Line | Slot] = []
        self.lines = made
        if indent is not None:
            self.indent = indent
        try:
            yield made
        finally:
            self.lines, self.indent = kept, kept_indent

    @contextmanager
    def function(self) -> Iterator[tuple[list[Line | Slot], Frame]]:
        """Write the body of a new Python function, to be placed by :meth:`place` or :meth:`outline`."""
        kept = (self.exits, self.loop_depth, self.block_depth)
        self.exits, self.loop_depth, self.block_depth = [], 0, 0
        self.captures += 1
        with self.capture(1) as body:
            frame = Frame(self.slot())
            self.frames.append(frame)
            yield body, frame
            self.frames.pop()
        self.captures -= 1
        self.exits, self.loop_depth, self.block_depth = kept

    @contextmanager
    def outlined(self) -> Iterator[list[Line | Slot]]:
        """Write a body that moves to a function of its own but keeps the frame (for deeply nested code)."""
        kept = (self.exits, self.loop_depth, self.block_depth)
        self.exits, self.loop_depth, self.block_depth = [], 0, 0
        self.captures += 1
        with self.capture(1) as body:
            yield body
        self.captures -= 1
        self.exits, self.loop_depth, self.block_depth = kept

    def free(self, body: list[Line | Slot]) -> list[str]:
        """The names a body uses that are defined outside of it."""
        used: dict[str, None] = {}
        for line in flatten(body):
            for name in _LOCAL.findall(line.text):
                if self.home.get(name, 0) <= self.captures and name in self.home:
                    used[name] = None
        return list(used)

    def define(self, name: str, parameters: str, body: list[Line | Slot]) -> None:
        """Place a finished body as a function of the module."""
        self.module.append(Line(0, f"def {name}({parameters}):", self.spot))
        self.module.extend(body)

    def text(self) -> tuple[str, list[Spot]]:
        """The whole module, and for every line its place in the query."""
        spots, texts = [], []
        for line in flatten(self.module):
            texts.append("    " * line.indent + line.text)
            spots.append(line.spot)
        return "\n".join(texts) + "\n", spots


def flatten(lines: list[Line | Slot]) -> Iterator[Line]:
    for line in lines:
        if isinstance(line, Line):
            yield line
        else:
            yield from flatten(line)
