"""Records that fail a test of their characters are dropped in the scan; the answer is as if they had not been."""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Callable
from typing import Any, BinaryIO, Literal, cast

import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_batches import Pieces, select
from test_documents import NAMESPACES, keep, paths, project, stream

from xstreamcast.model.tree import Node
from xstreamcast.plan import algebra
from xstreamcast.scan import documents as scanned
from xstreamcast.scan.documents import document_batches
from xstreamcast.scan.path import Path, parse_path
from xstreamcast.scan.tree import parse_tree

Relation = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "exists"]
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": lambda text, part: part in text,
    "exists": lambda text, _: True,
}
DOUBLE = re.compile(r"\s*(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[Ee][+-]?\d+)?|[+-]?INF|NaN)\s*")


def that(path: str, relation: Relation, value: str | float | None = None) -> algebra.RecordTest:
    return algebra.RecordTest(parse_path(path, NAMESPACES), relation, value)


def passes(text: str, one: algebra.RecordTest) -> bool | None:
    """What a comparison says of one value; None where it would raise."""
    if isinstance(one.value, float):
        if not DOUBLE.fullmatch(text):
            return None
        return COMPARE[one.relation](float(text), one.value)
    return COMPARE[one.relation](text, one.value)


def judged(record: Node, tests: tuple[algebra.RecordTest, ...]) -> bool | None:
    """Whether a record passes; None where an evaluation would raise, or may."""
    answer: bool | None = True
    for one in tests:
        nodes = [node for node in select(record.root, one.path) if _within(node, record)]
        said = [passes(node.string, one) for node in nodes]
        if one.relation == "contains":
            good = None if len(said) > 1 else passes("".join(node.string for node in nodes), one)
        else:
            good = True if True in said else None if None in said else False
        if good is False:
            return False
        answer = answer and good
    return answer


def _within(node: Node, record: Node) -> bool:
    return record.row <= node.row <= record.row + record.tree.size[record.row]


def records_of(document: bytes, path: Path, tests: tuple[algebra.RecordTest, ...]) -> list[tuple[bool | None, str]]:
    return [(judged(node, tests), node.xml()) for node in select(parse_tree(document).root, path)]


VALUES = [
    "1", "2.50", " 2.5\n", "-3e1", "INF", "-INF", "NaN", "", "one", "2,5", "tw&#111;", "é",
    "<![CDATA[one]]>", "x<b>y</b>", "o<!-- -->ne", "0", "-0", "12345678901234567890", "1e400", "+1",
]  # fmt: skip
TESTS = [
    that("/s/r/@k", "=", "1"),
    that("/s/r/@k", "!=", "1"),
    that("/s/r/@k", "<", "b"),
    that("/s/r/v", "=", "one"),
    that("/s/r/v", "!=", "one"),
    that("/s/r/v", ">=", "two"),
    that("/s/r/v", "=", 2.5),
    that("/s/r/v", "!=", 2.5),
    that("/s/r/v", ">", 0.0),
    that("/s/r/v", "<=", -30.0),
    that("/s/r/v", "=", 1.0),
    that("/s/r/v", "contains", "o"),
    that("/s/r/v", "contains", ""),
    that("/s/r/v", "contains", "xy"),
    that("/s/r//b", "exists"),
    that("/s/r/v/text()", "=", "one"),
    that("/s/r", "=", "1"),
]
RECORD = st.lists(st.sampled_from(VALUES), max_size=3).map(
    lambda values: "".join(f"<v>{value}</v>" for value in values)
)
RECORDS = st.lists(st.tuples(st.sampled_from(["1", "a", "&#49;", "b"]), RECORD), max_size=6)
OUTSIDE = st.sampled_from(["", "<v>one</v>", "<q><v>1</v></q>", "text"])


