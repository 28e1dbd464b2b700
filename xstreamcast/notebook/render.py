"""Objects of the package as HTML. All that comes from queries and documents is escaped.

>>> from xstreamcast import query
>>> "<td>a &lt; b</td>" in result_html(query("map { 'text': 'a < b' }"))
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.model.structure import Structure
from xstreamcast.notebook.style import STYLE

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.plan.explain.explanation import Explanation
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.run.query import Query
    from xstreamcast.run.result import Result

SHOWN: Final = 20
"""Items of an answer that are shown."""
LONGEST: Final = 2_000
"""Characters of an item that are shown."""
WIDEST: Final = 16
"""Columns up to which records are shown as a table."""


def page(*parts: str) -> str:
    """HTML that stands by itself, in colours of its own."""
    return f'{STYLE}<div class="xcast">{"".join(parts)}</div>'


def result_html(result: Result) -> str:
    """The first items; no more than these are computed for it."""
    try:
        items, more = result.first(SHOWN)
    except XStreamError as fault:
        return page(error_html(fault))
    return page(items_html(items), f'<div class="note">{escape(more)}</div>')


def items_html(items: Sequence[Item]) -> str:
    """Items: records as a table, elements as XML, the others one below the other."""
    from xstreamcast.model.function import Map
    from xstreamcast.model.serialise import serialise
    from xstreamcast.model.tree import Node
    from xstreamcast.tables.cells import row

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


def table(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a row of names at its head."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, each))}</tr>" for each in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    kind = ' class="n"' if number else ""
    return f"<td{kind}>{escape(_cut(text))}</td>"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def coloured(text: str, language: str) -> str:
    """Text with classes for its colours, by Pygments."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import XmlLexer

    from xstreamcast.highlight.lexer import XCQLLexer

    lexer = XmlLexer(stripnl=False) if language == "xml" else XCQLLexer(stripnl=False)
    made: str = highlight(_cut(text), lexer, HtmlFormatter(nowrap=True))
    return made.rstrip("\n")


def error_html(fault: XStreamError) -> str:
    """An error: code, place, message, the line with a caret, the hint."""
    return f'<pre class="error">{escape(str(fault))}</pre>'


def query_html(query: Query) -> str:
    """The text of a query."""
    return page(f"<pre>{coloured(query.text.strip(), 'xcql')}</pre>", *map(_warning, query.warnings))


def _warning(text: str) -> str:
    return f'<div class="note">⚠ {escape(text)}</div>'


def explanation_html(explanation: Explanation) -> str:
    """The verdict, what blocks, the operators; the whole text where somebody wants it."""
    from xstreamcast.plan.explain.text import blocking_lines
    from xstreamcast.plan.operators import numbered

    blocking = "\n".join(blocking_lines(explanation))
    steps = [] if explanation.top is None else list(numbered(explanation.top))
    rows = "".join(
        f"<tr><td>{escape(id)}</td><td>{'&emsp;' * depth}<b>{escape(each.symbol.value)}</b> {escape(each.detail)}</td>"
        f'<td><span class="badge {each.blocking}">{each.blocking}</span></td>'
        f"<td>{escape(each.state)}</td><td>{escape(each.changelog)}</td></tr>"
        for id, depth, each in steps
    )
    head = "<tr><th></th><th>operator</th><th>class</th><th>keeps</th><th>output</th></tr>"
    return page(
        f"<div><b>{escape(explanation.verdict)}</b></div>",
        f"<pre>{escape(blocking)}</pre>" if blocking else "",
        f"<table>{head}{rows}</table>" if rows else "",
        *map(_warning, explanation.warnings),
        f"<details><summary>more</summary><pre>{escape(str(explanation))}</pre></details>",
    )


def structure_html(structure: Structure) -> str:
    """The tags as a tree; a tag that stands within itself is named, and not opened again."""
    top = structure.tops
    name = f'<div class="note">stream {escape(structure.stream)}</div>' if structure.stream else ""
    return page(name, "<ul>", *(part for tsid in top for part in _branch(structure, tsid)), "</ul>")


def _branch(structure: Structure, top: int) -> Iterator[str]:
    """A tag and those below it, without recursion: structures may be as deep as documents."""
    waiting: list[tuple[int, tuple[int, ...]] | None] = [(top, ())]
    while waiting:
        entered = waiting.pop()
        if entered is None:
            yield "</ul></details></li>"
            continue
        tsid, above = entered
        tag = structure.tag(tsid)
        badge = f' <span class="badge {tag.type}">{tag.type}</span>' if tag.type not in (None, "snapshot") else ""
        label = f'{escape(structure.lexical(tag.name))} <span class="note">{tsid}</span>{badge}'
        if tsid in above:
            yield f"<li>{label} ↑</li>"
        elif not tag.children:
            yield f"<li>{label}</li>"
        else:
            yield f"<li><details open><summary>{label}</summary><ul>"
            waiting.append(None)
            waiting += [(child, (*above, tsid)) for child in reversed(tag.children)]


def continuous_html(query: ContinuousQuery) -> str:
    """The query, its answer so far, and what its streams have brought."""
    text = f"<pre>{coloured(query.query.text.strip(), 'xcql')}</pre>"
    if not query.begun:
        return page(text, '<div class="note">nothing has come yet</div>', *map(_warning, query.warnings))
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
    return page(text, answer, f'<div class="note">{escape(note)}</div>', *map(_warning, query.warnings))


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"
