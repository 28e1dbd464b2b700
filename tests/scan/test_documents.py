"""Batch documents: small trees that together say what the whole document says."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import BinaryIO, cast

import pyarrow as pa
import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_batches import Pieces, found, joined, select, shown
from scan_documents import documents
from scan_oracle import expat_events, pieces
from test_scan_split import NASTY
from test_scan_tree import columns

from xstreamcast.errors import XMLError, XStreamError
from xstreamcast.plan import algebra
from xstreamcast.scan import ahead, split
from xstreamcast.scan import documents as scanned
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.documents import BatchDocument, document_batches
from xstreamcast.scan.path import Path, parse_path
from xstreamcast.scan.tree import parse_tree

NAMESPACES = {"p": "urn:p", "q": "urn:q", "d": "d", "u": "u", "e": "e"}
WHOLE = [Target(Path(), Action.PROJECT)]


def project(path: str) -> Target:
    return Target(parse_path(path, NAMESPACES), Action.PROJECT)


def keep(path: str) -> Target:
    return Target(parse_path(path, NAMESPACES), Action.KEEP)


def paths(*written: str) -> list[Path]:
    return [parse_path(path, NAMESPACES) for path in written]


def stream(document: bytes, size: int) -> BinaryIO:
    return cast(BinaryIO, Pieces(pieces(document, size)))


# ------------------------------------------------------------------------------------------------- the law


STEPS = st.sampled_from(["/root", "/*", "/a", "/b", "//a", "//b", "/p:item", "//name", "//q:*", "//*"])
ENDS = st.sampled_from(["", "", "", "/@a", "/@*", "/text()", "//text()", "/comment()", "/node()", "//@item"])
PATHS = st.builds(lambda steps, end: "".join(steps) + end, st.lists(STEPS, min_size=1, max_size=3), ENDS)
TARGETS = st.lists(st.builds(lambda path, make: make(path), PATHS, st.sampled_from([project, keep])), max_size=3)


@settings(max_examples=48 * MORE, deadline=None, derandomize=True)
@given(documents(), TARGETS, st.integers(1, 200), st.sampled_from([0, 1, 3, 17, 100]), st.sampled_from([1, 2]))
def test_what_a_path_finds_in_batches_is_what_it_finds_in_the_document(
    document: bytes, targets: list[Target], step: int, size: int, threads: int
) -> None:
    if expat_events(document) is None:
        return
    root = parse_tree(document).root
    records = [target.path for target in targets]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanned, "PIECE", max(2 * size, 8))  # so that the buffer is moved on and enlarged
        patch.setattr(split, "WINDOWS", (16, 60))
        source = stream(document, size) if size else document
        batches = list(document_batches(source, targets, records, counts=records, step=step, threads=threads))
    assert found(batches, targets) == [
        [shown(node, target.action) for node in select(root, target.path)] for target in targets
    ]
    assert batches[-1].counts == tuple(len(select(root, path)) for path in records)
    assert [batch.final for batch in batches] == [False] * (len(batches) - 1) + [True]


@settings(max_examples=40 * MORE, deadline=None, derandomize=True)
@given(documents(), st.integers(1, 60), st.sampled_from([0, 1, 5, 40]))
def test_the_batches_of_a_whole_document_joined_are_its_tree(document: bytes, step: int, size: int) -> None:
    if expat_events(document) is None:
        with pytest.raises(XMLError):
            list(document_batches(document, WHOLE, step=step))
        return
    (whole,) = document_batches(document, WHOLE, [Path()])
    assert columns(whole.tree) == columns(parse_tree(document))
    batches = list(document_batches(stream(document, size) if size else document, WHOLE, step=step))
    assert joined(batches) == joined([whole])


@settings(max_examples=24 * MORE, deadline=None, derandomize=True)
@given(documents(), st.integers(1, 60))
def test_batches_without_records_join_to_the_projected_document(document: bytes, step: int) -> None:
    if expat_events(document) is None:
        return
    targets = [project("/root/a"), keep("/root/b/item"), keep("/root/*/@*"), project("/root/item/text()")]
    whole = list(document_batches(document, targets, [Path()]))
    assert len(whole) == 1
    assert joined(list(document_batches(document, targets, step=step))) == joined(whole)


NASTY_TARGETS = [
    keep("/d:site/d:regions/*/d:item/@id"),
    project("/d:site/d:regions/*/d:item/d:name"),
    project("/d:site/d:people/d:person"),
    project("//u:note"),
    keep("//e:name/text()"),
    keep("//comment()"),
]
NASTY_RECORDS = paths("//d:item", "//d:person", "//e:person", "//u:note", "//e:name/text()", "//comment()")


def test_a_cut_at_any_step_changes_nothing() -> None:
    root = parse_tree(NASTY).root
    expected = [[shown(node, target.action) for node in select(root, target.path)] for target in NASTY_TARGETS]
    numbers = set()
    for step in [*range(1, len(NASTY), 3), 32 * len(NASTY)]:
        batches = list(document_batches(NASTY, NASTY_TARGETS, NASTY_RECORDS, step=step))
        assert found(batches, NASTY_TARGETS) == expected
        numbers.add(len(batches))
    assert min(numbers) == 1
    assert max(numbers) > 10


def test_a_cut_at_any_byte_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent input is cut where it fell silent, or before the record that was open."""
    monkeypatch.setattr(scanned, "_silent", lambda *_: True)
    root = parse_tree(NASTY).root
    expected = [[shown(node, target.action) for node in select(root, target.path)] for target in NASTY_TARGETS]
    whole = joined(list(document_batches(NASTY, NASTY_TARGETS[:3])))
    for at in range(1, len(NASTY)):
        source = cast(BinaryIO, Pieces([NASTY[:at], NASTY[at:]]))
        assert found(document_batches(source, NASTY_TARGETS, NASTY_RECORDS), NASTY_TARGETS) == expected
        if at % 5:
            continue
        source = cast(BinaryIO, Pieces([NASTY[:at], NASTY[at:]]))
        assert joined(list(document_batches(source, NASTY_TARGETS[:3]))) == whole


