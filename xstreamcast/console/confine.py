"""What a process that runs queries of the page may not do: read files, write files, connect, start other processes.

A query has functions that read (``doc``, ``unparsed-text``); what it may read here are the streams of the server.
Python says before it opens, connects or starts anything (audit events), and what is not its own is refused.
"""

from __future__ import annotations

import os
import resource
import sys
import sysconfig
from pathlib import Path
from typing import Any, Final

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.native.load import PROCESSOR
from xstreamcast.native.store import folders as kernel_folders

_NETWORK: Final = frozenset({"socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"})
_PROCESSES: Final = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.kill", "os.forkpty", "pty.spawn"}
)
_CHANGES: Final = frozenset({"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate"})
_LISTS: Final = frozenset({"os.listdir", "os.scandir"})
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def confine(memory: int, own: str) -> None:
    """From now on there is at most so much memory, no network, and no file but those of Python and in one folder."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    least = [limit for limit in (memory, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(least, default=soft), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    readable, writable = _readable(own), (os.path.realpath(own),)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            wanted = writable if isinstance(flags, int) and flags & _WRITES else readable
            _check(path, wanted)
        elif event in _LISTS:
            _check(arguments[0], readable)
        elif event in _CHANGES:
            _check(arguments[0], writable)
        elif event in _NETWORK or event in _PROCESSES:
            raise _refused(event)

    sys.addaudithook(hear)


def _readable(own: str) -> tuple[str, ...]:
    """The folders of Python and its packages, and of compiled kernels; and what tells which of them are for here."""
    found = [own, sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(Path(__file__).parents[1])]
    found += [*(path for path in sys.path if path), "/usr/share/zoneinfo", *kernel_folders(), PROCESSOR]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in found))


def _check(path: Any, folders: tuple[str, ...]) -> None:
    if path is None or isinstance(path, int):
        return  # what is open already
    real = os.path.realpath(os.fsdecode(path))
    if real != os.devnull and not any(real == folder or real.startswith(folder + os.sep) for folder in folders):
        raise _refused(os.fsdecode(path))


def _refused(what: str) -> XStreamError:
    """XSC0006 is an error of the query and of the system too: whoever expects the one or the other takes it."""
    return error("XSC0006", "a query of the console reads the streams of its server only", Place(what))
