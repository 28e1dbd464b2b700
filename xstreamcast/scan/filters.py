"""Records tested by their characters: those that fail are dropped before they become trees.

A test is a general comparison, so a record passes when *one* of its nodes does. Where the characters do not tell (no
number where one is compared, several nodes where one is expected) the record is kept, for the evaluation to judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT
from xstreamcast.native.vector import Bytes, Longs
from xstreamcast.scan import spans
from xstreamcast.scan.layout import CONTENT_FLAGS, GROWS_TREE, R_END, R_FLAGS, R_FROM, R_START, R_STATE, R_TO, R_TREE

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import RecordTest
    from xstreamcast.scan.automaton import Automaton, Target
    from xstreamcast.scan.path import Path

Filter = tuple["Path", tuple["RecordTest", ...]]
"""A record's path and what its records must pass. Several of one path: a record stays if it passes one of them."""

_MODES: Final = {ELEMENT: spans.TEXT, ATTRIBUTE: spans.ATTRIBUTE, TEXT: spans.TEXT}
_NOTHING: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class _StateFilters:
    """The verdict of a state on the records that have it."""

    apart: bool
    """No record around one of these looks at it."""
    all_pass: bool
    tests: list[list[int]]
    """For each filter the numbers of its tests: one that passes all of them passes."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Some filters, and the numbers of targets in the automaton that looks for their records and values."""

    filters: tuple[Filter, ...]
    first: int = 0
    records: dict[int, list[list[int]]] = field(default_factory=dict)
    """Target of a record path -> for each of its filters the numbers of its tests; [] where there is none."""
    own: tuple[tuple[int, int], ...] = ()
    """Targets that begin with the one record path, and its length; () where something else is looked for."""

    def __bool__(self) -> bool:
        return bool(self.filters)

    @property
    def tests(self) -> tuple[RecordTest, ...]:
        return tuple(test for _, tests in self.filters for test in tests)

    @property
    def targets(self) -> range:
        """The targets of the tests' paths."""
        return range(self.first, self.first + len(self.tests))

    def sparse(self, record: Path, projected: Sequence[Target]) -> bool:
        """Whether a record with no node kept below fails: each of its filters asks for one that would be kept."""
        given = [tests for path, tests in self.filters if path == record]
        length = len(record.steps)
        kept = {target.path for target in projected if len(target.path.steps) > length}
        return bool(given) and all(any(test.path in kept and test.value != "" for test in tests) for tests in given)

    def placed(self, first: int, targets: range, paths: Sequence[Path], projected: Sequence[Target]) -> Filters:
        """The same, with the tests' targets from ``first`` on, and ``targets`` those of the record paths."""
        numbers: list[tuple[Path, list[int]]] = []
        count = 0
        for path, tests in self.filters:
            numbers.append((path, list(range(count, count + len(tests)))))
            count += len(tests)
        records = {
            target: [tests for other, tests in numbers if other == path]
            for target, path in zip(targets, paths, strict=True)
        }
        own: tuple[tuple[int, int], ...] = ()
        if len(paths) == 1:
            steps = paths[0].steps
            if all(target.path.steps[: len(steps)] == steps for target in projected):
                own = tuple((number, len(steps)) for number in range(len(projected)))
        return Filters(self.filters, first, records, own)

    def begun(self) -> Verdicts:
        """For a new scan."""
        return Verdicts(self)