# ------------------------------------------------------------------------------------------------- cuts


def texts(batches: Iterator[BatchDocument]) -> list[str]:
    return [batch.tree.root.xml() for batch in batches]


def test_a_record_is_never_cut_however_large_it_is() -> None:
    large = "".join(f"<k>{number}</k>" for number in range(500))
    document = f"<s><r>a</r><r>{large}</r><r>b</r></s>".encode()
    for source in (document, stream(document, 10)):
        shown = texts(document_batches(source, [project("/s/r")], paths("/s/r"), step=1))
        assert f"<s><r>{large}</r></s>" in shown
        assert "<s><r>a</r></s>" in shown
        assert "<s><r>b</r></s>" in shown


def test_within_a_large_record_progress_is_seen() -> None:
    document = b"<s>" + b"<r>a</r>" * 200 + b"</s>"
    for records in (paths("/s"), [Path()]):
        done: list[int] = []
        (*_, last) = document_batches(document, [keep("/s/r/text()")], records, step=100, progress=done.append)
        assert len(last.tree) == 402
        assert len(done) > 10
        assert done == sorted(done)


def test_open_elements_keep_their_attributes_and_namespaces_and_are_known_by_their_offset() -> None:
    document = b"<s n='1&#33;' m='2' xmlns:p='u'><g k='3'><r>a</r>\n<r>b</r></g><g><r p:x=''>c</r></g></s>"
    targets = [keep("/s/@n"), keep("/s/g/@k"), project("/s/g/r")]
    batches = list(document_batches(document, targets, paths("/s/g/r"), step=1))
    head = '<s xmlns:p="u" n="1!">'
    assert [batch.tree.root.xml() for batch in batches if batch.tree.root.string] == [
        head + '<g k="3"><r>a</r></g></s>',
        head + '<g k="3"><r>b</r></g></s>',
        head + '<g><r p:x="">c</r></g></s>',
    ]
    first, second = document.index(b"<g k"), document.index(b"<g>")
    for batch in batches:
        for element in batch.open:
            assert batch.tree.lexical(element.row) == ("s" if element.offset == 0 else "g")
    chains = [[element.offset for element in batch.open] for batch in batches]
    assert [chain for k, chain in enumerate(chains) if chain not in chains[:k]] == [[0], [0, first], [0, second], []]


