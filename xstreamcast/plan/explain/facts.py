"""An explanation for programs: what its text says, as dictionaries, lists, texts and numbers.

>>> from xstreamcast import explain
>>> told = facts(explain("count(//item)"))
>>> told["passes"], [(each["operator"], each["blocking"], each["state"]) for each in told["operators"]]
(1, [('Reduce Δ', 'progressive', 'result'), ('Extract ρ', 'pipeline', 'depth')])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.lang.ast import Module, Span
from xstreamcast.plan.algebra import Strategy
from xstreamcast.plan.explain.changes import follows, recomputed, written
from xstreamcast.plan.explain.sentences import sentences
from xstreamcast.plan.explain.structure import lifetimes, needs
from xstreamcast.plan.explain.text import against, tested, unit_words
from xstreamcast.plan.explain.words import blamed, named, needed_by, reasons, state_bound
from xstreamcast.plan.operators import numbered
from xstreamcast.plan.projection.project import describe

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Pass
    from xstreamcast.plan.explain.explanation import Explanation


def facts(explanation: Explanation) -> dict[str, Any]:
    """Everything that is known of a query before it runs. Keys stay as they are from version to version."""
    plan, judgement = explanation.plan, explanation.judgement
    scanned = plan.strategy is not Strategy.NONE
    return {
        "sentences": list(sentences(explanation)),
        "verdict": explanation.verdict,
        "passes": explanation.passes,
        "strategy": plan.strategy.name.lower(),
        "state": state_bound(plan, explanation.top) if scanned else None,
        "blocking": _blocking(explanation),
        "operators": _operators(explanation),
        "scans": [_scan(each) for each in plan.passes],
        "changes": _changes(explanation),
        "streams": _streams(explanation),
        "theorems": {
            "single_pass": judgement.single_pass,
            "against": [
                {"theorem": theorem, "text": text} for theorem in range(4) for text in against(explanation, theorem)
            ],
        },
        "warnings": list(explanation.warnings),
    }


def _place(module: Module, span: Span) -> dict[str, Any]:
    """Where a piece of the query stands, and its text."""
    where = module.source.place(span)
    text = " ".join(module.source.text[max(span.start, 0) : max(span.end, 0)].split())
    return {"line": where.line, "column": where.column, "text": text}


def _blocking(explanation: Explanation) -> list[dict[str, Any]]:
    """The sub-expressions that need all of their input, or another pass, and why."""
    plan = explanation.plan
    if plan.strategy is Strategy.PROJECT:
        return [{**_place(plan.module, expr.span), "reason": reason} for expr, reason in blamed(plan)]
    if not reasons(plan):
        return []
    units = {unit.variable: unit for each in plan.passes for unit in each.units}
    needed = dict.fromkeys(name for unit in units.values() for name in needed_by(unit, units)[:1])
    return [{**_place(plan.module, units[name].span), "reason": "needed before the next pass"} for name in needed]


def _operators(explanation: Explanation) -> list[dict[str, Any]]:
    """The steps, the answer's first; ``inputs`` are the steps that one reads."""
    if explanation.top is None:
        return []
    steps = list(numbered(explanation.top))
    above: list[str] = []
    inputs: dict[str, list[str]] = {}
    for step, depth, _ in steps:
        del above[depth:]
        if above:
            inputs.setdefault(above[-1], []).append(step)
        above.append(step)
    return [
        {
            "id": step,
            "operator": each.symbol.value,
            "detail": each.detail,
            "blocking": each.blocking,
            "state": each.state,
            "changelog": each.changelog,
            "inputs": inputs.get(step, []),
        }
        for step, _, each in steps
    ]


def _scan(each: Pass) -> dict[str, Any]:
    units = [{"unit": unit_words(unit), "test": tested(unit) if unit.tests else None} for unit in each.units]
    return {"source": named(each.source), "units": units, "keeps": describe(each.targets)}


def _changes(explanation: Explanation) -> dict[str, Any] | None:
    """How changes of its streams are followed; None if it reads none."""
    plan, modes = explanation.changing, explanation.modes
    if plan is None:
        return None
    if explanation.anew:
        return {"followed": "anew", "why": explanation.anew, "operators": [], "anew": []}
    return {
        "followed": "by objects" if explanation.by_objects else "in columns",
        "why": explanation.by_objects or None,
        "mode": "eager" if modes is None else modes.emission,
        "held": [] if modes is None else list(modes.reasons),
        "operators": [
            {"operator": symbol.value, "of": written(words, plan), "cost": cost}
            for symbol, words, cost in follows(plan)
        ],
        "anew": [{**_place(plan.module, each.span), "reason": each.reason} for each in recomputed(plan)],
    }


def _streams(explanation: Explanation) -> list[dict[str, Any]]:
    """By stream with a known structure: the fragments needed, and how long what comes of each tag is kept."""
    return [
        {
            "stream": need.source.uri,
            "needed": need.tags,
            "of": need.count,
            "kept": [
                {"tag": tag, "path": need.structure.path(tag), "type": need.structure.tag(tag).type, "keep": str(keep)}
                for tag, keep in lifetimes(explanation, need)
            ],
        }
        for need in needs(explanation)
    ]
