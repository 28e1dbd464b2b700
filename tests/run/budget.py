"""How many random cases are drawn: ``XSTREAMCAST_RANDOM=n`` draws n times as many, ``make law`` five times."""

from __future__ import annotations

import os

MORE = int(os.environ.get("XSTREAMCAST_RANDOM", "1"))
