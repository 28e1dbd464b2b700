"""What a notebook shows: results, explanations, structures, continuous queries, and the magic of queries."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from cells import Shell, shell
from IPython.core.interactiveshell import InteractiveShell
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from traitlets.config import Config

import xstreamcast
from xstreamcast import Fill, Replace
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.shown import SHOWN

BOOKS = "<l><b id='1'><t>Rivers &amp; Co</t><p>12</p></b><b id='2'><t>&lt;i&gt;</t><p>40</p></b></l>"
EVIL = "<script>alert(1)</script>"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;"


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    (tmp_path / "books.xml").write_text(BOOKS)
    with shell() as made:
        made.run("%load_ext xstreamcast")
        yield made


class Balanced(HTMLParser):
    """Fails unless every element is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, _: object) -> None:
        self.open.append(tag)
        self.names.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def plain(html: str) -> str:
    """What a reader sees, without the style."""
    return re.sub(r"<[^>]*>", "", re.sub(r"(?s)<style>.*?</style>", "", html))


# ------------------------------------------------------------------------------------------------------- objects


def test_maps_are_a_table() -> None:
    html = xstreamcast.query(
        "for $b in //b return map { 'id': $b/@id, 'p': number($b/p) }", context=BOOKS
    )._repr_html_()
    assert Balanced(html).names.count("tr") == 3
    assert '<td class="n">12.0</td>' in html
    assert "2 items" in html


def test_elements_with_parts_are_a_table_and_xml() -> None:
    html = xstreamcast.query("//b", context=BOOKS)._repr_html_()
    assert "<th>@id</th><th>t</th><th>p</th>" in html
    assert "<td>Rivers &amp; Co</td>" in html
    assert "<summary>XML</summary>" in html
    Balanced(html)


@pytest.mark.parametrize("text", ["//b/p", "1 to 3, 'a'", "[1, 2]", "//b/@id", "()", "//b/t/text()"])
def test_other_items_stand_one_below_the_other(text: str) -> None:
    result = xstreamcast.query(text, context=BOOKS)
    html = result._repr_html_()
    assert Balanced(html).names.count("pre") == len(result)
    assert f"{len(result)} item" in plain(html)


def test_no_more_of_a_result_is_computed_than_is_shown() -> None:
    result = xstreamcast.query(f"for $i in 1 to {SHOWN + 5} return if ($i > {SHOWN + 2}) then error() else $i")
    assert f"{SHOWN} items and more" in result._repr_html_()


def test_the_error_that_a_result_is_is_shown() -> None:
    html = xstreamcast.query("1 + //p", context=BOOKS)._repr_html_()
    assert "XPTY0004" in html
    assert '<pre class="error">' in html


@pytest.mark.parametrize(
    "shown",
    [
        lambda: xstreamcast.query("$x", variables={"x": EVIL}),
        lambda: xstreamcast.query("map { $x: $x }", variables={"x": EVIL}),
        lambda: xstreamcast.query("<a b='{$x}'><c>{$x}</c><d>{$x}</d></a>", variables={"x": EVIL}),
        lambda: xstreamcast.query("error((), $x)", variables={"x": EVIL}),
        lambda: xstreamcast.compile(f"'{EVIL}'"),
        lambda: xstreamcast.explain(f"for $a in //a where $a = '{EVIL}' order by $a/b return '{EVIL}'"),
        lambda: parse_structure(f'<structure stream="{ESCAPED}"><tag id="1" name="a"/></structure>'),
        lambda: fed(f"'{EVIL}', stream('s')//a", Fill(region=0, content=f"<r><a>{ESCAPED}</a></r>".encode())),
    ],
    ids=["atomic", "map", "element", "error", "query", "explanation", "structure", "continuous"],
)
def test_what_comes_from_queries_and_documents_is_escaped(shown: Callable[[], Any]) -> None:
    html = shown()._repr_html_()
    assert EVIL not in html
    assert "script" not in Balanced(html).names
    assert "alert(1)" in plain(html)


def fed(text: str, *changes: Fill) -> xstreamcast.ContinuousQuery:
    query = xstreamcast.continuous(text)
    query.feed_many(changes)
    return query


