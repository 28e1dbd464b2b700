"""What somebody with files at hand types first."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import xcast

NAMESPACE = "urn:example:pain"


@pytest.fixture
def messages(tmp_path: Path) -> list[Path]:
    files = []
    for number in range(3):
        file = tmp_path / f"m{number}.xml"
        file.write_text(f'<doc xmlns="{NAMESPACE}"><id>M{number}</id><amount>{number}</amount></doc>')
        files.append(file)
    return files


def test_a_query_is_asked_of_each_file_in_turn(messages: list[Path]) -> None:
    assert xcast("query", "//*:id/string()", *messages).out == b"M0\nM1\nM2\n"
    assert xcast("query", "//*:id/string()", "--lines", *messages).out == b"M0\nM1\nM2\n"


def test_the_collection_is_all_the_files(messages: list[Path]) -> None:
    assert xcast("query", "sum(collection()//*:amount)", *messages).out == b"3\n"
    assert xcast("query", "//*:amount div sum(collection()//*:amount)", *messages[1:]).out.split() == [
        b"0.3333333333333333",
        b"0.6666666666666666",
    ]


def test_a_query_file_is_followed_by_the_files(messages: list[Path], tmp_path: Path) -> None:
    query = tmp_path / "q.xq"
    query.write_text("//*:id/string()")
    assert xcast("query", "-f", query, *messages[:2]).out == b"M0\nM1\n"


def test_an_error_names_the_file_it_was_met_in(messages: list[Path]) -> None:
    ran = xcast("query", "if (//*:amount = 1) then xs:integer('x') else ()", *messages)
    assert ran.code == 1
    assert "FORG0001" in ran.err
    assert f"it was asked of {messages[1]}" in ran.err


def test_a_folder_is_all_its_files_and_an_empty_one_is_an_error(messages: list[Path], tmp_path: Path) -> None:
    assert xcast("query", "//*:id/string()", messages[0].parent).out == b"M0\nM1\nM2\n"
    (tmp_path / "empty").mkdir()
    ran = xcast("query", "count(//a)", tmp_path / "empty")
    assert (ran.code, "XSC0006" in ran.err, "no files in the folder" in ran.err) == (1, True, True)


def test_a_namespace_that_the_query_does_not_say_is_told(messages: list[Path]) -> None:
    ran = xcast("query", "count(//amount)", messages[0])
    assert ran.out == b"0\n"
    assert f"warning: query:1:9 the document is in the namespace {NAMESPACE}" in ran.err
    assert f'declare default element namespace "{NAMESPACE}";' in ran.err


@pytest.mark.parametrize(
    "text",
    [
        "count(//*:amount)",
        f'declare default element namespace "{NAMESPACE}"; count(//amount)',
        f'declare namespace p = "{NAMESPACE}"; count(//p:amount)',
        "count(//*)",
        "1",
    ],
)
def test_a_query_that_knows_of_it_is_not_warned(messages: list[Path], text: str) -> None:
    assert xcast("query", text, messages[0]).err == ""


def test_a_document_in_no_namespace_warns_nobody(tmp_path: Path) -> None:
    for number, text in enumerate(("<a><b/></a>", '<p:a xmlns:p="u"><b/></p:a>')):
        file = tmp_path / f"{number}.xml"
        file.write_text(text)
        ran = xcast("query", "count(//b)", file)
        assert (ran.out, ran.err) == (b"1\n", "")


def test_a_variable_may_look_at_the_document(messages: list[Path]) -> None:
    ran = xcast("query", "declare variable $ids := //*:id; count($ids)", *messages[:2])
    assert (ran.out, ran.err) == (b"1\n1\n", "")


def test_a_file_that_is_no_xml_is_called_that(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello world")
    ran = xcast("query", "count(//a)", file)
    assert (ran.code, "XSC0001" in ran.err, "is it the right file?" in ran.err) == (1, True, True)
