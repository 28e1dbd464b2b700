"""A process that works for the console: ``python -m xstreamcast.console.worker``.

It is asked on standard input, a line of JSON each, with the bytes after it that ``sizes`` says; it answers on standard
output, a line of JSON each. What goes wrong in a request is its answer; the process goes on.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from xstreamcast import Structure, XStreamError
from xstreamcast.console.asking import Past, check, complete, described, difference, told
from xstreamcast.console.confine import confine
from xstreamcast.console.standing import Standing
from xstreamcast.errors import error
from xstreamcast.model.structure import parse_structure

Record = tuple[int, bytes]


class Worker:
    """Answers requests: each is a method, its arguments those of the line."""

    def __init__(self) -> None:
        self.standing: Standing | None = None
        self.structures: dict[str, Structure] = {}
        self.pasts: dict[str, Past] = {}
        self.texts: dict[str, str] = {}

    def begin(self, memory: int, folder: str) -> dict[str, Any]:
        """Nothing else comes first."""
        confine(memory, folder)
        return {}

    def know(self, structures: dict[str, str]) -> dict[str, Any]:
        """The structures of the streams, as they are now."""
        self.structures = {name: parse_structure(text) for name, text in structures.items()}
        return {}

    def check(self, query: str) -> dict[str, Any]:
        return check(query, self.structures)

    def complete(self, query: str, at: int) -> dict[str, Any]:
        return complete(query, at, self.structures)

    # ------------------------------------------------------------------------------------------------- a query

    def stand(self, query: str, emit: Any) -> dict[str, Any]:
        """A query goes on from now on."""
        made = Standing(query, self.structures, emit)
        if not made.query.names_its_streams:
            hint = 'write stream("name")'
            raise error("XSC0141", "the console follows queries that name their streams", hint=hint)
        self.standing = made
        return {"streams": list(made.streams)}

    @property
    def _query(self) -> Standing:
        assert self.standing is not None, "stand comes first"
        return self.standing

    def feed(self, stream: str, records: list[Record]) -> dict[str, Any]:
        return self._query.feed(stream, records)

    def state(self) -> dict[str, Any]:
        return self._query.state()

    def snapshot(self) -> dict[str, Any]:
        """The answer as it is, and its time line."""
        standing = self._query
        return {"taken": standing.taken, "items": list(standing.history.items.items()), **standing.figures()}

    def line(self) -> dict[str, Any]:
        return self._query.line()

    def at(self, moment: int) -> dict[str, Any]:
        return self._query.at(moment)

    def between(self, one: int, other: int) -> dict[str, Any]:
        return self._query.between(one, other)

    # ------------------------------------------------------------------------------------------------- the past

    def reached(self, stream: str, until: int) -> dict[str, Any]:
        """Since which number the records of a stream are to be brought, to know T at another."""
        past = self.pasts.get(stream)
        if past is None or past.n > until:
            self.pasts[stream] = Past()
        return {"since": self.pasts[stream].n}

    def go_on(self, stream: str, records: list[Record]) -> dict[str, Any]:
        self.pasts[stream].go_on(records)
        return {}

    def document(self, stream: str) -> dict[str, Any]:
        return self.pasts[stream].document()

    def keep(self, stream: str) -> dict[str, Any]:
        """Keep T as it is now, to compare a later one with it."""
        self.texts[stream] = str(self.document(stream)["text"])
        return {}

    def compare(self, stream: str) -> dict[str, Any]:
        """What is different in T since it was kept."""
        return difference(self.texts.pop(stream, ""), str(self.document(stream)["text"]))

    def describe(self, stream: str, records: list[Record]) -> dict[str, Any]:
        return {"changes": described(records, self.structures.get(stream))}


def requests(source: BinaryIO) -> Iterator[dict[str, Any]]:
    """What is asked; bytes become ``records``, with their numbers."""
    while line := source.readline():
        asked = json.loads(line)
        numbers, sizes = asked.pop("n", None), asked.pop("sizes", None)
        if sizes is not None:
            asked["records"] = [(n, source.read(size)) for n, size in zip(numbers, sizes, strict=True)]
        yield asked


def answered(worker: Worker, asked: dict[str, Any]) -> dict[str, Any]:
    """What a request comes to."""
    work: Callable[..., dict[str, Any]] = getattr(worker, asked.pop("op"))
    try:
        return work(**asked)
    except XStreamError as fault:
        return {"fault": told(fault)}
    except MemoryError:
        worker.pasts.clear()
        over = error("XSC0140", "the query needs more memory than it may have", hint="see --console-memory")
        return {"fault": told(over), "over": True}
    except RecursionError:
        return {"fault": told(error("XSC0140", "the query is nested too deeply"))}


def main() -> None:
    """Until there is nothing more to read."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    worker = Worker()
    for asked in requests(sys.stdin.buffer):
        out.write(json.dumps(answered(worker, asked), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