def test_an_explanation_has_its_verdict_what_blocks_and_its_operators() -> None:
    explanation = xstreamcast.explain("for $b in //book where $b/price < 30 order by $b/title return $b/title")
    html = explanation._repr_html_()
    assert f"<b>{explanation.verdict}</b>" in html
    assert Balanced(html).names.count("tr") == 1 + len(explanation.steps)
    assert '<span class="badge blocking">blocking</span>' in html
    assert "blocking: order by over the whole document" in html


def test_a_structure_is_a_tree_and_a_tag_within_itself_is_not_opened_again() -> None:
    tags = parse_structure(
        '<structure><tag id="1" name="part" type="filler"><tag id="2" name="name"/><tag ref="1"/></tag></structure>'
    )
    html = tags._repr_html_()
    assert Balanced(html).names.count("li") == 3
    assert '<span class="badge filler">filler</span>' in html
    assert html.count("↑") == 1


def test_a_deep_structure_is_shown_whole() -> None:
    deep = "".join(f'<tag id="{n}" name="t{n}">' for n in range(1, 3001)) + "</tag>" * 3000
    html = parse_structure(f"<structure>{deep}</structure>")._repr_html_()
    assert html.count("<li>") == 3000


def test_a_continuous_query_shows_its_answer_and_its_streams() -> None:
    query = xstreamcast.continuous('stream("s")//a')
    assert "nothing has come yet" in query._repr_html_()
    query.feed(Fill(region=0, content=b'<r><a>1</a><stream:hole id="1"/></r>'))
    query.feed(Fill(region=1, content=b"<a>2</a>" * 30))
    html = query._repr_html_()
    assert f"31 items, the first {SHOWN} of them here · s: 2 regions" in plain(html)
    Balanced(html)


def test_an_answer_that_is_an_error_is_shown_as_one() -> None:
    query = fed("xs:integer(stream('s')//a)", Fill(region=0, content=b"<r><a>x</a></r>"))
    assert "FORG0001" in query._repr_html_()


# ----------------------------------------------------------------------------------------------------------- live


def test_a_continuous_query_is_drawn_again_in_place(notebook: Shell) -> None:
    notebook.run("from xstreamcast import continuous, Fill, Replace\nq = continuous('stream(\"s\")//a/string()')\nq")
    assert "nothing has come yet" in plain(notebook.told.html())
    told = notebook.run("_ = q.feed(Fill(region=0, content=b'<r><stream:hole id=\"1\"/></r>'))")
    told = notebook.run("_ = q.feed(Fill(region=1, content=b'<a>first</a>'))")
    assert "first" in plain(told.html())
    told = notebook.run("_ = q.feed(Replace(region=1, content=b'<a>second</a>'))")
    assert "second" in plain(told.html())
    assert "first" not in plain(told.html())
    assert len(told.data) == 1, "one picture, drawn again"
    assert told.updates >= 2


def test_many_changes_in_a_cell_are_few_pictures_and_the_last_is_right(notebook: Shell) -> None:
    notebook.run("from xstreamcast import continuous, Fill, Replace\nq = continuous('stream(\"s\")//a/string()')\nq")
    told = notebook.run(
        "_ = q.feed(Fill(region=0, content=b'<r><stream:hole id=\"1\"/></r>'))\n"
        "for n in range(500):\n    _ = q.feed(Replace(region=1, content=f'<a>v{n}</a>'.encode()))"
    )
    assert "v499" in plain(told.html())
    assert told.updates < 250


