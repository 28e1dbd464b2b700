"""Queries and their answers as HTML, for notebooks. All that comes from queries and documents is escaped.

>>> from xstreamcast import query
>>> "<td>a &lt; b</td>" in result_html(query("map { 'text': 'a < b' }"))
True
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError
from xstreamcast.model.function import Map
from xstreamcast.model.serialise import serialise
from xstreamcast.model.tree import Node
from xstreamcast.page import error_html, page, shortened, table, warning_html
from xstreamcast.tables.cells import row

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.run.query import Query
    from xstreamcast.run.result import Result

SHOWN: Final = 20
"""Items of an answer that are shown."""
WIDEST: Final = 16
"""Columns up to which records are shown as a table."""


def result_html(result: Result) -> str:
    """The first items; no more than these are computed for it."""
    try:
        items, more = result.first(SHOWN)
    except XStreamError as fault:
        return page(error_html(fault))
    return page(items_html(items), f'<div class="note">{escape(more)}</div>')


def items_html(items: Sequence[Item]) -> str:
    """Items: records as a table, elements as XML, the others one below the other."""
    if not items:
        return ""
    rows = [row(item, "columns") for item in items]
    names = list(dict.fromkeys(name for each in rows for name in each))
    records = all(isinstance(item, Map | Node) for item in items) and names != ["value"] and len(names) <= WIDEST
    if all(isinstance(item, Map) for item in items) and records:
        return table(names, ([each.get(name) for name in names] for each in rows))
    texts = [serialise([item], method="adaptive") for item in items]
    listed = "".join(f"<pre>{coloured(text, 'xml' if text.startswith('<') else 'xcql')}</pre>" for text in texts)
    if records and len(items) > 1 and all(len(each) > 1 for each in rows):
        shown = table(names, ([each.get(name) for name in names] for each in rows))
        return f"{shown}<details><summary>XML</summary>{listed}</details>"
    return listed


def coloured(text: str, language: str) -> str:
    """Text with classes for its colours, by Pygments."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import XmlLexer

    from xstreamcast.highlight.lexer import XCQLLexer

    lexer = XmlLexer(stripnl=False) if language == "xml" else XCQLLexer(stripnl=False)
    made: str = highlight(shortened(text), lexer, HtmlFormatter(nowrap=True))
    return made.rstrip("\n")


def query_html(query: Query) -> str:
    """The text of a query."""
    return page(f"<pre>{coloured(query.text.strip(), 'xcql')}</pre>", *map(warning_html, query.warnings))


def continuous_html(query: ContinuousQuery) -> str:
    """The query, its answer so far, and what its streams have brought."""
    text = f"<pre>{coloured(query.query.text.strip(), 'xcql')}</pre>"
    if not query.begun:
        return page(text, '<div class="note">nothing has come yet</div>', *map(warning_html, query.warnings))
    if query.failure is not None:
        answer = error_html(query.failure)
    else:
        items = [item for _, item in islice(query.items(), SHOWN)]
        answer = "".join(f"<pre>{coloured(item, 'xml' if item.startswith('<') else 'xcql')}</pre>" for item in items)
    shown = query.shown
    more = f", the first {SHOWN} of them here" if shown > SHOWN else ""
    state = query.state()["streams"]
    came = "; ".join(f"{name}: {_count(sizes['regions'], 'region')}" for name, sizes in state.items())
    held = f" · {_count(query.waiting, 'open hole')}" if query.waiting else ""
    note = f"{_count(shown, 'item')}{more} · {came}{held}"
    return page(text, answer, f'<div class="note">{escape(note)}</div>', *map(warning_html, query.warnings))


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"
