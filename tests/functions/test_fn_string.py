"""Functions on strings and regular expressions."""

from __future__ import annotations

from typing import Any

import pytest

from xstreamcast.model.atomic import AnyURI, Base64Binary, Untyped

INF, NAN = float("inf"), float("nan")
ASCII = "http://www.w3.org/2005/xpath-functions/collation/html-ascii-case-insensitive"
UCA_PRIMARY = "http://www.w3.org/2013/collation/UCA?lang=en;strength=primary"

CASES: list[tuple[Any, ...]] = [
    ("Bob", "fn:codepoints-to-string", [66, 111, 98]),
    ("", "fn:codepoints-to-string", []),
    ([84, 233, 0x10000], "fn:string-to-codepoints", "Té\U00010000"),
    ([], "fn:string-to-codepoints", ""),
    (0, "fn:compare", "abc", "abc"),
    (-1, "fn:compare", "abc", "abd"),
    (1, "fn:compare", "b", "a"),
    ([], "fn:compare", None, "a"),
    (0, "fn:compare", "ABC", "abc", ASCII),
    (0, "fn:compare", "Straße", "strasse", UCA_PRIMARY),
    (True, "fn:codepoint-equal", "a", "a"),
    ([], "fn:codepoint-equal", "a", None),
    (True, "fn:contains-token", "red green", " green "),
    (False, "fn:contains-token", "red green", "gree"),
    (False, "fn:contains-token", "red", " "),
    (True, "fn:contains-token", ["a B", "c"], "b", ASCII),
    ("abc12.5true", "fn:concat", "abc", 12.5, True),
    ("x", "fn:concat", "x", None),
    ("1|a|2", "fn:string-join", [1, "a", 2], "|"),
    ("1a", "fn:string-join", [1, "a"]),
    ("", "fn:string-join", [], "|"),
    (" car", "fn:substring", "motor car", 6.0),
    ("ada", "fn:substring", "metadata", 4, 3),
    ("234", "fn:substring", "12345", 1.5, 2.6),
    ("12", "fn:substring", "12345", 0, 3),
    ("", "fn:substring", "12345", 5, -3),
    ("1", "fn:substring", "12345", -3, 5),
    ("", "fn:substring", "12345", NAN, 3),
    ("", "fn:substring", "12345", 1, NAN),
    ("12345", "fn:substring", "12345", -42, INF),
    ("", "fn:substring", "12345", -INF, INF),
    ("", "fn:substring", None, 1),
    (5, "fn:string-length", "h\U00010000llo"),
    (0, "fn:string-length", None),
    ("a b", "fn:normalize-space", " \n a \t b\r "),
    ("a\u00a0 b", "fn:normalize-space", "a\u00a0  b"),
    ("\u00e9", "fn:normalize-unicode", "e\u0301"),
    ("e\u0301", "fn:normalize-unicode", "\u00e9", " nfd "),
    ("e\u0301", "fn:normalize-unicode", "e\u0301", ""),
    ("ABC0", "fn:upper-case", "abC0"),
    ("STRASSE", "fn:upper-case", "straße"),
    ("abc0", "fn:lower-case", "ABc0"),
    ("\u03bf\u03c3", "fn:lower-case", "\u039f\u03a3"),
    ("BAr", "fn:translate", "bar", "abc", "ABC"),
    ("AAA", "fn:translate", "--aaa--", "abc-", "ABC"),
    ("xbxbx", "fn:translate", "ababa", "aa", "xy"),
    (True, "fn:contains", "tattoo", "t"),
    (True, "fn:contains", "", None),
    (True, "fn:contains", "Tattoo", "TTO", ASCII),
    (False, "fn:starts-with", "tattoo", "at"),
    (True, "fn:starts-with", Untyped("tattoo"), AnyURI("tat")),
    (True, "fn:ends-with", "tattoo", "too"),
    ("t", "fn:substring-before", "tattoo", "attoo"),
    ("", "fn:substring-before", "tattoo", "tatto?"),
    ("", "fn:substring-before", "abc", ""),
    ("too", "fn:substring-after", "tattoo", "tat"),
    ("abc", "fn:substring-after", "abc", ""),
    ("d", "fn:substring-after", "aBCd", "bc", ASCII),
    ("Eureka!", "fn:substring-after", "Eureka!", "--*", UCA_PRIMARY + ";alternate=blanked"),
    ("-d", "fn:substring-after", "a-b-c-d", "bc", UCA_PRIMARY + ";alternate=blanked"),
    (0, "fn:compare", "DATABASE", "D\u00c3TABASE", UCA_PRIMARY + ";caseLevel=yes"),
    (True, "fn:matches", "abracadabra", "^a.*a$"),
    (False, "fn:matches", "abracadabra", "^bra"),
    (True, "fn:matches", "ab\ncd", "^cd$", "m"),
    (False, "fn:matches", "ab\ncd", "b.c"),
    (True, "fn:matches", "ab\ncd", "b.c", "s"),
    (True, "fn:matches", "HELLO", "hello", "i"),
    (True, "fn:matches", "a b", "a [ ] b", "x"),
    (True, "fn:matches", "a.b", ".", "q"),
    (False, "fn:matches", "ab", ".b.", "q"),
    (True, "fn:matches", "aa", r"^([a-z])\1$"),
    (True, "fn:matches", "b", r"^(a)?b\1$"),
    (False, "fn:matches", "b", "^[a-d-[b]]$"),
    (True, "fn:matches", "e", "^[a-z-[aeiou-[e]]]$"),
    (True, "fn:matches", "é", r"^\p{Ll}$"),
    (False, "fn:matches", "a", r"^\P{L}$"),
    (False, "fn:matches", "m", r"\p{Lu}", "i"),
    (True, "fn:matches", "\u0391", r"\p{IsGreek}"),
    (True, "fn:matches", "x1-", r"^\i\c+$"),
    (True, "fn:matches", "\u212a", "[A-Z]", "i"),
    (True, "fn:matches", "a b", r"a\ sb", "x"),
    (True, "fn:matches", "5-.", "^[0-9-.]+$"),
    (False, "fn:matches", "aaa", "a{2147483647}"),
    ("a*cada*", "fn:replace", "abracadabra", "bra", "*"),
    ("*", "fn:replace", "abracadabra", "a.*a", "*"),
    ("*c*bra", "fn:replace", "abracadabra", "a.*?a", "*"),
    ("abbraccaddabbra", "fn:replace", "abracadabra", "a(.)", "a$1$1"),
    ("b", "fn:replace", "AAAA", "A+", "b"),
    ("a0", "fn:replace", "a", "(a)", "$10"),
    ("$", "fn:replace", "a", "a", "\\$"),
    ("[1]", "fn:replace", "1", "1", "[$0]"),
    ("a$b", "fn:replace", "a.b", ".", "$", "q"),
    (["The", "cat"], "fn:tokenize", " The  cat "),
    (["1", "15", "24"], "fn:tokenize", "1, 15, 24", ",\\s*"),
    (["a", "", "b", ""], "fn:tokenize", "a,,b,", ","),
    ([], "fn:tokenize", "", ","),
    (["Some unparsed", "HTML"], "fn:tokenize", "Some unparsed <br> HTML", "\\s*<br>\\s*"),
]


