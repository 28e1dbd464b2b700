"""Plans written by hand: what the executor does with one must not depend on who made it."""

from __future__ import annotations

from typing import Any

from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.model.atomic import Item
from xstreamcast.plan.algebra import PLAN, Concat, Nest, Pass, Plan, Reduction, Source, Strategy, Unit, VarName
from xstreamcast.run.inputs import Scannable, Scanning
from xstreamcast.run.library import moment_of
from xstreamcast.run.query import compile
from xstreamcast.run.single_pass import PlanCode, run
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.path import Path, parse_path

DOCUMENT: VarName = (PLAN, "document")
SOURCE = Source(None, DOCUMENT)
WHOLE = (Target(Path(), Action.PROJECT),)
NAMES = ("document", "a", "b", "c", "x", "y", "z", "acc", "it")


def module(text: str) -> ast.Module:
    """A query in which ``$document`` and the names of units are variables of the plan."""
    for name in NAMES:
        text = text.replace(f"${name}", f"$Q{{{PLAN}}}{name}")
    static = StaticContext(base_uri=None, variables=frozenset((PLAN, name) for name in NAMES))
    return compile(text, static=static).executable.program.module


def expression(text: str) -> ast.Expr:
    body = module(text).body
    assert body is not None
    return body


def unit(name: str, items: str, reduction: Reduction | None = None, records: tuple[str, ...] = (), **more: Any) -> Unit:
    return Unit(
        (PLAN, name),
        more.pop("root", DOCUMENT),
        expression(items),
        tuple(parse_path(path) for path in records),
        reduction or Concat(),
        ast.Span(0, 0),
        **more,
    )


def nest(name: str, path: str, units: tuple[Unit, ...], body: str, parts: tuple[Target, ...] = ()) -> Nest:
    return Nest((PLAN, name), parse_path(path), units, expression(body), parts)


def plan(output: list[Unit | str], *passes: list[Unit], targets: tuple[Target, ...] = WHOLE) -> Plan:
    parts = tuple(part if isinstance(part, Unit) else expression(part) for part in output)
    made = tuple(Pass(SOURCE, tuple(units), targets) for units in passes)
    return Plan(module("()"), Strategy.STREAM, (SOURCE,), made, parts)


def answer(made: Plan, document: Scannable, **scanning: Any) -> list[Item]:
    return list(answers(made, document, **scanning))


def answers(made: Plan, document: Scannable, **scanning: Any) -> Any:
    return run(PlanCode(made), {SOURCE: document}, {}, moment_of("2024-01-01"), scanning=Scanning(**scanning))
