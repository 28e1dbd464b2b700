"""Unicode blocks in regular expressions: ours, by the names of XML Schema."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest

from xstreamcast import XStreamError, query
from xstreamcast.functions.unicode_blocks import _table, block


def test_blocks_are_in_order_and_apart() -> None:
    places = list(_table().values())
    assert len(places) == 338
    assert places[0][0] == 0
    assert places[-1][1] == 0x10FFFF
    assert all(first <= last for first, last in places)
    assert all(before[1] < after[0] for before, after in pairwise(places))


def test_every_character_that_has_a_name_is_in_a_block() -> None:
    within = [False] * 0x110000
    for first, last in _table().values():
        within[first : last + 1] = [True] * (last + 1 - first)
    assert [hex(code) for code in range(0x110000) if unicodedata.name(chr(code), "") and not within[code]] == []


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("BasicLatin", "az~", "é"), ("Latin-1Supplement", "é", "z"), ("LatinExtended-A", "ő", "é"),
        ("GreekandCoptic", "αω", "a"), ("Greek", "αω", "a"), ("Cyrillic", "Я", "α"), ("Hiragana", "ひ", "カ"),
        ("CJKUnifiedIdeographs", "漢", "ひ"), ("MathematicalAlphanumericSymbols", "𝔸", "A"), ("Phags-pa", "ꡀ", "a"),
        ("CombiningMarksforSymbols", "\u20d0", "\u0301"), ("PrivateUse", "\ue000\U000f0000", "a"),
        ("SymbolsforLegacyComputing", "\U0001fb00", "a"),
    ],
)  # fmt: skip
def test_a_block_has_its_characters(name: str, inside: str, outside: str) -> None:
    assert query(rf"matches($s, '^\p{{Is{name}}}+$')", variables={"s": inside}).one() is True
    assert query(rf"matches($s, '\p{{Is{name}}}')", variables={"s": outside}).one() is False
    assert query(rf"matches($s, '^\P{{Is{name}}}+$')", variables={"s": outside}).one() is True


@pytest.mark.parametrize("name", ["Martian", "greekandcoptic", "Basic Latin", ""])
def test_another_name_is_no_block(name: str) -> None:
    assert block(name) is None
    with pytest.raises(XStreamError, match="FORX0002"):
        query(rf"matches('a', '\p{{Is{name}}}')").one()