class Verdicts:
    """The verdicts on records that have ended, or may still be open."""

    def __init__(self, filters: Filters) -> None:
        self.filters = filters
        self.tests = filters.tests
        self.records = np.zeros((0, 4), np.int64)  # start, end, tree row or -1, state
        self.good = _NOTHING  # where records begin that pass
        self.passing = [_NOTHING] * len(self.tests)  # where nodes begin that pass a test
        self.several = [_NOTHING] * len(self.tests)  # where nodes begin of which a record should have only one
        self._states: list[_StateFilters] = []

    def take(self, b: Bytes, rows: Any, offset: int, automaton: Automaton) -> None:
        """Judge captured rows while the buffer has their values."""
        states = rows[:, R_STATE]
        for k, target in enumerate(self.filters.targets):
            found = rows[np.isin(states, automaton.accepting(target))]
            if not len(found):
                continue
            starts = found[:, R_START] + offset
            passed = _passed(b, found, self.tests[k])
            self.passing[k] = np.concatenate([self.passing[k], starts[passed]])
            if self.tests[k].relation == "contains":
                self.several[k] = np.concatenate([self.several[k], starts])
        own = rows[np.isin(states, [s for target in self.filters.records for s in automaton.accepting(target)])]
        made = own[:, [R_START, R_END, R_TREE, R_STATE]]
        made[:, :2] += offset
        made[automaton.flags[own[:, R_STATE]] & GROWS_TREE == 0, 2] = -1
        self.records = np.concatenate([self.records, made])

    def failed(self, edge: int, automaton: Automaton) -> Longs:
        """The tree rows of records that have ended and pass none of their filters; then they are forgotten.

        ``edge`` is where the outermost open record begins. A record around one that passes stays, and so does one
        within another that may read it.
        """
        done = self.records[np.argsort(self.records[:, 0], kind="stable")]
        self.records = self.records[:0]
        starts, ends = np.ascontiguousarray(done[:, 0]), np.ascontiguousarray(done[:, 1])
        outcomes = [self._tested(k, starts, ends) for k in range(len(self.tests))]
        passed = np.zeros(len(done), np.bool_)
        drop = _outermost(starts, ends) & (starts < edge)
        states = self._of_states(automaton)
        for state in np.unique(done[:, 3]).tolist():
            here = done[:, 3] == state
            filters = states[state]
            if filters.apart:
                drop |= here
            if filters.all_pass:
                passed |= here
            for tests in filters.tests:
                good = here.copy()
                for k in tests:
                    good &= outcomes[k]
                passed |= good
        self.good = np.concatenate([self.good, starts[passed]])
        drop &= (_within(self.good, starts, ends) == 0) & (done[:, 2] >= 0)
        self.good = self.good[self.good >= edge]
        for k in range(len(self.tests)):
            self.passing[k] = self.passing[k][self.passing[k] >= edge]
            self.several[k] = self.several[k][self.several[k] >= edge]
        rows: Longs = done[drop, 2]
        return rows

    def _of_states(self, automaton: Automaton) -> list[_StateFilters]:
        for state in range(len(self._states), len(automaton.states)):
            filters = [f for target, f in self.filters.records.items() if state in automaton.accepting(target)]
            apart = bool(self.filters.own) and not automaton.beyond(state, self.filters.own)
            self._states.append(_StateFilters(apart, not all(filters), [k for several in filters for k in several]))
        return self._states

    def _tested(self, k: int, starts: Longs, ends: Longs) -> Any:
        passed = _within(self.passing[k], starts, ends) > 0
        if self.tests[k].relation == "contains":
            passed |= _within(self.several[k], starts, ends) > 1  # then fn:contains is an error: let it be one
            passed |= self.tests[k].value == ""
        return passed

    def moved(self, keep: Any, new: Longs) -> None:
        """Tree rows have new numbers."""
        rows = self.records[:, 2]
        staying = rows >= 0
        rows[staying] = np.where(keep[rows[staying]], new[rows[staying]], -1)


def _outermost(starts: Longs, ends: Longs) -> Any:
    """Which intervals, in the order of their starts, are within no other one."""
    before = np.maximum.accumulate(np.concatenate([[-1], ends]))[:-1]
    return starts >= before


def _within(places: Longs, starts: Longs, ends: Longs) -> Longs:
    """How many of some places lie in each interval."""
    ordered = np.sort(places)
    return np.searchsorted(ordered, ends) - np.searchsorted(ordered, starts)


def _passed(b: Bytes, rows: Any, test: RecordTest) -> Any:
    """Which nodes pass a test, or may."""
    mode = _MODES.get(test.path.steps[-1].test.kind)
    if test.relation == "exists" or mode is None:
        return np.ones(len(rows), np.bool_)
    modes = np.where(rows[:, R_FLAGS] & CONTENT_FLAGS == 0, spans.RAW, mode).astype(np.uint8)
    froms, tos = np.ascontiguousarray(rows[:, R_FROM]), np.ascontiguousarray(rows[:, R_TO])
    if modes.any():
        b, tos = spans.gathered(b, froms, tos, modes)
        froms = np.concatenate([np.zeros(1, np.int64), tos[:-1]])
    value = test.value
    if isinstance(value, str):
        if test.relation == "contains":
            return spans.contain(b, froms, tos, value.encode())
        if test.relation in ("=", "!="):
            return spans.equal(b, froms, tos, value.encode()) == (test.relation == "=")
        return _COMPARE[test.relation](spans.order(b, froms, tos, value.encode()), 0)
    if value is None or test.relation == "contains":
        return np.ones(len(rows), np.bool_)
    numbers, good = spans.doubles(b, froms, tos)
    return _COMPARE[test.relation](numbers, value) | ~good


_COMPARE: Final[dict[str, Any]] = {
    "=": lambda one, two: one == two,
    "!=": lambda one, two: one != two,
    "<": lambda one, two: one < two,
    "<=": lambda one, two: one <= two,
    ">": lambda one, two: one > two,
    ">=": lambda one, two: one >= two,
}
