"""SIGMOD'04 §7: XMark's queries 1, 2 and 5 over fragments by the paper's three methods, and by difference, as here.

CaQ constructs the document and asks it, QaC asks and constructs what is returned, QaC+ goes straight to the fillers of
a tag: XQuery programs over the file of fragments (``xcast translate``), each run by Saxon. Ours takes the same file in,
and has the answer to every change of it from then on; µs per change is what one such change costs. All times are from
the text of the query and the file to the serialised answer, in a process that has done so with the largest file before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from bench.answers import normal
from bench.measure import progress, table
from bench.streams import fragments

if TYPE_CHECKING:
    from xstreamcast import ContinuousQuery

FACTORS: Final = (0.02, 0.05, 0.1)
QUERIES: Final = {
    "1": 'for $b in stream("s")/site/people/person[@id = "person0"] return $b/name/text()',
    "2": 'for $b in stream("s")/site/open_auctions/open_auction '
    "return <increase>{ $b/bidder[1]/increase/text() }</increase>",
    "5": 'count(for $i in stream("s")/site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price)',
}
_CHANGES: Final = 100


def run() -> None:
    """Print one table: seconds by query, size and method."""
    rows = []
    for name in QUERIES:
        warm(name)
        for factor in FACTORS:
            found = measured(name, factor)
            cells = [f"{cost:.2f}" for cost in (*found.methods.values(), found.ours)]
            ratio, size = f"{found.methods['QaC+'] / found.ours:.1f}×", f"{found.megabytes:.1f}"
            rows.append((name, size, *cells, ratio, f"{found.change * 1e6:,.0f}", "yes" if found.same else "no"))
    names = ("query", "MB", *found.methods, "ours", "of QaC+", "µs per change", "same answer")
    table(names, rows)


@dataclass(frozen=True, slots=True)
class Asked:
    """A query over fragments: CPU seconds by the paper's methods and by ours, and seconds that a change costs."""

    megabytes: float
    methods: dict[str, float]
    ours: float
    change: float
    same: bool


def warm(name: str) -> None:
    """Ask a query of the largest file, each way once."""
    progress(f"xcql {name}")
    _taken_in(QUERIES[name], fragments(max(FACTORS)))
    _saxon(QUERIES[name], "QaC+", fragments(max(FACTORS)))


def measured(name: str, factor: float) -> Asked:
    """A query over a document of XMark's in fragments, by all methods."""
    from xstreamcast.plan.translate.program import STRATEGIES

    text, stream = QUERIES[name], fragments(factor)
    methods: dict[str, float] = {}
    answers = []
    for strategy in STRATEGIES:
        progress(f"xcql {name} {factor:g} {strategy}")
        methods[strategy], answer = _saxon(text, strategy, stream)
        answers.append(answer)
    progress(f"xcql {name} {factor:g}")
    ours, change, answer = _ours(text, stream)
    same = all(normal(other) == normal(answer) for other in answers)
    return Asked(stream.stat().st_size / 1e6, methods, ours, change, same)


def _saxon(text: str, strategy: Any, stream: Path) -> tuple[float, str]:
    from bench.peers import saxon as processor
    from xstreamcast.plan.translate.program import translate

    program = translate(text, strategy, streams={"s": stream})
    best, answer = 1e9, ""
    for _ in range(2):
        began = time.process_time()
        engine: Any = processor().new_xquery_processor()
        answer = engine.run_query_to_string(query_text=program, lang="3.1") or ""
        best = min(best, time.process_time() - began)
    return best, answer.split("?>", 1)[-1]


def _ours(text: str, stream: Path) -> tuple[float, float, str]:
    """Seconds to answer from a stream, seconds that a change costs in the middle of many, and the answer."""
    from xstreamcast.model.change import ContentChange, Replace
    from xstreamcast.wire.fragment import read_stream

    best = 1e9
    for _ in range(2):
        began = time.process_time()
        query, answer = _taken_in(text, stream)
        best = min(best, time.process_time() - began)
    query.take()
    sent = [arrival.item for arrival in read_stream(stream) if isinstance(arrival.item, ContentChange)][1:]
    costs = []
    for change in sent[:: max(1, len(sent) // _CHANGES)]:
        content = change.content.replace(b">", b" again='yes'>", 1)
        began = time.process_time()
        query.feed(Replace(region=change.region, tsid=change.tsid, content=content), "s")
        costs.append(time.process_time() - began)
    return best, median(costs), answer


def _taken_in(text: str, stream: Path) -> tuple[ContinuousQuery, str]:
    """A query that has taken a stream in, and its answer, serialised; nobody has been told yet."""
    from xstreamcast import continuous_many
    from xstreamcast.model.serialise import serialise

    inflow = continuous_many([text])
    inflow.load(str(stream), "s")
    (query,) = inflow.queries
    return query, serialise(query.answer().items())
