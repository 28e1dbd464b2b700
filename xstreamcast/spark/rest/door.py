"""How the process that plans a read asks the driver where documents may be cut.

Spark plans a read in a Python process of its own, which has no session and so no tasks. It asks the driver's, through a
door on the loopback that only this application has the key to; so both ways to read a document use the same seams.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from threading import Thread
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.spark.session import LOOPBACK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.spark.rest.files import Document
    from xstreamcast.spark.rest.ranges import Range


@dataclass(frozen=True, slots=True)
class Key:
    """Where the door is, and what opens it."""

    port: int
    secret: bytes

    def planned(self, documents: Sequence[Document], step: int | None) -> list[list[Range]] | None:
        """The tasks as the driver plans them; None if nobody is there."""
        try:
            with Client((LOOPBACK, self.port), authkey=self.secret) as asked:
                asked.send((list(documents), step))
                answer = asked.recv()
        except (OSError, EOFError):
            return None
        if isinstance(answer, XStreamError):
            raise answer
        made: list[list[Range]] = answer
        return made


class Door:
    """Answers the processes that plan reads of this session. It is there as long as the driver is."""

    def __init__(self, spark: SparkSession) -> None:
        self.key = Key(0, secrets.token_bytes(32))
        self._listener = Listener((LOOPBACK, 0), backlog=16, authkey=self.key.secret)
        self.key = Key(self._listener.address[1], self.key.secret)
        self._spark = spark
        Thread(target=self._serve, name="xstreamcast door", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                asking = self._listener.accept()
            except (AuthenticationError, EOFError, ConnectionError):  # one without a key, or without patience
                continue
            Thread(target=self._answer, args=(asking,), daemon=True).start()

    def _answer(self, asking: Any) -> None:
        with asking:
            from xstreamcast.spark.rest.indexing import planned, workforce_of

            try:
                documents, step = asking.recv()
                asking.send(planned(documents, step, workforce_of(self._spark)))
            except XStreamError as failure:
                asking.send(failure)
            except (OSError, EOFError):  # it did not wait for the answer
                pass


_doors: dict[str, Door] = {}


def door_of(spark: SparkSession) -> Door:
    """The door of a session's application, which has one."""
    application: str = spark.sparkContext.applicationId
    if application not in _doors:
        _doors[application] = Door(spark)
    return _doors[application]
