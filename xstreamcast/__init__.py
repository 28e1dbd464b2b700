"""XStreamCast: continuous, exact, temporal XQuery over XML that is huge, never ends or keeps changing.

The public face is small, and imported when first used:

* :func:`query`            run an XQuery or XCQL query; :func:`compile` keeps it for more documents
* :func:`query_many`       several queries over the same documents, in one scan
* :func:`continuous`       a query over streams, answered at every moment
* :func:`continuous_many`  several of them, sharing the streams
* :class:`Feed`            documents that bring records, as a stream; for ``continuous(feed=)`` too
* :func:`explain`          how a query will be run, in how many passes and with what state
* :func:`fragment`         a document → a stream of fragments
* :func:`materialise`      a stream of fragments → the document it describes, T(γ)
* :func:`infer_structure`  documents → their tag structure
* :func:`limit_depth`      how many elements of a document may be within each other

What goes wrong is an :class:`XStreamError`, with a ``code``, a ``place`` and a ``hint``; what can hardly be meant, and
what was put aside, a warning of Python's, :class:`XStreamWarning`. :class:`Fill`, :class:`Replace`, :class:`Remove` and
the others are the changes that streams consist of; :class:`Query`, :class:`Result` and :class:`ContinuousQuery` are
what the functions give.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported: until a command begins, Ctrl-C is Python's own
if TYPE_CHECKING:
    from typing import Any, Final

    from xstreamcast.cast import fragment, infer_structure, materialise
    from xstreamcast.errors import XStreamError, XStreamWarning
    from xstreamcast.feeds import Feed
    from xstreamcast.model.change import (
        After,
        Before,
        Change,
        Eos,
        Fill,
        Freeze,
        Hide,
        Remove,
        Repeat,
        Replace,
        Show,
    )
    from xstreamcast.model.depth import limit_depth
    from xstreamcast.model.structure import Structure
    from xstreamcast.model.tree import Node
    from xstreamcast.run.continuous.query import ContinuousQuery, continuous, continuous_many
    from xstreamcast.run.explained import explain
    from xstreamcast.run.query import Query, Result, compile, query, query_many

__version__ = "0.1.0"
__all__ = [
    "After", "Before", "Change", "ContinuousQuery", "Eos", "Feed", "Fill", "Freeze", "Hide", "Node", "Query", "Remove",
    "Repeat", "Replace", "Result", "Show", "Structure", "XStreamError", "XStreamWarning", "compile", "continuous",
    "continuous_many", "explain", "fragment", "infer_structure", "limit_depth", "materialise", "query", "query_many",
]  # fmt: skip

_HOMES: Final = {
    "XStreamError": "xstreamcast.errors",
    "XStreamWarning": "xstreamcast.errors",
    "compile": "xstreamcast.run.query",
    "query": "xstreamcast.run.query",
    "query_many": "xstreamcast.run.query",
    "continuous": "xstreamcast.run.continuous.query",
    "continuous_many": "xstreamcast.run.continuous.query",
    "explain": "xstreamcast.run.explained",
    "load_ipython_extension": "xstreamcast.notebook.magic",
    "fragment": "xstreamcast.cast",
    "infer_structure": "xstreamcast.cast",
    "limit_depth": "xstreamcast.model.depth",
    "materialise": "xstreamcast.cast",
    "Query": "xstreamcast.run.query",
    "Result": "xstreamcast.run.query",
    "ContinuousQuery": "xstreamcast.run.continuous.query",
    "Feed": "xstreamcast.feeds",
    "Node": "xstreamcast.model.tree",
    "Structure": "xstreamcast.model.structure",
    **dict.fromkeys(
        ("After", "Before", "Change", "Eos", "Fill", "Freeze", "Hide", "Remove", "Repeat", "Replace", "Show"),
        "xstreamcast.model.change",
    ),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'xstreamcast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
