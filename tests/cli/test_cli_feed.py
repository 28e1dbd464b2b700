"""``xcast feed``: where its stream goes, how it goes on, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from xstreamcast.cast import materialise
from xstreamcast.cli import main

KEYED = ["--key", "@id"]


def document(path: Path, **books: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("<list>" + "".join(f'<book id="{k}">{v}</book>' for k, v in books.items()) + "</list>")
    return path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main(["feed", "/list/book", *map(str, arguments)])
    return int(left.value.code or 0)


def described(folder: Path) -> str:
    """T of a folder that grew."""
    files = sorted(folder.iterdir())
    assert all(file.suffix == ".xml" for file in files), "nothing that is not whole"
    inner = b"".join(file.read_bytes().partition(b"\n")[2].rpartition(b"</stream:fragments>")[0] for file in files)
    whole = folder.with_suffix(".all")
    whole.write_bytes(b'<stream:fragments xmlns:stream="urn:xstreamcast:stream">' + inner + b"</stream:fragments>")
    return materialise(whole).decode()


def test_a_file_of_the_whole_stream(tmp_path: Path) -> None:
    first, second = document(tmp_path / "1.xml", a="1"), document(tmp_path / "2.xml", b="2", a="3")
    out = tmp_path / "stream.xml"
    assert run(first, second, *KEYED, "-o", out) == 0
    assert materialise(out) == b'<list><book id="a">3</book><book id="b">2</book></list>'
    assert b"<stream:eos/>" in out.read_bytes()


def test_a_folder_grows_by_a_file_for_each_document_and_another_run_goes_on(tmp_path: Path) -> None:
    inbox, out = tmp_path / "inbox", tmp_path / "stream"
    document(inbox / "1.xml", a="1")
    document(inbox / ".2.xml.part", z="0")
    again = [inbox, *KEYED, "-o", f"{out}/", "--state", tmp_path / "state"]
    assert run(*again) == 0
    assert [file.name for file in out.iterdir()] == ["0000000001.xml"]
    document(inbox / "2.xml", a="1")
    assert run(*again) == 0
    assert len(list(out.iterdir())) == 1, "nothing was different"
    document(inbox / "3.xml", b="2")
    assert run(*again, "--follow", "--until-idle", "0") == 0
    assert described(out) == '<list><book id="a">1</book><book id="b">2</book></list>'


def test_a_document_whose_file_did_not_get_there_is_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inbox, out = tmp_path / "inbox", tmp_path / "stream"
    document(inbox / "1.xml", a="1")
    again = [inbox, *KEYED, "-o", f"{out}/", "--state", tmp_path / "state"]
    with monkeypatch.context() as broken:
        broken.setattr("xstreamcast.cli.terminal.os.replace", _full)
        assert run(*again) == 1
    assert "No space left" in capsys.readouterr().err
    assert list(out.iterdir()) == []
    assert run(*again) == 0
    assert described(out) == '<list><book id="a">1</book></list>'


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_that_is_replaced_is_another_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    poll = document(tmp_path / "feed.xml", a="1")
    looks: Iterator[Callable[[], object]] = iter([lambda: document(poll, a="22"), lambda: None])
    monkeypatch.setattr("xstreamcast.feeds.documents.sleep", lambda _: next(looks)())
    ticks = iter(range(100))
    monkeypatch.setattr("xstreamcast.feeds.documents.monotonic", lambda: float(next(ticks)))
    assert run(poll, *KEYED, "--whole", "--follow", "--until-idle", "2") == 0
    told = capsysbinary.readouterr()
    assert b'<stream:replace id="1" tsid="2" version="2"><book id="a">22</book></stream:replace>' in told.out
    assert told.err.decode().splitlines() == [f"{poll}: 1 new", f"{poll}: 1 changed"]


@pytest.mark.parametrize("folder", [True, False])
def test_who_follows_goes_on_after_a_document_that_cannot_be_read(
    folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    inbox, out = tmp_path / "inbox", tmp_path / "stream"
    document(inbox / "1.xml", a="1")
    torn = document(inbox / "2.xml", a="<new/>", b="2")
    torn.write_text(torn.read_text().removesuffix("</list>"))
    document(inbox / "3.xml", c="<new/>")
    looks: Iterator[Callable[[], object]] = iter([lambda: document(torn, b="mended"), lambda: None])
    monkeypatch.setattr("xstreamcast.feeds.documents.sleep", lambda _: next(looks)())
    ticks = iter(range(100))
    monkeypatch.setattr("xstreamcast.feeds.documents.monotonic", lambda: float(next(ticks)))
    assert run(inbox, *KEYED, "--follow", "--until-idle", "2", *(["-o", f"{out}/"] if folder else [])) == 0
    told = capsysbinary.readouterr()
    said = told.err.decode().splitlines()
    assert said[0] == f"{inbox / '1.xml'}: 1 new"
    assert said[1].startswith(f"quarantine XSC0001 {torn}:1:")
    assert said[1].endswith("; the document is put aside until it is another")
    assert said[2:] == [f"{torn}: nothing", f"{inbox / '3.xml'}: 1 new", f"{torn}: 1 new"]
    if not folder:
        (tmp_path / "whole.xml").write_bytes(told.out)
    described_by = described(out) if folder else materialise(tmp_path / "whole.xml").decode()
    assert described_by == '<list><book id="a">1</book><book id="c"><new/></book><book id="b">mended</book></list>'
    written = told.out if not folder else b"".join(file.read_bytes() for file in sorted(out.iterdir()))
    assert b'name="new"' in written, "the tag that came with the torn document first is announced with the whole one"


def test_without_follow_a_document_that_cannot_be_read_is_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document(tmp_path / "1.xml", a="1").write_text("<list><book>")
    assert run(tmp_path / "1.xml", *KEYED) == 1
    assert f"xcast: XSC0001 {tmp_path / '1.xml'}:1:" in capsys.readouterr().err


def test_a_document_that_goes_while_it_is_looked_at_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    inbox = tmp_path / "inbox"
    going = document(inbox / "1.xml", a="1")
    document(inbox / "2.xml", b="2")
    was_file = Path.is_file

    def is_file(path: Path) -> bool:
        there = was_file(path)
        if path == going and there:
            going.unlink()
        return there

    monkeypatch.setattr(Path, "is_file", is_file)
    assert run(inbox, *KEYED) == 0
    monkeypatch.undo()
    (tmp_path / "whole.xml").write_bytes(capsysbinary.readouterr().out)
    assert materialise(tmp_path / "whole.xml") == b'<list><book id="b">2</book></list>'


def test_each_document_without_a_record_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, other = tmp_path / "plain.xml", tmp_path / "other.xml"
    plain.write_text("<lists><book/></lists>")
    other.write_text('<list xmlns="urn:lists"><book/></list>')
    good = document(tmp_path / "good.xml", a="1")
    assert run(good, plain, other) == 0
    assert capsys.readouterr().err == (
        f"warning XSC0123 {plain} there is no record /list/book in it; its root is lists\n"
        f"warning XSC0123 {other} there is no record /list/book in it; its root is list, in the namespace urn:lists\n"
    )
    assert run(other, "--namespace", "urn:lists") == 0
    assert capsys.readouterr().err == ""


def test_standard_input_is_told_as_it_comes() -> None:
    command = [sys.executable, "-m", "xstreamcast", "feed", "/m", "-", "--key", "@k"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as feed:
        assert feed.stdin is not None
        assert feed.stdout is not None
        feed.stdin.write(b'<m k="1"/>')
        feed.stdin.flush()
        while b'<m k="1"/>' not in (line := feed.stdout.readline()):
            assert line, "it ended before it told of what had come"
        feed.stdin.close()
        assert b"<stream:eos/>" in feed.stdout.read()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere.xml"], 1, "no such file or folder"),
        (["-", "--follow"], 2, "standard input stands alone"),
        (["1.xml", "-o", "stream.xml", "--follow"], 2, "folder/ or a pipe"),
        (["1.xml", "--until-idle", "3"], 2, "--until-idle belongs to --follow"),
        (["1.xml", "-o", "full/"], 1, "not empty"),
        (["1.xml", "-o", "no/where/"], 1, "can a folder be made there?"),
        (["1.xml", "--key", "@id +"], 1, "XPST0003"),
        (["1.xml", "--whole"], 1, "XSC0120"),
    ],
    ids=["missing", "stdin-follow", "file-follow", "idle", "not-empty", "no-parent", "syntax", "whole"],
)
def test_what_is_refused(
    arguments: list[str], code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    document(tmp_path / "1.xml", a="1")
    document(tmp_path / "full" / "other.xml", a="1")
    assert run(*arguments) == code
    assert says in " ".join(capsys.readouterr().err.replace("│", " ").split())
