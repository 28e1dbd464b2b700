"""The server's end of a process that runs queries: asked one thing at a time, ended when it takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.depth import VARIABLE
from xstreamcast.serve.record import Entry

ANSWER: Final = 64 << 20
"""No answer of a process is larger than this."""
_KEPT: Final = (
    "PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "TZ",
    "XDG_CACHE_HOME", "XCAST_CACHE", VARIABLE,
)  # fmt: skip


class Process:
    """A process. ``memory``: the bytes that it may have; ``patience``: the seconds that an answer may take."""

    compiled: ClassVar[bool] = False

    def __init__(self, memory: int, patience: float) -> None:
        self.memory = memory
        self.patience = patience
        self._process: asyncio.subprocess.Process | None = None
        self._folder = ""
        self._turn = asyncio.Lock()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def resident(self) -> int:
        """The bytes of memory that it has, where the system tells; else 0."""
        if self._process is not None:
            with suppress(OSError, ValueError, IndexError):
                pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
                return pages * os.sysconf("SC_PAGE_SIZE")
        return 0

    async def start(self) -> None:
        """Begin. It inherits nothing that is secret: neither the environment nor the folder of the server.

        Kernels are compiled before: it may write nothing that lasts, and what it may take does not count for that."""
        self._folder = tempfile.mkdtemp(prefix="xcast-console-")
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {"TMPDIR": self._folder}
        packages = [str(Path(__file__).parents[2]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, packages))
        try:
            await self._compile(environment)
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "xstreamcast.console.worker", env=environment, cwd=self._folder, limit=ANSWER,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as fault:
            await self.stop()
            raise error("XSC0140", f"no process can be started: {fault.strerror}") from None
        await self.ask("begin", memory=self.memory, folder=self._folder)

    @classmethod
    async def _compile(cls, environment: dict[str, str]) -> None:
        """Once in a server: kernels that are not compiled yet, in a process that may keep them."""
        if cls.compiled:
            return
        compiler = await asyncio.create_subprocess_exec(sys.executable, "-m", "xstreamcast.native", env=environment)
        try:
            cls.compiled = await compiler.wait() == 0
        finally:
            if compiler.returncode is None:
                compiler.kill()
                await compiler.wait()

    async def ask(self, op: str, records: Sequence[Entry] | None = None, **arguments: Any) -> dict[str, Any]:
        """What it answers; raises what it refuses. One that takes too long, or is gone, is over."""
        async with self._turn:
            process = self._process
            if process is None or process.stdin is None or process.stdout is None:
                raise error("XSC0140", "the query does not run")
            asked: dict[str, Any] = {"op": op, **arguments}
            if records is not None:
                asked |= {"n": [entry.n for entry in records], "sizes": [len(entry.wire) for entry in records]}
            try:
                async with asyncio.timeout(self.patience):
                    process.stdin.write(json.dumps(asked).encode() + b"\n")
                    process.stdin.writelines(entry.wire for entry in records or ())
                    await process.stdin.drain()
                    line = await process.stdout.readline()
            except TimeoutError:
                await self.stop()
                raise error("XSC0140", f"it has taken longer than {self.patience:g} s, and is over") from None
            except (ConnectionError, ValueError):
                line = b""
            except asyncio.CancelledError:
                await self.stop()  # half a question cannot be taken back
                raise
            if not line:
                await self.stop()
                hint = "a query may have so much memory as --console-memory says"
                raise error("XSC0140", "the process of the query has ended", hint=hint)
        answer: dict[str, Any] = json.loads(line)
        if "fault" in answer:
            if answer.get("over"):
                await self.stop()
            raise _fault(answer["fault"])
        return answer

    async def stop(self) -> None:
        """End it at once; there is nothing in it that would be lost."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""


def _fault(answer: dict[str, Any]) -> XStreamError:
    place = Place("query", answer["line"], answer["column"]) if answer["line"] is not None else None
    return error(answer["code"], answer["message"], place, answer["hint"])
