"""Which way a query takes to its documents, and that the answer is the same by either."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.run import inputs, single_pass
from xstreamcast.run.query import Result, compile, query, query_many
from xstreamcast.scan.parse import parse

XML = b"<s>" + b"".join(b"<p i='%d'><n>%d</n></p>" % (i % 3, i) for i in range(100)) + b"</s>"
ASKED = "sum(//n), //p[@i = '1'][n > 90]/n/string()"
ANSWER = "4950 91 94 97"
TWICE = "let $c := count(//n) for $n in //n where $n = 7 return $n + $c"


@pytest.fixture(autouse=True)
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Documents from a thousand bytes on count as large; the strategies of the plans that ran."""
    ran: list[str] = []
    real = single_pass.run

    def watched(code: Any, *args: Any, **options: Any) -> Any:
        ran.append(code.plan.strategy.value)
        return real(code, *args, **options)

    monkeypatch.setattr(inputs, "KERNEL_FROM", 1000)
    monkeypatch.setattr(single_pass, "run", watched)
    return ran


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.xml"
    path.write_bytes(XML)
    return path


def piped(data: bytes) -> BinaryIO:
    """The reading end of a pipe that somebody writes into."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(data)

    threading.Thread(target=write).start()
    return os.fdopen(reading, "rb")


# ------------------------------------------------------------------------------------------------------ the choice


@pytest.mark.parametrize(
    "give",
    [str, Path, lambda path: path.open("rb"), lambda path: BytesIO(path.read_bytes()), Path.read_bytes,
     lambda path: piped(path.read_bytes())],
    ids=["name", "path", "open file", "in memory", "bytes", "pipe"],
)  # fmt: skip
def test_a_large_document_is_scanned_however_it_is_given(
    give: Callable[[Path], Any], file: Path, scans: list[str]
) -> None:
    assert query(ASKED, context=give(file)).xml() == ANSWER
    assert scans == ["stream"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_a_packed_document_is_as_large_as_what_is_in_it(pack: Any, tmp_path: Path, scans: list[str]) -> None:
    path = tmp_path / "packed"
    path.write_bytes(pack(XML))
    assert path.stat().st_size < 1000
    assert query(ASKED, context=path).xml() == ANSWER
    assert query(ASKED, context=piped(pack(XML))).xml() == ANSWER
    assert query(ASKED, context=BytesIO(pack(XML))).xml() == ANSWER
    assert scans == ["stream"] * 3
    path.write_bytes(pack(b"<s><n>1</n></s>"))
    assert query("sum(//n)", context=path).xml() == "1"
    assert query("sum(//n)", context=piped(path.read_bytes())).xml() == "1"
    assert scans == ["stream"] * 3


@pytest.mark.parametrize(
    "give", [lambda xml: xml, piped, BytesIO, parse, bytes.decode], ids=["bytes", "pipe", "in memory", "node", "text"]
)
def test_a_small_document_becomes_a_tree(give: Any, scans: list[str]) -> None:
    assert query("sum(//n)", context=give(b"<s><n>1</n><n>2</n></s>")).xml() == "3"
    assert query(TWICE, context=give(b"<s><n>7</n></s>")).xml() == "8"
    assert scans == []


def test_a_document_in_memory_is_not_scanned(scans: list[str]) -> None:
    assert query(ASKED, context=parse(XML)).xml() == ANSWER
    assert query("n/string()", context=parse(XML).children()[0].children()[7]).xml() == "7"
    assert scans == []


def test_what_the_query_names_is_scanned(file: Path, scans: list[str]) -> None:
    base = file.parent.as_uri() + "/"
    asked = "sum(doc('s.xml')//n)"
    assert query(asked, base_uri=base).xml() == "4950"
    assert query(asked, docs={"s.xml": BytesIO(XML)}).xml() == "4950"
    asked = "doc('s.xml')/document-uri(), base-uri(doc('s.xml')/s)"
    assert query(asked, base_uri=base).xml() == f"{file.as_uri()} {file.as_uri()}"
    asked = "declare variable $n external; doc($n)//p[99]/n/string()"
    assert query(asked, variables={"n": file.as_uri()}).xml() == "98"
    assert query("doc('s.xml')//n[. = 5]/string(), //n/string()", context="<n>7</n>", base_uri=base).xml() == "5 7"
    assert query("doc('s.xml')//n[. = 5]/string(), sum(//n)", context=file, base_uri=base).xml() == "5 4950"
    assert len(scans) == 5


def test_joins_and_sorts_keep_projected_documents(file: Path, scans: list[str]) -> None:
    asked = "for $p in //p[n < 5] order by $p/n descending return $p/n/string()"
    assert query(asked, context=file).xml() == "4 3 2 1 0"
    assert scans == ["project"]


def test_both_ways_know_where_a_document_is_from(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "document-uri(/), base-uri(/s), /s/p[1]/base-uri(), (//n)[1]/root()/document-uri()"
    scanned = query(asked, context=file).xml()
    monkeypatch.setattr(inputs, "KERNEL_FROM", 10**9)
    assert scanned == query(asked, context=file).xml()


def test_what_a_dtd_says_of_ids_is_not_lost(tmp_path: Path, scans: list[str]) -> None:
    path = tmp_path / "ids.xml"
    path.write_bytes(b"<!DOCTYPE s [<!ATTLIST p i ID #IMPLIED>]>" + XML.replace(b"'0'", b"'k'", 1))
    assert query("id('k')/n/string(), count(//n)", context=path).xml() == "0 100"
    assert query("count(//n)", context=path).xml() == "100"
    assert scans == ["stream"]


def test_what_is_not_there_is_missed_only_when_asked_for(file: Path) -> None:
    assert query("if (count(//n) > 1) then 1 else doc('none.xml')//x", context=file).xml() == "1"
    with pytest.raises(XStreamError, match="FODC0002"):
        query("count(//n), doc('none.xml')//x", context=file).items()
    with pytest.raises(XStreamError, match="XPDY0002"):
        query("count(//n)").items()


# ------------------------------------------------------------------------------------------- one reading, two passes


def test_a_large_pipe_is_not_read_twice(scans: list[str]) -> None:
    pipe = piped(XML)
    with pytest.raises(XStreamError, match="XSC0080") as failure:
        query(TWICE, context=pipe)
    assert "count(//n)" in failure.value.message
    assert "--spool" in failure.value.hint
    pipe.close()
    assert query(TWICE, context=piped(XML), spool=True).xml() == "107"
    assert query(TWICE, context=BytesIO(XML)).xml() == "107"


def test_a_slow_small_pipe_is_waited_for_where_it_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "PATIENCE", 0.01)
    reading, writing = os.pipe()
    os.write(writing, b"<s><n>7</n>")

    def later() -> None:
        os.write(writing, b"<n>1</n></s>")
        os.close(writing)

    threading.Timer(0.2, later).start()
    with os.fdopen(reading, "rb") as pipe:
        assert query(TWICE, context=pipe).xml() == "9"


def test_a_slow_pipe_is_answered_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "PATIENCE", 0.01)
    reading, writing = os.pipe()
    os.write(writing, b"<s><n>7</n>")
    with os.fdopen(reading, "rb") as pipe:
        items = iter(query("//n/string()", context=pipe))
        assert next(items) == "7"
        os.write(writing, b"<n>8</n></s>")
        os.close(writing)
        assert list(items) == ["8"]


def test_a_pipe_that_steadily_brings_little_is_answered_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "PATIENCE", 0.1)  # longer than any of its silences
    reading, writing = os.pipe()
    seen = threading.Event()
    unseen = []

    def bring() -> None:
        os.write(writing, b"<s>")
        for _ in range(15_000):  # some minutes, however long it takes to begin to read
            os.write(writing, b"<n>7</n>")
            if seen.wait(0.02):
                break
        else:
            unseen.append("the pipe was waited for to its end")
        os.write(writing, b"</s>")
        os.close(writing)

    writer = threading.Thread(target=bring)
    writer.start()
    with os.fdopen(reading, "rb") as pipe:
        items = iter(query("//n/string()", context=pipe))
        assert next(items) == "7"
        seen.set()
        assert set(items) == {"7"}
    writer.join()
    assert not unseen


def test_a_pipe_may_have_a_name(tmp_path: Path, scans: list[str]) -> None:
    for data, asked, expected in ((XML, ASKED, ANSWER), (b"<s><n>7</n></s>", TWICE, "8")):
        name = tmp_path / f"pipe{len(data)}"
        os.mkfifo(name)
        threading.Thread(target=name.write_bytes, args=[data]).start()
        assert query(asked, context=name).xml() == expected
    assert scans == ["stream"]


def test_a_piped_document_that_may_be_asked_for_again_becomes_a_tree(scans: list[str]) -> None:
    asked = "sum(doc('d')//n), count(doc(concat('', 'd'))//n)"
    assert query(asked, docs={"d": piped(XML)}).xml() == "4950 100"
    assert scans == []


# ------------------------------------------------------------------------------------------------ the rest of a query


def test_prologs_and_variables(file: Path, scans: list[str]) -> None:
    asked = """declare variable $least external;
        declare variable $wanted := (90 to 200)[. mod 2 = 0];
        declare function local:shown($p as element(p)) as xs:string { $p/@i || ":" || $p/n };
        for $p in //p where $p/n >= $least and $p/n = $wanted return local:shown($p), count($wanted)"""
    assert query(asked, context=file, variables={"least": 95}).xml() == "0:96 2:98 56"
    assert scans == ["stream"]