def test_nothing_is_handed_over_when_there_is_nothing_new() -> None:
    document = b"<s>" + b"<x/>" * 1000 + b"<r/></s>"
    batches = list(document_batches(document, [project("/s/r")], paths("/s/r"), step=8))
    assert len(batches) <= 3
    (only,) = document_batches(document, [], counts=paths("/s/x", "//r"), step=8)
    assert only.counts == (1000, 1)
    assert columns(only.tree)[0] == bytes([0])


def test_carried_parts_stay_until_their_element_ends() -> None:
    document = b"<s><g><t a='1'>one</t><r>a</r>+<r>b<r/></r><t>two</t><r>c</r></g><g><r>d</r></g>t</s>"
    records = paths("/s/g/r")
    for size in (0, 1, 7):
        source = stream(document, size) if size else document
        batches = list(document_batches(source, WHOLE, records, carry=paths("/s/g"), step=1))
        shown = [batch.tree.root.xml() for batch in batches]
        assert [text for text in shown if "<r>" in text] == [
            '<s><g><t a="1">one</t><r>a</r>+</g></s>',
            '<s><g><t a="1">one</t>+<r>b<r/></r></g></s>',
            '<s><g><t a="1">one</t>+<t>two</t><r>c</r></g></s>',
            "<s><g><r>d</r></g></s>",
        ]
        assert '<s><g><t a="1">one</t>+<t>two</t></g></s>' in shown
        assert shown[-1] in ("<s>t</s>", "<s/>")


def test_a_silent_pipe_is_handed_over_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned, "_silent", lambda *_: True)
    arrived: list[bytes] = []

    def slowly() -> Iterator[bytes]:
        for piece in (b"<s><r>a</r><r>", b"b</r>", b"<r>c</r>", b"</s>"):
            arrived.append(piece)
            yield piece

    source = cast(BinaryIO, Pieces(slowly()))
    seen = {}
    for batch in document_batches(source, [project("/s/r")], paths("/s/r")):
        seen[batch.tree.root.string] = len(arrived)
    assert (seen["a"], seen["b"], seen["c"]) == (1, 2, 3)


# ------------------------------------------------------------------------------------------------- inputs


def compressed(document: bytes, how: str) -> bytes:
    if how == "zstd":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as out:
            out.write(document)
        return bytes(sink.getvalue())
    packers: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    return packers[how](document)


@pytest.mark.parametrize(
    "document",
    [
        b"<!-- c --><!DOCTYPE a [<!ENTITY e 'hi &amp; <b/>'><!ATTLIST a x CDATA 'd'>]><a>&e;<b/><b>y</b></a>",
        b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9<b/></a>",
        "<?xml version='1.0' encoding='utf-16'?><a>é😀<b/></a>".encode("utf-16"),
        b"\xef\xbb\xbf<a>x<b/></a>",
        b"<!DOCTYPE a SYSTEM 'a.dtd'><a>x<b/>y</a>",
    ],
    ids=["internal subset", "latin-1", "utf-16", "byte order mark", "external subset"],
)
def test_encodings_dtds_and_compression_are_dealt_with_on_the_way(document: bytes, tmp_path: FilePath) -> None:
    expected = columns(parse_tree(document))
    written = {"a.xml": document} | {f"a.{how}": compressed(document, how) for how in ("gz", "bz2", "xz", "zstd")}
    for name, stored in written.items():
        (tmp_path / name).write_bytes(stored)
        done: list[int] = []
        (batch,) = document_batches(tmp_path / name, WHOLE, [Path()], step=1, progress=done.append)
        assert columns(batch.tree) == expected
        assert done == sorted(done)
        assert done[-1] == len(stored)
        (batch,) = document_batches(io.BytesIO(stored), WHOLE, [Path()])
        assert columns(batch.tree) == expected
        assert len(list(document_batches(tmp_path / name, WHOLE, step=1))) > 2