def test_changes_between_cells_are_drawn_by_the_loop() -> None:
    async def going_on() -> tuple[str, int]:
        query = xstreamcast.continuous('stream("s")//a/string()')
        query._ipython_display_()
        query.feed(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'))
        for number in range(3):
            query.feed(Replace(region=1, content=f"<a>v{number}</a>".encode()))
        while "v2" not in plain(made.told.html()):
            await asyncio.sleep(0.01)
        return plain(made.told.html()), len(made.told.data)

    with shell() as made:
        html, pictures = asyncio.run(going_on())
    assert ("v2" in html, "v1" in html, pictures) == (True, False, 1)


def test_in_a_terminal_a_query_says_what_it_is_and_is_not_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    config = Config({"HistoryManager": {"enabled": False}, "TerminalInteractiveShell": {"simple_prompt": True}})
    InteractiveShell.clear_instance()
    made = TerminalInteractiveShell.instance(config=config)
    try:
        made.user_ns["q"] = query = xstreamcast.continuous('count(stream("s")//a)')
        made.run_cell("q", store_history=False).raise_error()
        query.feed(Fill(region=0, content=b"<r><a/></r>"))
    finally:
        TerminalInteractiveShell.clear_instance()
    assert capsys.readouterr().out == 'Out[0]: <ContinuousQuery count(stream("s")//a)>\n'


# ---------------------------------------------------------------------------------------------------------- magic


def test_a_cell_is_a_query(notebook: Shell) -> None:
    told = notebook.run("%%xcql books.xml\nfor $b in //b\nwhere $b/p > 20\nreturn $b/p")
    assert "40" in plain(told.html())
    assert "1 item" in plain(told.html())


def test_a_line_is_a_query_and_its_value_is_a_result(notebook: Shell) -> None:
    notebook.run("found = %xcql books.xml -- count(//b)")
    assert notebook.user_ns["found"].one() == 2
    notebook.run("%xcql --to kept books.xml -- //b[p < 20]/@id/string()")
    assert notebook.user_ns["kept"].to_list() == ["1"]


def test_variables_and_documents_of_the_notebook_are_those_of_the_query(notebook: Shell) -> None:
    notebook.run("least = 20\ntext = '<r><n>1</n></r>'")
    notebook.run("%%xcql --to a books.xml\nfor $least2 in //b[p > $least] return string($least2/@id)")
    notebook.run("%%xcql --to b text\n//n/string()")
    notebook.run("%%xcql --to c --doc d=text\ndoc('d')//n/string()")
    assert [notebook.user_ns[name].to_list() for name in "abc"] == [["2"], ["1"], ["1"]]


def test_an_error_is_shown_with_its_place_and_without_a_traceback(notebook: Shell) -> None:
    told = notebook.run("%%xcql books.xml\nfor $b in //b\nreturn $c")
    assert "XPST0008 query:2:8 the variable $c is not declared" in told.text()
    assert "Traceback" not in told.text()
    told = notebook.run("%%xcql none.xml\n//b")
    assert "XSC0006 none.xml" in told.text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--nonsense -- 1", "no such option: --nonsense"),
        ("books.xml", "there is no query"),
        ("--doc x -- 1", "NAME=VALUE"),
    ],
)
def test_a_wrong_call_says_so(notebook: Shell, capsys: pytest.CaptureFixture[str], line: str, said: str) -> None:
    notebook.run(f"%xcql {line}")
    assert said in capsys.readouterr().out


def test_the_options_are_told(notebook: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    notebook.run("%xcql -h")
    out = capsys.readouterr().out
    for option in ("--doc", "--stream", "--now", "--to", "--explain", "--watch"):
        assert option in out


def test_explain_does_not_run_it(notebook: Shell) -> None:
    notebook.run("least = 3")
    told = notebook.run("%%xcql --explain none.xml\nfor $b in //b where $b/p > $least return $b")
    assert "one pass; state: one b at a time" in told.html()


def test_watch_follows_a_stream_to_its_end(notebook: Shell) -> None:
    xstreamcast.fragment("books.xml", "books.stream.xml")
    told = notebook.run(
        '%%xcql --watch --stream books=books.stream.xml\nfor $b in stream("books")//b return $b/@id/string()'
    )
    assert "2 items" in plain(told.html())
    notebook.run('%xcql --watch --to q --stream books=books.stream.xml -- count(stream("books")//b)')
    assert notebook.user_ns["q"].text() == "2"


def test_streams_are_asked_at_a_time(notebook: Shell) -> None:
    xstreamcast.fragment("books.xml", "books.stream.xml")
    notebook.run('%xcql --to n --stream books=books.stream.xml --now 2003-01-01 -- count(stream("books")//b)')
    assert notebook.user_ns["n"].one() == 2
