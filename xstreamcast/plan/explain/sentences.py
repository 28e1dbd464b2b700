"""How a query will be run, in two or three sentences: how often its input is read, when the answer comes, what is kept.

>>> from xstreamcast import explain
>>> for sentence in sentences(explain("for $i in //item order by $i/@id return $i")):
...     print(sentence)
The context document is read once; order by (1:18) needs all of it before the first answer.
Kept until then: keys and projected parts of //item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from xstreamcast.plan.algebra import Strategy
from xstreamcast.plan.explain.changes import recomputed
from xstreamcast.plan.explain.words import blamed, construct, listed, named, number, place, reasons, state_bound

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.plan.explain.explanation import Explanation

_TIMES: Final = {1: "once", 2: "twice"}


def sentences(explanation: Explanation) -> Iterator[str]:
    """The sentences, each by itself."""
    plan = explanation.plan
    if plan.strategy is Strategy.NONE:
        yield "No document is scanned: the query reads none whose name is known before it runs."
    else:
        yield _begun(f"{_readings(plan)}{_moment(explanation)}.")
        when = "until then" if plan.strategy is Strategy.PROJECT else "at any moment"
        yield f"Kept {when}: {state_bound(plan, explanation.top)}."
    if explanation.changing is not None:
        yield f"Where a stream goes on (xcast watch), {_followed(explanation)}."


def _begun(text: str) -> str:
    """A text with a capital, where it does not begin with a piece of the query."""
    return text[:1].upper() + text[1:] if text.startswith("the ") else text


def _readings(plan: Plan) -> str:
    """``the context document is read twice``, ``doc("a") and doc("b") are read once``."""
    counts = Counter(each.source for each in plan.passes)
    sources: dict[int, list[str]] = {}
    for source, count in counts.items():
        sources.setdefault(count, []).append(named(source))
    told = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} read {_TIMES.get(count, f'{number(count)} times')}"
        for count, names in sources.items()
    ]
    return listed(told)


def _moment(explanation: Explanation) -> str:
    """When the answer comes, and if it waits, for what."""
    plan, top = explanation.plan, explanation.top
    if plan.strategy is Strategy.PROJECT:
        guilty = [f"{construct(plan, *each)} ({place(plan.module, each[0].span)})" for each in blamed(plan)]
        needs = "needs" if len(guilty) == 1 else "need"
        return f"; {listed(guilty)} {needs} all of it before the first answer"
    if explanation.passes > 1:
        return f": {listed(reasons(plan)[:1])}"
    if top is None or top.changelog == "append":
        return ", and the answer comes while it is read"
    return ", and the answer is known at its end"


def _followed(explanation: Explanation) -> str:
    if explanation.anew:
        return f"the whole query is computed anew at every change: {explanation.anew}"
    plan = explanation.changing
    if plan is not None and recomputed(plan):
        return "what a change touches is evaluated again, and the parts named below are computed anew"
    return "only what a change touches is evaluated again"
