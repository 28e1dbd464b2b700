"""``xstreamcast.spark.query``: a query over stored documents, spread over the tasks of Spark.

What runs where (``explain`` prints it, see :mod:`~xstreamcast.spark.stages`):

* *rows*: the answer is the items of one unit. Tasks scan ranges of the document and give its items as rows.
* *partials*: tasks reduce their ranges, others put together what they give, a few at a time, in document order; the
  last has the rest of the answer to make.
* *relational*: joins, sorting and grouping are Spark's own (:mod:`~xstreamcast.spark.rest.relational.operators`).
* *projected*: what is none of these. Tasks scan and keep what the query looks at; one task puts that together and runs
  the query on it.
* *whole*: no document is scanned, or only by way of names that are computed. One task runs the query.
* *collected*: what is asked of each document of a collection by itself. Tasks have some of them each, whole; they give
  items, or what others put together as with *partials*.
* *each*: of several documents the query is asked one after the other; those that are no *rows* are not cut.

What all of these documents have together may be so little that the driver answers at once, without a job
(:mod:`~xstreamcast.spark.rest.at_once`), unless it was said how many bytes a task scans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby, islice
from operator import attrgetter
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.atomic import Item
from xstreamcast.plan.algebra import Concat, Group, Source, Strategy, Unit
from xstreamcast.run.collection import located, matching
from xstreamcast.run.inputs import has_several
from xstreamcast.run.library import moment_of
from xstreamcast.run.query import Query, compile
from xstreamcast.spark.rest.at_once import alone, are_small, frame_of
from xstreamcast.spark.rest.collected import CollectedScan
from xstreamcast.spark.rest.files import Document, documents
from xstreamcast.spark.rest.frames import PACKED, batches_of, described, one_row, over_tasks, put_together
from xstreamcast.spark.rest.indexing import planned, seams_of, workforce_of
from xstreamcast.spark.rest.program import Answer, Program, Scan, nests
from xstreamcast.spark.rest.ranges import Range, open_records
from xstreamcast.spark.rest.relational.operators import Out
from xstreamcast.spark.rest.relational.plan import Relational, relational
from xstreamcast.spark.rest.relational.relations import Relations
from xstreamcast.spark.transport import ITEM_ROWS, dumps, item_batches, loads
from xstreamcast.tables.chosen import parse_columns

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from xstreamcast.lang import ast
    from xstreamcast.model.datetime import DateTime
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.run.single_pass import PlanCode

ROWS: Final = "rows"
PARTIALS: Final = "partials"
RELATIONAL: Final = "relational"
PROJECTED: Final = "projected"
WHOLE: Final = "whole"
COLLECTED: Final = "collected"
EACH: Final = "each"
Names = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder or a pattern, or several of these."""
_SOURCED: Final = "part long, source long, packed binary"


def query(
    spark: SparkSession,
    text: str,
    *,
    context: Names | None = None,
    docs: Mapping[str, str | PathLike[str]] | None = None,
    collections: Mapping[str, Names] | None = None,
    streams: Mapping[str, str | PathLike[str]] | None = None,
    variables: Mapping[str, Any] | None = None,
    now: str | datetime | DateTime | None = None,
    base_uri: str | None = None,
    partition_bytes: int | None = None,
) -> DataFrame:
    """The answer of a query as rows: ``position``, ``kind``, ``value``; in the answer's order by ``position``.

    ``context`` is the document that ``/`` begins at, ``docs`` what ``doc("name")`` finds: files that all workers can
    read, or URIs that ``pyarrow.fs`` knows. Of a folder, a pattern or a list as ``context`` the query is asked one
    document after the other; ``collection()`` has all of them. The other arguments are those of
    :func:`xstreamcast.query`.

    Tasks run when rows are asked for; what is small the driver answers at once. What must be known before others begin
    is computed at once: the values of units that later passes read, and what is broadcast.

    >>> query(spark, "count(//item)", context="auction.xml").collect()     # doctest: +SKIP
    [Row(position=0, kind='xs:integer', value='21750')]
    """
    return prepare(
        spark, text, context=context, docs=docs, collections=collections, streams=streams, variables=variables, now=now,
        base_uri=base_uri, partition_bytes=partition_bytes,
    ).rows()  # fmt: skip


