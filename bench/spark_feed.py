"""What the parts of ``spark_motion`` share: the query, streams in folders, and a look at Spark's Python workers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bench.measure import anonymous
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import Change
from xstreamcast.model.structure import parse_structure
from xstreamcast.spark.motion.micro_batch import POOL
from xstreamcast.wire.fragment import FragmentWriter

QUERY: Final = """for $a in stream("credit")//account
return <account id="{ $a/@id }">{ sum($a/transaction[status = "charged"]/amount) }</account>"""
PER_BATCH: Final = 10
"""Changes of a small update."""
_TRANSACTIONS: Final = 16
_FILLER: Final = '<stream:filler id="%d" tsid="%d" validTime="2003-11-%02dT%02d:00:00">%s</stream:filler>\n'


def parted(changes: Sequence[Change], files: int) -> list[Sequence[Change]]:
    """All of them, in some files of the same size."""
    return [changes[len(changes) * n // files : len(changes) * (n + 1) // files] for n in range(files)]


def write(feed: Path, number: int, changes: Sequence[Change], brings_structure: bool = True) -> None:
    """A file of a stream, which appears whole; the first brings the tag structure."""
    hidden = feed / f".{number:06}.xml"
    structure = parse_structure(GENERATOR.structures["credit"]) if brings_structure and not number else None
    with hidden.open("wb") as file:
        writer = FragmentWriter(file, structure)
        for change in changes:
            writer.write(change)
        writer.close()
    hidden.rename(feed / f"{number:06}.xml")


def write_regions(feed: Path, regions: int, files: int) -> int:
    """Accounts with transactions and their statuses, shuffled, a region each: how many fragments they are.

    They are text from the start: a million of them as objects would take longer than Spark does.
    """
    order = random.Random(1)
    fragments = list(_fragments(regions, random.Random(2)))
    order.shuffle(fragments)
    for number in range(files):
        with (feed / f".{number:06}.xml").open("w") as out:
            out.write('<stream:fragments xmlns:stream="urn:xstreamcast:stream">\n')
            out.write("" if number else GENERATOR.structures["credit"])
            out.writelines(fragments[len(fragments) * number // files : len(fragments) * (number + 1) // files])
            out.write("</stream:fragments>\n")
        (feed / f".{number:06}.xml").rename(feed / f"{number:06}.xml")
    return len(fragments)


def _fragments(regions: int, drawn: random.Random) -> Iterator[str]:
    size = 1 + 2 * _TRANSACTIONS
    accounts = range(1, 1 + regions // size * size, size)
    holes = "".join([f'<stream:hole id="{account}" tsid="2"/>' for account in accounts])
    yield _FILLER % (0, 1, 1, 0, f"<creditAccounts>{holes}</creditAccounts>")
    for account in accounts:
        bought = range(account + 1, account + size, 2)
        inside = "".join([f'<stream:hole id="{region}" tsid="5"/>' for region in bought])
        yield _FILLER % (account, 2, 1, 0, f'<account id="{account}"><customer>C{account}</customer>{inside}</account>')
        for n, region in enumerate(bought):
            yield bought_at(region, 1 + n, drawn.randrange(100_000))
            yield status_of(region + 1, 1 + n, drawn.randrange(8) > 0)


def statuses(regions: int) -> list[int]:
    """The regions of statuses."""
    size = 1 + 2 * _TRANSACTIONS
    accounts = range(1, 1 + regions // size * size, size)
    return [status for account in accounts for status in range(account + 2, account + size, 2)]


def bought_at(region: int, day: int, cents: int) -> str:
    """A transaction as a fragment."""
    hole = f'<stream:hole id="{region + 1}" tsid="7"/>'
    inside = f"<vendor>V{cents % 97}</vendor><amount>{cents / 100:.2f}</amount>{hole}"
    return _FILLER % (region, 5, day, 1, f'<transaction id="{region}">{inside}</transaction>')


def status_of(region: int, day: int, charged: bool) -> str:
    """The status of a transaction as a fragment."""
    return _FILLER % (region, 7, day, 2, f"<status>{'charged' if charged else 'denied'}</status>")


def write_statuses(feed: Path, number: int, regions: Sequence[int], day: int) -> None:
    """A small update: some transactions have another status."""
    text = "".join([status_of(region, day, charged=day % 2 == 0) for region in regions])
    (feed / f".{number:06}.xml").write_text(
        f'<stream:fragments xmlns:stream="urn:xstreamcast:stream">\n{text}</stream:fragments>\n'
    )
    (feed / f".{number:06}.xml").rename(feed / f"{number:06}.xml")


def until(running: Any, done: Callable[[], bool]) -> None:
    """Wait until something has come about, or the query has failed."""
    while not done():
        if not running.query.isActive:
            raise SystemExit(f"the query stopped: {running.query.exception()}")
        time.sleep(0.002)


def workers(pool: int | None = None) -> int:
    """The anonymous memory of the largest of Spark's Python workers, or of those of one query."""
    found, mark = 0, b"" if pool is None else f"{POOL}={pool}\0".encode()
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                if b"pyspark.daemon" in (process / "cmdline").read_bytes() and (
                    not mark or mark in (process / "environ").read_bytes() + b"\0"
                ):
                    found = max(found, anonymous(process / "status"))
            except OSError:
                continue
    return found