def test_errors_have_their_place_in_the_query(file: Path) -> None:
    with pytest.raises(XStreamError, match="FOAR0001") as failure:
        query("for $n in //n\nreturn 1 idiv xs:integer($n)", context=file).items()
    assert failure.value.place is not None
    assert (failure.value.place.line, failure.value.place.column) == (2, 8)


def test_errors_have_their_place_in_the_document(file: Path) -> None:
    file.write_bytes(XML.replace(b"</s>", b"\n</t>"))
    with pytest.raises(XStreamError, match="XSC0001") as failure:
        query("count(//n)", context=file).items()
    assert str(failure.value.place) == f"{file}:2:1"
    with pytest.raises(XStreamError, match="FODC0002"):
        query(f"count(doc('{file.as_uri()}')//n)").items()


def test_a_result_is_kept_unless_it_is_consumed(file: Path) -> None:
    found = query("//n/string()", context=file)
    assert (found[3], len(found), found[-1]) == ("3", 100, "99")
    again = query("//n/string()", context=file)
    assert isinstance(again, Result)
    assert sum(1 for _ in again.consume()) == 100
    assert again.items() == []


def test_a_compiled_query_runs_on_any_document(file: Path, scans: list[str]) -> None:
    compiled = compile("sum(//n)")
    assert compiled(context=file).xml() == "4950"
    assert compiled(context="<n>1</n>").xml() == "1"
    assert compiled(context=BytesIO(XML)).xml() == "4950"
    assert scans == ["stream"] * 2


