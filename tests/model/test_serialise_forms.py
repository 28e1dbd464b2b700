"""Elements that a constructor makes again and again are written by their form: as each would be alone."""

from __future__ import annotations

import pytest

from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.serialise import serialise
from xstreamcast.model.serialise_parameters import Parameters
from xstreamcast.model.serialise_xml import XMLWriter
from xstreamcast.run.query import query

TEXTS = "('a', '<&amp;>', '100% %s %(a)s', codepoints-to-string((34, 9, 10, 13, 39)), '', 'é𝄞', 'b')"
QUERIES = (
    "<e n='{$k}' m=\"100%\">{ $k }</e>",
    "<e><t n='{$k}'>{ $k }</t>{ $k, 1, $k }<u/>x</e>",
    "<e><!--{$k}--><t/>{ $k }</e>",
    "<e xmlns='urn:e'><t>{ $k }</t></e>",
    "<p:e xmlns:p='urn:p' p:n='{$k}'>{ $k }</p:e>",
)


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_as_each_would_be_alone(number: int) -> None:
    elements = list(query(f"for $k in {TEXTS} return {QUERIES[number]}"))
    alone = [serialise([each]) for each in elements]
    assert serialise([*elements, *elements], item_separator="|") == "|".join([*alone, *alone])


def test_a_tree_that_goes_on_growing_is_written_as_it_is_now() -> None:
    builder, writer = TreeBuilder(), XMLWriter(Parameters(), [])
    builder.start("", "a")
    builder.text("x")
    builder.tree.finish()
    builder.tree.size[0] = 1
    builder.tree.value[0] = None
    for _ in range(2):
        writer.subtree(builder.tree, 0)
    builder.comment("y")
    builder.tree.size[0] = 2
    writer.subtree(builder.tree, 0)
    assert writer.out == ["<a>", "x", "</a>", "<a>", "x", "</a>", "<a>", "x", "<!--y-->", "</a>"]
