"""Groups, sorts and distinct values with lxml, as one who knows it would write it.

``python -m bench.cardinality_by_hand NAME DOCUMENT`` writes the answer to standard output.
Elements are cleared and those before them dropped; where one child is enough, only its end is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from lxml import etree

_ESCAPES: Final = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;"}


def items(document: str) -> Iterator[Any]:
    """The items, one after the other."""
    for _, item in etree.iterparse(document, tag="item"):
        yield item
        item.clear()
        parent = item.getparent()
        while item.getprevious() is not None:
            del parent[0]


def locations(document: str) -> Iterator[str]:
    """Their locations: no other child is looked at."""
    for _, location in etree.iterparse(document, tag="location"):
        yield location.text
        item = location.getparent()
        if item.getprevious() is not None:
            del item.getparent()[0]


def count(document: str) -> str:
    groups: dict[str, int] = {}
    for location in locations(document):
        groups[location] = groups.get(location, 0) + 1
    return "".join([f'<l n="{key.translate(_ESCAPES)}">{number}</l>' for key, number in groups.items()])


def sums(document: str) -> str:
    groups: dict[str, list[float]] = {}
    for item in items(document):
        key, price = item.findtext("location"), float(item.findtext("price"))
        group = groups.get(key)
        if group is None:
            groups[key] = [price, price]
        else:
            group[0] += price
            if price > group[1]:
                group[1] = price
    return "".join([f"<l>{total:.12g} {most:.12g}</l>" for total, most in groups.values()])


def by_text(document: str) -> str:
    rows = [(item.findtext("location"), etree.tostring(item, encoding="unicode", with_tail=False))
            for item in items(document)]  # fmt: skip
    rows.sort(key=lambda row: row[0])
    return "".join([text for _, text in rows])


def ids_by_text(document: str) -> str:
    rows = [(item.findtext("location"), item.get("id")) for item in items(document)]
    rows.sort(key=lambda row: row[0])
    return " ".join([text for _, text in rows])


def ids_by_number(document: str) -> str:
    rows = [(float(item.findtext("price")), item.get("id")) for item in items(document)]
    rows.sort(key=lambda row: row[0])
    return " ".join([text for _, text in rows])


def distinct(document: str) -> str:
    return " ".join(dict.fromkeys(locations(document))).translate(_ESCAPES)


SCRIPTS: Final[dict[str, Callable[[str], str]]] = {
    script.__name__: script for script in (count, sums, by_text, ids_by_text, ids_by_number, distinct)
}

if __name__ == "__main__":
    sys.stdout.write(SCRIPTS[sys.argv[1]](sys.argv[2]))
