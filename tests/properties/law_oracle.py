"""The law, held against one case: T(q'(γ)) = q(T(γ)) after every step, and Saxon's answer on T(γ).

From scratch means: T of each stream by :class:`~xstreamcast.cast.materialise.Materialiser`, parsed whole, and the
embedded evaluator on it. Saxon reads the same T, where the query is XQuery 3.1 without XCQL. T itself is held against
:mod:`law_t`, which has no code of ours in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from typing import Any

from law_case import Case, Step
from law_t import Streams
from lxml import etree
from streamed import NOW, streamed

import xstreamcast
from xstreamcast.cast.materialise import Materialiser, View, pick
from xstreamcast.errors import XStreamError
from xstreamcast.functions.registry import known_function
from xstreamcast.lang import ast
from xstreamcast.lang.link import parse
from xstreamcast.lang.walk import descendants
from xstreamcast.model.atomic import Item
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import START, Instant, parse_instant
from xstreamcast.model.tree import Node
from xstreamcast.run.continuous.display.emit import error_text
from xstreamcast.run.continuous.query import ContinuousQuery
from xstreamcast.run.query import Query, compile
from xstreamcast.run.route import asks_for_documents
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at

NOT_OF_DATA = ("error XPDY0002", "error XPST", "error XQST", "error XSC")
"""Errors that no data bring about: they are never met in a part that need not be evaluated."""
OF_ONE_VALUE = ("FORG0001", "FOAR0001")
"""Errors of a value that is there, however many there are: no number, or no number to divide by."""


class LawBroken(AssertionError):
    """Two answers that should be one. ``step``: how many steps had been taken."""

    def __init__(self, case: Case, step: int, which: str, found: str, expected: str, t: str = "") -> None:
        super().__init__(f"{which}, after step {step} of\n{case}\nT: {t}\nfound:    {found}\nexpected: {expected}")
        self.case = case
        self.step = step
        self.which = which
        self.errors = tuple(text[:14] if text.startswith("error ") else "" for text in (found, expected))
        """The codes of the errors that the two answers are, if they are."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as the adaptive method writes it, which tells types apart, and as the xml method does."""

    adaptive: str
    xml: str

    @property
    def failed(self) -> bool:
        return self.adaptive.startswith("error ")


def answer_of(ask: Callable[[], list[Item]]) -> Answer:
    """An error is an answer: its code."""
    try:
        items = ask()
    except XStreamError as failure:
        return Answer(f"error {failure.code}", f"error {failure.code}")
    return Answer(serialise(items, method="adaptive"), _by_xml(items))


def _by_xml(items: list[Item]) -> str:
    try:
        return serialise(items)
    except XStreamError as failure:
        return f"error {failure.code}"


class Scratch:
    """q(T(γ)), computed anew whenever it is asked for."""

    def __init__(self, text: str, clock: str = "event", lateness: float | None = None) -> None:
        self.query = _compiled(text)
        self.streams: dict[str, Materialiser] = {}
        self.lateness = lateness
        self.mark: Instant = START
        self.ticked: Instant | None = START if clock == "manual" else None
        self._texts: dict[str, str] = {}
        self._views: dict[str, Node] = {}  # one document for all that ask for a stream at one moment

    def take(self, step: Step) -> None:
        if step.tick is not None:
            self._forget()
            assert self.ticked is not None, "only a manual clock is set by hand"
            self.ticked = max(parse_instant(step.tick), self.ticked)
            return
        for item in step.items():
            self.take_item(step.stream, item)

    def take_item(self, stream: str, item: Change | Structure | Diagnostic) -> None:
        self._forget()
        known = self.streams.setdefault(stream, Materialiser())
        if not (isinstance(item, Change) and item.valid_time is not None and item.valid_time < self.watermark()):
            known.apply(item)

    def _forget(self) -> None:
        """T is another one now."""
        self._texts.clear()
        self._views.clear()

    def watermark(self) -> Instant:
        """The least, over the streams that go on, of their largest valid time less the lateness; it never decreases."""
        if self.lateness is not None:
            going = [known.now for known in self.streams.values() if known.now != START and not known.ended]
            self.mark = max(self.mark, min(going, default=START) - round(self.lateness * 1_000_000))
        return self.mark

    @property
    def now(self) -> Instant:
        if self.ticked is not None:
            return self.ticked
        return max([stream.now for stream in self.streams.values()], default=START)

    def text(self, stream: str) -> str:
        """T(γ) of a stream."""
        if stream not in self._texts:
            known = self.streams.setdefault(stream, Materialiser())
            self._texts[stream] = known.text(pick(known.documents(), None), View(now=self.now))
        return self._texts[stream]

    def view(self, stream: str) -> Node:
        if stream not in self._views:
            self._views[stream] = view_of(self.text(stream).encode(), f"stream:{stream}")
        return self._views[stream]

    def answer(self) -> Answer:
        return answer_of(lambda: self.query(streams=self.view, now=moment_at(self.now)).items())

    def documents(self) -> str:
        """All of T(γ), to be told."""
        return "; ".join(f"{name} = {self.told(name)}" for name in self.streams)

    def told(self, stream: str) -> str:
        """T(γ) of a stream, or the error that it is."""
        try:
            return self.text(stream)
        except XStreamError as failure:
            return f"error {failure.code}"


