"""A folder, a pattern or a list as context: the query is asked of each document in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query, query_many


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, value in (("b.xml", 2), ("a.xml", 1), ("sub/c.xml", 3), (".d.xml", 4), ("_e.xml", 5)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"<r><v>{value}</v></r>")
    return tmp_path


def test_files_come_in_the_order_of_their_names(folder: Path) -> None:
    for context in (folder, str(folder), f"{folder}/**/*.xml"):
        assert query("//v/number()", context=context).to_list() == [1, 2, 3]
    assert query("//v/number()", context=folder / "[ab].xml").to_list() == [1, 2]
    assert query("//v/number()", context=[folder / "b.xml", str(folder / "a.xml")]).to_list() == [2, 1]
    assert query("//v/number()", context=("<r><v>7</v></r>", f"{folder}/*.xml")).to_list() == [7, 1, 2]


def test_each_has_an_answer_of_its_own_and_the_collection_is_the_same_for_all(folder: Path) -> None:
    assert query("count(//v)", context=folder).to_list() == [1, 1, 1]
    assert query("sum(collection()//v)", context=folder).to_list() == [6]
    assert query("//v * 10, count(collection())", context=folder).to_list() == [10, 3, 20, 3, 30, 3]
    assert query("count(collection())", context=folder, collections={"": [folder / "a.xml"]}).to_list() == [1]


def test_several_queries_are_asked_of_each(folder: Path) -> None:
    many = query_many(["//v/number()", "count(collection())", "1"], context=folder)
    assert [result.to_list() for result in many] == [[1, 2, 3], [3], [1]]


def test_the_answer_of_the_first_comes_before_the_last_is_read(folder: Path) -> None:
    (folder / "sub" / "c.xml").write_text("<r><v>")
    found = iter(query("//v/number()", context=folder))
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(XStreamError):
        next(found)


def test_what_is_no_list_of_documents_is_an_item(folder: Path) -> None:
    assert query("array:size(.)", context=[1, 2, 3]).to_list() == [3]
    with pytest.raises(XStreamError) as caught:
        query("//v", context=f"{folder}/none-*.xml")
    assert caught.value.code == "XSC0006"


def test_a_file_whose_name_has_signs_of_a_pattern_is_that_file(folder: Path) -> None:
    (folder / "a[1].xml").write_text("<r><v>9</v></r>")
    assert query("//v/number()", context=folder / "a[1].xml").to_list() == [9]
