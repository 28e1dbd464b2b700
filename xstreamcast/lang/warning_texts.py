"""The warnings of the static phase, as they are told.

>>> from xstreamcast.lang.link import parse
>>> [text.partition(" ")[2] for text in warning_texts(parse("<a>$x</a>"))]
[]
"""

from __future__ import annotations

from xstreamcast.lang.ast import Module


def warning_texts(module: Module) -> tuple[str, ...]:
    """The warnings of a query: each with its place and a hint."""
    hints = (f" (hint: {warning.hint})" if warning.hint else "" for warning in module.warnings)
    return tuple(
        f"{module.source.place(warning.span)} {warning.message}{hint}"
        for warning, hint in zip(module.warnings, hints, strict=True)
    )
