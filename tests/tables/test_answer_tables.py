"""A table that equals the answer: at every moment, in three databases, through restarts and kill -9."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import duckdb
import pyarrow
import pytest
from command import xcast
from databases import KINDS, postgres, rows

from xstreamcast import XStreamError, continuous, query
from xstreamcast.model.change import Change, Fill, Remove, Replace
from xstreamcast.run.continuous.query import ContinuousQuery
from xstreamcast.tables.answer_table import AnswerTable, RowChange
from xstreamcast.tables.database import Database, open_database, table_of

pytestmark = pytest.mark.xdist_group("postgres")
CHEAP = 'for $b in stream("s")//book where $b/price < 50 order by number($b/price) return $b'
COLUMNS = "@id, price as xs:decimal, by=by as xs:string*, old=@year < 2000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres(tmp_path_factory.mktemp("postgres")) as url:
        yield url


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path, server: str) -> Iterator[str]:
    """A database with nothing in it."""
    if request.param != "postgresql":
        yield f"{request.param}:///{tmp_path}/answers"
        return
    database = open_database(server)
    database.execute("DROP SCHEMA public CASCADE")
    database.execute("CREATE SCHEMA public")
    database.close()
    yield server


def books(count: int, seed: int = 1) -> list[Change]:
    """A list of books, and changes of them."""
    draw = random.Random(seed)
    holes = "".join(f'<stream:hole id="{n + 1}"/>' for n in range(40))
    made: list[Change] = [Fill(region=0, content=f"<list>{holes}</list>".encode())]
    there: set[int] = set()
    for version in range(1, count):
        region = draw.randint(1, 40)
        if region in there and draw.random() < 0.25:
            there.discard(region)
            made.append(Remove(region=region, version=version))
            continue
        authors = "".join(f"<by>A{k}</by>" for k in range(draw.randint(0, 2)))
        text = f"<book id='{region}' year='{draw.randint(1990, 2010)}'>{authors}"
        text += f"<price>{draw.randint(1, 99)}</price></book>"
        kind = Replace if region in there else Fill
        there.add(region)
        made.append(kind(region=region, version=version, content=text.encode()))
    return made


def expected(asked: ContinuousQuery, columns: str = COLUMNS) -> list[tuple[object, ...]]:
    """The rows of an answer, by the stored engine's own way."""
    items = asked.answer().items()
    table = query("$items", columns=columns, variables={"items": items}).to_arrow().to_pylist()
    return [tuple(row.values()) for row in table]


