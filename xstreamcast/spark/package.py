"""How executors get this package: as an archive that Spark unpacks in the folder where they run.

``spark.archives`` brings the archive, ``PYTHONPATH`` names the folder it is unpacked to. What the package depends on
(numba, numpy, pyarrow) has to be installed for the workers' Python. The kernels that are compiled here
(:mod:`xstreamcast.native`) go along: workers with the same processor and versions take them as they are, others compile
them once.

>>> conf = executor_settings(archive("/tmp"))      # doctest: +SKIP
>>> SparkSession.builder.config(map=conf)          # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from xstreamcast.native.ahead import all_kernels
from xstreamcast.native.store import SHIPPED, kept

_FOLDER: Final = "xstreamcast-package"
_SUFFIXES: Final = (".py", ".typed")


def archive(folder: str | Path | None = None) -> Path:
    """The package as a file in a folder (that of temporary files if none is given); written when it is not there."""
    package = Path(__file__).resolve().parents[1]
    sources = sorted(file for file in package.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    members = {file.relative_to(package).as_posix(): file for file in sources}
    for code in sorted(filter(None, map(kept, all_kernels()))):
        members[f"{Path(SHIPPED).relative_to(package).as_posix()}/{Path(code).name}"] = Path(code)
    state = hashlib.sha256()
    for name, file in members.items():
        found = file.stat()
        state.update(f"{name} {found.st_mtime_ns} {found.st_size}\n".encode())
    made = Path(folder or tempfile.gettempdir(), f"xstreamcast-{state.hexdigest()[:16]}.tar.gz")
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(prefix=".xstreamcast-", dir=made.parent)
        with os.fdopen(handle, "wb") as out, tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as packed:
            for name, file in members.items():
                packed.add(file, f"xstreamcast/{name}", recursive=False)
        os.replace(unfinished, made)
    return made


def executor_settings(packed: Path) -> dict[str, str]:
    """The settings that bring an archive of the package to the executors."""
    return {"spark.archives": f"{packed}#{_FOLDER}", "spark.executorEnv.PYTHONPATH": _FOLDER}