def prepare(
    spark: SparkSession,
    text: str,
    *,
    context: Names | None = None,
    docs: Mapping[str, str | PathLike[str]] | None = None,
    collections: Mapping[str, Names] | None = None,
    streams: Mapping[str, str | PathLike[str]] | None = None,
    variables: Mapping[str, Any] | None = None,
    now: str | datetime | DateTime | None = None,
    base_uri: str | None = None,
    columns: str | None = None,
    source: str = "query",
    partition_bytes: int | None = None,
) -> Spread:
    """A query ready to run on Spark; the arguments are those of :func:`query`.

    With ``columns`` its items are rows, as in :func:`xstreamcast.query`.
    """
    names = tuple(variables or ())
    base = base_uri or Path.cwd().as_uri() + "/"
    chosen = None if columns is None else parse_columns(columns)
    compiled = compile(text, base_uri=base, variables=names, columns=chosen, source=source)
    given = compiled.given(variables or {})
    known = {name: _document(path) for name, path in (docs or {}).items()}
    program = Program(
        text, base, names, dumps(given), moment_of(now), tuple(known.items()), columns=tuple((chosen or {}).items())
    )
    found = [] if context is None else _documents(context)
    collected = {"": found} if len(found) > 1 else {}
    collected |= {name: _collection(given) for name, given in (collections or {}).items()}
    alone = found[0] if len(found) == 1 else None
    several = tuple(found) if len(found) > 1 and compiled.executable.program.uses_context else ()
    inputs = Inputs(alone, known, dict(_paths(streams)), now is not None, several, collected)
    return Spread(spark, compiled, program, inputs, partition_bytes)


def _document(path: str | PathLike[str]) -> Document:
    found = documents(fspath(path))
    if len(found) != 1:
        hint = "several are a context, or a collection: context=, collections="
        raise error("XSC0006", f"{path} is {len(found)} documents; doc() finds one by each name", hint=hint)
    return found[0]


def _documents(names: Names) -> list[Document]:
    return documents(fspath(names) if isinstance(names, str | PathLike) else [fspath(name) for name in names])


def _collection(given: Names) -> list[Document]:
    """The documents of a collection: of a folder, those that ``collection()`` would find in it."""
    if isinstance(given, str | PathLike) and "://" not in fspath(given):
        return documents([str(file) for file in matching(Path(given))])
    return _documents(given)


def _paths(streams: Mapping[str, str | PathLike[str]] | None) -> Iterator[tuple[str, str]]:
    for name, path in (streams or {}).items():
        yield name, str(Path(path).absolute())


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a query is given to read."""

    context: Document | None
    docs: dict[str, Document]
    streams: dict[str, str]
    timed: bool
    """Whether the current time was given: else streams bring theirs."""
    several: tuple[Document, ...] = ()
    """Documents that the query is asked of one after the other."""
    collections: Mapping[str, list[Document]] = field(default_factory=dict)


def way(plan: Plan | None) -> str:
    """How a plan is spread: see the module's text."""
    if plan is None or plan.strategy is Strategy.NONE:
        return WHOLE
    if plan.strategy is Strategy.PROJECT:
        return PROJECTED
    units = {unit.variable: unit for step in plan.passes for unit in step.units}
    needed = {name for unit in units.values() for name in unit.needs}
    if any(isinstance(units[name].reduction, Group) for name in needed):
        return WHOLE  # a group's value is a function, which cannot be sent
    (first, *more) = plan.output
    alone = len(units) == 1 and not more and isinstance(first, Unit) and isinstance(first.reduction, Concat)
    return ROWS if alone else PARTIALS


