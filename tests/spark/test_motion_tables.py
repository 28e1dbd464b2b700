"""Tables that Spark keeps equal to answers: in three databases, through restarts, each micro-batch once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from databases import postgres, rows
from motion_streams import write_file

from xstreamcast import query
from xstreamcast.cli.tables import asked_tables
from xstreamcast.cli.watch_spark import follow
from xstreamcast.model.change import Change, Fill, Remove, Replace
from xstreamcast.spark.motion.continuous_query import continuous_many
from xstreamcast.spark.motion.sink import UpsertTable
from xstreamcast.tables.database import open_database

pytestmark = pytest.mark.spark
CHEAP = 'for $b in stream("s")//book where $b/price < 50 order by number($b/price) return $b'
AUTHORS = 'for $b in stream("s")//book group by $by := string($b/by) return <by n="{count($b)}">{$by}</by>'
TABLES = {
    "cheap": (CHEAP, "@id as xs:integer, price as xs:decimal"),
    "authors": (AUTHORS, "by=. as xs:string, books=@n as xs:integer"),
}
FILES = 6


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[list[str]]:
    """Three databases with nothing in them."""
    with postgres(tmp_path) as server:
        yield [f"sqlite:///{tmp_path}/answers.db", f"duckdb:///{tmp_path}/answers.duckdb", server]


def write(folder: Path, number: int) -> None:
    """A file of a stream: books that come, change and go."""
    folder.mkdir(exist_ok=True)
    changes: list[Change] = []
    if number == 0:
        holes = "".join(f'<stream:hole id="{n}"/>' for n in range(1, 10 * FILES + 1))
        changes.append(Fill(region=0, content=f"<list>{holes}</list>".encode()))
    for n in range(10 * number + 1, 10 * number + 11):
        book = f"<book id='{n}'><by>A{n % 7}</by><price>{n * 37 % 100}</price></book>"
        changes.append(Fill(region=n, content=book.encode()))
    for n in range(3, 10 * number, 4):
        book = f"<book id='{n}'><by>B{number}</by><price>{n * (number + 3) % 100}.5</price></book>"
        changes.append(Replace(region=n, version=number, content=book.encode()))
    changes += [Remove(region=n, version=number) for n in range(10 * number - 8, 10 * number - 3, 2) if number]
    write_file(folder / f"{number:03}.xml", changes)


def expected(name: str, feed: Path) -> list[tuple[Any, ...]]:
    text, columns = TABLES[name]
    found = query(text, columns=columns, streams={"s": str(feed)}).to_arrow().to_pylist()
    return [tuple(row.values()) for row in found]


def run(spark: Any, feed: Path, urls: list[str], state: Path) -> list[int]:
    """Take what is there, into the tables; the numbers of the micro-batches."""
    names = list(TABLES)
    motion = continuous_many(
        spark, [TABLES[name][0] for name in names], {"s": str(feed)}, names=names, options={"maxFilesPerTrigger": "2"}
    )
    numbers: list[int] = []

    class Counting:
        def take(self, batch: Any, *_: object) -> None:
            numbers.append(batch.number)

        def close(self) -> None:
            pass

    tables = [UpsertTable(f"{url}#{name}", query=name, columns=TABLES[name][1]) for url in urls for name in names]
    running = motion.start(checkpoint=state, table=tables, sinks=[Counting()], available_now=True)
    try:
        assert running.wait(300)
    finally:
        running.stop()
    return numbers


def asked(url: str, sql: str) -> list[tuple[Any, ...]]:
    database = open_database(url)
    try:
        return database.execute(sql)
    finally:
        database.close()


def positions(urls: list[str]) -> list[dict[str, int]]:
    return [json.loads(text) for url in urls for (text,) in asked(url, "SELECT position FROM xcast_tables")]


def are_the_answers(urls: list[str], feed: Path) -> None:
    for name in TABLES:
        wanted = expected(name, feed)
        assert wanted
        for url in urls:
            assert rows(url, name) == wanted, url


def test_tables_are_the_answers_after_every_restart(spark: Any, urls: list[str], tmp_path: Path) -> None:
    feed, state = tmp_path / "feed", tmp_path / "state"
    for number in range(4):
        write(feed, number)
    assert run(spark, feed, urls, state) == [0, 1]
    are_the_answers(urls, feed)
    assert run(spark, feed, urls, state) == []  # nothing has come: the tables stay
    are_the_answers(urls, feed)
    for number in range(4, FILES):
        write(feed, number)
    assert run(spark, feed, urls, state) == [2]
    are_the_answers(urls, feed)
    kept = json.loads((state / "metadata").read_text())["id"]
    assert [position[kept] for position in positions(urls)] == [2] * 6

    # Spark does not know that its last batch was taken, and brings it again: the tables have had it. One was dropped.
    for commit in (state / "commits").glob("*2*"):
        commit.unlink()
    before = [asked(url, "SELECT * FROM authors ORDER BY xcast_row") for url in urls]
    for url in urls:
        asked(url, "DROP TABLE cheap")
        asked(url, "DELETE FROM xcast_tables WHERE name = 'cheap'")
    assert run(spark, feed, urls, state) == [2]
    assert [asked(url, "SELECT * FROM authors ORDER BY xcast_row") for url in urls] == before
    are_the_answers(urls, feed)

    # Another checkpoint begins with nothing: the tables are what they were, and go on.
    write(feed, FILES)
    run(spark, feed, urls, tmp_path / "anew")
    are_the_answers(urls, feed)
    assert not any(kept in position for position in positions(urls))


def test_the_command_keeps_a_table_and_goes_on_with_it(spark: Any, tmp_path: Path) -> None:
    feed, url = tmp_path / "feed", f"sqlite:///{tmp_path}/answers.db"
    text, columns = TABLES["cheap"]
    report: Any = None
    for number in range(2):
        write(feed, number)
        follow(
            spark, [text], {"s": str(feed)}, {}, report, format=None, trace=False, until_idle=0.5,
            checkpoint=tmp_path / "state", batch=None,
            tables=asked_tables(1, [f"{url}#cheap"], [columns], ["id"], keep_removed=False),
        )  # fmt: skip
        assert rows(url, "cheap") == expected("cheap", feed) != []
