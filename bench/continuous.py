"""Queries that go on: how much they take in per second, and what a single change costs in documents of any size.

Fragments per second of CPU time, from a file, warm, in one process: of those that the query needs, and of a query that
needs none of them. Then single changes, one by one, each until its difference in the answer is told: half of them take
less than p50, all but one in a hundred less than p99. At last a document of one size in which records come and go under
numbers that are not used again: its memory after each tenth of the updates. All times are CPU times, the least of three
rounds: what else the machine does only adds to them.
"""

from __future__ import annotations

import gc
import json
import os
import random
import re
import subprocess
import tempfile
import time
from importlib.metadata import version
from io import BytesIO
from math import inf
from pathlib import Path
from statistics import mean, quantiles
from typing import Any, Final

from bench.continuous_by_hand import sums_by_hand
from bench.documents import scaled
from bench.measure import anonymous, progress, table
from bench.plots import Lines, Plot
from bench.streams import PLAIN, credit, plain, record, size

MANY: Final = 100_000
REGIONS: Final = (1_000, 10_000, 100_000)
CHANGES: Final = 500
ROUNDS: Final = 3
UPDATES: Final = 1_000_000
_TOGETHER: Final = 500

LOADED: Final = {
    "count": 'count(stream("s")//b)',
    "sum": 'sum(stream("s")//b/x)',
    "predicate": 'for $b in stream("s")//b where $b/x > 990 return $b/t',
    "(needs none)": 'stream("s")//nothing',
}
MAXED_OUT: Final = """for $a in stream("s")//account
where sum($a/transaction[status = "charged"]/amount) >= $a/creditLimit
return <account>{ $a/@id, $a/customer }</account>"""
BATCHED: Final = {
    "count": 'count(stream("s")//transaction)',
    "sum": 'sum(stream("s")//transaction/amount)',
    "select": 'for $t in stream("s")//transaction where $t/amount > 990 return $t/vendor',
    "sums per account": 'for $a in stream("s")//account return sum($a/transaction/amount)',
    "maxed out": MAXED_OUT,
    "build": 'for $t in stream("s")//transaction return <m id="{ $t/@id }">{ $t/amount/text() }</m>',
    "group": 'for $t in stream("s")//transaction group by $v := $t/vendor return <v n="{ $v }">{ sum($t/amount) }</v>',
    "sort": 'for $t in stream("s")//transaction order by number($t/amount) return $t/amount',
    "join": """for $t in stream("s")//transaction for $a in stream("s")//account[customer = $t/vendor]
    return <m>{ $t/amount }</m>""",
    "last hour": 'for $t in stream("s")//transaction?[now-PT1H,now] return <m id="{ $t/@id }">{ $t/amount/text() }</m>',
    "sums of the last hour": 'for $a in stream("s")//account return sum($a/transaction?[now-PT1H,now]/amount)',
}
_PEERS: Final = {
    "sums per account": BATCHED["sums per account"],
    "join": """for $a in stream("s")//account
    return sum(for $t in stream("s")//transaction where $t/vendor = $a/customer return $t/amount)""",
}
_ID: Final = re.compile(rb'id="([0-9]+)"')
STANDING: Final = (1, 10, 100, 1000)
STANDS: Final = """for $t in stream("s")//transaction where $t/vendor = "%s"
return <hit>{ $t/@id, $t/amount/text() }</hit>"""
_VENDOR: Final = re.compile(rb"<vendor>([^<]*)</vendor>")
CHANGED: Final = {
    "count": 'count(stream("s")//b[x > 500])',
    "sum": 'sum(stream("s")//b/x)',
    "predicate": 'for $b in stream("s")//b where $b/x > 990 return $b/t',
    "sort": 'for $b in stream("s")//b order by number($b/x), $b/k return $b/k',
    "join": 'for $b in stream("s")//b for $o in stream("p")//o where $o/k = $b/k return <m>{ $b/x, $o/z }</m>',
}
_ONCE: Final = PLAIN.replace('name="b" type="filler"', 'name="b" type="filler" reuse="no"')


def run() -> list[Plot]:
    """Print six tables; the plot is that of the memory."""
    _loading()
    print()
    _batches()
    print()
    _peers()
    print()
    _standing()
    print()
    _changing()
    print()
    return [_for_ever()]


def _loading() -> None:
    from xstreamcast import continuous

    file, rows = str(plain(size(MANY))), []
    loads = [(name, text, file) for name, text in LOADED.items()]
    loads.append(("maxed out (times, in each other)", MAXED_OUT, str(credit(4.0 * scaled()))))
    for name, text, file in loads:
        cpu = inf
        for _ in range(ROUNDS):
            progress(f"loading: {name}")
            query = continuous(text)
            gc.collect()
            began = time.process_time()
            query.load(file, "s")
            cpu = min(cpu, time.process_time() - began)
        stream = query.state()["streams"]["s"]
        needed = stream["changes"] - stream["skipped"]
        cells = f"{needed:,}", f"{stream['skipped']:,}", f"{cpu:.2f}", f"{needed / cpu:,.0f}"
        rows.append((name, *cells, f"{stream['changes'] / cpu:,.0f}"))
    table(("query", "needed", "skipped", "CPU s", "needed/s", "all/s"), rows)


