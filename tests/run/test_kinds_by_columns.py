"""Loops over nodes of every kind, sorted, grouped and reduced by columns: as by the evaluator on the tree."""

from __future__ import annotations

import pytest
from streamed import evaluated, streamed

from xstreamcast.run.query import compile

DOCUMENTS = (
    b"<r><g>x<a>1</a><!--c--><?p i?><a n='2'>2<b/>y</a></g><g/><g>z</g></r>",
    b"<r><g n='1'><g n='2'><a n='1'>5</a></g>q</g><!--k--><a n='2'/></r>",
)
PATHS = (
    *("//g/node()", "//node()", "//g//node()", "/r/node()", "/r/*/node()", "//*", "//g//@*", "//@n", "//g/@n"),
    *("//comment()", "//g//comment()", "//processing-instruction()", "//processing-instruction('p')"),
    *("//a/text()", "//g//text()", "//g/descendant-or-self::node()", "//a/self::node()"),
)
QUERIES = (
    "for $c in PATH order by $c return <m>{ string($c) }</m>",
    "for $c in PATH order by string($c) descending return name($c)",
    "for $c in PATH group by $k := string($c) return <g k='{ $k }'>{ count($c) }</g>",
    "for $c in PATH let $k := $c/node() order by $c/@n, string($c) return string($c)",
    "for $c in //g order by string-join($cPATH, '') return 1",
    "for $c in //g group by $k := string($c/@n) return count($cPATH)",
    "distinct-values(PATH)",
    "string-join(PATH, '|')",
    "sum(PATH[. castable as xs:integer])",
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("text", QUERIES)
def test_nodes_of_every_kind_are_those_of_the_tree(text: str, path: str) -> None:
    query = compile(text.replace("$cPATH", f"$c{path.replace('/r', '')}").replace("PATH", path))
    for document in DOCUMENTS:
        expected = evaluated(query, document)
        for step in (1, 9, 1000):
            found = streamed(query, document, step)
            assert found in (None, expected), f"{step}: {found}"
