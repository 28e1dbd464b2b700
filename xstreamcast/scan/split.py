"""How a range of a document can be scanned before all that comes before it: guess, scan, verify, rescan on a miss.

A range needs the elements that are open where it begins. Finding out takes a scan of all before it, so each range
*guesses*: where to begin (at a start tag, outside every record) and which states of the automaton the open elements
have. It scans on that guess, noting the names of the end tags that close elements from before it. When all is done,
the ranges are checked in order against what the one before really ended with (:func:`fits`), and the guessed levels
give way to the real ones (:func:`graft`). A guess that was wrong in anything that mattered costs time, not truth: the
scan before it just goes on through its range. :mod:`xstreamcast.scan.ahead` does so with threads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.model.names import ELEMENT
from xstreamcast.native.vector import Bytes
from xstreamcast.scan import layout as t
from xstreamcast.scan.automaton import Automaton, Position, Target
from xstreamcast.scan.layout import (
    CONTENT,
    EMITS,
    LEVEL_WORDS,
    NAME,
    RECORD,
    ROW,
    SCOPE,
    STATE,
    UNKNOWN,
)
from xstreamcast.scan.reader import plain_start
from xstreamcast.scan.scanner import Scanner
from xstreamcast.scan.tables import DEAD

WINDOWS: Final = (1 << 16, 1 << 20)
"""How far a range looks for a place to begin: it tries the first, then the second."""
_AHEAD: Final = 1 << 16
_FILLERS: Final = 24
_TOKENS: Final = re.compile(
    rb"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<(/?)([^\s/>!?]+)(?:[^>"'<]|"[^"]*"|'[^']*')*?(/?)>""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Level:
    """An open element in words that mean the same in every process: name, namespaces, positions in the automaton."""

    name: bytes
    scope: frozenset[tuple[str, str]]
    state: frozenset[Position]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts of a range that join it to the one before: where it lay, what it took for granted, what it did.

    ``guess``: the open elements it began with, innermost last; ``closed``: the names of those it closed, innermost
    first.
    """

    start: int
    guess: tuple[Level, ...]
    closed: tuple[bytes, ...]


def fits(levels: Sequence[Level], position: int, outcome: Outcome) -> bool:
    """Whether a range began where and as the scan before it ended: with ``levels`` open, the document's first.

    Only what the range saw need be right: the innermost open element, and each one uncovered by an end tag.
    """
    if outcome.start != position or len(outcome.closed) >= len(levels) - 1:
        return False  # or the root was closed: what follows has rules of its own
    for k in range(len(outcome.closed) + 1):
        real, guessed = levels[-1 - k], outcome.guess[-1 - k]
        if (real.scope, real.state) != (guessed.scope, guessed.state):
            return False
        if k < len(outcome.closed) and real.name != outcome.closed[k]:
            return False
    return True


def boundary(scanner: Scanner, kept: int) -> list[Level] | None:
    """Elements that are open where a scan stopped; None where no other may go on: within a body, or a node half read.

    ``kept``: flags of states whose elements no other scan can end.
    """
    regs = scanner.regs
    table = scanner.stack[: (scanner.depth + 1) * LEVEL_WORDS].reshape(-1, LEVEL_WORDS)
    if regs[t.MODE] != CONTENT or regs[t.TEXT] >= 0 or table[-1, RECORD] >= 0:
        return None
    flags = scanner.automaton.flags[table[:, STATE]]
    if (flags[1:] & kept).any() or flags[0] & kept & ~EMITS:
        return None  # what is open is handed over at its end, with its beginning
    return levels_of(scanner, table)


def levels_of(scanner: Scanner, table: Any) -> list[Level]:
    """Levels of a scanner's stack in words of their own."""
    symbols, automaton = scanner.symbols, scanner.automaton
    return [
        Level(
            symbols.texts[name] if name != UNKNOWN else b"",
            frozenset(symbols.contexts[scope].items()),
            automaton.states[state],
        )
        for state, name, scope in table[:, [STATE, NAME, SCOPE]].tolist()
    ]


