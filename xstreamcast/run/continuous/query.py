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

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.lang.clock import looks_at_clock
from xstreamcast.lang.walk import descendants
from xstreamcast.model.change import ROW, Change, to_row
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import START, Instant
from xstreamcast.plan.algebra import Plan, Strategy
from xstreamcast.plan.explain.changes import recomputed
from xstreamcast.plan.modes.rewrite import EMISSIONS as EMISSIONS
from xstreamcast.plan.modes.rewrite import Emission, Modes, rewrite
from xstreamcast.plan.mutability import fixed_of
from xstreamcast.plan.retention import Keep, retention
from xstreamcast.run.continuous.arrive.arrivals import stream_source
from xstreamcast.run.continuous.arrive.fed import Fed
from xstreamcast.run.continuous.arrive.inflow import CLOCKS, Arriving, Clock, Inflow
from xstreamcast.run.continuous.arrive.share import Association, Recomputed
from xstreamcast.run.continuous.columns.roles import Refused, columnar
from xstreamcast.run.continuous.display.announced import Announced
from xstreamcast.run.continuous.display.emit import Output
from xstreamcast.run.continuous.display.shelf import Emitted
from xstreamcast.run.continuous.from_scratch import FromScratch
from xstreamcast.run.continuous.journal import Journal, Noted
from xstreamcast.run.continuous.planned import Planned, given_structures, known_structures
from xstreamcast.run.continuous.sizes import bytes_of, sizes
from xstreamcast.run.doubts import Doubts
from xstreamcast.run.query import Query, Result, compile
from xstreamcast.run.streams import names_all_streams, streams_named
from xstreamcast.run.tabled import Tabled
from xstreamcast.run.temporal import moment_at
from xstreamcast.run.units import Evaluation

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Report
    from xstreamcast.feeds.feed import Feed
    from xstreamcast.model.atomic import Item
    from xstreamcast.run.continuous.columns.alike import Alike
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.scan.given import Given

ASSUMPTIONS: Final = (None, "rooted")


def continuous(
    text: str,
    *,
    structures: Mapping[str, Structure | str | bytes] | Structure | str | bytes | None = None,
    streams: Mapping[str, Given] | None = None,
    feed: Feed | None = None,
    source: Any = None,
    variables: Mapping[str, Any] | None = None,
    docs: Mapping[str, Any] | None = None,
    emit: Emission = "eager",
    clock: Clock = "event",
    now: str | datetime | None = None,
    lateness: float | Mapping[str, float] | None = None,
    assume: str | None = None,
    fixed: str | Iterable[str] | None = None,
    memory: int | str | None = None,
    name: str = "answer",
    base_uri: str | None = None,
    report: Report | None = None,
) -> ContinuousQuery:
    """A query over streams that is answered at every moment: see :class:`ContinuousQuery`.

    ``structures`` are the tag structures of streams that do not bring their own, by name, or one for all. ``streams``:
    files, or folders that grow, or any other XML of fragments, by name, all that the query reads, for ``follow()`` and
    ``run()``. Or the only stream
    is what a ``feed`` finds in documents, those of a ``source`` (a file, a folder that grows, any iterable, also an
    asynchronous one) or those given to ``feed_xml()``. ``emit``: ``eager``, a hole that is not filled counts as empty;
    ``certain``, what a further fill could change is held back; ``optimistic``, a predicate that is not decided counts
    as true. At the end of the streams all three are the same. ``clock``: what ``now`` is: ``event``, the largest valid
    time that has come; ``wall``; or ``manual``, what was last said by :meth:`ContinuousQuery.tick` (``now`` at first).
    ``lateness``: in seconds; a change whose valid time is further behind is put aside. ``assume="rooted"``: every
    fragment is taken to be in the document, so that those which are there for their holes only need not be opened
    (XCQL's QaC+); the law then holds once all parents have come, if regions are numbered in document order. ``fixed``:
    regions that keep the content they had first, by the names or paths of their tags, or ``"*"`` for all: later changes
    of them are ignored, and what is fixed from the root down is not kept once it has been told (``answer()`` may then
    be gone, ``text()`` is not). ``memory``: a number of bytes, or such as ``"2GB"``: beyond it contents of fragments
    are kept on disk. ``name`` is the stream's name in the rows of the answer's changes. ``report`` hears what is odd
    about the streams, and of changes that were put aside; without one it is warned of them, of each kind once, with how
    many there were (:class:`~xstreamcast.errors.XStreamWarning`).
    """
    (made,) = continuous_many(
        [text], structures=structures, streams=streams, variables=variables, docs=docs, emit=emit, clock=clock, now=now,
        lateness=lateness, assume=assume, fixed=fixed, memory=memory, names=[name], base_uri=base_uri, report=report,
    ).queries  # fmt: skip
    return made.fed_by(feed, source)


