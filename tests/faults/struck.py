"""A driver of its own, whose operator has gates: ``struck.py MASTER FEED FOLDER``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gated import Gated
from motion_streams import FRAUD, MAXED_OUT

from xstreamcast.spark.continuous_query import continuous_many
from xstreamcast.spark.session import SHORT_LIVED, session, shut_down


def main(master: str, feed: str, folder: Path) -> None:
    os.environ["DRIVER"] = str(os.getpid())
    scratch = folder / "spark"
    scratch.mkdir(exist_ok=True)
    spark = session(master=master, scratch=scratch, **{**SHORT_LIVED, "spark.executor.memory": "512m"})
    try:
        motion = continuous_many(
            spark, [MAXED_OUT, FRAUD], {"credit": feed}, names=["maxed-out", "fraud"], keeper=Gated,
            options={"maxFilesPerTrigger": "1"}, compact_bytes=4000,
        )  # fmt: skip
        running = motion.start(
            checkpoint=folder / "state", table=folder / "table.db", log=folder / "log", log_format="json",
            available_now=True,
        )  # fmt: skip
        running.wait()
        running.stop()
    finally:
        shut_down(spark)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