@lru_cache(maxsize=256)
def _compiled(text: str) -> Query:
    return compile(text)


class Behind:
    """A query over the answer of another: q2(T(q1'(γ))) is q2 of what q1 tells, serialised, after every change."""

    def __init__(self, case: Case, first: ContinuousQuery) -> None:
        self.first = first
        self.whole = _compiled(case.behind)
        self.second = Followed(xstreamcast.continuous(case.behind))
        self.second.query.listen("answer", first)

    def differs(self) -> tuple[str, str, str] | None:
        told = self.first.told()
        given = view_of((error_text(told) if isinstance(told, XStreamError) else told).encode(), "stream:answer")
        now = moment_at(self.second.query.inflow.now)
        expected = answer_of(lambda: self.whole(streams=lambda _: given, now=now).items())
        self.second.show([emitted.change for emitted in self.second.query.take()])
        wrong = self.second.differs(expected)
        return None if wrong is None else (f"behind it, {wrong[0]}", *wrong[1:])


class Followed:
    """A continuous query and the display that its changes are applied to."""

    def __init__(self, query: ContinuousQuery) -> None:
        self.query = query
        self.odd: list[Diagnostic] = []
        self.display = Materialiser(None, self.odd.append)

    def take(self, step: Step) -> None:
        if step.tick is not None:
            self.show(self.query.tick(step.tick))
            return
        for item in step.items():
            self.show(self.query.feed(item, step.stream))

    def take_all(self, steps: Sequence[Step]) -> None:
        """A batch: what comes on one stream without a break is taken in together."""
        for stream, some in groupby(steps, key=lambda step: step.stream):
            batch = list(some)
            if len(batch) == 1 or not stream:
                for step in batch:
                    self.take(step)
            else:
                self.show(self.query.feed_many([item for step in batch for item in step.items()], stream))

    def show(self, changes: list[Change]) -> None:
        for change in changes:
            self.display.apply(change)

    def answer(self) -> Answer:
        return answer_of(lambda: self.query.answer().items())

    def differs(self, expected: Answer) -> tuple[str, str, str] | None:
        """What is wrong, if anything: which of the views of the answer, it, and what it should be."""
        answer = self.answer()
        if answer.adaptive != expected.adaptive:
            return "the answer", answer.adaptive, expected.adaptive
        told = self.query.told()
        if isinstance(told, XStreamError):
            if f"error {told.code}" != expected.xml:
                return "what is told", f"error {told.code}", expected.xml
            told = error_text(told)
        elif told != expected.xml:
            return "what is told", told, expected.xml
        self.show([emitted.change for emitted in self.query.take()])
        if self.display.text() != told:
            return "the display", self.display.text(), told
        if self.odd:
            return "the display", str(self.odd[0]), "nothing odd"
        return None


@dataclass
class Told:
    """What came of a case: how many different answers there were, after how many changes it was an error, and how often
    only one of two evaluations met one, which is then up to the processor."""

    answers: int = 0
    errors: int = 0
    latitude: int = 0
    last: str = ""
    by_objects: str = ""
    """Why it is not followed in columns at the end; nothing: it is."""


