"""What a task of Spark runs: the query's own plan, on some ranges of its documents.

A :class:`Program` is sent as text; each Python worker compiles it once. The plan of a text is the same in every
process, so its units are known by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from xstreamcast.errors import XMLError, XStreamError, error
from xstreamcast.model.atomic import Item
from xstreamcast.plan.algebra import Pass, Source, Unit, VarName
from xstreamcast.plan.decompose.plan import targets
from xstreamcast.run.asking import asked, counted_units, cuts_of
from xstreamcast.run.library import Library
from xstreamcast.run.query import Query, compile
from xstreamcast.run.single_pass import PlanCode, PlanRun
from xstreamcast.run.units import Evaluation, UnitRun, value_type
from xstreamcast.spark.rest.collected_plan import collected_plan
from xstreamcast.spark.rest.files import Document
from xstreamcast.spark.rest.partials import Partial, RangeUnit, combined, merged
from xstreamcast.spark.rest.projection import Projected, joined, projections
from xstreamcast.spark.rest.ranges import Asked, Range, range_batches
from xstreamcast.spark.rest.relational.plan import Relational, relational
from xstreamcast.spark.transport import dumps, loads

if TYPE_CHECKING:
    from xstreamcast.model.datetime import DateTime
    from xstreamcast.scan.path import Path

Values = dict[VarName, list[Item] | XStreamError]
"""The values of units of earlier passes, or why they have none."""


class Question(NamedTuple):
    """What is asked: all that the plan of a query depends on."""

    text: str
    base_uri: str
    names: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


@lru_cache(maxsize=64)
def _compiled(question: Question) -> Query:
    columns = dict(question.columns) or None
    return compile(question.text, base_uri=question.base_uri, variables=question.names, columns=columns)


@lru_cache(maxsize=64)
def _collected(question: Question) -> PlanCode | None:
    made = collected_plan(_compiled(question).executable.program.module)
    return None if made is None else PlanCode(made)


@lru_cache(maxsize=64)
def _relational(question: Question) -> Relational | None:
    return relational(_compiled(question).executable.program.module)


@lru_cache(maxsize=64)
def _knowing(question: Question, known: frozenset[VarName]) -> Relational:
    made = _relational(question)
    assert made is not None, "it was looked at before"
    return made.knowing(known)


@dataclass(frozen=True, slots=True)
class Program:
    """A query and all it is given but for what is scanned."""

    text: str
    base_uri: str
    names: tuple[str, ...]
    """External variables that are given without being declared."""
    given: bytes
    """Their values, and those of the declared ones, by expanded name."""
    now: DateTime
    docs: tuple[tuple[str, Document], ...]

    relational: bool = False
    """Whether its plan is that for Spark's operators."""
    known: frozenset[VarName] = frozenset()
    """Units of that plan whose rows turned out to be few: they go to all tasks."""
    collected: bool = False
    """Whether its plan is that of a collection."""
    columns: tuple[tuple[str, str], ...] = ()
    """What of each item is asked for, where it is to be a row: names and expressions."""

    @property
    def question(self) -> Question:
        return Question(self.text, self.base_uri, self.names, self.columns)

    @property
    def query(self) -> Query:
        return _compiled(self.question)

    @property
    def spreads_relationally(self) -> bool:
        """Whether there is a plan for Spark's operators, and something for them to do."""
        made = _relational(self.question)
        return made is not None and made.spreads

    @property
    def collection(self) -> str | None:
        """The collection that it is spread over, if it can be."""
        made = _collected(self.question)
        return None if made is None else made.plan.sources[0].uri

    @property
    def relational_plan(self) -> Relational:
        return _knowing(self.question, self.known)

    @property
    def code(self) -> PlanCode:
        if self.collected:
            made = _collected(self.question)
        else:
            made = self.relational_plan.code if self.relational else self.query.plan()
        assert made is not None, "a query without documents is not spread"
        return made

    def answered(self, passes: Sequence[bytes]) -> Iterator[Item]:
        """The answer, from what each pass has come to."""
        answer = Answer(self)
        yield from answer.rest()
        for number, packed in enumerate(passes):
            yield from answer.take(number, [loads(packed)])
        yield from answer.rest()

    def evaluation(self, values: Values | None = None) -> Evaluation:
        """What its programs share in this process, with the values of units that are known."""
        library = Library(self.base_uri, {name: document.source() for name, document in self.docs})
        doors = {"documents": library.document, "resources": library.text}
        made = Evaluation(self.now, loads(self.given), doors)
        code = self.code if values else None
        for variable, value in (values or {}).items():
            assert code is not None
            if isinstance(value, XStreamError):
                made.fail(variable, value)
            else:
                made.give(variable, value, value_type(code.units[variable].unit) is not None)
        return made


