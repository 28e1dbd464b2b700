"""``last()`` over nodes of several trees: each is a row of its own tree, not of the one that was looked at last."""

from __future__ import annotations

import pytest

from xstreamcast import query

DOCUMENT = b'<r><a><v m="1"/><v n="2"/></a><a><v k="3"/></a></r>'


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("(for $x in (//a?[now], //v?[now]) return $x//v)[last()]", '<v k="3"/>'),
        ("(for $x in (//a?[now], //v?[now]) return $x//v)[last() - 1]", '<v n="2"/>'),
        ("(for $x in (//a?[now], //v?[now]) return $x//v)[position() = (1, last())]", '<v m="1"/><v k="3"/>'),
        ("(for $x in (<a><v>1</v></a>, <b/>) return $x//v)[last()]", "<v>1</v>"),
        ("(for $x in (<a><v>1</v></a>, <a><v/><v>2</v></a>, <c/>) return $x/v)[last() - 1]", "<v/>"),
        ("(<a><v>1</v></a>, <b><v/></b>, <c/>)/v[last()]", "<v>1</v><v/>"),
        ("(//a/v)[last() - 1]", '<v n="2"/>'),
        ("//a/v[last()]", '<v n="2"/><v k="3"/>'),
        ("//a/v[last()][@n = 2]", '<v n="2"/>'),
        ("(//v/@*)[. != 3][last()]/string()", "2"),
        ("//a/v/@*[. != 2][last()] ! string()", "13"),
        ("(for $x in (//a?[now], //v?[now]) return $x//v)[last()][@k]", '<v k="3"/>'),
        ("(for $a in //a return <b>{ $a/v/@* }</b>/@*[. < 3])[last()]/string()", "2"),
    ],
)
def test_the_last_one_is_of_its_own_tree(text: str, answer: str) -> None:
    assert query(text, context=DOCUMENT).serialise(method="xml", item_separator="") == answer
