"""What queries drawn otherwise (:mod:`law_other`) have found, at its smallest; and more of them, from fixed seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from budget import MORE
from law_draw import draw_case
from law_oracle import LawBroken, check
from law_other import draw_other
from streamed import streamed

import xstreamcast
from xstreamcast.model.change import Fill

BLOCK = 10
ITEMS = b'<r><item id="1"/><item id="2"/></r>'
HOLE = b'<r><stream:hole id="1"/></r>'


def followed(text: str, *contents: bytes) -> str:
    """The answer as it has been told, and as it is; they are one."""
    query = xstreamcast.continuous(text)
    for region, content in enumerate(contents):
        query.feed(Fill(region=region, content=content))
    assert query.text() == query.answer().serialise()
    return query.text()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('stream("s")//processing-instruction()', "<?pi x?>"),
        ('stream("s")//processing-instruction(pi)', "<?pi x?>"),
        ('stream("s")//processing-instruction(other)', ""),
        ('count(stream("s")//processing-instruction())', "1"),
        ('exists(stream("s")/r/a/processing-instruction())', "true"),
        ('stream("s")//comment()', "<!--c-->"),
        ('for $a in stream("s")//a where $a/processing-instruction(pi) return name($a)', "a"),
    ],
)
def test_instructions_and_comments_in_fragments_are_found(text: str, answer: str, tmp_path: Path) -> None:
    assert followed(text, HOLE, b"<a><?pi x?><!--c--></a>") == answer
    stream = tmp_path / "s.xml"
    stream.write_bytes(
        b'<stream:fragments xmlns:stream="urn:xstreamcast:stream"><stream:filler id="0">' + HOLE + b"</stream:filler>"
        b'<stream:filler id="1"><a><?pi x?><!--c--></a></stream:filler></stream:fragments>'
    )
    loaded = xstreamcast.continuous(text)
    loaded.load(stream, "s")
    assert loaded.text() == answer


@pytest.mark.parametrize(
    "sequence",
    [
        'reverse(stream("s")/r/item)',
        'sort(stream("s")/r/item, (), function($i) { -number($i/@id) })',
        '(for $i in stream("s")/r/item order by $i/@id descending return $i)',
        '(stream("s")/r/item[2], stream("s")/r/item[1])',
        '((stream("s")/r/item)[last()], stream("s")/r/item)',
        'subsequence(reverse(stream("s")/r/item), 1)',
    ],
)
@pytest.mark.parametrize("asked", ["$v/@id/string()", "$v/.", "local:of($v)", "($v/@id ! string(), count($v/.))"])
def test_a_step_puts_what_has_another_order_into_that_of_the_document(sequence: str, asked: str) -> None:
    text = f"declare function local:of($s) {{ $s/@id/string() }}; let $v := {sequence} return {asked}"
    expected = {"$v/.": '<item id="1"/><item id="2"/>', "$v/@id/string()": "1 2", "local:of($v)": "1 2"}
    assert followed(text, ITEMS) == expected.get(asked, "1 2 2")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('<o>{ for $x in stream("s")/r/item return "" }</o>', "<o> </o>"),
        ('<o>{ for $x in stream("s")/r/item[1] return "" }</o>', "<o/>"),
        ('<o>{ for $x in stream("s")/r/item return string($x) }</o>', "<o> </o>"),
        ('<o>{ for $x in stream("s")/r/item return text { "" } }</o>', "<o/>"),
    ],
)
def test_between_values_without_a_text_there_is_a_blank(text: str, answer: str) -> None:
    assert followed(text, ITEMS) == answer


@pytest.mark.parametrize(
    "axis", ["following", "preceding", "following-sibling", "preceding-sibling", "ancestor", "self"]
)
@pytest.mark.parametrize("form", ["exists({})", "count({})", "{}", "for $i in {} return $i/@id/string()"])
def test_every_axis_behind_a_condition_on_the_root_element(axis: str, form: str) -> None:
    path = f'stream("s")/r[. != "u"]/{axis}::item'
    assert followed(form.format(path), ITEMS) == {"exists({})": "false", "count({})": "0"}.get(form, "")


BESIDE = (
    "for $x in //*[price] return (name($x/*[1]), $x/name/string())",
    "//*[price]/(*[1]/name(), name/string())",
    'for $x in //*[price] return (typeswitch ($x/*[1]) case element(tag) return "tag" default return "?", '
    "$x/name/string())",
    "for $x in //item[price] return (name($x/item[1]), $x/name/string())",
)


@pytest.mark.parametrize("text", BESIDE)
@pytest.mark.parametrize("step", [1, 30, 1 << 20])
def test_siblings_that_a_position_counts_are_kept_beside_named_ones(text: str, step: int) -> None:
    item = "<item><tag/><price>1</price><name>n</name></item>"
    nested = "<item><item><tag/></item><price>1</price><name>n</name></item>"
    document = f"<r>{(nested if 'item[1]' in text else item) * 3}</r>".encode()
    first = '"item"' if "item[1]" in text else '"tag"'
    assert streamed(xstreamcast.compile(text), document, step) == "\n".join([first, '"n"'] * 3)


@pytest.mark.parametrize("block", range(4 * MORE))
def test_the_law_of_queries_drawn_otherwise(block: int) -> None:
    answers = 0
    for seed in range(block * BLOCK, block * BLOCK + BLOCK):
        try:
            answers += check(draw_case(seed, 12, draw_other)).answers
        except LawBroken as broken:
            raise AssertionError(f"seed {seed}: {broken}") from None
    assert answers >= BLOCK, "cases in which nothing happens show nothing"
