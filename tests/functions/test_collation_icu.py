"""Collations by ICU, chosen by URI: in comparisons, orders, groups, sets and parts of strings, on all engines."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from xstreamcast import continuous, query
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Fill

UCA = "http://www.w3.org/2013/collation/UCA"


def asked(text: str, parameters: str = "lang=de", **given: Any) -> Any:
    return query(f'declare default collation "{UCA}?{parameters}"; {text}', **given).values()


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        # languages: ä is beside a in German, behind z in Swedish
        ("sort(('z', 'ä', 'a'))", "lang=de", ["a", "ä", "z"]),
        ("sort(('z', 'ä', 'a'))", "lang=sv", ["a", "z", "ä"]),
        ("sort(('Mz', 'Müller', 'Muffel'))", "lang=de-u-co-phonebk", ["Müller", "Muffel", "Mz"]),
        ("sort(('cz', 'ch', 'd', 'h'))", "lang=cs", ["cz", "d", "h", "ch"]),
        # strengths
        ("'a' = 'Ä'", "strength=primary", [True]),
        ("'a' = 'A', 'a' = 'ä'", "strength=secondary", [True, False]),
        ("'a' = 'A'", "strength=tertiary", [False]),
        ("'a-b' = 'ab'", "strength=tertiary;alternate=shifted", [True]),
        ("'a-b' = 'ab'", "strength=quaternary;alternate=shifted", [False]),
        ("'a-b' = 'ab'", "strength=quaternary;alternate=blanked", [True]),
        ("'ä' = 'a\u0308'", "strength=tertiary", [True]),
        # the other parameters
        ("sort(('a10', 'a9'))", "numeric=yes", ["a9", "a10"]),
        ("sort(('a', 'A'))", "caseFirst=upper", ["A", "a"]),
        ("sort(('a', 'A'))", "caseFirst=lower", ["a", "A"]),
        ("sort(('coté', 'côte'))", "lang=fr;backwards=yes", ["côte", "coté"]),
        ("sort(('α', 'a', 'я'))", "reorder=Grek,Latn", ["α", "a", "я"]),
        # where strings are compared
        ("compare('a', 'Ä'), max(('Ä', 'z', 'b'))", "strength=primary", [0, "z"]),
        ("distinct-values(('a', 'Ä', 'b', 'B'))", "strength=primary", ["a", "b"]),
        ("index-of(('a', 'Ä', 'b'), 'A')", "strength=primary", [1, 2]),
        ("for $s in ('b', 'Ä', 'a', 'B') group by $k := $s return count($s)", "strength=primary", [2, 2]),
        ("for $s in ('z', 'ä', 'a') order by $s descending return $s", "lang=de", ["z", "ä", "a"]),
        ("deep-equal(('a', 'b'), ('Ä', 'B'))", "strength=primary", [True]),
        ("collation-key('a') = collation-key('Ä'), collation-key('a') = collation-key('b')", "strength=primary",
         [True, False]),
        ("some $a in ('x', 'Ä') satisfies $a = ('a', 'c')", "strength=primary", [True]),
        # parts of strings
        ("contains('Straße', 'SS'), contains('Straße', 'sst')", "strength=primary", [True, False]),
        ("starts-with('Äpfel', 'AP'), ends-with('Café', 'FE')", "strength=primary", [True, True]),
        ("contains('ä', 'a'), contains('ä', 'Ä'), contains('æ', 'e')", "strength=secondary", [False, True, False]),
        ("substring-before('ab-C-d', 'bc'), substring-after('ab-C-d', 'bc')", "strength=primary;alternate=shifted",
         ["a", "-d"]),
        ("substring-after('𝔸bä!', 'BA')", "strength=primary", ["!"]),
        ("contains('abc', ''), starts-with('abc', '-'), ends-with('abc', '-')", "alternate=shifted", [True] * 3),
        ("contains('aé', 'e\u0301'), contains('aé', 'e')", "strength=identical", [True, False]),
        ("contains-token('x Ä y', 'a')", "strength=primary", [True]),
    ],
)  # fmt: skip
def test_strings_compare_as_the_uri_says(text: str, parameters: str, expected: list[Any]) -> None:
    assert asked(text, parameters) == expected


def test_the_collation_of_a_continuous_query_and_of_a_scan_is_the_same() -> None:
    words = "".join(f"<w>{word}</w>" for word in ("Zug", "Äpfel", "apfel", "Öl", "ol", "zug"))
    text = f'for $w in $all//w group by $k := string($w) collation "{UCA}?lang=de;strength=primary" ' \
           f'order by $k collation "{UCA}?lang=de" return <g n="{{count($w)}}">{{$w[1]/string()}}</g>'  # fmt: skip
    expected = '<g n="2">Äpfel</g><g n="2">Öl</g><g n="2">Zug</g>'
    assert query(text.replace("$all", ""), context=f"<l>{words}</l>").xml() == expected
    large = f"<l>{words}<pad>{'x' * 3_000_000}</pad></l>".encode()
    assert query(text.replace("$all", ""), context=large).xml() == expected
    followed = continuous(text.replace("$all", 'stream("s")'))
    followed.feed(Fill(region=0, content=f"<l>{words}</l>".encode()))
    assert followed.text() == expected


@pytest.mark.parametrize(
    "parameters",
    [
        "lang=zxx;fallback=no",
        "strength=7;fallback=no",
        "colour=blue;fallback=no",
        "version=99.0;fallback=no",
        "reorder=Z,digit;fallback=no",
    ],
)
def test_what_icu_has_not_is_told_where_there_is_no_fallback(parameters: str) -> None:
    with pytest.raises(XStreamError) as failure:
        asked("'a' = 'b'", parameters)
    assert failure.value.code == "FOCH0002"
    assert asked("'a' = 'b'", parameters.replace("fallback=no", "fallback=yes")) == [False]


def test_without_icu_the_error_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['icu'] = None\nfrom xstreamcast import query, XStreamError\n"
        f'try: query(\'compare("a", "b", "{UCA}?lang=de")\').one()\n'
        "except XStreamError as failure: print(failure.code, failure.hint)\n"
        'print(query(\'compare("a", "b")\').one())'
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "FOCH0002 pip install 'xstreamcast[collation]', which brings ICU\n-1\n"
