"""A driver of its own that is killed in a batch: ``kafka_driver.py SERVERS TOPIC OUT FOLDER [inside|behind BATCH]``.

``inside``: some rows of the batch have been sent, and the transaction is not over. ``behind``: the topic has the batch,
and Spark does not know it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from accounts import RICH

from xstreamcast.spark import ToKafka, continuous, from_kafka
from xstreamcast.spark.session import SHORT_LIVED, session, shut_down


class Struck(ToKafka):
    """A sink that ends with its process, in a batch."""

    def __init__(self, servers: str, topic: str, where: str, number: int) -> None:
        super().__init__(servers, topic)
        self.where, self.number, self.sent = where, number, 0

    def take(self, batch: Any, answers: Any, told: Any) -> None:
        self.at_hand = batch.number
        super().take(batch, answers, told)
        if (self.where, self.number) == ("behind", batch.number):
            os.kill(os.getpid(), signal.SIGKILL)

    def _produce(self, key: bytes, value: bytes, headers: list[tuple[str, bytes]]) -> None:
        super()._produce(key, value, headers)
        if (self.where, self.number) == ("inside", self.at_hand):
            self.sent += 1
            if self.sent == 2:
                assert self._producer.flush(60) == 0  # the broker has them
                os.kill(os.getpid(), signal.SIGKILL)


def main(servers: str, topic: str, out: str, place: str, where: str = "", number: str = "-1") -> None:
    folder = Path(place)
    scratch = folder / "spark"
    scratch.mkdir(exist_ok=True)
    jars: dict[str, Any] = {"spark.jars": os.environ["XCAST_KAFKA_CONNECTOR"]}
    spark = session(scratch=scratch, **SHORT_LIVED, **jars)
    stream = from_kafka(spark, servers, topic, options={"maxOffsetsPerTrigger": "9"})
    sink = Struck(servers, out, where, int(number))
    running = continuous(spark, RICH, {"bank": stream}).start(
        checkpoint=folder / "state", sinks=[sink], table=f"sqlite:///{folder}/answers.db#rich", available_now=True
    )
    running.wait()
    running.stop()
    shut_down(spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
