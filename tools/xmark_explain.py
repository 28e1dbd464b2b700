"""Writes the outputs in ``docs/explain.md``: of each ``xcast explain`` example, and the table of XMark's queries.

    python tools/xmark_explain.py

An example is a ``console`` block whose first line is ``$ xcast explain 'QUERY'``, or ``-f`` with the name of a query in
``tests/fixtures``; ``--why`` may come last.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from xstreamcast import explain

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explain.md"
FIXTURES = ROOT / "tests" / "fixtures"
BLOCK = re.compile(r"```console\n(\$ xcast explain [^\n]*)\n.*?```", re.DOTALL)
TABLE = re.compile(r"(<!-- the table is written by \S+ -->\n).*?(<!-- end of the table -->)", re.DOTALL)


def output(command: str) -> str:
    """What a command of the page prints."""
    _, _, *arguments = shlex.split(command.removeprefix("$ "))
    text = (FIXTURES / arguments[1]).read_text() if arguments[0] == "-f" else arguments[0]
    explanation = explain(text)
    return f"{explanation}\n\n{explanation.why()}" if arguments[-1] == "--why" else str(explanation)


def row(name: str, text: str) -> str:
    """A line of a table: the query, how it runs, what it keeps."""
    how, _, state = explain(text).verdict.partition("; state: ")
    return f"| {name} | {how} | {state} |".replace("`", "")


def table() -> str:
    """The verdicts of XMark's queries and of VLDB'05's."""
    lines = ["| query | verdict | state |", "|---|---|---|"]
    for file in sorted((FIXTURES / "xmark").glob("q*.xq")):
        lines.append(row(f"XMark {int(file.stem[1:])}", file.read_text()))
    for file in sorted((FIXTURES / "papers").glob("vldb05-*.xq")):
        name = file.stem.removeprefix("vldb05-").replace("-", " ")
        lines.append(row(f"VLDB'05 {name}", file.read_text()))
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """The page with all outputs as they are now."""
    page = BLOCK.sub(lambda found: f"```console\n{found[1]}\n{output(found[1])}\n```", page)
    return TABLE.sub(lambda found: f"{found[1]}{table()}{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