def test_zstd_in_several_frames_is_one_document_and_without_pyarrow_it_is_an_error(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(compressed(b"<a>one", "zstd") + compressed(b"<b/>two</a>", "zstd"))
    (batch,) = document_batches(path, WHOLE, [Path()])
    assert batch.tree.root.xml() == "<a>one<b/>two</a>"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(XStreamError, match="needs pyarrow"):
        list(document_batches(path, WHOLE))


def test_a_pipe_is_read_as_it_is_written() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        sink.write(b"<s><r>a</r>")
        batches = document_batches(source, [project("/s/r")], paths("/s/r"))
        assert next(batches).tree.root.string == "a"
        sink.write(b"<r>b</r><r>c")
        assert next(batches).tree.root.string == "b"
        sink.write(b"</r></s>")
        sink.close()
        assert "".join(batch.tree.root.string for batch in batches) == "c"


def test_a_truncated_or_missing_input_is_an_error_with_a_place(tmp_path: FilePath) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"<s><r>a</r>\n<r>")
    batches = document_batches(path, [project("/s/r")], paths("/s/r"), step=1)
    with pytest.raises(XMLError, match="truncated") as fault:
        list(batches)
    assert fault.value.place is not None
    assert (fault.value.place.source, fault.value.place.line) == (str(path), 2)
    path.write_bytes(compressed(b"<s>" + b"<r>a</r>" * 100 + b"</s>", "zstd")[:-8])
    with pytest.raises(XStreamError, match="Truncated compressed stream"):
        list(document_batches(path, [project("/s/r")]))
    with pytest.raises(XStreamError, match="XSC0006"):
        list(document_batches(tmp_path / "none.xml", WHOLE))


def test_what_is_kept_does_not_grow_with_the_input() -> None:
    def generated(records: int) -> Iterator[bytes]:
        yield b"<s n='1'>"
        for k in range(records):
            yield b"<r k='%d'><a>%s</a><b>%d</b></r>\n" % (k, b"x" * 50, k)
        yield b"</s>"

    targets = [keep("/s/@n"), keep("/s/r/@k"), project("/s/r/b")]
    peaks = []
    for records in (2_000, 12_000):
        largest = 0
        tracemalloc.start()
        source = cast(BinaryIO, Pieces(generated(records)))
        for batch in document_batches(source, targets, paths("/s/r"), step=1 << 15):
            largest = max(largest, len(batch.tree))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert largest < 3_000
    assert peaks[1] < 1.2 * peaks[0] + (1 << 20)


