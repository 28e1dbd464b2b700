"""A stream whose files lie in a folder is asked once as it is watched: file by file, in the order of their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import xcast

import xstreamcast
from xstreamcast.wire.fragment import read_folder

FILES = {
    "2.xml": '<stream:fragments xmlns:stream="urn:xstreamcast:stream">'
    '<stream:replace id="1"><a>late</a></stream:replace></stream:fragments>',
    "1.xml": '<stream:fragments xmlns:stream="urn:xstreamcast:stream">'
    '<stream:filler id="0"><r><stream:hole id="1"/></r></stream:filler>'
    '<stream:filler id="1"><a>early</a></stream:filler></stream:fragments>',
    ".3.xml.part": "<torn",
}
BARE = {
    "1.xml": '<filler id="0"><r><hole id="1"/></r></filler>',
    "2.xml": '<filler id="1"><a><hole id="7"/>x</a></filler>',
}
QUERY = 'stream("s")//a/string()'


def folder_of(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("files", "answer"), [(FILES, "late"), (BARE, "x")], ids=["prefixed", "bare"])
def test_every_way_of_asking_gives_the_same(files: dict[str, str], answer: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "s", files)
    query = xstreamcast.continuous(QUERY)
    query.load(folder)
    assert query.text() == answer
    assert xstreamcast.query(QUERY, streams={"s": folder}).to_list() == [answer]
    assert xcast("query", QUERY, "--stream", f"s={folder}").out.decode() == f"{answer}\n"
    watched = xcast("watch", QUERY, "--stream", f"s={folder}", "--format", "xml", "--until-idle", "0")
    assert watched.out.decode() == f"{answer}\n"
    assert xcast("materialise", folder).out.decode() == xstreamcast.materialise(folder).decode() + "\n"
    assert answer in xstreamcast.materialise(folder).decode()


def test_after_the_end_nothing_is_read(tmp_path: Path) -> None:
    ended = FILES["1.xml"].replace("</stream:fragments>", "<stream:eos/></stream:fragments>")
    folder = folder_of(tmp_path / "s", {**FILES, "1.xml": ended})
    assert xstreamcast.query(QUERY, streams={"s": folder}).to_list() == ["early"]


def test_an_empty_folder_is_a_stream_of_which_nothing_has_come(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "s", {})
    assert list(read_folder(folder)) == []
    assert xstreamcast.query('count(stream("s")//a)', streams={"s": folder}).to_list() == [0]
