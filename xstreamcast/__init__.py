"""XStreamCast: continuous, exact, temporal XQuery over XML that is huge, never ends or keeps changing.

The public face is small, and imported when first used:

* :func:`query`            run an XQuery or XCQL query; :func:`compile` keeps it for more documents
* :func:`fragment`         a document → a stream of fragments
* :func:`materialise`      a stream of fragments → the document it describes, T(γ)
* :func:`infer_structure`  documents → their tag structure
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xstreamcast.cast import fragment, infer_structure, materialise
    from xstreamcast.run.query import compile, query

__version__ = "0.1.0"
__all__ = ["compile", "fragment", "infer_structure", "materialise", "query"]

_HOMES: Final = {
    "compile": "xstreamcast.run.query",
    "query": "xstreamcast.run.query",
    "fragment": "xstreamcast.cast",
    "infer_structure": "xstreamcast.cast",
    "materialise": "xstreamcast.cast",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'xstreamcast' has no attribute {name!r}")
