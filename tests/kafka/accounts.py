"""A stream of accounts: a bank with holes, and balances that are set again and again."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import from_row
from xstreamcast.run.continuous.query import continuous
from xstreamcast.wire.fragment import read_stream

RICH = """for $a in stream("bank")//account where $a/balance > 50
order by $a/balance descending, $a/@id return <rich id="{$a/@id}">{ string($a/balance) }</rich>"""
ACCOUNTS = 12


def bank() -> tuple[int, bytes]:
    """The root: a hole for each account."""
    holes = "".join(f'<stream:hole id="{number}"/>' for number in range(1, ACCOUNTS + 1))
    return 0, f'<stream:filler id="0"><bank>{holes}</bank></stream:filler>'.encode()


def balances(turn: int) -> list[tuple[int, bytes]]:
    """What every account has at a turn; from the second on it takes the place of what it had."""
    kind = "filler" if turn == 0 else "replace"
    made = []
    for number in range(1, ACCOUNTS + 1):
        account = f'<account id="a{number}"><balance>{(37 + 29 * turn) * number % 100}</balance></account>'
        made.append((number, f'<stream:{kind} id="{number}">{account}</stream:{kind}>'.encode()))
    return made


def from_scratch(fragments: list[tuple[int, bytes]]) -> str:
    """The answer over all of them, without Spark and without Kafka."""
    query = continuous(RICH)
    for _, content in fragments:
        query.inflow.feed_many(read_stream(BytesIO(content)), "bank")
    return query.text()


def told(rows: list[dict[str, object]]) -> str:
    """T of the change rows of an answer."""
    shown = Materialiser()
    for row in rows:
        if row["change"] != "structure":
            shown.apply(from_row(row))
    return shown.text()


def take_all(motion: Any, folder: Path, **given: Any) -> list[str]:
    """Let it take what is there; the answers after each batch."""
    seen: list[str] = []
    running = motion.start(
        lambda answers: seen.append(answers.queries[0].text()), checkpoint=folder / "state", available_now=True, **given
    )
    try:
        assert running.wait(300)
    finally:
        running.stop()
    return seen
