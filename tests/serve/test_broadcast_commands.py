"""``xcast serve``, ``xcast listen``, ``xcast watch`` with ``xcast://``: as they are called."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import signal
import subprocess
import sys
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from air import generated, in_thread
from processes import COMMAND, DEADLINE, head, serving, waited

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.cli import main
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, Eos, Fill, Replace
from xstreamcast.model.structure import Structure
from xstreamcast.serve.client import parse_address, read, receive
from xstreamcast.serve.reception import Reception
from xstreamcast.wire.fragment import FragmentWriter, read_stream

BOOKS = [
    Fill(region=0, content=b'<list><stream:hole id="1"/><stream:hole id="2"/></list>'),
    Fill(region=1, content=b"<book><title>A</title><price>9</price></book>"),
    Fill(region=2, content=b"<book><title>B</title><price>90</price></book>"),
]
CHEAP = 'for $b in stream("books")//book where $b/price < 30 return $b/title'


def t(items: list[Change | Structure]) -> str:
    regions = Materialiser(None)
    for item in items:
        regions.apply(item)
    return regions.text()


def test_a_server_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)  # as if it were not installed
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--log", str(tmp_path / "log"), "--port", "0"])
    assert ended.value.code == 1
    assert "XSC0109 a server needs aiohttp" in capsys.readouterr().err
    assert not (tmp_path / "log").exists()


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """A command inside this process: exit code, what it printed, what it said."""
    code: object = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = ended.code or 0
    out, err = capfd.readouterr()
    assert isinstance(code, int)
    return code, out, err


# ------------------------------------------------------------------------------------------------- listening


def test_listen_prints_a_stream_until_it_ends(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with in_thread(tmp_path) as aired:
        aired.take("books", [*BOOKS, Eos()])
        code, out, _ = run(capfd, "listen", aired.url("books"))
        assert code == 0
        assert out.splitlines()[-1] == "<stream:eos/>"
        assert out.count("<stream:filler") == 3
        server = aired.url().removeprefix("xcast://")
        code, out, _ = run(capfd, "listen", "books", "--server", server, "--format", "json", "--from", 2, "--count", 1)
        row = json.loads(out)
        assert (row["stream"], row["seq"], row["change"], row["region"]) == ("books", 3, "fill", 2)
        code, out, _ = run(capfd, "listen", "--list", "--server", server)
        assert "books" in out
        assert "ended" in out


def test_a_stored_stream_goes_on_where_it_stopped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "books.xml"
    with in_thread(tmp_path / "log") as aired:
        aired.take("books", BOOKS)
        run(capfd, "listen", aired.url("books"), "-o", file, "--count", 3)
        with file.open("ab") as torn:
            torn.write(b'<stream:filler id="1"><bo')
        aired.take("books", [Replace(region=1, content=b"<book><title>C</title><price>1</price></book>"), Eos()])
        code, _, _ = run(capfd, "listen", aired.url("books"), "-o", file)
        assert code == 0
    stored = [arrival.item for arrival in read_stream(file)]
    assert [getattr(item, "kind", "") for item in stored] == ["fill", "fill", "fill", "replace", "eos"]
    assert "<title>C</title>" in t([item for item in stored if isinstance(item, Change)])


def test_listen_does_not_write_over_a_file_that_is_not_its_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("precious")
    code, _, err = run(capfd, "listen", "books", "-o", file)
    assert (code, file.read_text()) == (1, "precious")
    assert "was not stored by listen" in err


def test_several_streams_are_stored_side_by_side(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with in_thread(tmp_path / "log") as aired:
        aired.take("a", [Fill(region=0, content=b"<a/>"), Eos()])
        aired.take("b", [Fill(region=0, content=b"<b/>"), Eos()])
        code, _, _ = run(capfd, "listen", aired.url("a"), aired.url("b"), "-o", tmp_path / "out")
        assert code == 0
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.xml", "b.xml"]
        code, _, _ = run(capfd, "listen", aired.url("a"), aired.url("b"))
        assert code == 2


# ------------------------------------------------------------------------------------------------- watching


def test_watch_answers_over_a_server(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with in_thread(tmp_path) as aired:
        aired.take("books", [*BOOKS, Eos()])
        code, out, _ = run(capfd, "watch", CHEAP, "--stream", f"books={aired.url()}", "--format", "xml")
        assert (code, out) == (0, "<title>A</title>\n")


def test_a_published_answer_is_a_stream_that_late_clients_get_whole(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XCAST_TOKEN", "secret")
    again = 'for $t in stream("cheap")//title return <t>{ string($t) }</t>'
    with in_thread(tmp_path, token="secret") as aired:
        aired.take(
            "books", [*BOOKS, Replace(region=2, content=b"<book><title>B</title><price>2</price></book>"), Eos()]
        )
        source = f"books={aired.url('books')}"
        code, _, err = run(
            capfd, "watch", CHEAP, "--stream", source, "--publish", f"cheap={aired.url()}", "--format", "xml"
        )
        assert code == 0, err
        for start in ("beginning", "now"):
            stream = f"cheap={aired.url('cheap')}?from={start}"
            code, out, _ = run(capfd, "watch", again, "--stream", stream, "--format", "xml")
            assert (code, out) == (0, "<t>A</t><t>B</t>\n")


def test_an_answer_that_is_published_again_takes_the_place_of_the_old_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XCAST_TOKEN", "secret")
    file = tmp_path / "books.xml"
    from xstreamcast.wire.fragment import encode_change

    with in_thread(tmp_path / "log", token="secret") as aired:
        # Its input has no end, so that the stream it publishes has none either.
        publish = ("--stream", f"books={file}", "--publish", f"cheap={aired.url()}", "--format", "xml")
        for titles in ("PQR", "XY"):
            books = [Fill(region=0, content="<list>{}</list>".format("".join(
                f"<book><title>{title}</title><price>1</price></book>" for title in titles
            )).encode())]  # fmt: skip
            file.write_bytes(b"".join(encode_change(book) for book in books))
            assert run(capfd, "watch", CHEAP, *publish)[0] == 0
            entries = [item for _, item in read(parse_address(aired.url("cheap"))).entries]
            assert t(entries) == "".join(f"<title>{title}</title>" for title in titles)
        aired.take("cheap", [Eos()])
        code, out, _ = run(
            capfd, "watch", 'stream("cheap")', "--stream", f"cheap={aired.url('cheap')}?from=now", "--format", "xml"
        )
        assert (code, out) == (0, "<title>X</title><title>Y</title>\n")


def test_publishing_needs_a_token(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_thread(tmp_path / "log", token="secret") as aired:
        aired.take("books", [*BOOKS, Eos()])
        arguments = ("watch", CHEAP, "--stream", f"books={aired.url()}", "--publish", f"cheap={aired.url()}")
        monkeypatch.delenv("XCAST_TOKEN", raising=False)
        code, _, err = run(capfd, *arguments)
        assert (code, "XCAST_TOKEN" in err) == (1, True)
        monkeypatch.setenv("XCAST_TOKEN", "wrong")
        code, _, err = run(capfd, *arguments)
        assert (code, "the token is wrong" in err) == (1, True)


# ------------------------------------------------------------------------------------------------- serving


def feed_has(port: int, fragments: int) -> bool:
    return head(port, "feed") == fragments


def test_a_growing_folder_and_standard_input_are_streams_at_once_and_sigterm_stops(tmp_path: Path) -> None:
    feed = tmp_path / "feed"
    feed.mkdir()
    with serving(tmp_path / "log", "--stream", f"feed={feed}", "--stream", "pipe=-") as (process, port):
        for number in range(2):
            (feed / ".new").write_text(f'<stream:filler id="{number}">{number}</stream:filler>')
            (feed / ".new").rename(feed / f"{number}.xml")
            waited(partial(feed_has, port, number + 1))
        assert process.stdin is not None
        process.stdin.write('<stream:filler id="0">piped</stream:filler>\n')
        process.stdin.flush()
        waited(lambda: head(port, "pipe") == 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0
    with serving(tmp_path / "log", "--stream", f"feed={feed}") as (process, port):
        (feed / ".new").write_text('<stream:filler id="1">one</stream:filler><stream:eos/>')
        (feed / ".new").rename(feed / "2.xml")
        waited(lambda: head(port, "feed") == 4)
        entries = read(parse_address(f"xcast://127.0.0.1:{port}/feed")).entries
        assert [getattr(item, "content", b"eos") for _, item in entries] == [b"0", b"1", b"one", b"eos"]
        assert head(port, "pipe") == 1  # taken up from its log
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stream", "s=nowhere.xml"], "no file or folder"),
        (["--stream", "../s=-"], "not a name for a stream"),
        (["--stream", "s=generate:xmark"], "a stored document"),
        (["--stream", "s=generate:credit"], "need a rate"),
        (["--stream", "s=generate:credit?speed=1"], "no option"),
        (["--stream", "s=generate:credit?rate=x"], "numbers"),
        (["--stream", "s=generate:stock?rate=1"], "several streams"),
        (["--sync", "now"], "--sync is one of"),
        (["--cycle", "0"], "above 0"),
        (["--port", "99999"], "65535"),
        (["--keep-log", "much"], "a size such as 512MB"),
        (["--keep-log", "0MB"], "a size such as 512MB"),
    ],
)
def test_what_is_wrong_with_a_call_is_told_before_anything_is_served(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, _, err = run(capfd, "serve", "--log", tmp_path / "log", *arguments)
    assert code in (1, 2)
    assert said in " ".join(err.replace("│", " ").split())
    assert not (tmp_path / "log").exists()


def test_a_port_that_is_taken_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with in_thread(tmp_path / "log") as aired:
        port = aired.station.port
        code, _, err = run(capfd, "serve", "--log", tmp_path / "other", "--port", port)
        assert code == 1
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in err
        assert "--port 0" in err


@pytest.mark.parametrize("streams", [1, 2])
def test_watch_says_once_that_a_connection_is_gone_and_that_it_is_back(
    tmp_path: Path, own_port: int, streams: int
) -> None:
    book = Fill(region=0, content=b"<list><book/></list>")
    with in_thread(tmp_path / "log", own_port) as aired:
        aired.take("books", [book])
        sources = [f"--stream={name}={aired.url('books')}" for name in "ab"[:streams]]
        query = "count((" + ", ".join(f'stream("{name}")//book' for name in "ab"[:streams]) + "))"
        watch = subprocess.Popen(
            [*COMMAND, "watch", query, *sources, "--format", "json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert watch.stdout is not None
        assert watch.stderr is not None
        try:
            waited(lambda: aired.station.listening == streams)
        except AssertionError:
            watch.kill()
            raise
    try:
        gone = [watch.stderr.readline() for _ in range(streams)]
        assert all("the server has closed the connection; trying again" in line for line in gone)
        with in_thread(tmp_path / "log", own_port) as aired:
            back = [watch.stderr.readline() for _ in range(streams)]
            assert all(re.search(r"connected again after \d+\.\d s", line) for line in back), back
            watch.send_signal(signal.SIGINT)
            assert watch.wait(DEADLINE) == 130
        assert watch.stderr.read() == "xcast: interrupted\n"
    finally:
        watch.kill()


def test_a_server_with_another_log_than_before_is_not_mixed_in(tmp_path: Path, own_port: int) -> None:
    with in_thread(tmp_path / "one", own_port) as aired:
        aired.take("books", BOOKS)
        reception = Reception()
        arrivals = receive(parse_address(aired.url("books")), reception)
        while reception.since < 3:
            next(arrivals)
    with in_thread(tmp_path / "other", own_port) as aired:
        aired.take("books", BOOKS)
        with pytest.raises(XStreamError, match="another log than before"):
            list(arrivals)


def test_an_interrupt_before_anything_is_waited_for_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.new_event_loop()
    wait, begun = loop.run_until_complete, []

    def interrupted(work: Coroutine[Any, Any, Any]) -> None:
        monkeypatch.setattr(loop, "run_until_complete", wait)
        begun.append(loop.create_task(work))
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "run_until_complete", interrupted)
    monkeypatch.setattr(asyncio, "new_event_loop", lambda: loop)
    with pytest.raises(KeyboardInterrupt):
        next(receive(parse_address("xcast://127.0.0.1:1/books")))
    gc.collect()
    assert begun.pop().cancelled()
    assert loop.is_closed()
    assert caplog.text == ""


# ------------------------------------------------------------------------------------------------- publishing


def test_a_published_answer_announces_its_tags_and_another_query_is_refused_its_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XCAST_TOKEN", "secret")
    structure, changes = generated("credit", 0.005, 1, 100)
    file = tmp_path / "credit.xml"
    with file.open("wb") as written:
        writer = FragmentWriter(written, structure)
        for change in changes[:-1]:  # without its end, so that its answers have none either
            writer.write(change)
        writer.close()
    spent = 'for $a in stream("credit")//account return <spent>{ $a/customer, count($a/transaction) }</spent>'
    with in_thread(tmp_path / "log", token="secret") as aired:
        publish = ("--stream", f"credit={file}", "--publish", f"spent={aired.url()}", "--format", "xml")
        for _ in range(2):  # the same query again says the same
            code, out, err = run(capfd, "watch", spent, *publish)
            assert code == 0, err
        entries = [item for _, item in read(parse_address(aired.url("spent"))).entries]
        assert isinstance(entries[0], Structure)
        assert sum(isinstance(item, Structure) for item in entries) == 1
        assert {tag.name for tag in entries[0].tags.values()} >= {"spent", "customer"}
        for other in ('stream("credit")//account/customer', 'count(stream("credit")//account)'):
            code, _, err = run(capfd, "watch", other, *publish)
            assert code == 1
            assert "XSC0021" in err
            assert "publish under another name" in err
        again = [item for _, item in read(parse_address(aired.url("spent"))).entries]
        assert again == entries  # nothing of them has come
        assert t([item for item in again if isinstance(item, Change)]) == out.strip()