def check(case: Case, *, saxon: str = "end", every: int = 1) -> Told:
    """Hold the law against a case, after ``every`` so many changes and at the end; ``saxon``: end, always or never."""
    case = case.heard()
    scratch = Scratch(case.query, case.clock, case.lateness)
    streams = Streams(case.clock, case.lateness)
    followed = Followed(xstreamcast.continuous(case.query, clock=case.clock, lateness=case.lateness))
    behind: Behind | None = None
    peer = saxon != "never" and is_standard(case.query)
    told = Told()
    batch: list[Step] = []
    for number, step in enumerate(case.steps, 1):
        scratch.take(step)
        take_into(streams, step)
        last = number == len(case.steps)
        batch.append(step)
        if number % case.together and not last:
            continue
        followed.take_all(batch)
        batch.clear()
        if (number % every and not last) or not (scratch.streams or step.tick):
            continue
        wrong = t_differs(scratch, streams)
        if wrong is not None:
            raise LawBroken(case, number, *wrong)
        expected = scratch.answer()
        told.answers += expected.adaptive != told.last
        told.errors += expected.failed
        told.last = expected.adaptive
        answer = followed.answer()
        either = answer.failed != expected.failed or (answer.failed and answer.adaptive != expected.adaptive)
        if either and not case.strict and not answer.adaptive.startswith(NOT_OF_DATA):
            # XQuery 3.1 §2.3.4: an error in a part that need not be evaluated may be met or not, and of several errors
            # any may be. But it must not be an error of the past: a query that begins now with the same streams says
            # the same.
            told.latitude += 1
            expected = begun_now(case, number)
        wrong = followed.differs(expected)
        if wrong is None and peer and (last or saxon == "always"):
            wrong = differs_from_saxon(case.query, expected, scratch.text, case.strict)
        if wrong is None and last:
            wrong = differs_when_scanned(case.query, scratch, case.strict)
        if wrong is None and case.behind and number > case.listens:
            behind = behind or Behind(case, followed.query)
            wrong = behind.differs()
        if wrong is not None:
            raise LawBroken(case, number, *wrong, scratch.documents())
    told.by_objects = "" if followed.query.engine is not None else followed.query.inflow.by_objects or "no structure"
    return told


def differs_when_scanned(text: str, scratch: Scratch, strict: bool = False) -> tuple[str, str, str] | None:
    """The answer about T(γ) as a stored document that is scanned in tiny steps, where it is another.

    Of two predicates either may be tested first (XQuery 3.1 §2.3.4), and a scan takes them as they are written: so it
    may meet a value that cannot be compared where the stored evaluation had let go of its node. Not so an error about
    how many items there are: that is what a scan that loses nodes would say.
    """
    streams = dict.fromkeys(_CALL.findall(text))
    if len(streams) != 1 or not is_standard(text):
        return None
    stored = _CALL.sub('doc("d")', text)
    try:
        xml = scratch.text(*streams).encode()
        etree.fromstring(xml)
    except (XStreamError, etree.XMLSyntaxError):
        return None  # T is an error, or no document: a forest, nothing
    query = _compiled(stored)
    if asks_for_documents(query):
        return None  # not of the scan alone
    expected = answer_of(lambda: query(docs={"d": xml}, now=NOW).items()).adaptive
    for step in (1, 40):
        found = streamed(query, xml, step)
        if found is None or expected.startswith("error ") or (not strict and found in OF_ONE_VALUE):
            continue
        if found != expected:
            return f"scanned in steps of {step}", found, expected
    return None


def take_into(streams: Streams, step: Step) -> None:
    if step.tick is not None:
        streams.tick(step.tick)
    else:
        streams.take(step.stream, step.wire)


def t_differs(scratch: Scratch, streams: Streams) -> tuple[str, str, str] | None:
    """What T of a stream is, where it is something else by the specification."""
    for name in scratch.streams:
        found, expected = whole(scratch.told(name)), whole(streams.text(name))
        if found != expected:
            return "T itself", found, expected
    return None


@lru_cache(maxsize=64)
def whole(t: str) -> str:
    """A document in canonical form (exclusive C14N 1.0, with comments: lxml's 2.0 writes ``xmlns`` twice at times)."""
    if t.startswith("error "):
        return t
    return etree.tostring(etree.fromstring(f"<t>{t}</t>"), method="c14n", exclusive=True).decode()