def as_written(found: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Rows of any database as Python has them: SQLite has 0 and 1 for truth."""
    return [(a, Decimal(str(b)), c or [], bool(d)) for a, b, c, d in found]


def test_the_table_is_the_answer_after_every_change(url: str) -> None:
    asked = continuous(CHEAP)
    with asked.into(f"{url}#books", columns=COLUMNS, key="id") as sink:
        for number, change in enumerate(books(160)):
            asked.feed(change)
            if number % 8 == 0 or number > 150:
                assert as_written(rows(sink.table.database, "books")) == expected(asked)
        assert len(expected(asked)) > 5


def test_a_query_that_is_asked_again_goes_on_where_the_table_is(url: str) -> None:
    changes = books(120)
    first = continuous(CHEAP)
    with first.into(f"{url}#books", columns=COLUMNS):
        first.feed_many(changes[:80])
    before = as_written(rows(url, "books"))
    assert before == expected(first)
    again = continuous(CHEAP)
    with again.into(f"{url}#books", columns=COLUMNS) as sink:
        for change in changes[:79]:
            again.feed(change)
            assert sink.catching_up
        assert as_written(rows(sink.table.database, "books")) == before  # nothing of the past was shown
        again.feed(changes[79])
        assert not sink.catching_up
        for change in changes[80:]:
            again.feed(change)
        assert as_written(rows(sink.table.database, "books")) == expected(again) != before


def test_rows_that_are_gone_may_stay_with_a_mark(url: str) -> None:
    asked = continuous(CHEAP)
    with asked.into(f"{url}#books", columns="@id", key="id", removed="mark") as sink:
        asked.feed_many(books(1) + [Fill(region=n, content=f"<book id='{n}'><price>{n}</price></book>".encode())
                                    for n in (1, 2, 3)])  # fmt: skip
        asked.feed(Remove(region=2))
        assert rows(sink.table.database, "books", where=" WHERE xcast_removed") in ([("2", True)], [("2", 1)])
        asked.feed(Fill(region=2, content=b"<book id='2'><price>2</price></book>"))  # the key is there again
        assert [id for id, _ in rows(sink.table.database, "books")] == ["1", "2", "3"]
        assert rows(sink.table.database, "books", where=" WHERE xcast_removed") == []


def test_columns_follow_the_values_by_the_rules(url: str) -> None:
    asked = continuous('stream("s")//x')
    number = "@a ! (if (. castable as xs:integer) then xs:integer(.) else string(.))"
    with asked.into(f"{url}#t", columns=f"a={number}, b, c=@c") as s:
        asked.feed(Fill(region=0, content=b"<r><stream:hole id='1'/><stream:hole id='2'/></r>"))
        asked.feed(Fill(region=1, content=b"<x a='1'><b>p</b></x>"))
        assert s.table.columns == {"a": "long", "b": "string", "c": "null"}
        assert rows(s.table.database, "t") == [(1, "p", None)]
        asked.feed(Fill(region=2, content=b"<x a='n' c='7'><b>q</b><b>r</b></x>"))
        assert s.table.columns == {"a": "string", "b": "json", "c": "string"}
        found = [(str(a), b, c) for a, b, c in rows(s.table.database, "t")]
        assert found == [("1", ["p"], None), ("n", ["q", "r"], "7")]
    other = continuous('stream("s")//x')
    with other.into(f"{url}#u") as s:  # attributes and children: columns that come later are added
        other.feed(Fill(region=0, content=b"<r><x a='1'/><stream:hole id='2'/></r>"))
        other.feed(Fill(region=2, content=b"<x><b n='1'>t</b></x>"))
        assert s.table.columns == {"@a": "string", "b": "json"}
        assert rows(s.table.database, "u") == [("1", None), (None, {"@n": "1", "value": "t"})]


def test_while_the_answer_is_an_error_the_rows_stay_and_the_error_is_told(url: str) -> None:
    asked = continuous('for $b in stream("s")//b return <n>{10 div xs:integer($b)}</n>')
    with asked.into(f"{url}#t", columns="n=.  as xs:integer") as sink:
        asked.feed(Fill(region=0, content=b"<r><b>1</b><stream:hole id='1'/></r>"))
        asked.feed(Fill(region=1, content=b"<b>0</b>"))
        assert rows(sink.table.database, "t") == [(10,)]
        (told,) = sink.table.database.execute("SELECT failure FROM xcast_tables")
        assert "FOAR0001" in told[0]
        asked.feed(Replace(region=1, content=b"<b>5</b>"))
        assert rows(sink.table.database, "t") == [(10,), (2,)]
        assert sink.table.database.execute("SELECT failure FROM xcast_tables") == [(None,)]


def test_markup_in_a_table_is_that_of_the_item(url: str) -> None:
    asked = continuous('stream("s")//b')
    with asked.into(f"{url}#t", columns="@id, markup=. as xml") as sink:
        asked.feed(Fill(region=0, content=b"<r><b id='1'>one</b><stream:hole id='1'/></r>"))
        asked.feed(Fill(region=1, content=b"<b id='2' xmlns:p='u'><p:c/></b>"))
        assert rows(sink.table.database, "t") == [
            ("1", '<b id="1">one</b>'), ("2", '<b xmlns:p="u" id="2"><p:c/></b>'),
        ]  # fmt: skip


def test_values_and_new_elements_are_rows_too(url: str) -> None:
    asked = continuous('for $b in stream("s")//b return xs:integer($b) + 1')
    with asked.into(f"{url}#t", columns="n=. as xs:integer") as sink:
        asked.feed(Fill(region=0, content=b"<r><b>1</b><stream:hole id='1'/></r>"))
        asked.feed(Fill(region=1, content=b"<b>7</b>"))
        assert rows(sink.table.database, "t") == [(2,), (8,)]


def test_what_is_wrong_with_a_table_is_told(url: str, tmp_path: Path) -> None:
    def fault(text: str, name: str, **options: Any) -> str:
        with pytest.raises(XStreamError) as failure:
            continuous(text).into(name, **options)
        assert failure.value.hint
        return failure.value.code

    with continuous('stream("s")//b').into(f"{url}#t", columns="@id") as sink:
        sink.table.database.execute("CREATE TABLE mine (a INTEGER)")
        with sink.table.transaction({}):
            sink.table.write([])
    assert fault('stream("s")//c', f"{url}#t", columns="@id") == "XSC0157"
    assert fault('stream("s")//b', f"{url}#t", columns="@id, b") == "XSC0157"
    assert fault('stream("s")//b', f"{url}#mine") == "XSC0157"
    assert fault('stream("s")//b', url) == "XSC0156"
    assert fault('stream("s")//b', "oracle://x#t") == "XSC0156"
    assert fault('stream("s")//b', f"sqlite:///{tmp_path}/none/x.db#t") == "XSC0156"
    assert fault('stream("s")//b', f"{url}#k", columns="@id", key="none") == "XSC0156"
    begun = continuous('stream("s")//b')
    begun.feed(Fill(region=0, content=b"<b/>"))
    with pytest.raises(XStreamError, match="XSC0091"):
        begun.into(f"{url}#late")


def test_a_key_that_is_not_one_writes_nothing(server: str, tmp_path: Path) -> None:
    for name in (f"sqlite:///{tmp_path}/k.db#k", f"{server}#k{os.getpid()}"):
        asked = continuous('stream("s")//b')
        with asked.into(name, columns="@id, n", key="id") as sink:
            asked.feed(Fill(region=0, content=b"<r><b id='1'><n>1</n></b><stream:hole id='1'/></r>"))
            with pytest.raises(XStreamError, match="XSC0155"):
                asked.feed(Fill(region=1, content=b"<b id='1'><n>2</n></b>"))
            assert rows(sink.table.database, table_of(name)[1]) == [("1", "1")]
            asked.feed(Replace(region=1, content=b"<b id='2'><n>2</n></b>"))
            assert rows(sink.table.database, table_of(name)[1]) == [("1", "1"), ("2", "2")]


def test_rows_that_were_written_leave_memory_within_a_transaction(tmp_path: Path) -> None:
    # A view of an Arrow table that is made in a transaction is kept until it ends, also when it was dropped.
    table = AnswerTable(f"duckdb:///{tmp_path}/d#t", about="")
    lot = 1_000 * 1_000
    most = 0
    with closing(table), table.transaction({}):
        for first in range(1, 20_001, 1_000):
            table.write(RowChange(row, f"{row:020}", {"a": "x" * 1_000}) for row in range(first, first + 1_000))
            most = max(most, pyarrow.total_allocated_bytes())
        assert table.database.execute("SELECT count(*) FROM t") == [(20_000,)]
    assert most < 5 * lot


def test_duckdb_has_a_bounded_memory_which_the_url_may_say(tmp_path: Path) -> None:
    def limit(database: Database) -> str:
        ((found,),) = database.execute("SELECT current_setting('memory_limit')")
        return str(found)

    with closing(open_database(f"duckdb:///{tmp_path}/d")) as database:
        assert limit(database) == "244.1 MiB"
        with duckdb.connect(f"{tmp_path}/d") as beside:  # the program's own connection to the same file
            assert beside.execute("SELECT 1").fetchall() == [(1,)]
    with closing(open_database(f"duckdb:///{tmp_path}/d?memory_limit=1GiB")) as database:
        assert limit(database) == "1.0 GiB"
    for wrong in ("memory_limit=much", "memory_limit=", "memory=1GB"):
        with pytest.raises(XStreamError, match="XSC0156") as failure:
            open_database(f"duckdb:///{tmp_path}/d?{wrong}")
        assert "memory_limit=1GB" in (failure.value.hint or "")


# --------------------------------------------------------------------------------------------------- commands


def command(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "xstreamcast", *map(str, arguments)], stderr=subprocess.PIPE)


def killed_when(running: subprocess.Popen[bytes], is_so: Callable[[], bool]) -> None:
    """kill -9 as soon as something is so."""
    until = monotonic() + 60
    while not is_so():
        assert running.poll() is None, running.communicate()
        assert monotonic() < until
        sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.communicate()


def position(url: str, table: str, of: str) -> int:
    """How far a table is; 0 if there is none yet."""
    try:
        database = open_database(_copied(url))
    except (XStreamError, OSError):
        return 0
    try:
        found = database.execute("SELECT position FROM xcast_tables WHERE name = ?", (table,))
    except XStreamError:
        return 0
    finally:
        database.close()
    return int(json.loads(found[0][0]).get(of, 0)) if found else 0


def _copied(url: str) -> str:
    """The URL of a copy of DuckDB's file and its log: the file itself is in the hands of one process."""
    if not url.startswith("duckdb:///"):
        return url
    file = Path(url.removeprefix("duckdb:///"))
    copy = file.with_name(f"copy-{file.name}")
    for end in (".wal", ""):
        Path(f"{copy}{end}").unlink(missing_ok=True)
        if Path(f"{file}{end}").exists():
            shutil.copyfile(f"{file}{end}", f"{copy}{end}")
    return f"duckdb:///{copy}"


def reached(url: str, table: str, of: str, least: int) -> bool:
    return position(url, table, of) >= least


def documents(folder: Path, count: int, records: int) -> dict[int, tuple[int, str]]:
    """A baseline and its updates; what the records are in the end, made by no code of the product."""
    draw = random.Random(7)
    state: dict[int, tuple[int, str]] = {}
    folder.mkdir()
    for number in range(count):
        brought = {draw.randint(1, 3 * records): draw.randint(0, 999) for _ in range(records)}
        gone = draw.sample(sorted(state), 20) if state else []
        text = "".join(f"<r id='{key}'><v>{value}</v><t>n{value}</t></r>" for key, value in brought.items())
        text += "".join(f"<gone>{key}</gone>" for key in gone if key not in brought)
        (folder / f"{number:04}.xml").write_text(f"<list>{text}</list>")
        state |= {key: (value, f"n{value}") for key, value in brought.items()}
        for key in gone:
            if key not in brought:
                del state[key]
    return state


@pytest.mark.parametrize("kind", KINDS)
def test_a_feed_that_is_killed_twice_fills_the_table_all_the_same(kind: str, tmp_path: Path, server: str) -> None:
    state = documents(tmp_path / "in", 30, 400)
    name = f"fed{os.getpid()}"
    url = server if kind == "postgresql" else f"{kind}:///{tmp_path}/fed.db"
    ask = (
        "feed", "/list/r", tmp_path / "in", "--key", "@id", "--removed", "/list/gone", "--state", tmp_path / "state",
        "--table", f"{url}#{name}", "--columns", "@id as xs:integer, v as xs:integer, t", "--table-key", "id",
    )  # fmt: skip
    for documents_read in (5, 14):
        killed_when(command(*ask), partial(reached, url, name, "documents", documents_read))
    assert 14 <= position(url, name, "documents") < 30
    assert xcast(*ask).code == 0
    found = {id: (v, t) for id, v, t in rows(url, name)}
    assert found == state
    assert xcast(*ask).code == 0  # nothing is new
    assert {id: (v, t) for id, v, t in rows(url, name)} == state


@pytest.mark.parametrize("kind", KINDS)
def test_a_watch_that_is_killed_goes_on_to_the_same_table(kind: str, tmp_path: Path, server: str) -> None:
    documents(tmp_path / "in", 12, 60)
    stream = tmp_path / "stream"
    told = xcast(
        "feed", "/list/r", tmp_path / "in", "--key", "@id", "--removed", "/list/gone", "-o", f"{stream}/", "--state",
        tmp_path / "state",
    )  # fmt: skip
    assert told.code == 0
    name = f"watched{os.getpid()}"
    url = server if kind == "postgresql" else f"{kind}:///{tmp_path}/watched.db"
    text = 'for $r in stream("s")//r where $r/v > 300 return <big id="{$r/@id}">{$r/v}</big>'
    columns = "@id as xs:integer, v as xs:integer"
    ask = ("watch", text, "--stream", f"s={stream}", "--table", f"{url}#{name}", "--columns", columns)
    killed_when(command(*ask), lambda: position(url, name, "s") > 100)
    ran = xcast(*ask, "--until-idle", "0.5")
    assert (ran.code, ran.out) == (0, b"")
    from_scratch = query(text, columns=columns, streams={"s": str(stream)}).to_arrow().to_pylist()
    assert len(from_scratch) > 50
    assert rows(url, name) == [tuple(row.values()) for row in from_scratch]


def test_a_file_is_loaded_into_a_table_at_once(tmp_path: Path) -> None:
    documents(tmp_path / "in", 3, 50)
    stream = tmp_path / "all.xml"
    assert xcast("feed", "/list/r", tmp_path / "in", "--key", "@id", "-o", stream).code == 0
    text = 'for $r in stream("s")//r group by $t := string($r/t) return <t n="{count($r)}">{$t}</t>'
    ran = xcast("watch", text, "--stream", f"s={stream}", "--table", f"duckdb:///{tmp_path}/d#t",
                "--columns", "@n as xs:integer, t=. as xs:string")  # fmt: skip
    assert (ran.code, ran.out) == (0, b"")
    found = query(text, columns="@n as xs:integer, t=. as xs:string", streams={"s": str(stream)}).to_arrow().to_pylist()
    assert rows(f"duckdb:///{tmp_path}/d", "t") == [tuple(row.values()) for row in found]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["watch", "1", "--columns", "@id"], "are of tables"),
        (["watch", "1", "--table", "sqlite:a#b", "--table", "sqlite:a#c"], "more tables than queries"),
        (["watch", "1", "--engine", "spark", "--columns", "@id"], "are of tables"),
        (["feed", "/a/b", "-", "--columns", "@id"], "are of --table"),
        (["feed", "/a/b", "-", "--table", "sqlite:a#b"], "goes on by --state"),
    ],
)
def test_options_of_tables_that_do_not_go_together_are_told(arguments: list[str], told: str) -> None:
    ran = xcast(*arguments)
    assert ran.code == 2
    assert told in " ".join(ran.err.replace("│", " ").split())