def graft(scanner: Scanner, guessed: int, levels: Sequence[Level], closed: int) -> int:
    """Replace the guessed levels still open by the real ones, so that this scan can go on as the true one.

    How many these are, the document's level included.
    """
    real = levels[: len(levels) - closed]
    own = scanner.stack[(guessed - closed + 1) * LEVEL_WORDS : (scanner.depth + 1) * LEVEL_WORDS]
    stack = np.zeros((len(real) + 64) * LEVEL_WORDS + len(own), np.int64)
    for row, level in zip(stack.reshape(-1, LEVEL_WORDS), real, strict=False):
        row[STATE] = scanner.automaton.state_of(level.state)
        row[NAME] = scanner.symbols.name_of(level.name)
        row[SCOPE] = scanner.symbols.context_of(dict(level.scope))
        row[RECORD] = row[ROW] = -1
    stack[len(real) * LEVEL_WORDS : len(real) * LEVEL_WORDS + len(own)] = own
    scanner.regs[t.DEPTH] = len(real) - 1 + len(own) // LEVEL_WORDS
    scanner.regs[t.ROOT] = 1
    scanner.stack = stack
    return len(real)


# ------------------------------------------------------------------------------------------------- guessing


def place(b: Bytes, at: int, end: int) -> tuple[int, list[bytes]] | None:
    """A start tag after ``at`` whose parent lies as far out as can be seen, and names of the parent's children."""
    for window in WINDOWS:
        piece = bytes(b[at : min(at + window, end)])
        first = piece.find(b"<")
        depth = lowest = 0
        found = -1
        children: dict[bytes, None] = {}
        for match in _TOKENS.finditer(piece, max(first, 0)):
            closing, name, empty = match.groups()
            if name is None:
                continue
            if closing:
                depth -= 1
                if depth < lowest:
                    lowest, found, children = depth, -1, {name: None}
                continue
            if depth == lowest:
                if found < 0:
                    found = match.start()
                children[name] = None
            if not empty:
                depth += 1
        if found >= 0 and (lowest < 0 or window == WINDOWS[-1]):
            return at + found, list(children)
    return None


class Guesser:
    """Which states the open elements have at a place, from the document's head and the automaton's own paths."""

    def __init__(self, b: Bytes, targets: Sequence[Target], name: str) -> None:
        self.b, self.targets, self.name = b, tuple(targets), name
        self.start = plain_start(b) or 0
        self.paths = _paths(bytes(b[self.start : self.start + 4 * _AHEAD]))

    def scanner(self, again: Scanner | None = None) -> Scanner | None:
        """A scanner that has read the root's start tag; one that is done may be used again, for it knows the names."""
        scanner = again or Scanner(Automaton(self.targets), self.name)
        if again:
            scanner.reset()
        scanner.regs[t.POS] = self.start
        at = self.start
        while not scanner.depth:
            ahead = bytes(self.b[at + 1 : at + 1 + _AHEAD]).find(b"<")
            at = at + 1 + ahead if ahead >= 0 else len(self.b)
            if scanner.run(self.b, len(self.b), at) != t.LIMIT or scanner.regs[t.ROOT] > scanner.depth:
                return None
        return scanner

    def guess(self, scanner: Scanner, children: list[bytes]) -> list[int]:
        """The states of the open elements, outermost first, the root's included."""
        known = [self.paths[name] for name in children if name in self.paths]
        root = int(scanner.stack[LEVEL_WORDS + NAME])
        names = scanner.symbols.texts
        chains = [[names[root], b"\0", b"\0"][:length] for length in (2, 1, 3)]
        for target in self.targets:
            locals_ = [(step.test.local or "\0").encode() for step in target.path.steps if step.test.kind == ELEMENT]
            for length in range(1, len(locals_) + 1):
                chains.append([names[root], *locals_[1 if locals_[0] == names[root] else 0 : length]])
        if known:
            chains.insert(0, known[0])
        scored = [(self._specific(scanner, self._states(scanner, chain), children), chain) for chain in chains]
        best = max(score for score, _ in scored)
        return self._states(scanner, next(chain for score, chain in scored if score == best))

    def _class(self, scanner: Scanner, name: bytes) -> int:
        prefix, _, local = name.decode("utf-8", "replace").rpartition(":")
        context = scanner.symbols.contexts[int(scanner.stack[LEVEL_WORDS + SCOPE])]
        return scanner.automaton.classify(ELEMENT, context.get(prefix, ""), local)

    def _states(self, scanner: Scanner, chain: list[bytes]) -> list[int]:
        states = [int(scanner.stack[LEVEL_WORDS + STATE])]
        for name in chain[1:]:
            states.append(scanner.automaton.expand(states[-1], self._class(scanner, name)))
        return states

    def _specific(self, scanner: Scanner, states: list[int], children: list[bytes]) -> int:
        """How many children lead somewhere that any name would not: evidence that this is where we are."""
        automaton = scanner.automaton
        other = automaton.expand(states[-1], self._class(scanner, b"\0"))
        reached = [automaton.expand(states[-1], self._class(scanner, name)) for name in children]
        return sum(state not in (DEAD, other) for state in reached)