def _batches() -> None:
    """Batches of changes of the credit stream, its fragments in any order: as text of the wire, and as objects."""
    from xstreamcast import continuous
    from xstreamcast.wire.fragment import read_stream

    structure, lines = _credit()
    rows = []
    for name, query_text in BATCHED.items():
        cells = []
        for size_of_batch, objects in ((1000, False), (1000, True), (100, False)):
            progress(f"batches of {size_of_batch:,}: {name}")
            batches: list[Any] = [
                b"\n".join(lines[begin : begin + size_of_batch]) for begin in range(0, len(lines), size_of_batch)
            ]
            if objects:
                batches = [[one.item for one in read_stream(BytesIO(batch))] for batch in batches]
            query, told = continuous(query_text, structures=structure), 0
            gc.collect()
            began = time.process_time()
            for batch in batches:
                told += len(query.feed_many(batch, "s"))
            cells.append(f"{len(lines) / (time.process_time() - began):,.0f}")
            if size_of_batch > 100 and not objects:
                cells.append(f"{told:,}")
        rows.append((name, "columns" if query.engine is not None else "objects", *cells))
    table(("query", "followed in", "1,000, wire", "told", "1,000, objects", "100, wire"), rows)


def _peers() -> None:
    """The sums of accounts, and transactions joined to the accounts of their vendors' names and summed: by hand as a
    limit, and with Pathway if ``PATHWAY`` names a Python that has it."""
    structure, lines = _credit()
    batches = [b"\n".join(lines[begin : begin + 1000]) for begin in range(0, len(lines), 1000)]
    rows = [
        (
            f"xstreamcast {version('xstreamcast')}",
            *[f"{_rate(text, structure, batches):,.0f}" for text in _PEERS.values()],
        )
    ]
    regions = 1 + max(int(number) for line in lines for number in _ID.findall(line))
    cpu, by_hand = sums_by_hand(batches, regions)
    rows.append(("by hand, in columns: a limit", f"{len(lines) / cpu:,.0f}", ""))
    python = os.environ.get("PATHWAY")
    if python:
        cells, named = [], ""
        with tempfile.NamedTemporaryFile(suffix=".lines") as file:
            file.write(b"\n".join(lines))
            file.flush()
            for name in _PEERS:
                progress(f"Pathway: {name}")
                script = str(Path(__file__).with_name("continuous_pathway.py"))
                done = subprocess.run([python, script, file.name, name], check=True, capture_output=True, text=True)
                (named,), (_, seconds, _, count, total) = map(json.loads, done.stdout.splitlines()[-2:])
                cells.append(f"{len(lines) / seconds:,.0f}")
                if name == "sums per account":
                    assert (count, total) == (len(by_hand), sum(by_hand.values())), "the peers find the same sums"
        rows.append((f"Pathway {named}, joins written by hand, lxml in a function", *cells))
    table(("fragments a second of CPU", *_PEERS), rows)


def _rate(text: str, structure: Any, batches: list[bytes]) -> float:
    from xstreamcast import continuous

    query = continuous(text, structures=structure)
    gc.collect()
    began = time.process_time()
    for batch in batches:
        query.feed_many(batch, "s")
    return sum(batch.count(b"\n") + 1 for batch in batches) / (time.process_time() - began)


def _credit() -> tuple[Any, list[bytes]]:
    """The structure of the credit stream, its root, and its other fragments in any order."""
    from xstreamcast.model.structure import parse_structure

    text = credit(2.5 * scaled(), round(100_000 * scaled())).read_bytes()
    first = text.index(b"<stream:filler")
    lines = text[first : text.index(b"<stream:eos")].split(b"\n")[:-1]
    random.Random(1).shuffle(lines)
    lines.sort(key=lambda line: b' id="0" ' not in line[:80])
    return parse_structure(text[text.index(b"<stream:structure") : first]), lines