def continuous_many(
    texts: Iterable[str],
    *,
    structures: Mapping[str, Structure | str | bytes] | Structure | str | bytes | None = None,
    streams: Mapping[str, Given] | None = None,
    variables: Mapping[str, Any] | None = None,
    docs: Mapping[str, Any] | None = None,
    emit: Emission = "eager",
    clock: Clock = "event",
    now: str | datetime | None = None,
    lateness: float | Mapping[str, float] | None = None,
    assume: str | None = None,
    fixed: str | Iterable[str] | None = None,
    memory: int | str | None = None,
    names: Iterable[str] = (),
    base_uri: str | None = None,
    report: Report | None = None,
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
    if assume not in ASSUMPTIONS:
        raise error("XSC0091", f"nothing is known of assuming {assume!r}", hint='assume="rooted"')
    if clock not in CLOCKS:
        raise error("XSC0091", f"no clock {clock!r}", hint=f"one of {', '.join(CLOCKS)}")
    inflow = Inflow(given_structures(structures), clock, now, lateness, report)
    inflow.rooted = assume == "rooted"
    inflow.fixed = fixed_of(fixed)
    inflow.memory = None if memory is None else bytes_of(memory)
    inflow.sources = {stream: stream_source(stream, source) for stream, source in (streams or {}).items()}
    called = list(names)
    for number, text in enumerate(texts):
        known = inflow.structures or None
        query = compile(text, base_uri=base_uri, variables=tuple(variables or ()), structures=known)
        made = ContinuousQuery(
            query, inflow, called[number] if number < len(called) else "answer", variables or {}, docs or {}, emit
        )
        inflow.queries.append(made)
    if streams is not None:
        inflow.check_names(called)
    return inflow


class ContinuousQuery(Tabled, Fed):
    """A query that goes on. The law: :meth:`answer` is always q(T(γ)) of what has been fed, γ.

    ``warnings`` tells what in the query can hardly be meant; ``recomputed``, if not empty, why it is computed anew at
    every change instead of being followed by difference. In the modes certain and optimistic the law is that of the
    mode (``docs/continuous.md``); ``modes.reasons`` tells what is not looked into and waits for the end of the streams.
    """

    def __init__(
        self, query: Query, inflow: Inflow, name: str, variables: Mapping[str, Any], docs: Mapping[str, Any],
        emit: Emission = "eager",
    ) -> None:  # fmt: skip
        self.query = query
        self.inflow = inflow
        self.name = name
        self.recomputed = ""
        module = query.executable.program.module
        self.modes: Modes = rewrite(module, emit)
        self._scratch = FromScratch(query, self.modes, inflow, variables, docs)
        parts = [part for one in (module, *module.imported) for part in descendants(one)]
        self.streams = streams_named(module)
        self.names_its_streams = names_all_streams(module)
        self.timely = any(map(looks_at_clock, parts))
        self._planned = Planned(self.modes.module, parts)
        self._output: Output | None = None
        self.engine: Columnar | None = None
        """What follows the streams while they are in columns."""
        self._moment: Instant = START
        self._pending: list[Emitted] = []
        self._untold = False
        self._listeners: list[tuple[ContinuousQuery, str]] = []
        self._views: list[Callable[[], None]] = []
        self.seq = 0
        """The number of the last row that has been told."""
        self._known: object = None
        self._read: dict[str, Association] = {}
        self._announced = Announced(module)

    # ---------------------------------------------------------------------------------------------- changes

    def feed(self, item: Arriving, stream: str | None = None, place: Place | None = None) -> list[Change]:
        """Take in a change (or a structure) of a stream; what it changes in the answer.

        The changes that come first describe an empty answer; from them on, T of all of them is the answer.
        """
        self.inflow.feed(item, stream, place)
        return [emitted.change for emitted in self.take()]

    def feed_many(self, items: Iterable[Arriving] | bytes, stream: str | None = None) -> list[Change]:
        """Take in several, or whole elements of a stream as they are on the wire; and then see what is different."""
        self.inflow.feed_many(items, stream)
        return [emitted.change for emitted in self.take()]

    def load(self, source: Given, stream: str | None = None) -> list[Change]:
        """Read a file or a pipe to its end, in batches, and then see what is different.

        What the query does not need is not opened: by far the fastest way to take much in.
        """
        self.inflow.load(source, stream, telling=True)
        return [emitted.change for emitted in self.take()]

    def tick(self, now: str | datetime | Instant) -> list[Change]:
        """The current time, of a manual clock; what it changes in the answer."""
        self.inflow.tick(now)
        return [emitted.change for emitted in self.take()]

    def take(self, soon: bool = False) -> list[Emitted]:
        """The changes of the answer that nobody has taken yet, with order labels; tables have them now, or ``soon``."""
        if self._output is not None:
            self._up_to_date()
        taken, self._pending = self._pending, []
        return self.tabled(taken, soon)

    def rows(self, emitted: Iterable[Emitted]) -> list[dict[str, Any]]:
        """Changes as rows of the one schema: stream, seq, change, doc, region, target … content."""
        made = []
        for change, order in emitted:
            self.seq += 1
            made.append(dict(zip(ROW, to_row(change, self.name, self.seq, order), strict=True)))
        return made

    @property
    def warnings(self) -> tuple[str, ...]:
        """What can hardly be meant, and what its streams put aside, with how many there were."""
        return (*self.inflow.doubts(self), *self.inflow.findings.texts())

    @property
    def plan(self) -> Plan:
        """How it is computed, as its streams are known now."""
        return self._planned.plan

    def foreseen(self) -> tuple[Plan, str]:
        """How it will be computed where its streams are as their structures say, before anything comes; and why all of
        it anew at every change, if so."""
        self.inflow.decide_early()
        associations = self._associations()
        self._planned.again(associations)
        return self.plan, self._planned.obstacle(associations, in_columns=self.engine is not None)

    @property
    def structure(self) -> Structure | None:
        """The tag structure of the answer as a stream, once it has begun; None where nothing is certain of it."""
        return self._announced.structure

    @property
    def output(self) -> Output | None:
        """What has been told of the answer; None: nothing yet, not even that it is empty."""
        return self._output

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
            changes = [emitted.change for emitted in other._up_to_date().snapshot()]
            self.inflow.feed_many([*([other.structure] if other.structure is not None else ()), *changes], stream)

    def on_change(self, view: Callable[[], None]) -> None:
        """Call something whenever the answer has changed: a picture of it that is to be drawn again."""
        self._views.append(view)

    # ---------------------------------------------------------------------------------------------- the answer

    def answer(self) -> Result:
        """q(T(γ)), as :func:`xstreamcast.query` gives it; raises the error that it is."""
        output = self._begun()
        return Result(self.query, iter(output.journal.answer()), Doubts(self.query, self.warnings))

    def text(self) -> str:
        """The answer as it has been told, by the xml method; raises the error that it is."""
        return self._up_to_date().text()

    def told(self) -> str | XStreamError:
        """The answer as it has been told: its text, or the error that it is."""
        output = self._up_to_date()
        return output.failure or output.text()

    @property
    def failure(self) -> XStreamError | None:
        """The error that the answer is, if it is one."""
        return self._up_to_date().failure

    def items(self) -> Iterator[tuple[str, str]]:
        """What is shown, in order: labels and texts."""
        return self._up_to_date().items()

    @property
    def shown(self) -> int:
        """How many regions the answer has."""
        return self._up_to_date().size

    @property
    def waiting(self) -> int:
        """How many open holes the query looks into: what hangs on them is held back, or shown on trial."""
        journal = self._begun().journal
        return 0 if isinstance(journal, Recomputed) else journal.waiting

    @property
    def held(self) -> tuple[str, ...]:
        """What of the query no open hole is asked for about: in mode certain it waits for the end of its streams."""
        if self.modes.emission == "eager":
            return ()
        return ("the query as a whole",) if self.plan.strategy is Strategy.NONE else self.modes.reasons

    def at_first(self) -> str | XStreamError:
        """The answer before anything has come."""
        try:
            if self.modes.emission == "certain":
                return "" if self.plan.strategy is Strategy.NONE else serialise(self._journal({}).answer())
            return serialise(self._scratch.of_nothing())
        except XStreamError as failure:
            return failure

    def state(self) -> dict[str, Any]:
        """Sizes: of each stream the regions and the bytes of content that are kept (``spilled``: on disk; ``trees``:
        parsed), how many of the changes were not opened (``skipped``), and how many contents were: ``opened``, of which
        ``holders`` for their hole ids only, how many holes stand ``in_runs``, and how many versions and events were let
        go of (``discarded``); of each operator its members; how many items are shown, and how many evaluations there
        have been; how long the versions and events of each tag are kept (``retention``); whether it is ``followed`` in
        columns or by objects, and why ``by_objects``."""
        output, known = self._up_to_date(), self.inflow.associations
        made = sizes(output, {name: one for name, one in known.items() if name in self.streams or not self.streams})
        retained = {name: self.inflow.association(name).retention.told() for name in made["streams"]}
        how = {"followed": "objects" if self.engine is None else "columns", "by_objects": self.inflow.by_objects}
        return made | {"retention": retained, **how}

    # ---------------------------------------------------------------------------------------------- going on

    @property
    def begun(self) -> bool:
        """Whether it has begun to be answered."""
        return self._output is not None

    def retention(self, stream: str) -> dict[int, Keep]:
        """What must be kept of a stream's tags that come in versions and as events, if it is less than everything."""
        structure = self.inflow.association(stream).structure
        if structure is None or isinstance(self._begun().journal, Recomputed):
            return {}
        asked = [question for _, question in self.modes.asked]
        return retention(self.plan, known_structures(self._associations()), asked).get(stream, {})

    def _begun(self) -> Output:
        if self._output is None:
            self._begin()
        assert self._output is not None
        return self._output

    def _up_to_date(self) -> Output:
        """… once all that has come has been told."""
        output = self._begun()
        if self._untold:
            self._untold = False
            self._tell(output.changes())
        return output

    def _go_on(self, tell: bool = True) -> None:
        """Look at what has come, and ``tell`` what is different, or when somebody asks.

        Before anything is in a table, a structure may still tell how to begin.
        """
        if self._output is None:
            if any(one.filled for one in self.inflow.associations.values()):
                self._begin()
            return
        output, now = self._output, self.inflow.now
        self._turn(output)
        if self.engine is not None:
            self._untold |= self.engine.moved
            self.engine.moved = False
            if (tell or self._listeners) and self._untold:
                self._up_to_date()
            self._moment = now
            return
        if now != self._moment:
            self._moment = now
            if self.timely and isinstance(output.journal, Journal):
                output.journal.tick(moment_at(now))
        if isinstance(output.journal, Journal):
            output.journal.pass_by(self.inflow.watermark)
        output.journal.settle()
        self._untold = True
        if tell or self._listeners:
            self._up_to_date()

    def _settle(self) -> None:
        """Evaluate what has come, and tell nothing yet."""
        output = self._begun()
        self._turn(output)
        output.journal.settle()

    def _journal(self, structures: Mapping[str, Structure]) -> Journal:
        """The query, to be followed by difference, before anything has come."""
        if self.modes.emission == "eager":
            return Journal(self.plan, self._evaluation(), structures)
        from xstreamcast.run.continuous.evaluate.modes import Modal

        return Modal(self.modes, self.plan, self._evaluation(), structures)

    def _evaluation(self) -> Evaluation:
        return self._scratch.evaluation(self._moment)

    def _finish(self, stream: str) -> None:
        """A stream has come to its end."""
        if self._output is not None and isinstance(self._output.journal, Journal):
            self._output.journal.close(stream)

    def _begin(self) -> None:
        self.inflow.decide_early()
        self._moment = self.inflow.now
        associations = self._associations()
        self._planned.again(associations)
        self._output = Output(self._followed(associations), self.inflow.forwards)
        self._seal(self._output)
        self._announced.derive(self.plan, known_structures(associations))
        self._tell(self._output.begin())

    def _seal(self, output: Output) -> None:
        """Let what follows the streams now go of what is closed, unless somebody must be able to tell it again."""
        if self.inflow.seals:
            output.seal(self._associations())

    def follow_in_columns(self, tables: Mapping[str, RegionTable], alike: dict[Hashable, Alike]) -> None:
        """Follow the streams in columns from now on, together with queries of the same shape; raises
        :class:`~xstreamcast.run.continuous.columns.roles.Refused`."""
        from xstreamcast.run.continuous.columns.alike import Alike, shape_of

        associations = self._associations()
        self._planned.again(associations)
        obstacle = self._planned.obstacle(associations, in_columns=True)
        if obstacle or self._output is not None:
            raise Refused(obstacle or "it has begun before")
        structures = known_structures(associations)
        apart = None if self.modes.emission == "eager" else len(alike)  # what asks for open holes asks for itself
        together = alike.setdefault((shape_of(self.plan), apart), Alike())
        leader = together.leader
        if leader is None and any(
            keep.last for kept in retention(self.plan, structures).values() for keep in kept.values()
        ):
            raise Refused("of some versions and events only the newest are looked at")
        self.engine = together.twin() or columnar(
            self.plan, self._evaluation(), structures, tables, leader, self.inflow.forwards, self.modes
        )
        together.queries.append(self)
        self.recomputed = "; ".join(dict.fromkeys(each.reason for each in recomputed(self.plan)))

    def would_plan_otherwise(self, structures: Mapping[str, Structure]) -> bool:
        """Whether the plan would be another one, or not be followed in columns, if streams had these structures."""
        kept = retention(self.plan, structures).values()
        return self._planned.differs(structures) or any(keep.last for tags in kept for keep in tags.values())

    def leave_columns(self) -> None:
        """Follow the streams by objects from now on."""
        self.engine = None
        if self._output is not None:
            self._output.hand_over(self._followed(self._associations()))
            self._seal(self._output)

    def _followed(self, associations: Mapping[str, Association]) -> Journal | Recomputed | Columnar:
        """What follows the streams as they are known now."""
        if self.engine is not None:
            return self.engine
        self.recomputed = self._planned.obstacle(associations)
        if self.recomputed:
            self.inflow.keep_all()
            return Recomputed(self.query, self._ask)
        structures = known_structures(associations)
        journal = self._journal(structures)
        for name, live in journal.live.items():
            assert isinstance(live, Noted)
            live.assume_rooted = self.inflow.rooted
            live.route.spelled = name in self._planned.spelled
            associations[name].adopt(live)
            if associations[name].ended or name in self.inflow.finished:
                journal.close(name)
        journal.settle()
        # on what is read of the documents, or from items that are kept
        self.recomputed = "; ".join(dict.fromkeys(each.reason for each in recomputed(self.plan)))
        return journal

    def _associations(self) -> dict[str, Association]:
        if not self._read:
            names = dict.fromkeys((*self.streams, *[source.uri or "" for source in self.plan.sources if source.stream]))
            self._read = {name: self.inflow.association(name) for name in names}
        return self._read

    def _turn(self, output: Output) -> None:
        """What a stream turns out to be may be more than can be followed by difference."""
        journal, associations = output.journal, self._associations()
        known = [one.standing for one in associations.values()]
        if known == self._known:
            return
        self._known = known
        self._announced.derive(self.plan, known_structures(associations))
        if isinstance(journal, Journal) and (self._planned.again(associations) or self._planned.obstacle(associations)):
            for name, live in journal.live.items():
                associations[name].leave(live)
            output.turn(self._followed(associations))
            self._seal(output)

    def _ask(self) -> list[Item]:
        """q(T(γ)), from scratch."""
        return self._scratch.answer(self.plan, self._associations(), self._moment)

    def _tell(self, emitted: list[Emitted]) -> None:
        if not emitted:
            return
        self._pending += emitted
        items = self._announced.ahead_of([one.change for one in emitted])
        for listener, stream in self._listeners:
            listener.inflow.feed_many(items, stream)
        for view in self._views:
            view()

    def __repr__(self) -> str:
        return f"<ContinuousQuery {' '.join(self.query.text.split())[:60]}>"

    def _repr_html_(self) -> str:
        from xstreamcast.run.shown import continuous_html

        return continuous_html(self)

    def _ipython_display_(self) -> None:
        from xstreamcast.run.redrawn import show

        show(self)
