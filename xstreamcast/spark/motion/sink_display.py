"""The answers on a terminal while Spark runs the queries: the same live view, with Spark's own figures below it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from xstreamcast.run.continuous.display.live_view import FRAMES, LiveView

if TYPE_CHECKING:
    from rich.console import Console

    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.spark.motion.listener import Figures
    from xstreamcast.spark.motion.sink_answers import Answers, Batch


class SparkView(LiveView):
    """The live view of answers that come from Spark."""

    def __init__(self, answers: Answers, figures: Figures, console: Console | None = None) -> None:
        self.answers = answers
        self.figures = figures
        shown: Any = answers  # it has the face of an inflow, as far as the view looks
        super().__init__(shown, console)

    def _footing(self, now: float) -> str:
        figures, sizes = self.figures, self.answers.sizes
        return (
            f"{self.answers.n:,} changes  {figures.rows_per_second:,.0f}/s  batch {figures.batches:,}: "
            f"{figures.seconds:.2f} s  {len(sizes.table):,} regions  {sizes.kept / 1e6:,.2f} MB of state  "
            f"lag {figures.lag:.2f} s"
        )


class LiveDisplay:
    """A sink that shows the answers live: items appear, change and vanish where they stand."""

    def __init__(self, answers: Answers, figures: Figures, console: Console | None = None) -> None:
        self.view = SparkView(answers, figures, console)
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.painter = threading.Thread(target=self._paint, name="display", daemon=True)
        self.painter.start()

    def _paint(self) -> None:
        """What is new glows for a while and then does not, also when nothing comes."""
        while not self.stopped.wait(1 / FRAMES):
            with self.lock:
                self.view.draw()

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        with self.lock:
            for number, emitted in enumerate(told):
                self.view.changed(number, emitted, 0.0)

    def close(self) -> None:
        self.stopped.set()
        self.painter.join()
        self.view.close()
