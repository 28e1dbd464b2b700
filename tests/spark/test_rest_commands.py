"""``xcast query --engine spark`` and ``xcast explain --engine spark``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from rest_samples import site

from xstreamcast.cli import main
from xstreamcast.run.explained import explain
from xstreamcast.spark.stages import stage_lines


def ran(*arguments: str) -> int:
    """The exit code of a command."""
    try:
        main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@pytest.fixture
def kept(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The session of the tests, which commands are not to end."""
    monkeypatch.setattr(sys.modules["xstreamcast.spark.session"], "shut_down", lambda _: None)
    yield spark
    spark.sparkContext.setLogLevel("ERROR")


@pytest.mark.parametrize(
    "more",
    [
        ("for $p in /site/people/person return $p/name", "--lines"),
        ("<n a='{count(//item)}'>{ sum(//quantity) }</n>", "--indent"),
        ("declare variable $n external; (//person/@id/string())[number($n)]", "--var", "n=3", "--method", "text"),
    ],
    ids=["rows", "partials", "variables"],
)
def test_a_query_prints_on_spark_what_it_prints_embedded(
    kept: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    file = tmp_path / "auction.xml"
    file.write_bytes(site())
    text, *options = more
    assert ran("query", text, str(file), *options) == 0
    expected = capsys.readouterr().out
    assert ran("query", text, str(file), *options, "--engine", "spark") == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("//item", "@id, quantity as xs:integer, name, mails=count(.//mail), in=incategory/@category as xs:string*"),
        ("for $p in //person order by $p/name descending return $p", "@id, name as xs:string"),
        ("for $i in //item group by $q := string($i/quantity) return <q n='{count($i)}'>{$q}</q>", "@n as xs:integer"),
        ("for $i in //item return map { 'id': string($i/@id), 'all': count(//item) }", None),
    ],
    ids=["rows", "sorted", "grouped", "maps"],
)
def test_a_table_is_on_spark_what_it_is_embedded(kept: Any, tmp_path: Path, text: str, columns: str | None) -> None:
    files = [tmp_path / "a.xml", tmp_path / "b.xml"]
    for file in files:
        file.write_bytes(site())
    chosen = [] if columns is None else ["--columns", columns]
    for out in ("t.parquet", "t.csv"):
        for engine in ("embedded", "spark"):
            made = tmp_path / engine / out
            made.parent.mkdir(exist_ok=True)
            assert ran("query", text, *map(str, files), *chosen, "-o", str(made), "--engine", engine) == 0
    assert (tmp_path / "spark/t.csv").read_text() == (tmp_path / "embedded/t.csv").read_text()
    table = parquet.read_table(tmp_path / "spark/t.parquet")
    assert table.equals(parquet.read_table(tmp_path / "embedded/t.parquet"))
    assert table.num_rows > 4


@pytest.mark.parametrize(
    ("text", "options"),
    [("count(//a), //a/string()", ()), ("//a", ("--lines",)), ("sum(collection()//a)", ())],
    ids=["each", "lines", "collection"],
)
def test_several_files_folders_and_patterns_print_what_they_print_embedded(
    kept: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: tuple[str, ...]
) -> None:
    for name, content in (("1.xml", "<r><a>1</a><a>2</a></r>"), ("2.xml", "<r/>"), ("3.xml", "<r><a>3</a></r>")):
        (tmp_path / name).write_text(content)
    for files in ([f"{tmp_path}/3.xml", f"{tmp_path}/1.xml"], [str(tmp_path)], [f"{tmp_path}/[12].xml"]):
        assert ran("query", text, *files, *options) == 0
        expected = capsys.readouterr().out
        assert ran("query", text, *files, *options, "--engine", "spark") == 0
        assert capsys.readouterr().out == expected


def test_an_error_that_a_task_meets_is_told_as_ever(
    kept: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "auction.xml"
    file.write_bytes(site())
    assert ran("query", "//person/xs:integer(name)", str(file), "--engine", "spark") == 1
    said = capsys.readouterr().err
    assert "xcast: FORG0001 query:1:10" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "options",
    [("--engine", "flink"), ("--master", "local[4]"), ("--engine", "spark", "--threads", "2")],
    ids=lambda options: options[-1],
)
def test_options_of_the_other_engine_are_refused(options: tuple[str, ...]) -> None:
    assert ran("query", "1", *options) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for $p in //person return $p/name", ["scan  s1 s2  a task for each range"]),
        ("count(//person[name])", ["scan ", "merge  s1"]),
        ("for $p in //person order by $p/name return $p", ["scan  s2", "sort  s1"]),
        ("let $n := count(//b) return //b[. = $n]", ["scan ", "merge", "scan ", "merge"]),
        ("for $a in //a, $b in //b where $a/x = $b/y return $b", ["scan ", "scan ", "join"]),
        ("for $a in //a, $b in //b where $a/x < $b/y return $b", ["scan  s", "scan  s"]),
        ("for $a in //a group by $k := $a/x return $k", ["scan ", "group", "order"]),
        ("for $a in //a, $b in //b where $a << $b return $b", ["scan", "task"]),
        ('stream("s")//b', ["task"]),
        ("1 + 1", ["task"]),
    ],
)
def test_explain_tells_the_stages_and_the_steps_in_each(text: str, expected: list[str]) -> None:
    title, *lines = stage_lines(explain(text))
    assert title == "on Spark"
    named = [line.strip() for line in lines if not line.startswith("   ")]
    assert len(named) == len(expected)
    assert all(line.startswith(start) for line, start in zip(named, expected, strict=True))


def test_explain_prints_the_stages_for_spark_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert ran("explain", "count(//b)") == 0
    assert "on Spark" not in capsys.readouterr().out
    assert ran("explain", "count(//b)", "--engine", "spark") == 0
    assert "on Spark\n  scan" in capsys.readouterr().out