@settings(max_examples=80 * MORE, deadline=None, derandomize=True)
@given(RECORDS, OUTSIDE, st.lists(st.sampled_from(TESTS), min_size=1, max_size=2), st.integers(1, 120), st.booleans())
def test_records_that_may_pass_stay_and_those_that_fail_go(
    written: list[tuple[str, str]], outside: str, tests: list[algebra.RecordTest], step: int, streamed: bool
) -> None:
    document = f"<s>{outside}{outside.join(f'<r k={k!r}>{inner}</r>' for k, inner in written)}</s>".encode()
    path = parse_path("/s/r")
    filters = [(path, tuple(tests))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanned, "PIECE", 16)
        source = stream(document, 7) if streamed else document
        batches = document_batches(source, [project("/s/r")], [path], filters=filters, counts=[path], step=step)
        kept = [node.xml() for batch in batches for node in select(batch.tree.root, path)]
    told = records_of(document, path, tuple(tests))
    assert kept == [text for answer, text in told if answer is not False]


def test_a_value_that_is_no_number_keeps_its_record_for_the_evaluation_to_judge() -> None:
    document = b"<s><r><v>x</v></r><r><v>1</v></r><r><v>1</v><v>x</v></r><r/></s>"
    batches = document_batches(
        document, [project("/s/r")], paths("/s/r"), filters=[(parse_path("/s/r"), (that("/s/r/v", ">", 5.0),))]
    )
    assert [batch.tree.root.xml() for batch in batches] == ["<s><r><v>x</v></r><r><v>1</v><v>x</v></r></s>"]


def shown(document: bytes, records: list[str], filters: list[tuple[str, tuple[algebra.RecordTest, ...]]]) -> list[str]:
    batches = document_batches(
        document,
        [project(path) for path in records],
        paths(*records),
        filters=[(parse_path(path), tests) for path, tests in filters],
    )
    return [batch.tree.root.xml() for batch in batches]


def test_a_record_stays_when_any_of_its_filters_lets_it_pass() -> None:
    document = b"<s><r k='1'/><r k='2'/><r k='3'/></s>"
    one, two = that("/s/r/@k", "=", "1"), that("/s/r/@k", "=", "2")
    assert shown(document, ["/s/r"], [("/s/r", (one,)), ("/s/r", (two,))]) == ['<s><r k="1"/><r k="2"/></s>']
    assert shown(document, ["/s/r"], [("/s/r", (one, two))]) == ["<s/>"]
    assert shown(document, ["/s/r"], [("/s/r", (one,)), ("/s/r", ())]) == [document.decode().replace("'", '"')]


def test_records_that_others_read_stay() -> None:
    one = that("/s/r/@k", "=", "1")
    nested = b'<s><r k="2"><i/></r><r k="3"/></s>'
    assert shown(nested, ["/s/r", "//i"], [("/s/r", (one,))]) == ['<s><r k="2"><i/></r></s>']
    same = b'<s><r k="2"/></s>'
    assert shown(same, ["/s/r", "//r"], [("/s/r", (one,))]) == [same.decode()]
    assert shown(same, ["/s/r", "/s"], [("/s/r", (one,))]) == [same.decode()]
    recursive = b'<s><r k="2"><r k="1"/></r><r k="2"/></s>'
    deep = that("//r/@k", "=", "1")
    assert shown(recursive, ["//r"], [("//r", (deep,))]) == ['<s><r k="2"><r k="1"/></r></s>']


NESTED = st.recursive(
    st.sampled_from(["<p>A</p>", "<p>B</p>", "<q>1</q>", "<q x='2'>3</q>", "<e/>", "t", "<p><q>4</q><p>A</p></p>"]),
    lambda inner: st.tuples(st.sampled_from("abpq"), st.lists(inner, max_size=4)).map(
        lambda made: f"<{made[0]}>{''.join(made[1])}</{made[0]}>"
    ),
    max_leaves=25,
)


def chosen_of(root: Node) -> list[str]:
    """``//*[p = "A"]/q``."""
    records = [node for node in select(root, parse_path("//*")) if "A" in [p.string for p in _named(node, "p")]]
    return [q.xml() for q in sorted({q for node in records for q in _named(node, "q")})]


def _named(node: Node, name: str) -> list[Node]:
    return [child for child in node.children() if child.local == name]


