"""Theorem 4, held against the planner: two analyses that know nothing of each other say the same of one pass.

The theorems ask whether a query's graph has a cycle, a path between aggregates or traversals that meet; the planner
decomposes the query into units and counts how often they must wait for each other. A plan that blocks (§3.2, the first
condition) is outside of the theorems.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from xstreamcast import explain
from xstreamcast.plan.algebra import Concat, Strategy, Unit
from xstreamcast.plan.explain.explanation import Explanation
from xstreamcast.plan.explain.words import WHOLE, reads

FIXTURES = Path(__file__).parents[1] / "fixtures"
QUERIES = [*sorted((FIXTURES / "xmark").glob("*.xq")), *sorted((FIXTURES / "papers").glob("*.xq"))]


def single_pass(explanation: Explanation) -> bool:
    return explanation.plan.strategy is Strategy.STREAM and explanation.passes == 1


def keeps_results(explanation: Explanation) -> bool:
    """Whether a condition decides over items that were computed in the same pass and kept until it was known."""
    plan = explanation.plan
    units = [unit for each in plan.passes for unit in each.units if isinstance(unit.reduction, Concat)]
    rest = [part for part in plan.output if not isinstance(part, Unit)]
    return any(reads(part, unit.variable) for unit in units for part in rest)


def check(explanation: Explanation) -> None:
    """The planner's verdict is the theorems'."""
    plan, judgement = explanation.plan, explanation.judgement
    if plan.strategy is Strategy.PROJECT:
        assert plan.blocking
        return
    if plan.strategy is Strategy.NONE:
        assert not judgement.fused.supernodes
        return
    if judgement.single_pass:
        assert single_pass(explanation), explanation
    elif single_pass(explanation):
        # A control dependence outside of every loop: the planner keeps what it decides over instead of reading again.
        assert keeps_results(explanation) or explanation.verdict.endswith(WHOLE), explanation
        assert {obstacle.theorem for obstacle in judgement.obstacles} <= {2, 3}


@pytest.mark.parametrize("file", QUERIES, ids=lambda file: file.stem)
def test_planner_and_theorems_agree_on_the_papers_and_xmark(file: Path) -> None:
    text = file.read_text()
    check(explain(text))
    check(explain(re.sub(r'stream\("(\w+)"\)', r'doc("\1")', text)))


@pytest.mark.parametrize(
    "text",
    [
        "for $a in //a for $b in //b where $a/x = $b/x return $a",
        "for $a in //a return //b[x = $a/x]",
        "for $a in //a return count(//b[x = $a/x])",
        "let $p := //a for $i in $p for $j in $p where $i = $j return $i",
        "//a[. = //b]",
    ],
)
def test_traversals_that_meet_block(text: str) -> None:
    explanation = explain(text)
    assert explanation.judgement.against(1)
    assert explanation.plan.strategy is Strategy.PROJECT


class Random:
    """Queries of loops, aggregates, conditions and constructors over one document, nested in each other."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.names = 0

    def pick(self, *choices: str) -> str:
        return self.r.choice(choices)

    def fresh(self) -> str:
        self.names += 1
        return f"$v{self.names}"

    def path(self) -> str:
        return self.pick("/r/a", "//a", "/r/b[x > 1]", "//b/c", "/r/a[@k = '1']/c", f"/r/a[x > {self.scalar(2)}]")

    def scalar(self, level: int = 0) -> str:
        kind = self.r.random()
        if level > 1 or kind < 0.3:
            return str(self.r.randint(0, 9))
        if kind < 0.8:
            return f"{self.pick('count', 'sum', 'max', 'min')}({self.path()}/x)"
        return f"({self.scalar(level + 1)} {self.pick('+', '*', '-')} {self.scalar(level + 1)})"

    def loop(self, scope: list[str]) -> str:
        i = self.fresh()
        test = self.pick(f"{i}/x > 1", f"{i}/x > {self.scalar(1)}", *(f"{i}/x > {name}" for name in scope))
        where = self.pick("", f"where {test} ", f"let $l := {i}/x where count($l) > 1 ")
        body = self.pick(f"{i}/x", f"<e>{{{i}/x}}</e>", f"({i}/@k, {self.scalar(1)})", *(f"{i}/x + {n}" for n in scope))
        return f"for {i} in {self.path()} {where}return {body}"

    def query(self, scope: list[str], level: int = 0) -> str:
        kind = self.r.random()
        if level > 2 or kind < 0.2:
            return f"({self.loop(scope)})"
        if kind < 0.3:
            return self.scalar()
        if kind < 0.4:
            return f"count({self.loop(scope)})"
        if kind < 0.5:
            return f"({self.query(scope, level + 1)}, {self.query(scope, level + 1)})"
        if kind < 0.6:
            return f"<r>{{{self.query(scope, level + 1)}}}</r>"
        if kind < 0.85:
            name = self.fresh()
            body = self.query([*scope, name], level + 1)
            return f"(let {name} := {self.scalar()} return {body})"
        if kind < 0.92:
            return f"(if ({self.scalar()} > 3) then {self.query(scope, level + 1)} else ())"
        if kind < 0.96:
            return "(for $k in 1 to 3 return count(/r/a[x = $k]/c))"
        return f"{self.pick('exists', 'empty')}({self.path()})"


@pytest.mark.parametrize("seed", range(400))
def test_planner_and_theorems_agree_on_random_queries(seed: int) -> None:
    text = Random(seed).query([])
    check(explain(text))
