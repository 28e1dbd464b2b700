"""``docs/benchmarks.md``: the tables as they were printed, with plots, one section per benchmark.

A run rewrites the head and the sections of the benchmarks it ran; the others stay as they were.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench import peers
from bench.plots import Plot, save

FILE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"

_HEAD: Final = """# Benchmarks

Figures of one machine, beside other tools in the same run; never are two processes measured at once. `make bench`
prints them again, `python -m bench --report` also rewrites this page, `--quick` takes documents of a tenth of the size
and leaves out BaseX. Names of benchmarks or queries choose some: `python -m bench shell xmark-5`. The documents are
XMark's (`XMARK` names a folder with `xmark-f1.xml` and `xmark-f0.1.xml`; without it they come from `xcast generate`)
and generated ones. BaseX takes part if `BASEX` names its jar and there is a JDK.
"""


def write(name: str, title: str, printed: str, plots: Sequence[Plot], file: Path = FILE) -> None:
    """Replace the section of one benchmark, or add it."""
    folder = file.parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    images = [save(plot, folder) for plot in plots]
    shown = [f"![{plot.title}](images/{image.name})" for plot, image in zip(plots, images, strict=True)]
    section = "\n\n".join((f"## {name}", title, f"*{setting()}*", printed.strip(), *shown)) + "\n"
    known = sections(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[name] = section
    file.write_text("\n".join((_HEAD, *known.values())), encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """The sections of a page by their names, in order."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {part.splitlines()[0].removeprefix("## "): part.rstrip("\n") + "\n" for part in parts}


def setting() -> str:
    """When and where: the machine and the versions of what is compared."""
    tools = ", ".join(f"{name} {version}" for name, version in peers.tools().items())
    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return f"{datetime.now(UTC):%Y-%m-%d}; {os.cpu_count()} × {_processor()}, {_memory():.0f} GB; {python}; {tools}"


def _processor() -> str:
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*: (.+)$", told, re.MULTILINE)
    return found[1] if found else platform.machine()


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
