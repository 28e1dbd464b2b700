"""Random queries of joins, groups, sorts and aggregates in bodies, put together at random, over random changes."""

from __future__ import annotations

from random import Random

import pytest
from changing_lists import changes, hold

A, B = 'stream("s")//a', 'stream("s")//b'
TESTS = ("$A/v > 1", "count($A/v) = 1", '$A/@n = "2"', "exists($A/x)", "not($A/v = 3)", "sum($A/v) > 2")
LOOKUPS = (
    f"{B}[y = $A/x]",
    f"{B}[@m = $A/@n]",
    f"{B}[y = $A/x][v > 1]",
    f"{B}[y = $A/x and @m = $A/@n]",
    f"(for $i in {B} where $i/y = $A/x return $i)",
    f"{A}[x = $A/x]",
)
OF_NODES = (
    "count(L)",
    "exists(L)",
    "L/v",
    "sum(L/v)",
    "max(L/v)",
    "L/v[1]",
    "string-join(L/v, '-')",
    "L[v]/(@m, @n)/string()",
)
OF_A = ("$A/v", "count($A/v)", "string($A/@n)", "$A/x", "sum($A/v)", "$A/../name()", "$A/v[last()]")


def condition(random: Random, name: str) -> str:
    """A condition on an element."""
    if random.random() < 0.3:
        return (
            random.choice(("exists(L)", "not(L)", "count(L) > 1", "L/v = $A/v"))
            .replace("L", random.choice(LOOKUPS))
            .replace("$A", name)
        )
    return random.choice(TESTS).replace("$A", name)


def value(random: Random, name: str) -> str:
    """Something of an element, or of what it is joined with."""
    if random.random() < 0.5:
        return random.choice(OF_A).replace("$A", name)
    return random.choice(OF_NODES).replace("L", random.choice(LOOKUPS)).replace("$A", name)


def query(seed: int) -> str:
    """A loop over elements, perhaps joined, filtered, grouped and sorted."""
    random = Random(seed)
    text = f"for $a in {A}"
    if random.random() < 0.3:
        text += f"[{random.choice(TESTS).replace('$A', '.')}]"
    other = random.random() < 0.4
    if other:
        text += f", $b in {B} where {random.choice(('$a/x = $b/y', '$b/@m = $a/@n', '$a/v = $b/v'))}"
        if random.random() < 0.4:
            text += f" and {random.choice(('$b/v > $a/v', '$b/v', '$a/@n = 2', '$b/y = 2'))}"
    if random.random() < 0.5:
        text += f" where {condition(random, '$a')}"
    grouped = random.random() < 0.3
    if grouped:
        text += f" group by $k := {random.choice(('string($a/@n)', '$a/x[1]', 'count($a/v)'))}"
        if random.random() < 0.3:
            text += " where count($a) > 1"
    key = random.choice(("$k", "count($a)")) if grouped else random.choice(("$a/@n", "number($a/v[1])", "count($a/v)"))
    if random.random() < 0.4:
        text += f" order by {key} {random.choice(('', 'descending', 'empty greatest'))}"
    if grouped:
        parts = random.sample(("$k", "count($a)", "sum($a/v)", "$a/x", f"{B}[y = $k]/v", "avg($a/v)", "$a/v[1]"), 2)
    else:
        parts = [value(random, "$a") for _ in range(random.choice((1, 2)))] + (["$b/v"] if other else [])
    text += f" return <p>{{ {', '.join(parts)} }}</p>"
    if random.random() < 0.15:
        return f"<all>{{ {text} }}</all>"
    return f"({text})[position() <= 2]" if random.random() < 0.1 else text


@pytest.mark.parametrize("seed", range(60))
def test_the_law_holds_for_whatever_is_put_together(seed: int) -> None:
    hold(query(seed), changes(seed, 20))