def begun_now(case: Case, number: int) -> Answer:
    """The answer of a continuous query to which the first so many steps come at once."""
    query = xstreamcast.continuous(case.query, clock=case.clock, lateness=case.lateness)
    coming = [(step.stream, item) for step in case.steps[:number] if step.tick is None for item in step.items()]
    query.inflow.feed_all(coming)
    for step in case.steps[:number]:
        if step.tick is not None:
            query.tick(step.tick)
    return answer_of(lambda: query.answer().items())


# ------------------------------------------------------------------------------------------------- Saxon

_PROLOG = (
    'declare namespace map = "http://www.w3.org/2005/xpath-functions/map";'
    'declare namespace array = "http://www.w3.org/2005/xpath-functions/array";'
)
"""The prefixes that our engine knows without a declaration and Saxon does not."""
_CALL = re.compile(r'stream\("(\w+)"\)')
_TEMPORAL = (ast.IntervalProjection, ast.VersionProjection, ast.Now, ast.AllenComparison)
_PLACE = re.compile(r"\b(X[PQ][A-Z]{2}\d{4}|FO[A-Z]{2}\d{4}|SE[A-Z]{2}\d{4})\b")


@lru_cache(maxsize=256)
def is_standard(text: str) -> bool:
    """Whether a query is XQuery 3.1 but for the streams that it names, and leaves no order of groups open."""
    for part in descendants(parse(text, known_functions=known_function)):
        if isinstance(part, _TEMPORAL):
            return False
        if isinstance(part, ast.FLWOR):
            kinds = [type(clause) for clause in part.clauses]
            if ast.GroupClause in kinds and ast.OrderClause not in kinds[kinds.index(ast.GroupClause) :]:
                return False
        if isinstance(part, ast.FunctionCall) and part.name.expanded[0] == STREAM and part.name.local != "stream":
            return False
    return True


@lru_cache(maxsize=256)
def compares(text: str) -> bool:
    """Whether a query orders values by ``<`` and the like."""
    parts = descendants(parse(text, known_functions=known_function))
    return any(isinstance(part, ast.GeneralComparison) and part.op not in ("=", "!=") for part in parts)


def differs_from_saxon(
    text: str, expected: Answer, t: Callable[[str], str], strict: bool = False
) -> tuple[str, str, str] | None:
    """What Saxon says of T(γ), where it says something else; ``strict``: errors count."""
    try:
        views = {name: t(name) for name in _CALL.findall(text)}
    except XStreamError:
        return None  # T itself is the error: a stream of several documents
    if any("NaN" in view for view in views.values()) and compares(text):
        return None  # Saxon has it that an untyped NaN is greater than any number
    found = by_saxon(text, views)
    if not strict and (found.startswith("error ") or expected.failed):
        # XQuery 3.1 §2.3.4: which of several errors is met, and whether one in a part that need not be evaluated is
        # met at all, is up to the processor. So only the codes of two errors that stand alone can be compared.
        return None
    here, there = canonical(expected.xml), canonical(found)
    return None if here == there else ("Saxon's answer", there, here)


def by_saxon(text: str, views: dict[str, str]) -> str:
    """Saxon's answer, streams being the documents given as text; an error is its code."""
    import saxonche

    globals_ = "".join(
        f"declare variable $stream-{name} := parse-xml-fragment({_literal(view)});" for name, view in views.items()
    )
    body = _CALL.sub(lambda call: f"$stream-{call[1]}", text)
    # Variables of the prolog come after its namespaces and before the query's own declarations that may use them.
    engine = _processor().new_xquery_processor()
    try:
        found: str = engine.run_query_to_string(query_text=_PROLOG + globals_ + body, lang="3.1") or ""
    except saxonche.PySaxonApiError as failure:
        code = _PLACE.search(str(failure))
        return f"error {code[1] if code else failure}"
    return re.sub(r"^<\?xml [^>]*\?>", "", found)


@cache
def _processor() -> Any:
    import saxonche

    return saxonche.PySaxonProcessor(license=False)


def _literal(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace('"', '""').replace("\r", "&#13;")
    return f'"{escaped}"'


def canonical(answer: str) -> str:
    """An answer in canonical form, its doubles rounded: those of long sums agree within a few ulps only."""
    if answer.startswith("error "):
        return answer
    parsed = etree.fromstring(f"<answer>{answer}</answer>")
    text = etree.tostring(parsed, method="c14n", exclusive=True, with_comments=False).decode()
    return re.sub(r"\d+\.\d{6,}(E-?\d+)?", lambda number: f"{float(number[0]):.12g}", text)
