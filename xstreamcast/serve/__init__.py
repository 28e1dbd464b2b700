"""Broadcast (DBPL'03 §1–2, SIGMOD'04 §1): few servers push fragments, many clients tune in, and nobody acknowledges.

What a stream goes through, in the order of the modules:

* :mod:`~xstreamcast.serve.sources`    a file, a growing folder, standard input, a generator
* :mod:`~xstreamcast.serve.positions`  update streams become fragments, which may come in any order and twice
* :mod:`~xstreamcast.serve.current`    every change has a version; what is current, for the carousel to repeat
* :mod:`~xstreamcast.serve.log`        the log: N counts its records (:mod:`~xstreamcast.serve.record`), which lie in
  files (:mod:`~xstreamcast.serve.segment`)
* :mod:`~xstreamcast.serve.compaction` what of a log is kept
* :mod:`~xstreamcast.serve.channel`    pushed to who has tuned in; dropped, and counted, where a client is slow
* :mod:`~xstreamcast.serve.carousel`   the current state over and over, so that late and lossy clients converge
* :mod:`~xstreamcast.serve.station`    all streams of a server, started and stopped together, within
  :mod:`~xstreamcast.serve.limits`
* :mod:`~xstreamcast.serve.service`    the registry, publishing, the log, and tuning in over WebSocket
* :mod:`~xstreamcast.serve.message`    what goes over a WebSocket
* :mod:`~xstreamcast.serve.reception`  what a client has of a stream, and what it lacks
* :mod:`~xstreamcast.serve.client`     tuning in, reading the log, publishing
* :mod:`~xstreamcast.serve.publication`  the answer of a query as a stream of a server
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xstreamcast.serve.client import Publisher, parse_address, read, receive, tune

__all__ = ["Publisher", "parse_address", "read", "receive", "tune"]

SCHEME: Final = "xcast://"
"""The beginning of the address of a stream of a server."""


def __getattr__(name: str) -> Any:
    """The names of the client's side, when they are asked for."""
    if name in __all__:
        from xstreamcast.serve import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
