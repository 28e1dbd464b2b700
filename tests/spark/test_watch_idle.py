"""``watch --engine spark --until-idle``: idle is who has been able to look, and has found nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xstreamcast.cli import watch_spark
from xstreamcast.spark.motion.listener import Listening
from xstreamcast.spark.motion.sink_answers import Batch


class Played:
    """A query that Spark runs, of which each look finds the next thing that happens, after so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *steps: tuple[float, Callable[[Played], None] | bool]) -> None:
        self.clock = 1000.0
        self.steps = list(steps)
        self.is_idle = False
        self.answers = SimpleNamespace(ended=False, n=0, warnings=[], queries=[])
        report: Any = str  # as much of these two as is looked at
        warned: Any = SimpleNamespace(say=str)
        self.following = watch_spark.Following([], report, warned)
        monkeypatch.setattr(watch_spark, "time", SimpleNamespace(monotonic=lambda: self.clock))

    def wait(self, _: float) -> bool:
        seconds, happens = self.steps.pop(0)
        self.clock += seconds
        if isinstance(happens, bool):
            self.is_idle = happens
        else:
            happens(self)
        return False

    def until_idle(self, seconds: float) -> float:
        """After how many seconds the command ends."""
        running: Any = self
        watch_spark._wait(running, self.following, seconds)
        return self.clock - 1000


def batch(changes: int) -> Callable[[Played], None]:
    def done(played: Played) -> None:
        played.answers.n += changes
        answers: Any = played.answers
        played.following.take(Batch.of(0, []), answers, [])

    return done


STARTING, BUSY, IDLE = False, False, True


def test_until_spark_has_looked_nobody_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Played(monkeypatch, (500, STARTING), (1, IDLE), (2, IDLE), (2, IDLE)).until_idle(3) == 505


def test_while_a_batch_is_at_hand_nobody_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (1, IDLE), (1, IDLE), (100, BUSY), (0, batch(5)), (2, IDLE), (2, IDLE)
    assert Played(monkeypatch, *steps).until_idle(3) == 106


def test_from_batch_to_batch_it_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (9, batch(1)), (2, IDLE), (0, BUSY), (1, batch(1)), (2, IDLE), (1, IDLE), (1, IDLE)
    assert Played(monkeypatch, *steps).until_idle(3) == 16


def test_that_time_passes_is_not_that_something_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (50, batch(2)), (2, batch(0)), (30, BUSY), (0, batch(7)), (2, batch(0)), (2, batch(0))
    assert Played(monkeypatch, *steps).until_idle(3) == 86


def test_spark_says_that_it_has_looked_when_there_is_nothing_and_when_a_batch_is_done() -> None:
    idle = Listening()
    idle.run = "1"
    idle.onQueryIdle(SimpleNamespace(runId="2"))
    assert not idle.figures.looked
    idle.onQueryIdle(SimpleNamespace(runId="1"))
    assert idle.figures.looked


@pytest.mark.spark
def test_what_is_there_is_answered_however_short_the_idleness(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from motion_streams import write_file

    from xstreamcast.cli.terminal import Diagnostics
    from xstreamcast.model.change import Fill

    write_file(tmp_path / "1.xml", [Fill(region=0, content=b"<a>1</a>")])
    watch_spark.follow(
        spark, ['stream("s")/a'], {"s": str(tmp_path)}, {}, Diagnostics(), format=None, trace=True, until_idle=0.0,
        checkpoint=None, batch=None,
    )  # fmt: skip
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["answer"] == "<a>1</a>"