@pytest.mark.parametrize(("expected", "name", "args"), [(e, n, a) for e, n, *a in CASES])
def test_value(gives: Any, expected: Any, name: str, args: list[Any]) -> None:
    gives(expected, name, *args)


ERRORS: list[tuple[Any, ...]] = [
    ("FOCH0001", "fn:codepoints-to-string", 0),
    ("FOCH0001", "fn:codepoints-to-string", 0xD800),
    ("FOCH0002", "fn:compare", "a", "b", "http://example.org/no-such-collation"),
    ("FOCH0002", "fn:contains", "a", "b", "http://www.w3.org/2013/collation/UCA?lang=zxx;fallback=no"),
    ("FOCH0003", "fn:normalize-unicode", "a", "NFZ"),
    ("XPTY0004", "fn:substring", "abc", "1"),
    ("XPTY0004", "fn:string-length", ["a", "b"]),
    ("FORX0001", "fn:matches", "a", "a", "p"),
    ("FORX0002", "fn:matches", "a", "?"),
    ("FORX0002", "fn:matches", "a", "a{2,1}"),
    ("FORX0002", "fn:matches", "a", "(a"),
    ("FORX0002", "fn:matches", "a", "[b-a]"),
    ("FORX0002", "fn:matches", "a", "(?=a)"),
    ("FORX0002", "fn:matches", "a", r"(\1)"),
    ("FORX0002", "fn:matches", "a", r"\y"),
    ("FORX0002", "fn:matches", "a", r"\p{Foo}"),
    ("FORX0002", "fn:matches", "a", "a++"),
    ("FORX0003", "fn:replace", "abc", ".*?", "$1"),
    ("FORX0003", "fn:tokenize", "abc", "a?"),
    ("FORX0003", "fn:analyze-string", "abc", "a*"),
    ("FORX0004", "fn:replace", "abc", "a", "$"),
    ("FORX0004", "fn:replace", "abc", "a", "\\a"),
]


@pytest.mark.parametrize(("code", "name", "args"), [(c, n, a) for c, n, *a in ERRORS])
def test_error(fails: Any, code: str, name: str, args: list[Any]) -> None:
    fails(code, name, *args)


def test_analyze_string_marks_matches_and_nested_groups(call: Any) -> None:
    (result,) = call("fn:analyze-string", "x2008-12-03y", "([0-9]+)-(([0-9]+)-([0-9]+))")
    assert result.xml() == (
        '<fn:analyze-string-result xmlns:fn="http://www.w3.org/2005/xpath-functions"><fn:non-match>x</fn:non-match>'
        '<fn:match><fn:group nr="1">2008</fn:group>-<fn:group nr="2"><fn:group nr="3">12</fn:group>-'
        '<fn:group nr="4">03</fn:group></fn:group></fn:match><fn:non-match>y</fn:non-match></fn:analyze-string-result>'
    )


def test_collation_keys_are_equal_exactly_when_the_strings_are(call: Any) -> None:
    (upper,) = call("fn:collation-key", "ABC", ASCII)
    (lower,) = call("fn:collation-key", "abc", ASCII)
    (other,) = call("fn:collation-key", "abd", ASCII)
    assert type(upper) is Base64Binary
    assert upper == lower
    assert lower < other


def test_functions_without_argument_look_at_the_context_item(call: Any, fails: Any) -> None:
    assert call("fn:string-length", focus="abc") == [3]
    assert call("fn:normalize-space", focus=" a  b ") == ["a b"]
    fails("XPDY0002", "fn:string-length")
