"""``xcast watch``: the answers, change by change, in every form; from files, folders and pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from command import Ran, xcast

from xstreamcast.cast.materialise import materialise

ROOT = Path(__file__).parents[2]
HEAD = (
    '<stream:fragments xmlns:stream="urn:xstreamcast:stream"><stream:structure>'
    '<tag id="1" name="r" type="snapshot"><tag id="2" name="a" type="filler"/></tag></stream:structure>'
)
CHANGES = (
    '<stream:filler id="2" tsid="2"><a>2</a></stream:filler>',
    '<stream:filler id="0" tsid="1"><r><stream:hole id="1" tsid="2"/><stream:hole id="2" tsid="2"/></r>'
    "</stream:filler>",
    '<stream:filler id="1" tsid="2"><a>1</a></stream:filler>',
    '<stream:repeat id="1" tsid="2"><a>1</a></stream:repeat>',
    '<stream:replace id="2" tsid="2"><a>two</a></stream:replace>',
    '<stream:remove id="1" tsid="2"/>',
)
STREAM = HEAD + "".join(CHANGES) + "<stream:eos/></stream:fragments>"


@pytest.fixture
def stream(tmp_path: Path) -> str:
    path = tmp_path / "s.xml"
    path.write_text(STREAM)
    return f"s={path}"


def lines(ran: Ran) -> list[dict[str, Any]]:
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.decode().splitlines()]


def test_the_trace_has_a_line_for_each_change_that_alters_an_answer(stream: str) -> None:
    traced = lines(xcast("watch", 'stream("s")//a/string()', "--stream", stream, "--trace"))
    assert [(line["n"], line["query"], line["answer"]) for line in traced] == [
        (2, 0, "2"), (3, 0, "1 2"), (5, 0, "1 two"), (6, 0, "two"),
    ]  # fmt: skip
    row = traced[1]["changes"][0]
    assert list(row) == [
        "stream", "seq", "change", "doc", "region", "target", "tsid", "version", "valid_time", "order", "content",
    ]  # fmt: skip
    assert (row["change"], row["content"]) == ("after", "1")


def test_an_error_is_traced_and_withdrawn(stream: str) -> None:
    traced = lines(xcast("watch", 'sum(stream("s")//a ! xs:integer(.))', "--stream", stream, "--trace"))
    assert [(line["n"], line.get("answer")) for line in traced] == [(2, "2"), (3, "3"), (5, None)]
    assert traced[-1]["error"]["code"] == "FORG0001"


def test_several_queries_share_a_stream_and_are_numbered(stream: str) -> None:
    traced = lines(xcast("watch", 'count(stream("s")//a)', 'stream("s")//a[. = "1"]', "--stream", stream, "--trace"))
    assert [(line["n"], line["query"], line["answer"]) for line in traced] == [
        (2, 0, "1"), (3, 0, "2"), (3, 1, "<a>1</a>"), (6, 0, "1"), (6, 1, ""),
    ]  # fmt: skip


def test_the_changes_are_a_stream_that_describes_the_answer(stream: str, tmp_path: Path) -> None:
    ran = xcast("watch", 'stream("s")//a', "--stream", stream, "--format", "changes")
    (tmp_path / "out.xml").write_bytes(ran.out)
    assert materialise(tmp_path / "out.xml") == b"<a>two</a>"
    again = xcast("watch", 'stream("o")/a/string()', "--stream", f"o={tmp_path / 'out.xml'}", "--format", "xml")
    assert again.out == b"two\n"


def test_the_xml_format_is_the_last_answer(stream: str) -> None:
    assert xcast("watch", 'stream("s")//a', "--stream", stream, "--format", "xml").out == b"<a>two</a>\n"


def test_json_lines_are_rows_of_changes(stream: str) -> None:
    rows = lines(xcast("watch", 'stream("s")//a', "--stream", stream, "--format", "json"))
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert {row["query"] for row in rows} == {0}
    assert rows[-1]["change"] == "remove"


def test_a_published_answer_is_a_stream_of_the_other_queries(stream: str, tmp_path: Path) -> None:
    out = tmp_path / "long.xml"
    queries = ['stream("s")//a[string-length(.) > 2]', 'count(stream("long")/a)']
    ran = xcast("watch", *queries, "--stream", stream, "--publish", f"long={out}", "--format", "xml")
    assert ran.out == b"<a>two</a>\n1\n"
    assert materialise(out) == b"<a>two</a>"


def test_a_folder_is_read_file_by_file_as_it_grows_until_the_stream_ends(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / ".0003.xml").write_text("not looked at")
    (folder / "0001.xml").write_text(HEAD + CHANGES[1] + "</stream:fragments>")

    def grow() -> None:
        for number, change in enumerate((CHANGES[2], CHANGES[0] + "<stream:eos/>"), 2):
            time.sleep(0.2)
            (folder / f".{number}").write_text(change)
            os.replace(folder / f".{number}", folder / f"000{number}.xml")

    writer = Thread(target=grow)
    writer.start()
    traced = lines(xcast("watch", 'stream("s")//a/string()', "--stream", f"s={folder}", "--trace"))
    writer.join()
    assert [(line["n"], line["answer"]) for line in traced] == [(2, "1"), (3, "1 2")]


def test_a_folder_that_is_idle_has_ended_if_asked(tmp_path: Path) -> None:
    (tmp_path / "1.xml").write_text(HEAD + CHANGES[1] + CHANGES[2] + "</stream:fragments>")
    ran = xcast("watch", 'stream("s")//a', "--stream", f"s={tmp_path}", "--until-idle", 0.1, "--format", "xml")
    assert ran.out == b"<a>1</a>\n"


def test_standard_input_is_followed_as_it_comes() -> None:
    command = [sys.executable, "-m", "xstreamcast", "watch", 'stream("s")//a/string()', "--stream", "s=-", "--trace"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write((HEAD + CHANGES[1] + CHANGES[2]).encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["answer"] == "1"  # before the input has ended
        process.stdin.write(CHANGES[0].encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["answer"] == "1 2"
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130


def test_streams_in_files_take_turns(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).write_text(f'<filler id="0"><{name}/></filler><replace id="0"><{name}>1</{name}></replace>')
    given = ["--stream", f"x={tmp_path / 'x'}", "--stream", f"y={tmp_path / 'y'}"]
    traced = lines(xcast("watch", 'stream("x")/x, stream("y")/y', *given, "--trace"))
    assert [line["answer"] for line in traced] == ["<x/>", "<x/><y/>", "<x>1</x><y/>", "<x>1</x><y>1</y>"]


def test_what_comes_too_late_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    events = [f'<filler id="1" tsid="2" validTime="2003-01-0{day}"><a>{day}</a></filler>' for day in (1, 5, 4, 2)]
    path.write_text(
        '<structure><tag id="1" name="r"><tag id="2" name="a" type="event"/></tag></structure>'
        f'<filler id="0" tsid="1"><r><hole id="1" tsid="2"/></r></filler>{"".join(events)}'
    )
    ran = xcast("watch", 'data(stream("s")//a)', "--stream", f"s={path}", "--lateness", "P2D", "--format", "xml")
    assert ran.out == b"1 4 5\n"
    assert "XSC0090" in ran.err


def test_a_window_that_moves_with_the_event_clock_lets_go_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    events = [f'<filler id="1" tsid="2" validTime="2003-01-0{day}"><a>{day}</a></filler>' for day in (1, 2, 4, 5)]
    path.write_text(
        '<structure><tag id="1" name="r"><tag id="2" name="a" type="event"/></tag></structure>'
        f'<filler id="0" tsid="1"><r><hole id="1" tsid="2"/></r></filler>{"".join(events)}'
    )
    traced = lines(xcast("watch", 'data(stream("s")//a?[now-P1D,now])', "--stream", f"s={path}", "--trace"))
    assert [line["answer"] for line in traced] == ["1", "1 2", "4", "4 5"]


def test_what_cannot_be_is_told_before_anything_is_read(stream: str) -> None:
    assert xcast("watch", "--stream", stream).code == 2
    assert xcast("watch", 'stream("s")', "--stream", stream, "--format", "pdf").code == 2
    assert xcast("watch", 'stream("s")', "--stream", stream, "--clock", "sundial").code == 2
    assert "XPST0003" in xcast("watch", "1 +", "--stream", stream).err
    assert "FODC0002" in xcast("watch", 'stream("t")', "--stream", stream).err


def one_line(told: str) -> str:
    """What an error says, without its frame."""
    return " ".join(told.replace("│", " ").split())


def test_a_file_where_a_query_is_asked_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rss.xml").write_text("<rss><item/></rss>")
    Path("a.xq").write_text('count(stream("s")//a)')
    ran = xcast("watch", "count(//item)", "rss.xml")
    assert (ran.code, ran.out) == (2, b"")
    assert "rss.xml is a file, where a query is asked for: --stream NAME=rss.xml names it" in one_line(ran.err)
    ran = xcast("watch", "-f", "a.xq", "rss.xml")
    assert ran.code == 2
    assert "rss.xml is a file" in one_line(ran.err)
    ran = xcast("watch", "a.xq")
    assert ran.code == 2
    assert "a.xq is a file, where a query is asked for: -f a.xq" in one_line(ran.err)


def test_a_query_that_reads_no_stream_is_refused() -> None:
    ran = xcast("watch", "count(//item)")
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("xcast: XPDY0002 query the query reads no stream, and there is no document\n  hint: ")
    assert xcast("watch", "1 + 1", "--format", "xml").out == b"2\n"


def test_queries_are_given_in_one_way_so_that_their_order_is_clear(stream: str, tmp_path: Path) -> None:
    file = tmp_path / "a.xq"
    file.write_text('count(stream("s")//a)')
    ran = xcast("watch", "-f", file, 'exists(stream("s")//a)', "--stream", stream, "--format", "xml")
    assert (ran.code, ran.out) == (2, b"")
    assert "give all queries as they are, or all by -f" in one_line(ran.err)


def test_at_the_end_the_live_view_shows_the_answer_and_nothing_that_is_gone(tmp_path: Path) -> None:
    names = [f"author {n % 7}" for n in range(40)] + [f"author {n}" for n in range(6, 0, -1) for _ in range(n)]
    holes = "".join(f'<stream:hole id="{n + 1}"/>' for n in range(len(names)))
    fillers = "".join(f'<stream:filler id="{n + 1}"><a>{name}</a></stream:filler>\n' for n, name in enumerate(names))
    stream = tmp_path / "s.xml"
    stream.write_text(f"""<stream:fragments xmlns:stream="urn:xstreamcast:stream">
