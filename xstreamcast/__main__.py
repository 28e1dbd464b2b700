"""``python -m xstreamcast`` is ``xcast``."""

from xstreamcast.start import main

main()
