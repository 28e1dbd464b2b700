"""A continuous query in a notebook is drawn again, in place, while its answer changes.

Drawing has its price, so it is done at most every :data:`EVERY` seconds; what changed since is drawn when the cell has
ended, or, where an event loop runs, when that time is over. Front ends that cannot redraw keep the first picture.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xstreamcast.run.continuous.query import ContinuousQuery

EVERY: Final = 0.1


class LiveView:
    """A picture of a query in the output of a cell."""

    def __init__(self, query: ContinuousQuery) -> None:
        from IPython.display import display

        self.query = query
        self.drawn = 0
        """How often it has been drawn."""
        self._handle: Any = display(self._picture(), raw=True, display_id=True)
        self._last = monotonic()
        self._stale = self._scheduled = False
        query.on_change(self.changed)

    def _picture(self) -> dict[str, str]:
        self.drawn += 1
        return {"text/plain": repr(self.query), "text/html": self.query._repr_html_()}

    def changed(self) -> None:
        """The answer is another."""
        self._stale = True
        wait = self._last + EVERY - monotonic()
        if wait <= 0:
            self.draw()
        elif not self._scheduled:
            try:
                asyncio.get_running_loop().call_later(wait, self._later)
            except RuntimeError:  # no loop runs: the end of the cell draws it
                return
            self._scheduled = True

    def _later(self) -> None:
        self._scheduled = False
        self.draw()

    def draw(self, *_: Any) -> None:
        """Draw it, if it has changed since it was drawn."""
        if self._stale and self._handle is not None:
            self._stale = False
            self._handle.update(self._picture(), raw=True)
            self._last = monotonic()


def show(query: ContinuousQuery) -> None:
    """Show a query in the output of the cell, and keep the picture right; a terminal shows what it is, once."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if any(kind.__name__ == "TerminalInteractiveShell" for kind in type(shell).__mro__):
        print(repr(query))
        return
    view = LiveView(query)
    if shell is not None:
        shell.events.register("post_run_cell", view.draw)
