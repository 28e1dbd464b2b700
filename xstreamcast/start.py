"""The start of ``xcast``. Nothing is imported here that takes time, so Ctrl-C may come while its modules are read in.

What Python does before this file is read (its own start, the few lines of the script that an installer makes) is not
ours: Ctrl-C shows a traceback there.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def stop(_: int = 0, __: FrameType | None = None) -> NoReturn:
    """End the process at once, as an interrupted command ends: nothing has begun that is to be undone."""
    os.write(2, b"xcast: interrupted\n")
    os._exit(130)


def main() -> None:
    """The entry point of ``xcast``."""
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored
            signal.signal(signal.SIGINT, stop)
    except KeyboardInterrupt:
        stop()
    # NumPy's library of linear algebra, which no query uses, would start a thread for each processor.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from xstreamcast.cli import main as run

    try:
        run(at_start=stop)
    except SystemExit as ended:
        _leave(ended)


def _leave(ended: SystemExit) -> NoReturn:
    """End the process when all is written and undone. Taking apart what was imported, module by module and object by
    object, as Python does at its end, would take longer than a query on a small document."""
    import atexit
    import sys
    import threading

    if isinstance(ended.code, int) and threading.active_count() == 1:
        atexit._run_exitfuncs()
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):  # Python says so in its own way
            raise ended from None
        os._exit(ended.code)
    raise ended
