"""An explanation as HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from xstreamcast.page import page, warning_html
from xstreamcast.plan.explain.text import blocking_lines
from xstreamcast.plan.operators import numbered

if TYPE_CHECKING:
    from xstreamcast.plan.explain.explanation import Explanation


def explanation_html(explanation: Explanation) -> str:
    """The verdict, what blocks, the operators; the whole text where somebody wants it."""
    blocking = "\n".join(blocking_lines(explanation))
    steps = [] if explanation.top is None else list(numbered(explanation.top))
    rows = "".join(
        f"<tr><td>{escape(id)}</td><td>{'&emsp;' * depth}<b>{escape(each.symbol.value)}</b> {escape(each.detail)}</td>"
        f'<td><span class="badge {each.blocking}">{each.blocking}</span></td>'
        f"<td>{escape(each.state)}</td><td>{escape(each.changelog)}</td></tr>"
        for id, depth, each in steps
    )
    head = "<tr><th></th><th>operator</th><th>class</th><th>keeps</th><th>output</th></tr>"
    text = f"{explanation}\n\n{explanation.why()}"
    return page(
        f"<div><b>{escape(explanation.verdict)}</b></div>",
        f"<pre>{escape(blocking)}</pre>" if blocking else "",
        f"<table>{head}{rows}</table>" if rows else "",
        *map(warning_html, explanation.warnings),
        f"<details><summary>more</summary><pre>{escape(text)}</pre></details>",
    )