@dataclass(frozen=True, slots=True)
class Scan:
    """One pass of a program. ``pieces``: nest instances may go beyond a range, and are put together afterwards."""

    program: Program
    number: int
    uri: str | None
    values: bytes
    """Of units of earlier passes."""
    pieces: bool
    only: tuple[VarName, ...] = ()
    """The units it is for, if not for all of the pass."""

    @property
    def step(self) -> Pass:
        plan = self.program.code.plan
        step = plan.passes[self.number]
        if not self.only:
            return step
        units = [unit for unit in step.units if unit.variable in self.only]
        return Pass(step.source, tuple(units), targets(plan.module, units))

    @property
    def asked(self) -> Asked:
        """What its units want of the document."""
        return asked_for(self.step, self.uri, pieces=self.pieces)

    def items(self, parts: Sequence[Range]) -> Iterator[Item]:
        """The items of its only unit, in document order."""
        (unit,) = self.step.units
        evaluation = self.program.evaluation(loads(self.values))
        work = UnitRun(evaluation, self.program.code.units[unit.variable])
        for part in parts:
            for batch in reported(range_batches(part, self.asked), self.step.source.uri):
                yield from work.items(batch.tree.root, cuts_of(batch))

    def partials(self, parts: Sequence[Range]) -> list[Partial]:
        """What some ranges contribute to each of its units."""
        step, code = self.step, self.program.code
        evaluation = self.program.evaluation(loads(self.values))
        counted = counted_units(step)
        works = {unit.variable: RangeUnit(evaluation, code.units[unit.variable]) for unit in step.units}
        counts = dict.fromkeys((unit.variable for unit in counted), 0)
        taking = [works[unit.variable] for unit in step.units if unit not in counted]
        for part in parts:
            last: tuple[int, ...] = ()
            for batch in reported(range_batches(part, self.asked), step.source.uri):
                cuts = cuts_of(batch)
                for work in taking:
                    work.take(batch.tree.root, cuts)
                last = batch.counts
                if not counted and all(work.settled for work in taking):
                    break
            for unit, count in zip(counted, last, strict=False):
                counts[unit.variable] += count
        return [
            Partial(counts[unit.variable]) if unit.variable in counts else works[unit.variable].partial()
            for unit in step.units
        ]

    def sent(self, parts: Sequence[Range]) -> bytes:
        """The same, to be sent to who puts them together."""
        return dumps(self.partials(parts))

    def combined(self, several: Sequence[bytes]) -> bytes:
        """What several ranges that follow each other contribute, of what each does."""
        evaluation, code = self.program.evaluation(loads(self.values)), self.program.code
        partials = [loads(each) for each in several]
        return dumps(
            [
                combined(evaluation, code.units[unit.variable], [each[k] for each in partials])
                for k, unit in enumerate(self.step.units)
            ]
        )

    def projected(self, parts: Sequence[Range]) -> list[Projected]:
        """What some ranges have of the parts that the query looks at."""
        asked = Asked(self.step.targets, uri=self.uri)
        return list(reported(projections(parts, asked), self.step.source.uri))


def asked_for(step: Pass, uri: str | None, *, pieces: bool) -> Asked:
    """What the units of a pass want of a document; nests that cannot be put together from pieces are not cut."""
    wanted = asked([step])
    # What a nest's body reads of its element may lie in any range: then the element has to be in one.
    whole = wanted["carry"] if pieces else tuple(path for unit in step.units for path in nests(unit))
    return Asked(
        wanted["targets"],
        records=tuple(dict.fromkeys((*wanted["records"], *whole))),
        counts=tuple(wanted["counts"]),
        filters=() if whole else tuple(wanted["filters"]),
        uri=uri,
    )


def nests(unit: Unit) -> Iterator[Path]:
    """The elements that a unit loops over with loops inside."""
    if unit.nest is not None:
        yield unit.nest.path


def reported(found: Iterable[Any], name: str | None) -> Iterator[Any]:
    """What a scan finds; if what is scanned is no XML, that is an error of fn:doc where the query named it."""
    try:
        yield from found
    except XMLError as failure:
        if name is None:
            raise
        raise error("FODC0002", f"{name}: {failure.message}", failure.place) from None


# ------------------------------------------------------------------------------------------------------ together


class Answer:
    """The answer of a program whose passes come in one after the other."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.work = PlanRun(program.code, program.evaluation())

    def values(self, number: int) -> Values:
        """What the units of a pass need to know."""
        made: Values = {}
        for unit in self.program.code.plan.passes[number].units:
            for need in sorted(unit.needs):
                known = self.work.units[need]
                made[need] = known.state.value() if known.failure is None else known.failure
        return made

    def take(self, number: int, partials: Iterable[Sequence[Partial]]) -> Iterator[Item]:
        """The units of a pass, from what each range contributed; items that are next in the answer come out."""
        step, work = self.program.code.plan.passes[number], self.work
        ranges = list(partials)
        for k, unit in enumerate(step.units):
            made = merged(work.evaluation, work.code.units[unit.variable], [each[k] for each in ranges])
            work.units[unit.variable] = made
            work.done.add(unit.variable)
            work.evaluation.bind_unit(made)
        return work.ready()

    def know(self, number: int, packed: bytes) -> None:
        """What a pass has come to, for what later ones need of it; no part of the answer is made."""
        self.take(number, [loads(packed)])

    def bind(self, source: Source, parts: Iterable[Projected], uri: str | None) -> None:
        """The projected parts of a document."""
        self.work.evaluation.bind(source.variable, joined(parts, uri).root)

    def rest(self) -> Iterator[Item]:
        """What is left of the answer when all is there."""
        return self.work.ready()
