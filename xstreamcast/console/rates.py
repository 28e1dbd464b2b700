"""How much something brings a second, from a count that is looked at every second.

>>> rate = Rate()
>>> for count in (100, 110, 130):
...     rate.note(count)
>>> rate.per_second, rate.recent
(15.0, [10, 20])
"""

from __future__ import annotations

from collections import deque
from typing import Final

SECONDS: Final = 60
"""So many of the last seconds are shown."""
_OVER: Final = 5


class Rate:
    """The differences of a count, second by second."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._recent: deque[int] = deque(maxlen=SECONDS)

    def note(self, count: int) -> None:
        """The count, a second later."""
        if self._last is not None:
            self._recent.append(max(0, count - self._last))
        self._last = count

    @property
    def recent(self) -> list[int]:
        """How many in each of the last seconds."""
        return list(self._recent)

    @property
    def per_second(self) -> float:
        """The mean of the last few seconds."""
        last = list(self._recent)[-_OVER:]
        return sum(last) / len(last) if last else 0.0