<stream:filler id="0"><r>{holes}</r></stream:filler>\n{fillers}</stream:fragments>""")
    text = """for $a in stream("s")//a group by $n := string($a) order by count($a) descending, $n
              return <by n="{count($a)}">{$n}</by>"""
    ran = xcast("watch", text, "--stream", f"s={stream}", "--format", "live")
    lines = [line.strip("│ ") for line in ran.out.decode().splitlines() if "<by" in line]
    expected = xcast("query", text, "--stream", f"s={stream}", "--lines").out.decode().splitlines()
    assert len(expected) == 7
    assert lines[-7:] == expected


def test_the_live_view_shows_items_and_state(stream: str) -> None:
    ran = xcast("watch", 'stream("s")//a/string()', "--stream", stream, "--format", "live")
    shown = ran.out.decode()
    assert "two" in shown
    assert "7 changes" in shown
    assert "regions" in shown


def test_bad_fragments_are_put_aside_and_the_answer_is_that_of_the_good_ones(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    bad = '<stream:filler id="x"/><stream:filler id="1" tsid="9"><a/></stream:filler>'
    path.write_text(STREAM.replace(CHANGES[2], bad))
    ran = xcast("watch", 'stream("s")//a', "--stream", f"s={path}", "--format", "xml")
    assert ran.out == b"<a>two</a>\n"
    assert "XSC0003" in ran.err
    assert "XSC0022" in ran.err
