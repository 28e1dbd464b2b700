"""Texts that are written together are those that are written one by one."""

from __future__ import annotations

from xstreamcast.model.atomic import Item
from xstreamcast.model.tree import Node
from xstreamcast.run.continuous.display.written import written, written_each
from xstreamcast.scan.parse import parse

PLAIN = '<r><a n="1">x &amp; y</a><b/>t&lt;<!--c--><?p i?><a><b>1</b></a></r>'
NAMED = '<r xmlns:p="urn:p"><p:a p:n="1">x</p:a><a/>t</r>'


def nodes(text: str) -> list[Item]:
    tree = parse(text.encode())[0]
    return [Node((tree, row)) for row in tree.children(1)]


def test_lists_of_items_of_any_kind_give_the_texts_that_they_give_alone() -> None:
    plain, named = nodes(PLAIN), nodes(NAMED)
    lists: list[list[Item]] = [plain[:1], plain, plain[2:4], [*plain[:2], *named], named, [1, 2], ["a<b"], [*plain, 3]]
    assert list(written_each(lists)) == [written(items) for items in lists]


def test_nodes_are_no_atomic_values_and_have_no_blanks_between_them() -> None:
    (texts, values) = written_each([nodes("<r>a<b/>c</r>"), ["a", "c"]])
    assert texts is not None
    assert values is not None
    assert (texts.text, texts.begins, texts.ends) == ("a<b/>c", False, False)
    assert (values.text, values.begins, values.ends) == ("a c", True, True)
