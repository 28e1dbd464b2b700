"""``python -m xstreamcast`` is ``xcast``."""

from xstreamcast.cli import main

main()
