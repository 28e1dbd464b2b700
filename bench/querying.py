"""The evaluator beside Saxon-HE (saxonche) in the same run: the twenty XMark queries on one document, parsed before.

Then the cost of one small condition on one record, ``./location = "Albania"``, called as generated code is called, and
of parsing the longest of the queries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.documents import xmark
from bench.measure import table

QUERIES = sorted((Path(__file__).parents[1] / "tests" / "fixtures" / "xmark").glob("q*.xq"))
FACTOR = 0.1


def best(action: Callable[[], Any], times: int = 3) -> float:
    """The shortest of a few runs, in seconds."""
    shortest = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        action()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest


def run() -> None:
    import saxonche

    from xstreamcast.lang import parse
    from xstreamcast.run.query import compile
    from xstreamcast.scan.parse import parse_file

    path = xmark(FACTOR)
    processor = saxonche.PySaxonProcessor(license=False)
    parsing = best(lambda: parse_file(path), 1), best(lambda: processor.parse_xml(xml_file_name=str(path)), 1)
    ours, theirs = parse_file(path), processor.parse_xml(xml_file_name=str(path))
    rows = [["parse", *_pair(*parsing)]]
    total = [0.0, 0.0]
    for file in QUERIES:
        text = file.read_text()
        compiled = compile(text)
        engine = processor.new_xquery_processor()
        engine.set_context(xdm_item=theirs)
        mine = best(lambda: compiled(context=ours).xml())  # noqa: B023  # called at once
        peer = best(lambda: engine.run_query_to_string(query_text=text, lang="3.1"))  # noqa: B023
        total = [total[0] + mine, total[1] + peer]
        rows.append([file.stem, *_pair(mine, peer)])
    rows.append(["all", *_pair(*total)])
    table(["query", "XStreamCast", f"saxonche {version('saxonche')}", "ratio"], rows)
    print(f'\n`./location = "Albania"` on a record: {_per_record(ours) * 1e6:.2f} µs')
    longest = max((file.read_text() for file in QUERIES), key=lambda text: text.count("\n"))
    print(f"parsing a query of {longest.count(chr(10))} lines: {best(lambda: parse(longest), 20) * 1e3:.2f} ms")


def _pair(mine: float, peer: float) -> list[str]:
    return [f"{mine * 1000:.1f} ms", f"{peer * 1000:.1f} ms", f"{mine / peer:.2f}"]


def _per_record(document: Any) -> float:
    from xstreamcast.run.query import compile

    text = 'declare function local:f($r as element()) as xs:boolean { $r/location = "Albania" }; local:f(.)'
    executable = compile(text).executable
    condition = next(thing for name, thing in executable.names.items() if name.startswith("U_"))
    records = compile("//item")(context=document).items()
    return best(lambda: [condition(None, record) for record in records], 20) / len(records)
