"""VLDB'05's three applications on documents of 1 to 100 MB: time and memory, each in a process of its own.

A tool that has not answered within the limit at one size is not asked at a larger one. The paper's figures (its figure
11: 933 MHz Pentium III) are of "Ours" there; Saxon 8.0 and Qizx ran out of memory or time from 10.6 MB on.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from bench import peers
from bench.cases import CASES, Case
from bench.measure import progress, table
from bench.peers import OURS, Cost
from bench.plots import Curves, Plot, Series

FACTORS: Final = (0.01, 0.032, 0.1, 0.32, 1.0)
LIMIT: Final = 30.0
"""CPU seconds a tool may take on one document."""

PRINTED: Final = {
    "vldb05-satellite": {0.1: 0.33, 0.66: 0.48, 10.6: 3.47, 100.0: 28.31},
    "vldb05-microscope": {0.1: 0.32, 0.66: 0.44, 2.7: 1.54, 10.6: 3.29, 100.0: 27.88},
    "vldb05-frequent-items": {0.1: 0.32, 0.66: 0.61, 2.7: 1.80, 10.6: 5.61, 100.0: 29.41},
}
"""Seconds by MB."""


def run() -> list[Plot]:
    """Print one table per application: CPU seconds and MB of memory by size and tool."""
    times, peaks = {}, {}
    for case in (case for case in CASES if case.name in PRINTED):
        costs = {tool: _costs(tool, case) for tool in peers.tools()}
        sizes = [case.document(factor).stat().st_size / 1e6 for factor in FACTORS]
        print(f"### {case.name}: CPU seconds / MB of memory\n")
        rows = [
            [f"{size:.1f}", *(_cell(costs[tool][at]) for tool in costs), _printed(case.name, size)]
            for at, size in enumerate(sizes)
        ]
        table(["MB", *(f"{tool} {version}" for tool, version in peers.tools().items()), "in the paper"], rows)
        ours = [cost.cpu for cost in costs[OURS]]
        if all(ours):
            growth = (ours[-1] / ours[2]) / (sizes[-1] / sizes[2])
            print(f"\nFrom {sizes[2]:.0f} to {sizes[-1]:.0f} MB our time grows {growth:.2f} times as much as the size.")
        print()
        name = case.name.removeprefix("vldb05-")
        cpu: Series = {tool: [cost.cpu or None for cost in column] for tool, column in costs.items()}
        peak: Series = {tool: [cost.peak / 1e6 or None for cost in column] for tool, column in costs.items()}
        times[name], peaks[name] = (sizes, cpu), (sizes, peak)
    return [
        Curves("scaling-time.svg", "Time by size of the document", "CPU seconds", times),
        Curves("scaling-memory.svg", "Peak of anonymous memory by size of the document", "MB", peaks),
    ]


def _costs(tool: str, case: Case) -> list[Cost]:
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory() as folder:
        for factor in FACTORS:
            progress(f"{case.name} {tool} {factor:g}")
            if costs and costs[-1].failure:
                costs.append(Cost(failure="–"))
            else:
                costs.append(peers.run(tool, case, case.warm(), case.document(factor), Path(folder) / tool, LIMIT))
    return costs


def _printed(name: str, size: float) -> str:
    """The paper's figure for a document of about this size, if there is one."""
    near = [(measured, seconds) for measured, seconds in PRINTED[name].items() if 0.5 < size / measured < 2]
    return "; ".join(f"{seconds:.2f} s, {measured:g} MB" for measured, seconds in near)


def _cell(cost: Cost) -> str:
    return cost.failure or f"{cost.cpu:.2f} / {cost.peak / 1e6:.0f}"
