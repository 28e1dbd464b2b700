"""How executors get this package: as an archive that Spark unpacks in the folder where they run.

``spark.archives`` brings the archive, ``PYTHONPATH`` names the folder it is unpacked to. What the package depends on
(numba, numpy, elementpath, pyarrow) has to be installed for the workers' Python. The scan kernel as Numba has compiled
it here goes along: workers with the same processor and Python take it as it is, others compile it once for each
application, beside the unpacked files.

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

_FOLDER: Final = "xstreamcast-package"
_SUFFIXES: Final = (".py", ".typed", ".nbi", ".nbc")


def archive(folder: str | Path | None = None) -> Path:
    """The package as a file in a folder (that of temporary files if none is given); written when it is not there."""
    package = Path(__file__).resolve().parents[1]
    files = sorted(file for file in package.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    state = hashlib.sha256()
    for file in files:
        found = file.stat()
        state.update(f"{file.relative_to(package)} {found.st_mtime_ns} {found.st_size}\n".encode())
    made = Path(folder or tempfile.gettempdir(), f"xstreamcast-{state.hexdigest()[:16]}.tar.gz")
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(prefix=".xstreamcast-", dir=made.parent)
        with os.fdopen(handle, "wb") as out, tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as packed:
            for file in files:
                # Times are kept: Numba takes compiled code for that of a file only if they are the same.
                packed.add(file, f"xstreamcast/{file.relative_to(package).as_posix()}", recursive=False)
        os.replace(unfinished, made)
    return made


def executor_settings(packed: Path) -> dict[str, str]:
    """The settings that bring an archive of the package to the executors."""
    return {"spark.archives": f"{packed}#{_FOLDER}", "spark.executorEnv.PYTHONPATH": _FOLDER}
