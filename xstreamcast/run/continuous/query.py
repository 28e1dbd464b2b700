"""``continuous()``: a query that goes on, from Python. Changes go in, changes of its answer come out.

>>> from xstreamcast.model.change import Fill, Replace
>>> q = continuous('for $b in stream("books")//book where $b/price < 30 return $b/title')
>>> _ = q.feed(Fill(region=0, content=b'<list><stream:hole id="1"/><stream:hole id="2"/></list>'))
>>> for change in q.feed(Fill(region=2, content=b"<book><title>T</title><price>9</price></book>")):
...     print(change.kind, change.content.decode())
after <title>T</title>
>>> [change.kind for change in q.feed(Replace(region=2, content=b"<book><title>T</title><price>90</price></book>"))]
['remove']
>>> q.text()
''
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.lang import ast
from xstreamcast.lang.context import STREAM
from xstreamcast.lang.walk import descendants
from xstreamcast.model.change import ROW, Change, to_row
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.model.time import START, Instant
from xstreamcast.plan.algebra import Plan, Reduce, Strategy, Unit
from xstreamcast.plan.decompose import plan as decompose
from xstreamcast.run.continuous.arrivals import arrivals
from xstreamcast.run.continuous.emit import Output
from xstreamcast.run.continuous.inflow import CLOCKS, Arriving, Clock, Inflow
from xstreamcast.run.continuous.journal import Journal, Noted, every
from xstreamcast.run.continuous.share import Association, Recomputed
from xstreamcast.run.continuous.shelf import Emitted
from xstreamcast.run.library import Library
from xstreamcast.run.query import Query, Result, _sequence, compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at
from xstreamcast.run.units import Evaluation

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Report
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.tree import Node

EMISSIONS: Final = ("eager",)

_PAUSE: Final = 0.5
"""Seconds after which a clock is looked at although nothing has come."""
_TIMELY: Final = frozenset({"now", "vtFrom", "vtTo", "current-dateTime", "current-date", "current-time"})


def continuous(
    text: str,
    *,
    structures: Mapping[str, Structure | str | bytes] | Structure | str | bytes | None = None,
    streams: Mapping[str, str | Path] | None = None,
    variables: Mapping[str, Any] | None = None,
    docs: Mapping[str, Any] | None = None,
    emit: str = "eager",
    clock: Clock = "event",
    now: str | datetime | None = None,
    lateness: float | Mapping[str, float] | None = None,
    name: str = "answer",
    base_uri: str | None = None,
    report: Report = lambda _: None,
) -> ContinuousQuery:
    """A query over streams that is answered at every moment: see :class:`ContinuousQuery`.

    ``structures`` are the tag structures of streams that do not bring their own, by name, or one for all. ``streams``:
    files, or folders that grow, by name, for :meth:`ContinuousQuery.run` to read. ``clock``:
    what ``now`` is: ``event``, the largest valid time that has come; ``wall``; or ``manual``, what was last said by
    :meth:`ContinuousQuery.tick` (``now`` at first). ``lateness``: in seconds; a change whose valid time is further
    behind is put aside. ``name`` is the stream's name in the rows of the answer's changes. ``report`` hears what is
    odd about the streams, and of changes that were put aside.
    """
    (made,) = continuous_many(
        [text], structures=structures, streams=streams, variables=variables, docs=docs, emit=emit, clock=clock, now=now,
        lateness=lateness, names=[name], base_uri=base_uri, report=report,
    ).queries  # fmt: skip
    return made


def continuous_many(
    texts: Iterable[str],
    *,
    structures: Mapping[str, Structure | str | bytes] | Structure | str | bytes | None = None,
    streams: Mapping[str, str | Path] | None = None,
    variables: Mapping[str, Any] | None = None,
    docs: Mapping[str, Any] | None = None,
    emit: str = "eager",
    clock: Clock = "event",
    now: str | datetime | None = None,
    lateness: float | Mapping[str, float] | None = None,
    names: Iterable[str] = (),
    base_uri: str | None = None,
    report: Report = lambda _: None,
) -> Inflow:
    """Several queries that share the streams: each change is read and associated once. Arguments: see `continuous`.

    >>> from xstreamcast.model.change import Fill
    >>> both = continuous_many(['count(stream("s")//a)', 'stream("s")//a/string()'])
    >>> _ = both.feed(Fill(region=0, content=b"<r><a>x</a><a>y</a></r>"))
    >>> [query.text() for query in both.queries]
    ['2', 'x y']
    """
    if emit not in EMISSIONS:
        raise error("XSC0091", f"emission {emit!r} is not there", hint=f"one of {', '.join(EMISSIONS)}")
    if clock not in CLOCKS:
        raise error("XSC0091", f"no clock {clock!r}", hint=f"one of {', '.join(CLOCKS)}")
    inflow = Inflow(_structures(structures), clock, now, lateness, report)
    inflow.sources = {stream: str(source) for stream, source in (streams or {}).items()}
    called = list(names)
    for number, text in enumerate(texts):
        known = inflow.structures or None
        query = compile(text, base_uri=base_uri, variables=tuple(variables or ()), structures=known)
        made = ContinuousQuery(
            query, inflow, called[number] if number < len(called) else "answer", variables or {}, docs or {}
        )
        inflow.queries.append(made)
    return inflow


def _structures(given: Any) -> dict[str, Structure]:
    named = given if isinstance(given, Mapping) else {} if given is None else {"": given}
    return {name: one if isinstance(one, Structure) else parse_structure(one) for name, one in named.items()}


class ContinuousQuery:
    """A query that goes on. The law: :meth:`answer` is always q(T(γ)) of what has been fed, γ.

    ``warnings`` tells what in the query can hardly be meant; ``recomputed``, if not empty, why it is computed anew at
    every change instead of being followed by difference.
    """

    def __init__(
        self, query: Query, inflow: Inflow, name: str, variables: Mapping[str, Any], docs: Mapping[str, Any]
    ) -> None:
        self.query = query
        self.inflow = inflow
        self.name = name
        self.warnings = query.warnings
        self.recomputed = ""
        self._variables = variables
        self._docs = docs
        module = query.executable.program.module
        self._plan: Plan = decompose(module, streams=True)
        parts = [part for one in (module, *module.imported) for part in descendants(one)]
        self.streams = tuple(dict.fromkeys(found for part in parts if (found := _stream(part)) is not None))
        self.timely = any(_timely(part) for part in parts)
        self._output: Output | None = None
        self._moment: Instant = START
        self._pending: list[Emitted] = []
        self._listeners: list[tuple[ContinuousQuery, str]] = []
        self._seq = 0
        self._known: object = None

    # ---------------------------------------------------------------------------------------------- changes

    def feed(self, item: Arriving, stream: str | None = None, place: Place | None = None) -> list[Change]:
        """Take in a change (or a structure) of a stream; what it changes in the answer.

        The changes that come first describe an empty answer; from them on, T of all of them is the answer.
        """
        self.inflow.feed(item, stream, place)
        return [emitted.change for emitted in self.take()]

    def feed_many(self, items: Iterable[Arriving], stream: str | None = None) -> list[Change]:
        """Take in several, and then see what is different."""
        self.inflow.feed_many(items, stream)
        return [emitted.change for emitted in self.take()]

    def tick(self, now: str | datetime | Instant) -> list[Change]:
        """The current time, of a manual clock; what it changes in the answer."""
        self.inflow.tick(now)
        return [emitted.change for emitted in self.take()]

    def take(self) -> list[Emitted]:
        """The changes of the answer that nobody has taken yet, with their order labels."""
        taken, self._pending = self._pending, []
        return taken

    def rows(self, emitted: Iterable[Emitted]) -> list[dict[str, Any]]:
        """Changes as rows of the one schema: stream, seq, change, doc, region, target … content."""
        made = []
        for change, order in emitted:
            self._seq += 1
            made.append(dict(zip(ROW, to_row(change, self.name, self._seq, order), strict=True)))
        return made

    async def run(
        self, source: AsyncIterable[Arriving] | Iterable[Arriving] | None = None, stream: str | None = None
    ) -> AsyncIterator[Change]:
        """Feed what a source brings, as it comes: ``async for change in q.run(source)``.

        Without a source, the ``streams`` that the query was made with are read, in threads, until they end.
        """
        if source is None:
            brought = arrivals(self.inflow.sources, pause=_PAUSE)
            while (one := await asyncio.to_thread(next, brought, None)) is not None:
                self.inflow.bring(*one)
                for emitted in self.take():
                    yield emitted.change
        elif isinstance(source, AsyncIterable):
            async for item in source:
                for change in self.feed(item, stream):
                    yield change
        else:
            for item in source:
                for change in self.feed(item, stream):
                    yield change

    def listen(self, stream: str, other: ContinuousQuery) -> None:
        """The answer of another query is a stream of this one, from now on: ``stream("name")``."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            if one is other:
                raise error("XSC0091", "a query cannot listen to itself, nor to one that listens to it")
            waiting += [listener for listener, _ in one._listeners]
        other._listeners.append((self, stream))
        if other._output is not None:
            self.inflow.feed_many([emitted.change for emitted in other._output.snapshot()], stream)

    # ---------------------------------------------------------------------------------------------- the answer

    def answer(self) -> Result:
        """q(T(γ)), as :func:`xstreamcast.query` gives it; raises the error that it is."""
        output = self._begun()
        return Result(self.query, iter(output.journal.answer()))

    def text(self) -> str:
        """The answer as it has been told, by the xml method; raises the error that it is."""
        return self._begun().text()

    def told(self) -> str | XStreamError:
        """The answer as it has been told: its text, or the error that it is."""
        output = self._begun()
        return output.failure or output.text()

    @property
    def failure(self) -> XStreamError | None:
        """The error that the answer is, if it is one."""
        return self._begun().failure

    def items(self) -> Iterator[tuple[str, str]]:
        """What is shown, in order: labels and texts."""
        return self._begun().items()

    @property
    def shown(self) -> int:
        """How many regions the answer has."""
        return self._begun().size

    def at_first(self) -> str | XStreamError:
        """The answer before anything has come."""
        try:
            return serialise(self.query(streams=_nothing, docs=self._docs, variables=self._variables).items())
        except XStreamError as failure:
            return failure

    def state(self) -> dict[str, Any]:
        """Sizes: of each stream the regions kept and the bytes of content taken in, of each operator its members; how
        many items are shown, and how many evaluations there have been."""
        output = self._begun()
        journal = output.journal
        streams = {
            name: {"regions": len(one.table), "bytes": one.kept, "waiting": len(one.waiting)}
            for name, one in self.inflow.associations.items()
            if name in self.streams or not self.streams
        }
        operators: list[dict[str, Any]] = []
        if isinstance(journal, Journal):
            for name, live in journal.live.items():
                for number, unit in enumerate(live.route.units):
                    found = live.top.get(number)
                    count = None if found is None else sum(m.unit == number for m in every(found))
                    operators.append({"stream": name, "operator": _operator(unit), "members": count})
        evaluated = journal.evaluated if isinstance(journal, Journal) else None
        return {"streams": streams, "operators": operators, "shown": output.size, "evaluated": evaluated}

    # ---------------------------------------------------------------------------------------------- going on

    def _begun(self) -> Output:
        if self._output is None:
            self._begin()
        assert self._output is not None
        return self._output

    def _go_on(self) -> None:
        """Look at what has come. Before anything is in a table, a structure may still tell how to begin."""
        if self._output is None:
            if any(one.table for one in self.inflow.associations.values()):
                self._begin()
            return
        output, now = self._output, self.inflow.now
        self._turn(output)
        if now != self._moment:
            self._moment = now
            if self.timely and isinstance(output.journal, Journal):
                output.journal.tick(moment_at(now))
        output.journal.settle()
        self._tell(output.changes())

    def _begin(self) -> None:
        self._moment = self.inflow.now
        given = {name: _sequence(value) for name, value in self.query._names(self._variables)}
        library = Library(self.query.executable.program.static.base_uri, self._docs)
        doors = {"documents": library.document, "resources": library.text}
        associations = self._associations()
        self.recomputed = self._reason(associations)
        if self.recomputed:
            journal: Journal | Recomputed = Recomputed(self.query, self._ask)
        else:
            structures = {name: one.structure for name, one in associations.items() if one.structure is not None}
            journal = Journal(self._plan, Evaluation(moment_at(self._moment), given, doors), structures)
            for name, live in journal.live.items():
                assert isinstance(live, Noted)
                associations[name].adopt(live)
            journal.settle()
            self.recomputed = "; ".join(self._plan.reasons)  # on what is read of the documents
        self._output = Output(journal)
        self._tell(self._output.begin())

    def _associations(self) -> dict[str, Association]:
        names = {*self.streams, *[source.uri or "" for source in self._plan.sources if source.stream]}
        return {name: self.inflow.association(name) for name in names}

    def _turn(self, output: Output) -> None:
        """What a stream turns out to be may be more than can be followed by difference."""
        journal, associations = output.journal, self._associations()
        known = [(one.named, id(one.structure)) for one in associations.values()]
        if isinstance(journal, Journal) and known != self._known:
            self._known = known
            reason = self._reason(associations)
            if reason:
                self.recomputed = reason
                for name, live in journal.live.items():
                    associations[name].leave(live)
                output.turn(Recomputed(self.query, self._ask))

    def _reason(self, associations: Mapping[str, Association]) -> str:
        """Why the query must be computed anew at every change, if it must."""
        if self._plan.strategy is Strategy.NONE:
            return "it reads its streams in a way that is known only when it runs"
        if any(not source.stream for source in self._plan.sources):
            return "it reads a stored document beside its streams"
        structures = [one.structure for one in associations.values() if one.structure is not None]
        if any(structure.unnamed for structure in structures):
            return "a stream has no root element of its own"
        if any(one.named for one in associations.values()):
            return "a stream has documents with names"
        if self.inflow.clock != "event" and any(tag.timed for one in structures for tag in one.tags.values()):
            return "what is to come is in a stream before its time, by another clock than the stream's own"
        return ""

    def _ask(self) -> list[Item]:
        """q(T(γ)), from scratch."""
        found = self.query(streams=self._view, docs=self._docs, variables=self._variables, now=moment_at(self._moment))
        return found.items()

    def _view(self, stream: str) -> Node:
        """T(γ) of a stream."""
        return self.inflow.association(stream).view(stream, self._moment)

    def _tell(self, emitted: list[Emitted]) -> None:
        if not emitted:
            return
        self._pending += emitted
        for listener, stream in self._listeners:
            listener.inflow.feed_many([one.change for one in emitted], stream)

    def __repr__(self) -> str:
        return f"<ContinuousQuery {' '.join(self.query.text.split())[:60]}>"


def _nothing(stream: str) -> Node:
    """T of a stream of which nothing has come."""
    return view_of(b"", f"stream:{stream}")


def _stream(part: ast.Node) -> str | None:
    """The stream that a part of a query names."""
    if isinstance(part, ast.FunctionCall) and part.name.expanded == (STREAM, "stream"):
        name = part.args[0]
        return name.value if isinstance(name, ast.StringLiteral) else None
    return None


def _timely(part: ast.Node) -> bool:
    """Whether a part of a query looks at the clock, or at lifespans that it ends."""
    if isinstance(part, ast.FunctionCall | ast.NamedFunctionRef):
        return part.name.local in _TIMELY
    return isinstance(part, ast.IntervalProjection | ast.VersionProjection | ast.Now | ast.AllenComparison)


def _operator(unit: Unit) -> str:
    """A unit in the words of the algebra."""
    reduction = unit.reduction
    return reduction.function if isinstance(reduction, Reduce) else type(reduction).__name__.lower()
