"""A driver of its own, whose operators have gates: ``struck.py MASTER FEED FOLDER [spread]``.

FEED is a folder, or a server's. With ``spread`` there are two queries, one after the other, each in buckets.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import gated
from gated import Gated
from motion_streams import FRAUD, LIMITS, MAXED_OUT

from xstreamcast.generate.credit import GENERATOR
from xstreamcast.spark.cluster import short_lived
from xstreamcast.spark.motion import association_buckets
from xstreamcast.spark.motion.continuous_query import Motion, continuous, continuous_many
from xstreamcast.spark.motion.sink import UpsertTable
from xstreamcast.spark.session import session, shut_down


def main(master: str, feed: str, folder: Path, spread: bool = False) -> None:
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(gated)  # executors of a cluster find the package, not this folder
    os.environ["DRIVER"] = str(os.getpid())
    scratch = folder / "spark"
    scratch.mkdir(exist_ok=True)
    settings: dict[str, Any] = {"spark.executor.memory": "512m", "spark.executorEnv.GATES": os.environ["GATES"]}
    spark = session(master=master, scratch=scratch, **short_lived(), **settings)
    try:
        if spread:
            in_buckets(spark, feed, folder)
        else:
            motion = continuous_many(
                spark, [MAXED_OUT, FRAUD], {"credit": feed}, names=["maxed-out", "fraud"], keeper=Gated,
                options={"maxFragmentsPerTrigger": "25"} if "://" in feed else {"maxFilesPerTrigger": "1"},
                compact_bytes=4000,
            )  # fmt: skip
            run(motion, folder)
    finally:
        shut_down(spark)


def in_buckets(spark: Any, feed: str, folder: Path) -> None:
    """A query whose buckets are put side by side, and one whose answer is made of their rows."""
    for operator, has_gates in (
        ("Router", gated.GatedRouter), ("BucketKeeper", gated.GatedBucket), ("Gatherer", gated.GatedGatherer),
    ):  # fmt: skip
        setattr(association_buckets, operator, has_gates)
    for name, text, files in (("fraud", FRAUD, "2"), ("limits", LIMITS, "1")):
        motion = continuous(
            spark, text, {"credit": feed}, name=name, structures={"credit": GENERATOR.structures["credit"]},
            bucket_records=5, options={"maxFilesPerTrigger": files}, compact_bytes=4000,
        )  # fmt: skip
        run(motion, folder / name)


def run(motion: Motion, folder: Path) -> None:
    """… to the end of what is there."""
    folder.mkdir(exist_ok=True)
    tables = [
        UpsertTable(f"sqlite:///{folder}/table.db#{name}", query=name, columns="markup=. as xml")
        for name in motion.job.names
    ]
    running = motion.start(
        checkpoint=folder / "state", table=tables, log=folder / "log", log_format="json",
        available_now=True,
    )  # fmt: skip
    running.wait()
    running.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), "spread" in sys.argv[4:])
