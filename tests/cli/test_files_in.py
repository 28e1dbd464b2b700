"""Files as they lie there, from the command line."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command import xcast

from xstreamcast.cast import materialise


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("b/two.xml", '<list><book id="b">2</book></list>')
        file.writestr("one.xml", '<list><book id="a">1</book><book id="b">1</book></list>')
        file.writestr("cover.png", b"\x89PNG")
    return tmp_path / "a.zip"


def test_a_query_is_asked_of_the_members_of_an_archive(archive: Path) -> None:
    for names, answers in (
        ([archive], b"1\n2\n"),
        ([f"{archive}!**/t*"], b"1\n"),
        ([f"{archive}!one.xml"], b"2\n"),
        (["--context", f"{archive}!one.xml"], b"2\n"),
        ([archive, f"{archive}!one.xml"], b"1\n2\n2\n"),
        ([archive.parent], b"1\n2\n"),
    ):
        done = xcast("query", "count(//book)", *names)
        assert (done.code, done.out, done.err) == (0, answers, "")
    assert xcast("query", "sum(collection()//book)", archive).out == b"4\n"
    assert xcast("query", 'doc("x")//book/string()', "--doc", f"x={archive}!b/two.xml").out == b"2\n"
    assert "bok" in xcast("query", "//bok", f"{archive}!one.xml").err  # nearly a name of the document
    done = xcast("query", "//book", f"{archive}!three.xml")
    assert (done.code, "XSC0006" in done.err, "it has b/two.xml, one.xml, cover.png" in done.err) == (1, True, True)


def test_an_archive_in_a_pipe_is_told(archive: Path) -> None:
    done = xcast("query", "//book", "-", stdin=archive.read_bytes())
    assert (done.code, "it is an archive, not a document" in done.err) == (1, True)


def test_a_feed_takes_archives_and_remembers_their_members(archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    assert xcast("feed", "/list/book", archive, "--key", "@id", "-o", out).code == 0
    assert materialise(out) == b'<list><book id="b">1</book><book id="a">1</book></list>'
    again = ["feed", "/list/book", archive, "--key", "@id", "--state", tmp_path / "state", "-o", f"{tmp_path}/grown/"]
    assert xcast(*again, "--follow", "--until-idle", "0").err.splitlines() == [
        f"{archive}!b/two.xml: 1 new",
        f"{archive}!one.xml: 1 new, 1 changed",
    ]
    assert xcast(*again, "--follow", "--until-idle", "0").err == ""
    (tmp_path / "inbox").mkdir()
    broken = tmp_path / "inbox" / "broken.zip"
    broken.write_bytes(archive.read_bytes()[:-20])
    again[2] = broken.parent
    assert "XSC0006" in xcast(*again, "--follow", "--until-idle", "0").err
    assert xcast(*again).code == 1
    assert xcast("feed", "/list/book", f"{archive}!no.xml").code == 1


@pytest.mark.long
def test_memory_stays_flat_for_a_member_of_any_size(tmp_path: Path) -> None:
    """Members of 4 and of 160 MB take the same."""
    ask = "import sys, resource; from xstreamcast.cli import main\ntry: main(sys.argv[1:])\n"
    ask += "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    piece = b"".join(b"<v n='%d'>%d</v>" % (1000 * k, k) for k in range(250))
    peaks = []
    for size in (1, 40):
        path = tmp_path / f"{size}.zip"
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
            file.open("a.xml", "w") as member,
        ):
            member.write(b"<r>")
            for _ in range(size * 1000):
                member.write(piece)
            member.write(b"</r>")
        done = subprocess.run(
            [sys.executable, "-c", ask, "query", "sum(//v)", str(path)], capture_output=True, text=True, check=True
        )
        assert float(done.stdout) == size * 1000 * sum(range(250))
        peaks.append(int(done.stderr))
    assert peaks[1] < peaks[0] + (40 << 10)


def test_documents_one_after_the_other_are_taken_and_told_where_they_may_not_be_meant(tmp_path: Path) -> None:
    declared = b'<?xml version="1.0"?><!DOCTYPE p SYSTEM "p.dtd" [ ]><p>%d</p>\n'
    path = tmp_path / "weekly.xml"
    path.write_bytes(b"".join(declared % number for number in range(3)))
    for arguments, stdin in (([path], b""), (["-"], path.read_bytes())):
        done = xcast("query", "count(/p), sum(/p)", *arguments, stdin=stdin)
        assert (done.code, done.out, done.err) == (0, b"3 3\n", "")
    path.write_bytes(b"<p>1</p>\n<p>2</p>")
    done = xcast("query", "sum(/p)", path)
    assert (done.code, done.out) == (0, b"3\n")
    assert done.err.startswith(f"xcast: warning: {path}:2:1 a second root element")
    large = b"<r>" + (b"<p>1" + b" " * 8000 + b"</p>") * 600 + b"</r>"
    path.write_bytes(large + declared % 7)
    done = xcast("query", "sum(//p)", path)
    assert (done.code, "another document begins here" in done.err, "--many" in done.err) == (1, True, True)
    assert xcast("query", "sum(//p)", path, "--many").out == b"607\n"
    assert xcast("query", "1", path, "--many", "--engine", "spark").code == 2
    out = tmp_path / "out.xml"
    assert xcast("feed", "/r/p", path, "-o", out).code == 0
    assert materialise(out).count(b"<p>") == 600
