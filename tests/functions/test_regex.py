"""Regular expressions: the machine finds what ``re`` finds, in bounded time; ``re`` is asked where it is quick."""

from __future__ import annotations

import random
import signal
from itertools import islice
from math import inf
from types import FrameType

import pytest

from xstreamcast import query
from xstreamcast.errors import XQueryValueError, XStreamError
from xstreamcast.functions import regex_program
from xstreamcast.functions.regex_program import Expression, Spans, compile_regex

HOSTILE = [
    r"^(a+)+$",
    r"(a|a)*b",
    r"(a|aa)+$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(.*a){12}b",
    r"(x+x+)+y",
    r"((a*)*)*b",
    r"(a?){30}a{30}b",
    "a?" * 30 + "a" * 30 + "b",
    r"(.{1,2})+(a|b)c",
    r"(a{2}|a{3})*b",
    r"(A|a)*b",
    r"a*a*a*a*a*b",
    r"^\s+|\s+$|a+!$",
]


def drawn(random: random.Random, depth: int, back: bool) -> str:
    """An expression at random; most are ambiguous, and loops around what may be empty are not rare."""

    def some(by: int = 1) -> str:
        return drawn(random, depth - by, back)

    kind = random.random()
    if depth == 0 or kind < 0.3:
        return random.choice(["a", "b", "[ab]", "[^a]", "."] * 4 + ["c", r"\n", r"\d", "^", "$"])
    if kind < 0.5:
        return some() + some()
    if kind < 0.62:
        return f"({some()}|{some()})"
    if kind < 0.67:
        return f"(?:|{some()})"
    if kind < 0.72:
        return f"({some()})" + (r"\1" if back else "")
    body = f"({some()})" if random.random() < 0.6 else random.choice("ab.")
    return body + random.choice(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,3}?"])


def by_re(expression: Expression, text: str) -> list[Spans]:
    most = 1 if expression.matches_empty else None
    return [match.regs for match in islice(expression.pattern.finditer(text), most)]


def by_machine(expression: Expression, text: str) -> list[Spans]:
    most = 1 if expression.matches_empty else None
    return list(islice(expression.program.matches(text), most))


@pytest.mark.parametrize("seed", range(8))
def test_the_machine_finds_the_matches_and_groups_that_re_finds(seed: int) -> None:
    source = random.Random(seed)
    compared = 0
    while compared < 250:
        pattern = drawn(source, source.randint(1, 4), source.random() < 0.2)
        try:
            expression = compile_regex(pattern, "".join(flag for flag in "smi" if source.random() < 0.25))
        except XStreamError:  # a reference to a group that is not closed
            continue
        compared += 1
        for _ in range(3):
            text = "".join(source.choice("aabbcA\n1") for _ in range(source.randint(0, 9)))
            assert by_machine(expression, text) == by_re(expression, text), (pattern, text)


@pytest.mark.parametrize("flags", ["", "i"])
@pytest.mark.parametrize("pattern", HOSTILE)
def test_an_expression_that_is_ambiguous_takes_time_in_proportion_to_the_text(pattern: str, flags: str) -> None:
    expression = compile_regex(pattern, flags)
    text = "a" * 20_000 + "!"
    assert expression.cost.steps(len(text)) > 1e9
    assert expression.found_in(text) is (pattern.endswith("a+!$"))
    assert len(list(expression.matches(text + "b" + text))) <= 2


@pytest.mark.parametrize(
    ("pattern", "power"),
    [
        (r"gold|silver", 1),
        (r"\s+", 1),
        (r",\s*", 1),
        (r"\r?\n", 1),
        (r"\d{4}-\d{2}-\d{2}", 1),
        (r"^[a-z]+$", 1),
        (r"(\d+\.)+", 2),
        (r"a{2147483647}", 2),
        (r"(a{200}){200}", 2),
        (r"<[^>]*>", 2),
        (r".*foo.*bar", 3),
        (r"(\w+\s?)*$", inf),
    ],
)
def test_what_re_may_take_is_known_beforehand(pattern: str, power: float) -> None:
    assert compile_regex(pattern, "").cost.power == power


def test_the_functions_answer_alike_by_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """(
        matches("aXb", "x", "i"), matches("Straße", "STRASSE", "i"), matches("\u212a", "k", "i"),
        matches("a&#10;b", "^b$", "m"),
        replace("2026-11-16 and 2027-01-02", "(\\d{4})-(\\d\\d)-(\\d\\d)", "$3.$2.$1"),
        replace("aab", "(a*)+b", "[$1]"),
        replace("abcd", "(x)?b(c)", "<$1$2>"), tokenize("a, b,c ,d", "\\s*,\\s*"), tokenize("abracadabra", "(ab)|(a)"),
        serialize(analyze-string("the cat sat", "(c(a)t)|(s)")), serialize(analyze-string("aab\u00e9", "((a)|(b))+")),
        tokenize("1b2B3", "b", "i"), replace("a.b", ".", "$0", "q"), matches("x\U0001f600y", "^x[^a]y$")
    )"""
    compile_regex.cache_clear()
    usual = query(text).text()
    monkeypatch.setattr(regex_program, "_FEW", -1)
    compile_regex.cache_clear()
    assert query(text).text() == usual
    assert "16.11.2026 and 02.01.2027" in usual


@pytest.mark.parametrize("pattern", [r"(a*)*\1b", r"(a|a)*(a)\2c"])
def test_one_with_references_back_is_given_up(pattern: str) -> None:
    with pytest.raises(XQueryValueError, match="XSC0130") as fault:
        query(f'matches(string-join((1 to 60) ! "a"), "{pattern}")').text()
    assert fault.value.hint
    assert query(r'matches("abcabc!", "^(.*)\1!$"), matches("abAB", "^(ab)\1$", "i")').text() == "true true"


def test_one_that_repeats_too_much_is_given_up_where_re_could_take_for_ever() -> None:
    with pytest.raises(XQueryValueError, match="XSC0130"):
        compile_regex("((a|a){500}){500}b", "").found_in("a" * 100)


def test_a_signal_is_taken_while_a_match_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_program, "_MOST", 1 << 60)
    expression = compile_regex(r"(a*)*\1b", "")
    expression.program.matches("warm")

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            expression.found_in("a" * 60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