def _standing() -> None:
    """Queries that differ in a constant, each of which matches something, over batches of 1,000."""
    from xstreamcast import continuous_many

    structure, lines = _credit()
    vendors = sorted(set(_VENDOR.findall(b"\n".join(lines))))
    rows: list[tuple[str, ...]] = []
    alone = 0.0
    for count in STANDING:
        progress(f"standing queries: {count:,}")
        texts = [STANDS % vendors[number % len(vendors)].decode() for number in range(count)]
        began = time.process_time()
        many, told = continuous_many(texts, structures={"s": structure}), 0
        made = time.process_time() - began
        gc.collect()
        began = time.process_time()
        for begin in range(0, len(lines), 1000):
            many.feed_many(b"\n".join(lines[begin : begin + 1000]), "s")
            told += sum([len(query.take()) for query in many.queries])
        cpu = time.process_time() - began
        alone = alone or cpu
        shown = min(query.shown for query in many.queries)
        cells = (
            f"{made:.1f}",
            f"{cpu:.2f}",
            f"{len(lines) / cpu:,.0f}",
            f"{told:,}",
            f"{shown:,}",
            f"{cpu / alone:.1f}×",
        )
        rows.append((f"{count:,}", *cells))
    table(("queries", "to compile, s", "CPU s", "fragments/s", "told", "least shown", "of one"), rows)


def _changing() -> None:
    rows = []
    for name, text in CHANGED.items():
        first = 0.0
        for regions in REGIONS:
            progress(f"changing: {name} {regions:,}")
            rounds = _costs(text, size(regions))
            cuts = [quantiles(costs, n=100) for costs in rounds]
            least = min(map(mean, rounds))
            first = first or least
            cells = [
                f"{cost * 1e6:,.0f}" for cost in (least, min(cut[49] for cut in cuts), min(cut[98] for cut in cuts))
            ]
            rows.append((name, f"{size(regions):,}", *cells, f"{least / first:.1f}×"))
    table(("query", "regions", "µs per change", "p50", "p99", "of the smallest"), rows)


def _costs(text: str, regions: int) -> list[list[float]]:
    """CPU seconds from a change to its difference in the answer, of changes of regions at random; by round."""
    from xstreamcast import continuous
    from xstreamcast.model.change import Fill, Replace

    query, draw = continuous(text), random.Random(7)
    if 'stream("p")' in text:
        partners = b"".join(b"<o><k>key%d</k><z>%d</z></o>" % (k, k) for k in range(0, 997, 10))
        query.feed(Fill(region=0, content=b"<r>%s</r>" % partners), "p")
    query.load(str(plain(regions)), "s")
    rounds: list[list[float]] = []
    gc.collect()
    for _ in range(ROUNDS):
        costs = []
        for _ in range(CHANGES):
            number = 2 * draw.randrange(regions) + 1
            change = Replace(region=number, tsid=3, content=record(number, draw.randrange(1000)))
            began = time.process_time()
            query.feed(change, "s")
            costs.append(time.process_time() - began)
        rounds.append(costs)
    return rounds


def _for_ever() -> Lines:
    from xstreamcast import continuous
    from xstreamcast.model.change import Change, Fill, Remove, Replace

    groups, each = 50, 20
    query = continuous('sum(stream("s")//b/x)', structures=_ONCE)
    last = 1000
    members = [list(range(last + g * each, last + (g + 1) * each)) for g in range(groups)]
    last += groups * each

    def section(numbers: list[int]) -> bytes:
        return b"<section>%s</section>" % b"".join(b'<stream:hole id="%d" tsid="3"/>' % n for n in numbers)

    holes = b"".join(b'<stream:hole id="%d" tsid="2"/>' % (g + 1) for g in range(groups))
    changes: list[Change] = [Fill(region=0, content=b"<r>%s</r>" % holes)]
    changes += [Fill(region=g + 1, tsid=2, content=section(members[g])) for g in range(groups)]
    changes += [Fill(region=n, tsid=3, content=record(n, n % 1000)) for numbers in members for n in numbers]
    query.feed_many(changes, "s")
    updates = max(2000, round(UPDATES * scaled()))
    status, rows, sizes = Path("/proc/self/status"), [], []
    began, done = time.process_time(), 0
    for part in range(10):
        progress(f"updates: {done:,}")
        while done < updates * (part + 1) // 10:
            changes = []
            for _ in range(_TOGETHER // 3):
                numbers = members[done % groups]
                gone = numbers.pop(0)
                numbers.append(last)
                changes += [
                    Replace(region=1 + done % groups, tsid=2, content=section(numbers)),
                    Remove(region=gone),
                    Fill(region=last, tsid=3, content=record(last, last % 1000)),
                ]
                last += 1
                done += 1
            query.feed_many(changes, "s")
        gc.collect()
        held, stream = anonymous(status) / 1e6, query.state()["streams"]["s"]
        sizes.append(held)
        rate = 3 * done / (time.process_time() - began)
        kept = f"{stream['regions']:,}", f"{stream['bytes'] / 1e3:.0f}"
        rows.append((f"{done:,}", f"{held:.0f}", *kept, f"{len(gc.get_objects()):,}", f"{rate:,.0f}"))
    table(("updates", "MB of memory", "regions", "kB of content", "Python objects", "changes/s"), rows)
    along = [updates * (part + 1) / 10 for part in range(10)]
    panels = {"sum": {"process": (along, sizes)}}
    return Lines("continuous-memory.svg", "Memory while records come and go", "MB", "updates", panels)