def test_what_is_kept_of_a_record_larger_than_the_buffer_is_what_is_projected_of_it() -> None:
    filler = b"<x>" + b"y" * 1000 + b"</x>"
    document = b"<s>" + (filler * 100 + b"<k>1</k>") * 100 + b"</s>"
    tracemalloc.start()
    (batch,) = document_batches(stream(document, 10_000), [project("/s/k")], paths("/s"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(batch.tree) == 202
    assert peak < len(document) / 2


# ------------------------------------------------------------------------------------------------- threads


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ranges of a few bytes; the places where a guess failed."""
    missed: list[int] = []
    monkeypatch.setattr(split, "WINDOWS", (40, 200))
    monkeypatch.setattr(ahead.Ranges, "__exit__", lambda self, *_: missed.extend(self.missed))
    return missed


def test_ranges_scanned_ahead_at_any_distance_change_nothing(small_ranges: list[int]) -> None:
    root = parse_tree(NASTY).root
    expected = [[shown(node, target.action) for node in select(root, target.path)] for target in NASTY_TARGETS]
    whole = joined(list(document_batches(NASTY, NASTY_TARGETS[:3])))
    joins = 0
    for step in range(3, len(NASTY), 7):
        batches = list(document_batches(NASTY, NASTY_TARGETS, NASTY_RECORDS, step=step, threads=2))
        assert found(batches, NASTY_TARGETS) == expected
        assert joined(list(document_batches(NASTY, NASTY_TARGETS[:3], step=step, threads=3))) == whole
        joins += len(batches)
    assert small_ranges  # wrong guesses happen
    assert joins > len(small_ranges)


def grouped(groups: int) -> bytes:
    """Groups with parts of their own around records."""
    return (
        "<s xmlns:u='u' n='&lt;1'>"
        + "".join(
            f"<g k='{k}'><t>{k}</t>" + "".join(f"<r i='{i}'><u:v>{k * i}</u:v>&amp;</r>\n" for i in range(40)) + "</g>"
            for k in range(groups)
        )
        + "</s>"
    ).encode()


def test_threads_give_what_one_gives_with_the_parts_of_ancestors(small_ranges: list[int]) -> None:
    document = grouped(50)
    targets = [keep("/s/@n"), keep("/s/g/@k"), project("/s/g/t"), project("/s/g/r")]
    records, counts = paths("/s/g/r", "/s/g/t"), paths("/s/g/r", "//u:v", "/s")

    def seen(step: int, threads: int) -> list[object]:
        answers: list[object] = []
        for batch in document_batches(document, targets, records, counts=counts, step=step, threads=threads):
            root = batch.tree.root
            spans = {element.row: element.offset for element in (*batch.began, *batch.open)}
            for node in select(root, records[0]):
                group = node.parent
                assert group is not None
                assert group.parent is not None
                group_at = spans.get(group.row, document.index(f"<g k='{group.attribute('k')}'".encode()))
                answers.append((node.xml(), group.attribute("k"), group.parent.attribute("n"), group_at))
        return [*answers, batch.counts]

    expected = seen(1 << 20, 1)
    assert len(expected) == 50 * 40 + 1
    for step in (150, 1000, 5000):
        assert seen(step, 3) == expected
    assert len(small_ranges) < 60


def test_threads_carry_and_filter_as_one_does(small_ranges: list[int]) -> None:
    document = grouped(30)
    test = algebra.RecordTest(parse_path("/s/g/r/@i"), "=", "7")
    expected = [f"{k}|{k * 7}&" for k in range(30)]
    for step in (100, 700):
        batches = document_batches(
            document, [project("/s/g")], paths("/s/g/r"), carry=paths("/s/g"),
            filters=[(parse_path("/s/g/r"), (test,))], step=step, threads=2,
        )  # fmt: skip
        got = []
        for batch in batches:
            for node in select(batch.tree.root, parse_path("/s/g/r")):
                (title,) = [t for t in select(batch.tree.root, parse_path("/s/g/t")) if t.parent == node.parent]
                got.append(f"{title.string}|{node.string}")
        assert got == expected


def test_an_error_is_the_same_with_threads(small_ranges: list[int]) -> None:
    document = grouped(20).replace(b"<g k='15'>", b"<g k='15'><x>")
    faults = []
    for threads in (1, 3):
        with pytest.raises(XMLError) as fault:
            list(document_batches(document, [project("/s/g/r")], paths("/s/g/r"), step=300, threads=threads))
        faults.append((str(fault.value), fault.value.place))
    assert faults[0] == faults[1]
