"""Regular expressions ready to be used: by Python's ``re`` where its steps are few, else by a machine that bounds them.

Both find the same matches and groups: the first way in the order of alternatives, as much as possible unless ``?`` says
otherwise (F&O 3.1 §5.6.1).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.regex_cost import Cost, cost_of
from xstreamcast.functions.regex_syntax import Reader
from xstreamcast.functions.regex_tree import (
    NOTHING,
    Back,
    Chain,
    Characters,
    Choice,
    Edge,
    Group,
    Node,
    Ranges,
    Repeat,
    capturing,
)

if TYPE_CHECKING:
    import numpy as np

Spans = tuple[tuple[int, int], ...]
"""Where a match and its groups begin and end; (-1, -1) for a group that has no part in it."""

_FEW: Final = 20_000_000
"""Steps that ``re`` makes in less than a second."""
_MOST: Final = 50_000_000
"""Steps for an expression with references back, after which it is given up."""
_SLICE: Final = 2_000_000
"""Steps at a time: between them, signals are taken."""
_LONGEST: Final = 20_000
"""Instructions of a program."""
_MOST_NOTES: Final = 1 << 33
"""Bits of notes: a gigabyte."""
_NESTED: Final = 8
"""Loops with bodies that may be empty, within each other."""


class Expression:
    """A compiled expression. ``parents[n]`` is the group that group n stands in, 0 the whole."""

    def __init__(self, source: str, text: str, flags: int, node: Node, parents: tuple[int, ...], literal: bool) -> None:
        self.source = source
        self.pattern = re.compile(text, flags)
        self.node = node
        self.parents = parents
        self.literal = literal
        self.backward = capturing(len(parents) - 1, node)

    @property
    def matches_empty(self) -> bool:
        return self.pattern.search("") is not None

    @cached_property
    def cost(self) -> Cost:
        return cost_of(self.node)

    @cached_property
    def program(self) -> Program:
        return Program(self)

    def _is_cheap(self, text: str) -> bool:
        return self.literal or self.cost.steps(len(text)) <= _FEW

    def found_in(self, text: str) -> bool:
        """Whether there is a match."""
        if self._is_cheap(text):
            return self.pattern.search(text) is not None
        return next(self.program.matches(text), None) is not None

    def matches(self, text: str) -> Iterator[Spans]:
        """All matches, one after the other; none is empty."""
        if self._is_cheap(text):
            return (match.regs for match in self.pattern.finditer(text))
        return self.program.matches(text)


@lru_cache(maxsize=512)
def compile_regex(pattern: str, flags: str) -> Expression:
    """The compiled form of an XPath regular expression with flags from ``smixq``."""
    for flag in flags:
        if flag not in "smixq":
            raise error("FORX0001", f"{flag!r} is not a flag", hint="flags are s, m, i, x and q")
    case = re.IGNORECASE if "i" in flags else 0
    if "q" in flags:
        return Expression(pattern, re.escape(pattern), case, NOTHING, (0,), True)
    reader = Reader(pattern, flags)
    try:
        node = reader.whole()
        return Expression(pattern, node.text, case, node, tuple(reader.parents), False)
    except (re.error, OverflowError, RecursionError) as failure:
        raise error("FORX0002", f"regular expression {pattern!r}: {failure}") from None


@cache
def _cased() -> str:
    """The characters that have an upper or a lower case."""
    every = (chr(code) for code in (*range(0xD800), *range(0xE000, 0x20000)))
    return "".join(c for c in every if c.lower() != c or c.upper() != c)


@cache
def _variants(code: int) -> Ranges:
    """The characters that a character matches where case does not matter."""
    found = {chr(code), *re.findall(re.escape(chr(code)), _cased(), re.IGNORECASE)}
    return tuple(sorted((ord(c), ord(c)) for c in found))


class Program:
    """The machine's program for an expression."""

    def __init__(self, expression: Expression) -> None:
        import numpy as np

        from xstreamcast.functions import regex_machine as m

        self.expression = expression
        self.rows: list[list[int]] = []
        self.sets: dict[Ranges, int] = {}
        self.notes = self.depth = self.deepest = 0
        self.groups = 2 * len(expression.parents)
        self._emit(m.SAVE, 0)
        self._add(expression.node)
        self._emit(m.FOUND)
        self.code = np.array(self.rows, np.int64)
        self.borders = sorted({0, *(edge for ranges in self.sets for low, high in ranges for edge in (low, high + 1))})
        self.width = len(self.borders)
        table = np.zeros(len(self.sets) * self.width, np.uint8)
        for ranges, number in self.sets.items():
            for low, high in ranges:
                first, last = bisect_right(self.borders, low) - 1, bisect_right(self.borders, high) - 1
                table[number * self.width + first : number * self.width + last + 1] = 1
        self.table = table

    def _refused(self, why: str) -> XStreamError:
        hint = "write it so that a text matches in one way only: (a+)+ is a+"
        return error("XSC0130", f"regular expression {self.expression.source!r}: {why}", hint=hint)

    # ---------------------------------------------------------------------------------------------- making it

    def _emit(self, operation: int, x: int = 0, y: int = 0) -> int:
        if len(self.rows) >= _LONGEST:
            raise self._refused("it repeats too much, and its matches may take for ever to find")
        self.rows.append([operation, x, y, -1, 0])
        return len(self.rows) - 1

    def _split(self) -> int:
        from xstreamcast.functions import regex_machine as m

        at = self._emit(m.SPLIT)
        if not self.expression.backward:
            self.rows[at][3:] = self.notes, self.depth
            self.notes += 1 << self.depth
        return at

    def _lead(self, split: int, first: int, second: int, lazy: bool) -> None:
        self.rows[split][1:3] = (second, first) if lazy else (first, second)

    def _add(self, node: Node) -> None:
        from xstreamcast.functions import regex_machine as m

        if isinstance(node, Characters):
            ranges = _variants(node.ranges[0][0]) if node.cased else node.ranges
            self._emit(m.CHARACTER, self.sets.setdefault(ranges, len(self.sets)))
        elif isinstance(node, Edge):
            self._emit({"^": m.BEGIN, "^m": m.LINE_BEGIN, "$": m.END, "$m": m.LINE_END}[node.kind])
        elif isinstance(node, Back):
            self._emit(m.BACK, node.number)
        elif isinstance(node, Chain):
            for part in node.parts:
                self._add(part)
        elif isinstance(node, Group):
            if node.number is not None:
                self._emit(m.SAVE, 2 * node.number)
            self._add(node.body)
            if node.number is not None:
                self._emit(m.SAVE, 2 * node.number + 1)
        elif isinstance(node, Choice):
            ends = []
            for branch in node.branches[:-1]:
                split = self._split()
                self._add(branch)
                ends.append(self._emit(m.JUMP))
                self._lead(split, split + 1, len(self.rows), False)
            self._add(node.branches[-1])
            for end in ends:
                self.rows[end][1] = len(self.rows)
        else:
            self._repeat(node)

    def _repeat(self, node: Repeat) -> None:
        from xstreamcast.functions import regex_machine as m

        for _ in range(node.low):
            self._add(node.body)
        empty = _may_be_empty(node.body)
        exits: list[int] = []
        splits: list[int] = []
        for _ in range(1 if node.high is None else node.high - node.low):
            splits.append(self._split())
            if empty:  # an iteration that matches nothing is the last
                if self.depth >= _NESTED:
                    raise self._refused("its loops are nested too deeply")
                register = self.groups + self.depth
                self.depth += 1
                self.deepest = max(self.deepest, self.depth)
                self._emit(m.ENTER, register)
                self._add(node.body)
                self.depth -= 1
                exits.append(self._emit(m.LEAVE, register))
            else:
                self._add(node.body)
            if node.high is None:
                self._emit(m.JUMP, splits[-1])
        for split in splits:
            self._lead(split, split + 1, len(self.rows), node.lazy)
        for leave in exits:
            self.rows[leave][2] = len(self.rows)

    # ---------------------------------------------------------------------------------------------- running it

    def matches(self, text: str) -> Iterator[Spans]:
        """All matches in a text, one after the other."""
        import numpy as np

        from xstreamcast.functions import regex_machine as m

        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
        classes = np.searchsorted(np.array(self.borders), codes, "right") - 1
        folded = codes
        if self.expression.backward and self.expression.pattern.flags & re.IGNORECASE:
            folded = np.array([ord(c.lower()) if len(c.lower()) == 1 else ord(c) for c in text], np.int64)
        if (len(text) + 1) * self.notes > _MOST_NOTES:
            raise self._refused(f"a text of {len(text)} characters is too long for it")
        notes = np.zeros((len(text) + 1) * self.notes // 8 + 1, np.uint8)
        slots = np.full(self.groups + self.deepest, -1, np.int64)
        stack = np.zeros(1024, np.int64)
        registers = np.zeros(m.REGISTERS + 2, np.int64)
        registers[m.REGISTERS :] = self.groups, self.notes
        while True:
            status = m.advance(
                self.code, self.table, self.width, classes, folded, slots, stack, notes, registers, _SLICE
            )
            if self.expression.backward and registers[m.STEPS] > _MOST:
                raise self._refused(f"its matches were not found in {_MOST} steps")
            if status == m.FULL:
                stack = np.concatenate([stack, np.zeros_like(stack)])
            elif status == m.MATCHED:
                yield _spans(slots, self.groups)
                end = int(slots[1])
                slots[:] = -1
                registers[: m.STEPS] = 0, end, 0, end
            elif status == m.NOTHING:
                return


def _spans(slots: np.ndarray[Any, Any], groups: int) -> Spans:
    places = slots[:groups].tolist()
    pairs = zip(places[::2], places[1::2], strict=True)
    return tuple([(first, last) if first >= 0 and last >= 0 else (-1, -1) for first, last in pairs])


def _may_be_empty(node: Node) -> bool:
    if isinstance(node, Chain):
        return all(map(_may_be_empty, node.parts))
    if isinstance(node, Choice):
        return any(map(_may_be_empty, node.branches))
    if isinstance(node, Repeat):
        return node.low == 0 or _may_be_empty(node.body)
    return _may_be_empty(node.body) if isinstance(node, Group) else not isinstance(node, Characters)
