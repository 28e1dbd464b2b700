"""A document scanned as ranges gives what it gives whole, wherever it is cut and however wrong the guesses are."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_documents import damaged, documents

from xstreamcast.errors import XStreamError
from xstreamcast.scan import split
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.layout import FLAG_BITS
from xstreamcast.scan.path import parse_path
from xstreamcast.scan.reader import scan_buffer, scan_bytes
from xstreamcast.scan.scanner import Batch, Scanner
from xstreamcast.scan.split import scan_parallel, scan_split

NASTY = b"""<?xml version="1.0"?><!-- <a> --><site xmlns:p="u" xmlns="d">
<regions><africa><item id="i1"><name>one</name><p:note>a<b>c</b></p:note></item><item id="i2"/></africa>
<asia><item id="i3" quote='>'><name>tw&#111;</name><!-- </item><item> --><?go <item>?></item>
<item id="i4"><![CDATA[<item id="x"></item>]]><name/></item></asia></regions><people><person id="p1">
<name>]] A &gt; B</name><item><item><name>nested</name></item></item></person>tail<![CDATA[ more]]>
<person id="p2" xmlns="e"><name>other</name></person></people><!-- </site> --><closed xmlns:p="v"><p:note/>
<person/></closed></site><!-- end --><?done?>
"""

QUERIES: list[list[tuple[str, Action]]] = [
    [("//item", Action.COUNT), ("//@id", Action.CAPTURE), ("//name/text()", Action.CAPTURE)],
    [("/d:site/d:people/d:person", Action.RECORD), ("/d:site/d:people/d:person/@id", Action.CAPTURE)],
    [("/d:site/d:regions/*/d:item", Action.RECORD), ("/d:site/d:regions/*/d:item/d:name", Action.CAPTURE)],
    [("//d:item", Action.PROJECT), ("//comment()", Action.COUNT)],
    [("/d:site", Action.CAPTURE), ("//p:note", Action.CAPTURE)],
    [("//d:person", Action.RECORD), ("//d:person//text()", Action.CAPTURE), ("/d:site/text()", Action.CAPTURE)],
    [("//processing-instruction(go)", Action.CAPTURE), ("//e:name", Action.CAPTURE), ("/*/*/*/@*", Action.CAPTURE)],
]
COUNT = Action.COUNT
NAMESPACES = {"d": "d", "p": "u", "e": "e"}


def automaton(query: Sequence[tuple[str, Action]]) -> Automaton:
    return Automaton([Target(parse_path(path, NAMESPACES), action) for path, action in query])


def answer(batches: Iterable[Batch], scanner: Scanner) -> object:
    """All a scan says, in words that do not depend on how states and names were numbered."""
    rows: list[object] = []
    trees: list[object] = []
    try:
        for batch in batches:
            for row in batch.rows.tolist():
                scope = scanner.symbols.contexts[row[6] >> FLAG_BITS]
                rows.append((sorted(scanner.automaton.states[row[0]]), row[1:6], row[6] % (1 << FLAG_BITS), scope))
            kinds, labels, *others = batch.tree
            names = [scanner.symbols.qualified[label] for label in labels]
            trees.extend(zip(kinds.tolist(), names, *(column.tolist() for column in others), strict=True))
    except XStreamError as fault:
        return str(fault), fault.place
    counts = [scanner.automaton.count(target) for target in range(len(scanner.automaton.targets))]
    return rows, trees, counts


def whole(document: bytes, query: Sequence[tuple[str, Action]]) -> object:
    scanner = Scanner(automaton(query))
    b = np.frombuffer(bytearray(document), np.uint8)
    return answer(scan_buffer(b, scanner, split.plain_start(b) or 0), scanner)


def cut(document: bytes, query: Sequence[tuple[str, Action]], cuts: Sequence[int], missed: list[int]) -> object:
    scanner = Scanner(automaton(query))
    b = np.frombuffer(bytearray(document), np.uint8)
    return answer(scan_split(b, scanner, cuts, 1, missed), scanner)


@pytest.mark.parametrize("windows", [(4, 40), (40, 200), (1 << 16, 1 << 20)])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query[0][0])
def test_a_cut_at_any_byte_changes_nothing(
    query: list[tuple[str, Action]], windows: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split, "WINDOWS", windows)
    expected = whole(NASTY, query)
    missed: list[int] = []
    for at in range(len(NASTY) + 1):
        assert cut(NASTY, query, [at], missed) == expected


def test_many_cuts_change_nothing_and_wrong_guesses_do_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "WINDOWS", (8, 80))
    chosen = random.Random(4)
    missed: list[int] = []
    for query in QUERIES:
        expected = whole(NASTY, query)
        for _ in range(20):
            cuts = [chosen.randrange(len(NASTY)) for _ in range(chosen.randrange(2, 8))]
            assert cut(NASTY, query, cuts, missed) == expected
    assert missed


@settings(max_examples=60, deadline=None, derandomize=True)
@given(documents() | damaged(), st.lists(st.integers(0, 400), min_size=1, max_size=3))
def test_cuts_change_neither_answers_nor_errors(document: bytes, cuts: list[int]) -> None:
    query = [("//a", Action.RECORD), ("//a/@b", Action.CAPTURE), ("//item", Action.PROJECT), ("/root/*/b", COUNT)]
    if split.plain_start(np.frombuffer(document, np.uint8)) is None:
        return  # not plain UTF-8 at first sight: such an input is not split
    for windows in ((16, 60), (1 << 16, 1 << 20)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(split, "WINDOWS", windows)
            assert cut(document, query, cuts, []) == whole(document, query)


def large() -> bytes:
    chosen = random.Random(1)
    items = [
        f'<item id="{k}"><name>{"n" * chosen.randrange(90)}</name><price>{k * 1.5}</price><!-- <item> --></item>\n'
        for k in range(4000)
    ]
    people = [f'<person id="p{k}"><name>{k}</name></person>' for k in range(4000)]
    return f"<site><items>{''.join(items)}</items><people>{''.join(people)}</people></site>".encode()


def test_cuts_of_a_larger_document_are_guessed_rightly_and_change_nothing() -> None:
    document = large()
    chosen = random.Random(2)
    for query in (
        [("/site/items/item", Action.RECORD), ("/site/items/item/name", Action.CAPTURE)],
        [("//person", Action.COUNT), ("//name", Action.CAPTURE)],
        [("/site/people/person", Action.PROJECT)],
    ):
        expected = whole(document, query)
        missed: list[int] = []
        for _ in range(8):
            assert cut(document, query, sorted(chosen.sample(range(len(document)), 3)), missed) == expected
        assert len(missed) <= 2


def test_threads_scan_a_file_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "WINDOWS", (1 << 12, 1 << 16))
    path = tmp_path / "large.xml"
    path.write_bytes(large())
    query = [("/site/items/item", Action.RECORD), ("/site/items/item/price", Action.CAPTURE)]
    one, three = Scanner(automaton(query)), Scanner(automaton(query))
    expected = answer(scan_bytes(large(), one.automaton), one)
    assert answer(scan_parallel(path, three, 3), three) == expected
    path.write_bytes(b"<!DOCTYPE site [<!ENTITY e 'x'>]>" + large())
    subset = Scanner(automaton(query))
    assert sum(len(batch) for batch in scan_parallel(path, subset, 3)) == 8000