def test_many_queries_of_one_document(file: Path) -> None:
    ordered = "for $n in //n[. > 97] order by -$n return string($n)"
    asked = ["count(//n)", "//p[n = 3]/@i/string()", TWICE, ordered, "1 + 1"]
    expected = ["100", "0", "107", "99 98", "2"]
    assert [result.xml() for result in query_many(asked, context=file)] == expected
    assert [result.xml() for result in query_many(asked, context=parse(XML))] == expected
    with pytest.raises(XStreamError, match="XSC0080"):
        query_many(asked[:4], context=(pipe := piped(XML)))
    pipe.close()
    assert [result.xml() for result in query_many(asked, context=piped(XML), spool=True)] == expected
    assert [result.xml() for result in query_many(asked[:2], context=piped(XML))] == expected[:2]


# ------------------------------------------------------------------------------------------------ memory and start-up


def test_nothing_of_the_kernel_is_loaded_for_a_small_document(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<s><n>1</n></s>")
    program = (
        "import sys, xstreamcast\n"
        "assert xstreamcast.query('count(//n)', context='a.xml').to_list() == [1]\n"
        "print([name for name in ('numba', 'numpy', 'xstreamcast.plan.decompose.plan') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n", done.stderr


def records(path: Path, size: int) -> None:
    """A document of about so many bytes, of which one record in a thousand is wanted."""
    with open(path, "wb") as file:
        file.write(b"<s>")
        number = 0
        while file.tell() < size:
            for n in range(number, number + 999):
                file.write(b"<p i='%d'><n>%d</n><t>%s</t></p>" % (n % 1000, n, b"some text " * 8))
            number += 999
        file.write(b"</s>")


PEAK = """
import re, sys, xstreamcast
from pathlib import Path
def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
compiled = xstreamcast.compile(sys.argv[1])
for item in compiled(context=Path(sys.argv[2])).consume():  # loads the kernel
    pass
before = peak = anonymous()
for number, item in enumerate(compiled(context=Path(sys.argv[3])).consume()):
    if number % 100 == 0:
        peak = max(peak, anonymous())
print(max(peak, anonymous()) - before)
"""


@pytest.fixture(scope="module")
def small_and_large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("records")
    small, large = folder / "small.xml", folder / "large.xml"
    records(small, 5 << 20)
    records(large, 40 << 20)
    return small, large


@pytest.mark.parametrize("asked", ["//p[@i = '7']/t", "count(//p[n > 5])", "for $p in //p return $p/n/string()"])
def test_memory_does_not_grow_with_the_document(asked: str, small_and_large: tuple[Path, Path]) -> None:
    small, large = small_and_large
    done = subprocess.run(
        [sys.executable, "-c", PEAK, asked, small, large], capture_output=True, text=True, check=True, timeout=300
    )
    assert int(done.stdout) < 12_000, f"{done.stdout} kB more for 35 MB more"


def test_what_is_tried_has_the_whole_document_though_it_comes_through_a_pipe(file: Path) -> None:
    asked = '(try { count(doc("d")//n) } catch * { "caught" }, doc("d")/s/p[1]/@i/string())'
    assert query(asked, docs={"d": file}).xml() == "100 0"
    with subprocess.Popen(["cat", str(file)], stdout=subprocess.PIPE) as piped:
        assert piped.stdout is not None
        assert query(asked, docs={"d": piped.stdout}).xml() == "100 0"