@settings(max_examples=120 * MORE, deadline=None, derandomize=True)
@given(st.lists(NESTED, max_size=6), st.integers(1, 200), st.booleans())
def test_of_records_within_records_those_stay_that_pass(inner: list[str], step: int, streamed: bool) -> None:
    document = f"<s>{''.join(inner)}</s>".encode()
    path, one = parse_path("//*"), that("//*/p", "=", "A")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanned, "PIECE", 16)
        source = stream(document, 7) if streamed else document
        targets = [project("//*/p"), project("//*/q")]
        batches = list(document_batches(source, targets, [path], filters=[(path, (one,))], step=step))
    assert [text for batch in batches for text in chosen_of(batch.tree.root)] == chosen_of(parse_tree(document).root)
    if b"A" not in document:
        assert not any(batch.tree.root.children() for batch in batches if batch.final)


def test_what_fails_goes_while_the_records_around_it_are_open() -> None:
    """The root is a record too: there is no cut before its end, but little is kept until then."""
    wrong = b"<r><p>B</p><q>1</q></r>" * 500
    document = b"<s>" + wrong + b"<g><r><p>A</p><q>2</q></r>" + wrong + b"</g></s>"
    path, one = parse_path("//*"), that("//*/p", "=", "A")
    targets = [project("//*/p"), project("//*/q")]
    (batch,) = document_batches(document, targets, [path], filters=[(path, (one,))], step=1000)
    assert batch.tree.root.xml() == "<s><g><r><p>A</p><q>2</q></r></g></s>"


def test_filters_carry_and_records_of_several_paths_go_together() -> None:
    chosen = random.Random(3)
    groups = []
    for k in range(30):
        inner = "".join(f"<r k='{chosen.randrange(3)}'><v>{chosen.randrange(9)}</v></r>" for _ in range(5))
        groups.append(f"<g n='{k}'><t>{k}</t>{inner}<o><v>5</v></o></g>")
    document = f"<s>{''.join(groups)}</s>".encode()
    one = that("/s/g/r/@k", "=", "1")
    targets = [keep("/s/g/@n"), project("/s/g/t"), project("/s/g/r"), project("/s/g/o")]
    expected = [node.xml() for node in select(parse_tree(document).root, parse_path("/s/g/r")) if judged(node, (one,))]
    for step in (1, 50, 400, 10_000):
        batches = list(
            document_batches(
                document, targets, paths("/s/g/r", "/s/g/o"), carry=paths("/s/g"),
                filters=[(parse_path("/s/g/r"), (one,))], step=step,
            )
        )  # fmt: skip
        got = []
        for batch in batches:
            for node in select(batch.tree.root, parse_path("/s/g/r")):
                got.append(node.xml())
                group = node.parent
                assert group is not None
                assert select(batch.tree.root, parse_path("/s/g/t"))
                assert group.attribute("n") == group.children()[0].string
        assert got == expected


def test_a_silent_input_is_filtered_and_carried_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut before the record that is open, at every byte."""
    monkeypatch.setattr(scanned, "_silent", lambda *_: True)
    document = (
        b"<s><g n='1'><t>one</t><r k='1'><v>a</v></r>+<r k='2'><v>b<r k='1'/></v></r><t>two</t><r k='1'/></g></s>"
    )
    one = that("/s/g/r/@k", "=", "1")
    for at in range(1, len(document)):
        batches = document_batches(
            cast(BinaryIO, Pieces([document[:at], document[at:]])),
            [project("/s/g")], paths("/s/g/r"), carry=paths("/s/g"), filters=[(parse_path("/s/g/r"), (one,))],
        )  # fmt: skip
        got = []
        for batch in batches:
            for node in select(batch.tree.root, parse_path("/s/g/r")):
                titles = select(batch.tree.root, parse_path("/s/g/t"))
                got.append((node.xml(), "".join(title.string for title in titles if title < node)))
        assert got == [('<r k="1"><v>a</v></r>', "one"), ('<r k="1"/>', "onetwo")]
