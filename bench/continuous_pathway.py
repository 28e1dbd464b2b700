"""Pathway at two queries of :mod:`bench.continuous`: a script for a Python that has PyPI's ``pathway`` and ``lxml``.

``continuous_pathway.py FRAGMENTS QUERY``: a fragment a line, in the order in which they come; batches of 1,000. A line
of JSON with its version, then one for the query: name, CPU seconds, wall seconds, and what came out. As a user would
write it: fragments are parsed by lxml in a function of the user's, regions are joined to their holes, and the rest is
Pathway's.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from importlib.metadata import version
from typing import Any

STREAM = "{urn:xstreamcast:stream}"


def run(name: str, lines: list[str]) -> None:
    pw: Any = import_module("pathway")  # which is in an environment of its own
    from lxml import etree

    class Line(pw.Schema):  # type: ignore[misc]  # of the other environment
        number: int = pw.column_definition(primary_key=True)
        text: str

    class Lines(pw.io.python.ConnectorSubject):  # type: ignore[misc]  # of the other environment
        def run(self) -> None:
            for number, text in enumerate(lines):
                self.next(number=number, text=text)
                if number % 1000 == 999:
                    self.commit()
            self.commit()

    @pw.udf(deterministic=True)  # type: ignore[untyped-decorator]  # of the other environment
    def parsed(text: str) -> tuple[int, int, list[int], int, str, str]:
        element = etree.fromstring(f'<r xmlns:stream="urn:xstreamcast:stream">{text}</r>')[0]
        content = element[0]
        holes = [int(hole.get("id") or 0) for hole in content.iter(f"{STREAM}hole") if hole.get("tsid") == "5"]
        cents = round(100 * float(content.findtext("amount") or 0))
        vendor, customer = content.findtext("vendor") or "", content.findtext("customer") or ""
        return int(element.get("tsid") or 0), int(element.get("id") or 0), holes, cents, vendor, customer

    table = pw.io.python.read(Lines(), schema=Line, autocommit_duration_ms=None)
    rows = table.select(made=parsed(table.text))
    rows = rows.select(
        tsid=rows.made[0], region=rows.made[1], holes=rows.made[2], cents=rows.made[3], vendor=rows.made[4],
        customer=rows.made[5],
    )  # fmt: skip
    transactions = rows.filter(rows.tsid == 5)
    accounts = rows.filter(rows.tsid == 2)
    found: dict[Any, int] = {}
    if name == "sums per account":
        inside = accounts.flatten(accounts.holes)
        inside = inside.groupby(inside.holes).reduce(inside.holes, account=pw.reducers.max(inside.region))
        joined = transactions.join(inside, transactions.region == inside.holes).select(
            inside.account, transactions.cents
        )
        answer = joined.groupby(joined.account).reduce(key=joined.account, value=pw.reducers.sum(joined.cents))
    else:
        joined = transactions.join(accounts, transactions.vendor == accounts.customer)
        joined = joined.select(accounts.region, transactions.cents)
        answer = joined.groupby(joined.region).reduce(key=joined.region, value=pw.reducers.sum(joined.cents))

    def heard(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            found[row["key"]] = row["value"]
        elif found.get(row["key"]) == row["value"]:
            del found[row["key"]]

    pw.io.subscribe(answer, heard)
    wall, cpu = time.perf_counter(), time.process_time()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    print(json.dumps([name, time.process_time() - cpu, time.perf_counter() - wall, len(found), sum(found.values())]))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        given = file.read().splitlines()
    print(json.dumps([version("pathway")]))
    run(sys.argv[2], given)
