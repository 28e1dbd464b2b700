"""A driver of its own, whose operator has gates: ``struck.py MASTER FEED FOLDER``. FEED is a folder, or a server's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import gated
from gated import Gated
from motion_streams import FRAUD, MAXED_OUT

from xstreamcast.spark.motion.continuous_query import continuous_many
from xstreamcast.spark.session import SHORT_LIVED, session, shut_down


def main(master: str, feed: str, folder: Path) -> None:
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(gated)  # executors of a cluster find the package, not this folder
    os.environ["DRIVER"] = str(os.getpid())
    scratch = folder / "spark"
    scratch.mkdir(exist_ok=True)
    settings = {"spark.executor.memory": "512m", "spark.executorEnv.GATES": os.environ["GATES"]}
    spark = session(master=master, scratch=scratch, **SHORT_LIVED, **settings)
    try:
        motion = continuous_many(
            spark, [MAXED_OUT, FRAUD], {"credit": feed}, names=["maxed-out", "fraud"], keeper=Gated,
            options={"maxFragmentsPerTrigger": "25"} if "://" in feed else {"maxFilesPerTrigger": "1"},
            compact_bytes=4000,
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
