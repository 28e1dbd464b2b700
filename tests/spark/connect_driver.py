"""A client of Spark Connect in a process of its own, which prints what it is told as JSON.

    connect_driver.py REMOTE FOLDER [everything]

``REMOTE`` is ``local[2]``: a server is started for this process alone; or ``sc://host:port``: one that runs elsewhere.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from equivalence import CASES, OnSpark
from motion_streams import FRAUD, GENERATORS, MAXED_OUT, spoken, write_streams
from rest_samples import document_of, site

from xstreamcast.errors import XStreamError
from xstreamcast.spark import class_archive, continuous, continuous_many, register
from xstreamcast.spark.session import DEFAULTS, LOOPBACK, SHORT_LIVED, prepare_environment, shut_down

FILES = 3


@contextmanager
def client(remote: str, folder: Path) -> Iterator[Any]:
    """A session that is a client, with the server of its own where one is asked for."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    builder = SparkSession.builder.remote(remote)
    if remote.startswith("local"):
        prepare_environment(remote)
        with socket.create_server((LOOPBACK, 0)) as free:
            port = free.getsockname()[1]
        # A server that is started by its client has a port that is known beforehand; here others may be at it too.
        DefaultChannelBuilder.default_port = staticmethod(lambda: port)
        own = {"spark.connect.grpc.binding.port": str(port), "spark.ui.enabled": "false", "spark.local.dir": folder}
        settings = {**DEFAULTS, **SHORT_LIVED, **own, "spark.sql.warehouse.dir": folder / "warehouse"}
        classes = " ".join(f'"{option}"' for option in class_archive.java_options())
        settings["spark.driver.extraJavaOptions"] += f" {classes}"
        for name, value in settings.items():
            builder = builder.config(name, str(value))
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        shut_down(spark)


def _note(answers: list[list[str]], told: Any) -> None:
    answers.append([spoken(query.told()) for query in told.queries])


def restarted(spark: Any, folder: Path) -> dict[str, Any]:
    """Of two runs, the answers after each micro-batch: the queries are stopped after the first one and go on."""
    streams = write_streams(folder, FILES, {"credit": GENERATORS["credit"]})
    later = sorted(Path(streams["credit"]).glob("*.xml"))[1:]
    for file in later:
        file.rename(file.with_name(f".{file.name}"))
    runs: list[list[list[str]]] = []
    for turn in range(2):
        for file in later if turn else ():
            file.with_name(f".{file.name}").rename(file)
        answers: list[list[str]] = []
        runs.append(answers)
        motion = continuous_many(spark, [MAXED_OUT, FRAUD], streams, options={"maxFilesPerTrigger": "1"})
        running = motion.start(
            display=partial(_note, answers),
            checkpoint=(folder / "checkpoint").as_uri(), log=folder / "log", available_now=True,
        )  # fmt: skip
        assert running.wait(300)
        assert [running.answer(number) for number in range(2)] == answers[-1]
        running.stop()
    return {"restarted": runs, "plan": motion.plan(brief=True)}


def fault_of_a_sink(spark: Any, folder: Path) -> str:
    """What is raised where the client cannot take a batch."""
    streams = write_streams(folder, 1, {"credit": GENERATORS["credit"]})

    def fail(_: Any) -> None:
        raise ArithmeticError("no room for this answer")

    running = continuous(spark, MAXED_OUT, streams).start(display=fail)
    try:
        running.wait(300)
    except ArithmeticError as fault:
        return str(fault)
    finally:
        running.stop()
    return ""


def fault_of_a_stream(spark: Any, folder: Path) -> str:
    """What is raised where the server cannot go on."""
    try:
        continuous(spark, 'count(stream("s")//a)', {"s": str(folder / "nothing.xml")}).start().wait(300)
    except XStreamError as fault:
        return fault.code
    return ""


def rows_of_a_source(spark: Any, folder: Path) -> list[str]:
    register(spark)
    persons = spark.read.format("xstreamcast").option("record", "//person").option("columns", '{"id": "@id"}')
    found = persons.option("partitionBytes", "40000").load(document_of(folder, site()).path)
    return [row.id for row in found.collect()]


def main(remote: str, folder: Path, everything: bool) -> None:
    with client(remote, folder / "spark") as spark:
        engine = OnSpark(spark, CASES["connect"], folder)
        told = {
            "client": type(spark).__module__,
            "answers": [engine.answers(case.query, case.given) for case in engine.cases],
            "ids": rows_of_a_source(spark, folder),
            **restarted(spark, folder / "restarted"),
            "log": sorted(file.name for file in (folder / "restarted" / "log").iterdir()),
        }
        if everything:
            told |= {"sink": fault_of_a_sink(spark, folder / "sink"), "stream": fault_of_a_stream(spark, folder)}
        print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), "everything" in sys.argv[3:])
