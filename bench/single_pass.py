"""XMark's twenty queries, the nine of XFlux, the three of XFrag and VLDB'05's applications, beside other tools.

Every run begins at the file and ends with the whole answer as text. A process of its own for each tool and query; it
has run the query once before, on a document of 10 MB (warm). CPU seconds count all threads. The answers are
compared: ≠ is one that differs from ours. "By hand" is a script for lxml's iterparse (`bench/iterparse.py`), which
keeps in memory what its tags do not match. The papers' figures are theirs, on their machines.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import peers
from bench.answers import same
from bench.cases import CASES, Case
from bench.measure import progress, table
from bench.peers import OURS, Cost
from bench.plots import Dots, Plot

Costs = dict[str, Cost]


def run(cases: Sequence[Case] = CASES) -> list[Plot]:
    """Print the tables: CPU time by group, then wall time and time to the first result, then memory."""
    measured = {case: measured_by_all(case) for case in cases}
    for group in dict.fromkeys(case.group for case in cases):
        print(f"### {group}: CPU seconds\n")
        _cpu({case: costs for case, costs in measured.items() if case.group == group})
        print()
    print("### Wall seconds, and to the first part of the answer\n")
    _each(measured, lambda cost: f"{cost.wall:.2f} / {cost.first:.2f}")
    print("\n### Peak of anonymous memory, MB\n")
    _each(measured, lambda cost: f"{cost.peak / 1e6:.0f}")
    print()
    differing = [
        f"{case.name} of {tool}" for case in cases for tool, cost in measured[case].items() if cost.failure == "≠"
    ]
    print(f"Answers that differ: {', '.join(differing) or 'none'}.\n")
    _summary("Counting and selecting", measured, [case for case in cases if case.selective], ("lxml", "saxonche"))
    _summary("Joins", measured, [case for case in cases if case.join], ("lxml", "basex"))
    names = [case.name for case in cases]
    cpu = {tool: [measured[case][tool].cpu or None for case in cases] for tool in peers.tools()}
    peak = {tool: [measured[case][tool].peak / 1e6 or None for case in cases] for tool in peers.tools()}
    return [
        Dots("single-pass-cpu.svg", "From the file to the answer, warm", "CPU seconds", names, cpu),
        Dots("single-pass-memory.svg", "Peak of anonymous memory", "MB", names, peak),
    ]


def measured_by_all(case: Case) -> Costs:
    """A case with every tool, ours first. An answer that differs from the first, ours unless it failed, is marked."""
    warm, document = case.warm(), case.document()
    costs: Costs = {}
    reference: Path | None = None
    with tempfile.TemporaryDirectory() as folder:
        for tool in peers.tools():
            progress(f"{case.name} {tool}")
            answer = Path(folder) / tool
            cost = peers.run(tool, case, warm, document, answer)
            if not cost.failure:
                reference = reference or answer
                if not same(reference, answer):
                    cost = replace(cost, failure="≠")
            costs[tool] = cost
    return costs


def _cell(cost: Cost, shown: str) -> str:
    return f"{cost.failure} {shown}" if cost.failure == "≠" else cost.failure or shown


def _heads() -> list[str]:
    return [f"{'by hand, ' if tool == 'lxml' else ''}{tool} {version}" for tool, version in peers.tools().items()]


def _cpu(measured: dict[Case, Costs]) -> None:
    rows = []
    for case, costs in measured.items():
        ours = costs[OURS]
        speed = case.document().stat().st_size / 1e6 / ours.cpu if ours.cpu else 0
        cells = [_cell(ours, f"{ours.cpu:.3f}"), f"{speed:.0f}" if speed else ""]
        for tool in list(costs)[1:]:
            cost = costs[tool]
            times = f" ({cost.cpu / ours.cpu:.1f}×)" if ours.cpu and cost.cpu else ""
            cells.append(_cell(cost, f"{cost.cpu:.2f}{times}"))
        rows.append([case.name, *cells, case.printed])
    mine, *others = _heads()
    table(["query", mine, "MB/s", *others, "in the paper"], rows)


def _each(measured: dict[Case, Costs], shown: Callable[[Cost], str]) -> None:
    rows = [[case.name, *(_cell(cost, shown(cost)) for cost in costs.values())] for case, costs in measured.items()]
    table(["query", *_heads()], rows)


def _summary(title: str, measured: dict[Case, Costs], cases: Iterable[Case], tools: Sequence[str]) -> None:
    """The smallest and the mean factor by which a tool takes more CPU time than we do."""
    for tool in tools:
        pairs = [(measured[case][tool].cpu, measured[case][OURS].cpu) for case in cases if tool in measured[case]]
        ratios = [theirs / ours for theirs, ours in pairs if theirs and ours]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{title}: {tool} takes {min(ratios):.1f}× our CPU time or more, {mean:.1f}× in geometric mean.\n")
