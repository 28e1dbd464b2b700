"""The scan kernel beside lxml's iterparse, pyexpat's callbacks and expat without any, on the 116 MB XMark document.

CPU seconds of one core, the best of three runs taken in turn in one process; all check well-formedness whole. Threads
are wall time. Start-up is that of a process that scans a small document, with the compiled kernel on disk.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.parsers import expat

from bench.documents import xmark
from bench.measure import measure, table

Task = Callable[[str], object]

_START = """
from xstreamcast.scan.automaton import Automaton, Target
from xstreamcast.scan.path import parse_path
from xstreamcast.scan.reader import scan_bytes
from xstreamcast.scan.scanner import Scanner
list(scan_bytes(b"<a/>", Scanner(Automaton([Target(parse_path("//b"))]))))
"""


def _scanned(*targets: tuple[str, str]) -> Task:
    def run(path: str) -> object:
        from xstreamcast.scan.automaton import Action, Automaton, Target
        from xstreamcast.scan.path import parse_path
        from xstreamcast.scan.reader import scan_source
        from xstreamcast.scan.scanner import Scanner

        automaton = Automaton([Target(parse_path(spelled), Action[action]) for spelled, action in targets])
        rows = sum(len(batch) for batch in scan_source(path, Scanner(automaton, path)))
        return rows or [automaton.count(k) for k in range(len(targets))]

    return run


def _iterparse(tag: str, look: Callable[[Any], object]) -> Task:
    def run(path: str) -> object:
        from lxml import etree

        seen = 0
        for _, element in etree.iterparse(path, tag=tag):
            seen += 1
            look(element)
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
        return seen

    return run


def _callbacks(tag: str) -> Task:
    def run(path: str) -> object:
        seen = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal seen
            seen += name == tag

        parser = expat.ParserCreate(None, " ")
        parser.StartElementHandler = start
        parser.EndElementHandler = lambda name: None
        parser.CharacterDataHandler = lambda data: None
        parser.buffer_text = True
        with open(path, "rb") as file:
            parser.ParseFile(file)
        return seen

    return run


def _silent(path: str) -> object:
    parser = expat.ParserCreate(None, " ")
    with open(path, "rb") as file:
        return parser.ParseFile(file)


def _our_tree(path: str) -> object:
    from xstreamcast.scan.tree import parse_tree

    return len(parse_tree(path))


def _expat_tree(path: str) -> object:
    from xstreamcast.scan.parse import parse

    with open(path, "rb") as file:
        return len(parse(file).tree)


def _lxml_tree(path: str) -> object:
    from lxml import etree

    return etree.parse(path) is not None


def _tasks() -> dict[str, dict[str, Task]]:
    lxml, pyexpat = f"lxml {version('lxml')}", expat.EXPAT_VERSION.replace("_", " ")
    person, item = "/site/people/person", "//item"
    return {
        "count(//item)": {
            "kernel": _scanned((item, "COUNT")),
            f"{lxml} iterparse": _iterparse("item", lambda element: None),
            f"{pyexpat} callbacks": _callbacks("item"),
            f"{pyexpat} without handlers": _silent,
        },
        "person's @id and name": {
            "kernel": _scanned((person, "RECORD"), (f"{person}/@id", "CAPTURE"), (f"{person}/name", "CAPTURE")),
            f"{lxml} iterparse": _iterparse("person", lambda element: (element.get("id"), element.findtext("name"))),
        },
        "item's location, quantity, payment (spans)": {
            "kernel": _scanned(
                (item, "RECORD"), *((f"{item}/{part}", "CAPTURE") for part in ("location", "quantity", "payment"))
            ),
            f"{lxml} iterparse": _iterparse(
                "item", lambda element: [element.find(part) for part in ("location", "quantity", "payment")]
            ),
        },
        "well-formedness only": {"kernel": _scanned(("/none", "COUNT")), f"{pyexpat} without handlers": _silent},
        "tree of the document": {
            "kernel, scan.tree": _our_tree,
            "scan.parse (expat)": _expat_tree,
            f"{lxml} parse (its own tree)": _lxml_tree,
        },
    }


def _cost(task: Task, path: str) -> tuple[float, object]:
    began = time.process_time()
    answer = task(path)
    return time.process_time() - began, answer


def run() -> None:
    """Print three tables: tasks, threads, start-up."""
    path = str(xmark(1.0))
    size = Path(path).stat().st_size
    tasks = _tasks()
    rows = []
    for name, tools in tasks.items():
        runs = 1 if "tree" in name else 3
        next(iter(tools.values()))(str(xmark(0.1)))  # compiled, or fetched from disk
        best = dict.fromkeys(tools, float("inf"))
        for _ in range(runs):
            answers = []
            for tool, task in tools.items():
                cost, answer = _cost(task, path)
                best[tool] = min(best[tool], cost)
                answers.append(answer)
            if "XMark" in name and answers[0] != answers[1]:
                sys.exit(f"{name}: {answers[0]} against {answers[1]}")
        ours = next(iter(best.values()))
        for tool, cost in best.items():
            rows.append((name, tool, f"{cost:.3f}", f"{size / cost / 1e9:.2f}", f"{cost / ours:.1f}×"))
    table(("task", "tool", "CPU s", "GB/s", "of the kernel's CPU"), rows)
    print()
    _threads(path, size)
    print()
    starts = {"import numba": "import numba", "import, load and scan <a/>": _START}
    costs = [(name, f"{measure([sys.executable, '-c', code]).cpu:.2f}") for name, code in starts.items()]
    table(("start-up", "CPU s"), costs)


def _threads(path: str, size: int) -> None:
    from xstreamcast.scan.automaton import Action, Target
    from xstreamcast.scan.documents import document_batches
    from xstreamcast.scan.path import parse_path

    name = parse_path("/site/people/person/name")
    rows = []
    for threads in (1, 2):
        best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            for _batch in document_batches(path, [Target(name, Action.PROJECT)], [name], threads=threads):
                pass
            best = min(best, time.perf_counter() - began)
        rows.append((str(threads), f"{best:.3f}", f"{size / best / 1e9:.2f}"))
    table(("threads", "wall s", "GB/s"), rows)
