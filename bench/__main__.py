"""``python -m bench [NAME …]``: run benchmarks, each of which prints tables; without a name, all of them.

A name is that of a benchmark or of one query (such as ``xmark-5`` or ``icde08-1``), which runs beside the other tools.
The XMark documents come from the folder named by ``XMARK`` (``xmark-f0.1.xml``, ``xmark-f1.xml``) if it is set, else
from our own generator.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import Final

from bench import documents
from bench.cases import CASES, Case, find

BENCHMARKS: Final = (
    "papers", "start", "single_pass", "shell", "memory", "scaling", "scan", "querying", "fragmenting", "continuous",
    "xfrag", "xcql", "broadcast", "files", "pubmed", "cardinality", "spark_rest", "spark_motion",
)  # fmt: skip
"""In the order of the report; each is a module of this folder with a ``run``."""


class _Both(io.StringIO):
    """Keeps what is printed, and prints it."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text) if sys.__stdout__ else None
        return super().write(text)

    def flush(self) -> None:
        if sys.__stdout__:
            sys.__stdout__.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}, or a query")
    parser.add_argument("--quick", action="store_true", help="documents of a tenth of the size, without BaseX")
    parser.add_argument("--report", action="store_true", help="rewrite docs/benchmarks.md")
    given = parser.parse_args()
    queries = [case.name for case in CASES]
    unknown = [name for name in given.names if name not in (*BENCHMARKS, *queries)]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join((*BENCHMARKS, *queries))}")
    if given.quick:
        documents.scale(0.1)
    chosen = [find(name) for name in given.names if name in queries]
    if chosen:
        _run("single_pass", given.report, chosen)
    names = [name for name in given.names if name in BENCHMARKS] or ([] if chosen else list(BENCHMARKS))
    if len(names) == 1 and not chosen:
        _run(names[0], given.report)
        return
    flags = [flag for flag, set_ in (("--quick", given.quick), ("--report", given.report)) if set_]
    for name in names:  # each in a process of its own: what one leaves in memory slows the next
        subprocess.run([sys.executable, "-m", "bench", name, *flags], check=True)


def _run(name: str, report: bool, *chosen: list[Case]) -> None:
    module = import_module(f"bench.{name}")
    title = (module.__doc__ or "").strip()
    print(f"\n## {name}\n\n{title}\n", flush=True)
    with redirect_stdout(_Both()) as printed:
        plots = module.run(*chosen) or ()
    if report:
        from bench.report import write

        write(name, title, printed.getvalue(), plots)


if __name__ == "__main__":
    main()
