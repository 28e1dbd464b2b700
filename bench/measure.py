"""Measuring a command: CPU time, wall time, and the peak of its anonymous memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run of a command cost."""

    cpu: float
    wall: float
    peak: int

    @property
    def megabytes(self) -> float:
        """The peak in MB."""
        return self.peak / 1e6


def measure(command: Sequence[str], stdout: Path | None = None) -> Measured:
    """Run a command to its end. Anonymous memory is sampled where the system shows it; else its resident peak."""
    began = time.perf_counter()
    with open(stdout or os.devnull, "wb") as out:
        process = subprocess.Popen(command, stdout=out)
        peak = 0
        status = Path(f"/proc/{process.pid}/status")
        while True:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, anonymous(status))
            time.sleep(0.01)
    wall = time.perf_counter() - began
    if code:
        sys.exit(f"{' '.join(command)} failed")
    if not peak:
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Measured(usage.ru_utime + usage.ru_stime, wall, peak)


def anonymous(status: Path) -> int:
    """The anonymous memory of a process now, in bytes, from its ``/proc/…/status``; 0 where there is no such file."""
    try:
        for line in status.read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A Markdown table."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def progress(doing: str) -> None:
    """Tell on a terminal what is being measured; the line is overwritten by the next."""
    if sys.stderr.isatty():
        print(f"\r\033[K{doing}\r", end="", file=sys.stderr, flush=True)
