"""Pieces of HTML that stand by themselves: small, in a notebook's own colours, dark or light.

Objects that a notebook shows draw themselves from these pieces; all text in them is escaped.

>>> page(warning_html("a < b"))[-40:]
'<div class="note">⚠ a &lt; b</div></div>'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

STYLE: Final = """<style>
.xcast { font-size: 13px; line-height: 1.45; }
.xcast table { border-collapse: collapse; margin: .3em 0; font-size: inherit; }
.xcast th, .xcast td { text-align: left; padding: 2px 10px; border-bottom: 1px solid rgba(128,128,128,.25); }
.xcast th { font-weight: 600; border-bottom-width: 2px; }
.xcast td.n { text-align: right; font-variant-numeric: tabular-nums; }
.xcast td, .xcast li { vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere; }
.xcast pre { margin: .2em 0; padding: 0; background: none; white-space: pre-wrap; overflow-wrap: anywhere; }
.xcast .note { opacity: .65; }
.xcast .error { color: #c62828; }
.xcast .badge { font-size: 11px; padding: 0 6px; border-radius: 8px; background: rgba(128,128,128,.2); }
.xcast .badge.temporal, .xcast .badge.progressive { background: rgba(255,160,0,.3); }
.xcast .badge.event, .xcast .badge.pipeline { background: rgba(0,150,136,.3); }
.xcast .badge.blocking { background: rgba(229,57,53,.3); }
.xcast ul { list-style: none; padding-left: 1.2em; margin: 0; }
.xcast .k, .xcast .kd, .xcast .ow, .xcast .kc { color: #8e44ad; }
.xcast .nt, .xcast .kt, .xcast .kp { color: #1f7a8c; }
.xcast .nv, .xcast .na { color: #b7651b; }
.xcast .s, .xcast .s1, .xcast .s2, .xcast .ld, .xcast .m, .xcast .mi, .xcast .mf { color: #3a7d34; }
.xcast .nf, .xcast .nb { color: #2962a8; }
.xcast .c, .xcast .cm, .xcast .cp { opacity: .6; }
@media (prefers-color-scheme: dark) { .xcast .error { color: #ef5350; } }
</style>"""

LONGEST: Final = 2_000
"""Characters of a value that are shown."""


def page(*parts: str) -> str:
    """HTML that stands by itself, in colours of its own."""
    return f'{STYLE}<div class="xcast">{"".join(parts)}</div>'


def table(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a row of names at its head."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, each))}</tr>" for each in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    kind = ' class="n"' if number else ""
    return f"<td{kind}>{escape(shortened(text))}</td>"


def shortened(text: str) -> str:
    """A text, up to :data:`LONGEST`."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def error_html(fault: Exception) -> str:
    """An error: code, place, message, the line with a caret, the hint."""
    return f'<pre class="error">{escape(str(fault))}</pre>'


def warning_html(text: str) -> str:
    """A warning, as a line of its own."""
    return f'<div class="note">⚠ {escape(text)}</div>'
