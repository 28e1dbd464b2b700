"""How running queries are, for who asks (``watch --metrics``, Prometheus) and who is told (``watch --report``, the
console of a server): changes taken in, items shown, how far behind, what is kept. A figure is at most a second old.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final

from xstreamcast.cli.options import Option, WrongCall
from xstreamcast.console.rates import Rate
from xstreamcast.errors import XStreamError, error
from xstreamcast.metrics import CONTENT_TYPE, Exposition, Kind

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.serve.client import Address

MetricsPort = Annotated[
    str | None, Option(metavar="[HOST:]PORT", help="Serve figures for Prometheus there, at /metrics.")
]
Reports = Annotated[
    list[str],
    Option(
        metavar="NAME=ADDRESS",
        help="Tell the console of a server how the first (second …) query is: xcast://host:port.",
    ),
]
Figures = dict[str, Any]
_EVERY: Final = 1.0
_FAMILIES: Final[tuple[tuple[str, str, Kind, str], ...]] = (
    ("rows", "xcast_query_changes_total", "counter", "Changes of its streams that a query has taken in."),
    ("told", "xcast_query_told_total", "counter", "Changes of its answer that a query has told."),
    ("shown", "xcast_query_items", "gauge", "Items of the answer."),
    ("lag", "xcast_query_lag_seconds", "gauge", "How long after it was read the last change was answered."),
    ("state_rows", "xcast_query_state_rows", "gauge", "Regions, or rows of state, that are kept."),
    ("state_bytes", "xcast_query_state_bytes", "gauge", "Bytes of contents, or of state, that are kept."),
    ("batches", "xcast_query_batches_total", "counter", "Micro-batches that Spark has done."),
    ("seconds", "xcast_query_batch_seconds", "gauge", "How long the last micro-batch took."),
    ("failed", "xcast_query_failed", "gauge", "Whether the query has failed, or its answer is an error."),
)


class Progress:
    """The figures of queries, exposed and reported. ``collect``: what gives them, where a thread may ask for them."""

    def __init__(
        self, addresses: Mapping[str, Address], metrics: tuple[str, int] | None, collect: Callable[[], list[Figures]]
    ) -> None:
        self.figures: list[Figures] = []
        self.addresses = addresses
        self.collect = collect
        self._rates: list[Rate] = []
        self._over = Event()
        self._said: set[str] = set()
        self._server = None if metrics is None else _serve(metrics, self)
        self._thread = Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """The figures for Prometheus."""
        page = Exposition()
        for key, name, kind, help in _FAMILIES:
            for number, one in enumerate(self.figures):
                if key in one:
                    page.add(name, kind, help, one[key], query=str(number), engine=one["engine"])
        return page.text()

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            self._tell()

    def _tell(self) -> None:
        self.figures = self.collect()
        self._rates += [Rate() for _ in self.figures[len(self._rates) :]]
        for one, rate in zip(self.figures, self._rates, strict=True):
            rate.note(one["rows"])
        for number, (name, address) in enumerate(self.addresses.items()):
            if number < len(self.figures):
                rate = self._rates[number]
                told = {**self.figures[number], "rate": round(rate.per_second, 1), "recent": rate.recent}
                self._report(name, address, told)

    def _report(self, name: str, address: Address, told: Figures) -> None:
        from urllib.request import Request

        from xstreamcast.serve.client import ask

        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['XCAST_TOKEN']}"}
        url = f"{address.site}/console/api/reports/{name}"
        try:
            ask(Request(url, data=json.dumps(told).encode(), method="PUT", headers=headers), address)
        except XStreamError as fault:
            if fault.code not in self._said:  # once: the query goes on without
                self._said.add(fault.code)
                print(f"xcast: warning: --report {name}: {fault.code} {fault.message}", file=sys.stderr)

    def close(self) -> None:
        """The last figures are told."""
        self._over.set()
        self._thread.join()
        self._tell()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def _serve(place: tuple[str, int], progress: Progress) -> ThreadingHTTPServer:
    from http.server import BaseHTTPRequestHandler
    from http.server import ThreadingHTTPServer as Server

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path.partition("?")[0] == "/metrics"
            body = (progress.text() if found else "see /metrics\n").encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nobody need know of it."""

    try:
        server = Server(place, Handler)
    except OSError as fault:
        raise error("XSC0102", f"--metrics cannot listen on {place[0]}:{place[1]}: {fault.strerror}") from None
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    print(f"xcast: metrics on http://{place[0]}:{server.server_address[1]}/metrics", file=sys.stderr, flush=True)
    return server