def reads_ranges(code: PlanCode | None) -> bool:
    """Whether the answer of a query about one document is, one after the other, what ranges of it give."""
    return code is not None and way(code.plan) == ROWS and [source.uri for source in code.plan.sources] == [None]


def relational_plan(plan: Plan | None, module: ast.Module) -> Relational | None:
    """The plan for Spark's operators of a query that is not spread without; ``plan`` is the embedded engine's."""
    made = relational(module) if wants_operators(plan) else None
    return made if made is not None and made.spreads else None


def wants_operators(plan: Plan | None) -> bool:
    """Whether a query cannot be spread, or not well, without Spark's operators."""
    if plan is None or plan.strategy is Strategy.NONE:
        return False
    grouped = any(isinstance(unit.reduction, Group) for step in plan.passes for unit in step.units)
    return grouped or way(plan) in (PROJECTED, WHOLE)


class Spread:
    """A query on Spark: its plan, and what each task scans."""

    def __init__(
        self, spark: SparkSession, compiled: Query, program: Program, inputs: Inputs, partition_bytes: int | None
    ) -> None:
        self.spark, self.compiled, self.program, self.inputs = spark, compiled, program, inputs
        self.partition_bytes = partition_bytes
        code = compiled.plan() if not inputs.streams else None
        self.way = way(None if code is None else code.plan)
        if code is not None and wants_operators(code.plan) and program.spreads_relationally:
            self.way, self.program = RELATIONAL, replace(program, relational=True)
        self.sources: dict[Source, Document] = {}
        if code is not None and self.way != WHOLE:
            for source in code.plan.sources:
                found = self._source(source)
                if found is None:  # nothing there: the query tells, if it gets to ask for it
                    self.way, self.program = WHOLE, program
                    break
                self.sources[source] = found
        if self.way != WHOLE and any(has_several(each.source()) for each in self.sources.values()):
            self.way, self.program, self.sources = WHOLE, program, {}  # one task takes them one after the other
        self.collection: list[Document] = []
        if self.way == WHOLE and not inputs.streams:
            self.collection = self._collection()
            if self.collection:
                self.way, self.program = COLLECTED, replace(program, collected=True)
        if inputs.several:
            self.way = EACH
        if self.way == ROWS and self._cut_often():
            self.way = PARTIALS

    @property
    def _code(self) -> PlanCode:
        return self.program.code

    def _source(self, source: Source) -> Document | None:
        if source.uri is None:
            return self.inputs.context
        wanted = urljoin(self.program.base_uri, source.uri)
        for name, document in self.inputs.docs.items():
            if wanted in (name, urljoin(self.program.base_uri, name)):
                return document
        try:
            return _document(wanted)
        except (OSError, ValueError):
            return None

    def _collection(self) -> list[Document]:
        """The documents of the collection that the query is spread over; none if it is not, or cannot be."""
        name = self.program.collection
        if name is None:
            return []
        base = self.program.base_uri
        found: list[Document] | None = None
        for given, listed in self.inputs.collections.items():
            if given == name or (given and name and urljoin(base, given) == urljoin(base, name)):
                found = listed
        if found is None and name:
            try:
                found = documents([str(file) for file in located(urljoin(base, name)) or ()])
            except (OSError, XStreamError):  # nothing there: the query tells, if it gets to ask for it
                return []
        # One that comes twice is one document: what is asked of it by a path comes once.
        return found if found and len({each.path for each in found}) == len(found) else []

    def _uri(self, source: Source) -> str:
        return self.sources[source].uri

    def _cut_often(self) -> bool:
        """Whether an element that the unit loops over is so large that several ranges begin within it."""
        (step,) = self._code.plan.passes
        paths = [path for unit in step.units for path in nests(unit)]
        if not paths:
            return False
        document = self.sources[step.source]
        seen: set[int] = set()
        for seam in seams_of(document, self.partition_bytes, workforce_of(self.spark)):
            found = set(open_records(seam, paths))
            if found & seen:
                return True
            seen = found
        return False

    def tasks(self, source: Source) -> list[list[Range]]:
        """The ranges of a document, by task."""
        return planned([self.sources[source]], self.partition_bytes, workforce_of(self.spark))

    def _scan(self, number: int, values: Any = None) -> Scan:
        step = self._code.plan.passes[number]
        return Scan(self.program, number, self._uri(step.source), dumps(values or {}), self.way == PARTIALS)

    # ---------------------------------------------------------------------------------------------- as rows

    @cached_property
    def at_once(self) -> bool:
        """Whether the driver answers, without a job."""
        if self.partition_bytes is not None or self.way == WHOLE or self.inputs.streams:
            return False
        inputs = self.inputs
        asked = [*self.sources.values(), *inputs.docs.values(), *inputs.several, *self.collection]
        return are_small(chain(asked, *inputs.collections.values()))

    def _here(self) -> Iterator[Iterable[Item]]:
        """The answers, computed by the driver."""
        inputs = replace(self.inputs, several=())
        if self.way != EACH:
            yield alone(self.program, inputs)
            return
        for document in self.inputs.several:
            yield alone(self.program, replace(inputs, context=document))

    def rows(self) -> DataFrame:
        """The answer as a DataFrame of :data:`~xstreamcast.spark.transport.ITEM_ROWS`."""
        if self.at_once:
            found = frame_of(
                self.spark,
                lambda: chain.from_iterable(item_batches(items, part) for part, items in enumerate(self._here())),
            )
            if found is not None:
                return found
        return self._frame(item_batches, ITEM_ROWS)

    def items(self) -> Iterator[Item]:
        """The items of the answer themselves, here, in order."""
        if self.at_once:
            yield from chain.from_iterable(self._here())
            return
        for row in self._frame(_packed, PACKED).select("packed").toLocalIterator(prefetchPartitions=True):
            yield from loads(row.packed)

    def answers(self) -> Iterator[Iterable[Item]]:
        """The items of the answer, or of one answer after the other where several documents are asked.

        Each is to be taken before the next.
        """
        if self.at_once:
            yield from self._here()
            return
        if self.way != EACH:
            yield self.items()
            return
        rows = self._each(_packed, PACKED).select("part", "packed").toLocalIterator(prefetchPartitions=True)
        came = groupby(rows, key=attrgetter("part"))
        known = next(came, None)
        for number in range(len(self.inputs.several)):
            if known is None or known[0] != number:
                yield ()
                continue
            yield chain.from_iterable(loads(row.packed) for row in known[1])
            known = next(came, None)

    def _frame(self, out: Out, schema: str) -> DataFrame:
        """The answer in one of two forms, its partitions in order."""
        if self.way == ROWS:
            scan = self._scan(0)
            tasks = self.tasks(self._code.plan.passes[0].source)
            return over_tasks(self.spark, tasks, lambda number, parts: out(scan.items(parts), number), schema)
        if self.way == PARTIALS:
            return self._merged(out, schema)
        if self.way == EACH:
            return self._each(out, schema)
        if self.way == COLLECTED:
            return self._collected(out, schema)
        if self.way == RELATIONAL:
            return Relations(self.spark, self.program, self.tasks, self._uri).frame(out, schema)
        return self._one_task(out, schema)

    # ---------------------------------------------------------------------------------------------- the jobs

    def _merged(self, out: Out, schema: str) -> DataFrame:
        """The answer from partial results, pass by pass; what a pass comes to is known before the next begins."""
        program, code = self.program, self._code
        answer = Answer(program)
        before: list[bytes] = []
        for number, step in enumerate(code.plan.passes):
            scan = self._scan(number, answer.values(number))
            tasks = self.tasks(step.source)
            parts = over_tasks(self.spark, tasks, lambda k, own, scan=scan: one_row(k, scan.sent(own)), PACKED)  # type: ignore[misc]  # bound at once
            if number + 1 == len(code.plan.passes):
                break
            with described(self.spark, f"pass {number + 1} of {len(code.plan.passes)}"):
                (row,) = put_together(parts, len(tasks), scan.combined).collect()
            before.append(bytes(row.packed))
            answer.know(number, row.packed)

        def finish(_: int, packed: bytes) -> Iterator[Any]:
            yield from out(program.answered([*before, packed]), 0)

        return put_together(parts, len(tasks), scan.combined, finish, schema)

    def _collected(self, out: Out, schema: str) -> DataFrame:
        """The answer of what each document of a collection gives, or of what that comes to."""
        program = self.program
        scan = CollectedScan(program, 0, None, dumps({}), False)
        tasks = planned(self.collection, self.partition_bytes, workforce_of(self.spark), cut=False)
        if way(self._code.plan) == ROWS:
            return over_tasks(self.spark, tasks, lambda number, parts: out(scan.items(parts), number), schema)
        parts = over_tasks(self.spark, tasks, lambda number, own: one_row(number, scan.sent(own)), PACKED)

        def finish(_: int, packed: bytes) -> Iterator[Any]:
            yield from out(program.answered([packed]), 0)

        return put_together(parts, len(tasks), scan.combined, finish, schema)

    def _each(self, out: Out, schema: str) -> DataFrame:
        """The answers of several documents, one after the other."""
        program, inputs = self.program, replace(self.inputs, several=())
        cut = reads_ranges(self.compiled.plan() if not inputs.streams else None)
        tasks = planned(self.inputs.several, self.partition_bytes, workforce_of(self.spark), cut=cut)
        # A part of the answer is all that a document gives where answers are told apart, else what a range does.
        parts: list[list[tuple[int, Range]]] = []
        number = -1
        for task in tasks:
            parts.append([])
            for own in task:
                number += schema != PACKED or own.begin == 0
                parts[-1].append((number, own))

        def asked(part: Range) -> Iterator[Item]:
            if cut and not part.whole:
                return Scan(program, 0, part.document.uri, dumps({}), False).items([part])
            return alone(program, replace(inputs, context=part.document))

        def answered(_: int, task: list[tuple[int, Range]]) -> Iterator[Any]:
            for number, part in task:
                yield from out(asked(part), number)

        return over_tasks(self.spark, parts, answered, schema)

    def _one_task(self, out: Out, schema: str) -> DataFrame:
        """A DataFrame that one task gives: of projected parts that others have scanned, or all by itself."""
        program = self.program
        if self.way == WHOLE:
            return over_tasks(self.spark, [self.inputs], lambda _, given: out(alone(program, given), 0), schema)
        sources = list(self.sources)
        tasks = [(number, parts) for number, source in enumerate(sources) for parts in self.tasks(source)]
        passes = {step.source: number for number, step in enumerate(self._code.plan.passes)}
        scans = [self._scan(passes[source]) for source in sources]
        packed = over_tasks(
            self.spark,
            tasks,
            lambda number, task: _projected(number, task[0], scans[task[0]].projected(task[1])),
            _SOURCED,
        )
        uris = [self._uri(source) for source in sources]

        def together(batches: Iterable[Any]) -> Iterator[Any]:
            found = sorted(
                (row["source"], row["part"], row["packed"]) for batch in batches for row in batch.to_pylist()
            )
            if not found:
                return
            answer = Answer(program)
            for number, source in enumerate(program.code.plan.sources):
                parts = [part for of, _, data in found if of == number for part in loads(data)]
                answer.bind(source, parts, uris[number])
            yield from out(answer.rest(), 0)

        return packed.repartition(1).mapInArrow(together, schema)


def _projected(part: int, source: int, value: Any) -> Iterator[Any]:
    yield from batches_of({"part": [part], "source": [source], "packed": [dumps(value)]}, _SOURCED)


def _packed(items: Iterable[Item], part: int = 0) -> Iterator[Any]:
    left = iter(items)
    while some := list(islice(left, 4096)):
        yield from one_row(part, dumps(some))