def _paths(head: bytes) -> dict[bytes, list[bytes]]:
    """Name of an element -> names of its ancestors, for the first of each name in the document's head."""
    found: dict[bytes, list[bytes]] = {}
    stack: list[bytes] = []
    for match in _TOKENS.finditer(head):
        closing, name, empty = match.groups()
        if name is None:
            continue
        if closing:
            if stack:
                stack.pop()
            continue
        found.setdefault(name, list(stack))
        if not empty:
            stack.append(name)
    return {name: path for name, path in found.items() if path}


def speculate(
    guesser: Guesser, start: int, children: list[bytes], kept: int, again: Scanner | None = None
) -> tuple[Scanner, tuple[Level, ...]] | None:
    """A scanner that begins on a guess, and the guess; None where no range can begin."""
    scanner = guesser.scanner(again)
    if scanner is None:
        return None
    states = guesser.guess(scanner, children)
    if any(int(scanner.automaton.flags[state]) & kept for state in states):
        return None  # something that began before is still open: no range can begin within it
    # Where depth makes no difference (``//``), levels to spare keep a wrong guess of it from doing harm.
    spare = _FILLERS if len(states) > 1 and states[0] == states[1] else 0
    levels = [states[0]] * (spare + 1) + states[1:]
    scope = scanner.stack[LEVEL_WORDS + SCOPE]
    scanner.stack = np.zeros((len(levels) + 64) * LEVEL_WORDS, np.int64)
    table = scanner.stack.reshape(-1, LEVEL_WORDS)
    table[1 : len(levels) + 1, STATE] = levels
    table[1 : len(levels) + 1, NAME] = UNKNOWN
    table[1 : len(levels) + 1, SCOPE] = scope
    table[: len(levels) + 1, [RECORD, ROW]] = -1
    scanner.regs[t.DEPTH] = len(levels)
    scanner.regs[t.POS] = start
    scanner.regs[[t.ROWS, t.TREE_ROWS, t.RECORDS, t.ELEMENTS, t.NESTED]] = 0
    scanner.automaton.visits[:] = 0
    return scanner, tuple(levels_of(scanner, table[1 : len(levels) + 1]))


def body_end(b: Bytes) -> int:
    """Where the last end tag begins: after the root's, a document has rules of its own."""
    tail = max(0, len(b) - _AHEAD)
    last = bytes(b[tail:]).rfind(b"</")
    return tail + last if last >= 0 else len(b)