def wanted(metrics: str | None, report: Sequence[str]) -> tuple[tuple[str, int] | None, dict[str, Address]] | None:
    """Where figures go, as the options say; None: nowhere."""
    if metrics is None and not report:
        return None
    from xstreamcast.cli.query import pairs
    from xstreamcast.serve.client import parse_address

    host, _, port = ("" if metrics is None else metrics).rpartition(":")
    if metrics is not None and not (port.isascii() and port.isdecimal() and int(port) < 65_536):
        raise WrongCall("--metrics takes a port, or an address and a port: 9203, 0.0.0.0:9203")
    addresses = {name: parse_address(given, name) for name, given in pairs(list(report), "--report").items()}
    if addresses and not os.environ.get("XCAST_TOKEN"):
        raise error("XSC0102", "--report needs the token of the server", hint="set XCAST_TOKEN")
    return None if metrics is None else (host or "127.0.0.1", int(port)), addresses


class Watched:
    """A sink of ``watch``: the figures of embedded queries. They are looked at where the queries run."""

    def __init__(self, inflow: Inflow, metrics: tuple[str, int] | None, addresses: Mapping[str, Address]) -> None:
        self.inflow = inflow
        self._counts = [0 for _ in inflow.queries]
        self._lags = [0.0 for _ in inflow.queries]
        self._n = 0
        self._looked = 0.0
        self._latest: list[Figures] = []
        self.progress = Progress(addresses, metrics, lambda: self._latest)

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        """A query has told changes of its answer."""
        self._counts[number] += len(emitted)
        self._lags[number] = lag

    def pause(self, arrived: int) -> None:
        """Look at the queries, now and then."""
        self._n += arrived
        if monotonic() - self._looked >= _EVERY:
            self._looked = monotonic()
            self._look("running")

    def _look(self, state: str) -> None:
        made = []
        for number, query in enumerate(self.inflow.queries):
            read = [one.sizes() for name, one in self.inflow.associations.items() if name in query.streams]
            failure = query.failure
            figures: Figures = {
                "engine": "embedded", "query": query.query.text, "state": state, "rows": self._n,
                "told": self._counts[number], "shown": query.shown, "lag": round(self._lags[number], 6),
                "state_rows": sum(one["regions"] for one in read), "state_bytes": sum(one["bytes"] for one in read),
                "failed": int(failure is not None),
            }  # fmt: skip
            if failure is not None:
                figures["failure"] = f"{failure.code} {failure.message}"
            made.append(figures)
        self._latest = made

    def close(self) -> None:
        """The last look."""
        self._look("ended")
        self.progress.close()


class SparkWatched:
    """The figures of queries on Spark, as its listener has them."""

    def __init__(
        self, answers: Any, figures: Any, metrics: tuple[str, int] | None, addresses: Mapping[str, Address]
    ) -> None:
        self.answers = answers
        self.figures = figures
        self.counts = [0 for _ in answers.queries]
        self.progress = Progress(addresses, metrics, self._collect)

    def take(self, batch: Any, answers: Any, told: list[list[Emitted]]) -> None:
        """A micro-batch is done."""
        for number, emitted in enumerate(told):
            self.counts[number] += len(emitted)

    def _collect(self) -> list[Figures]:
        figures = self.figures
        state = "failed" if figures.failure else "ended" if figures.ended.is_set() else "running"
        made = []
        for number, query in enumerate(self.answers.queries):
            one: Figures = {
                "engine": "spark", "query": query.query.text, "state": state, "rows": figures.rows,
                "told": self.counts[number], "shown": query.shown, "lag": round(figures.lag, 3),
                "state_rows": figures.state_rows, "state_bytes": figures.state_bytes, "batches": figures.batches,
                "seconds": round(figures.seconds, 3), "failed": int(bool(figures.failure)),
            }  # fmt: skip
            if figures.failure:
                one["failure"] = str(figures.failure)[:2000]
            made.append(one)
        return made

    def close(self) -> None:
        """The last figures are told."""
        self.progress.close()
