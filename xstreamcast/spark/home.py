"""The folder that Spark calls its home: PySpark's own, but with its Python compiled.

Spark has each of its Python processes import PySpark from an archive of sources in its home. Nothing compiled can be
kept in there, so that each of these processes, of which a streaming query has five, compiles PySpark anew: half a
second, before it begins. In the folder that stands for the home here, links lead to PySpark as it is installed. Where
the archives would be, are folders of the same names.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_SPARK_HOME: Final = "SPARK_HOME"
_NEEDED: Final = ("bin", "sbin", "jars", "data")
"""What Java takes from Spark's home, besides what is for Python."""


def home_path() -> Path:
    """Where Spark's home is: as the environment says, else a folder in that of this Python, there already or not."""
    import pyspark

    given = os.environ.get(_SPARK_HOME)
    if given:
        return Path(given)
    installed = os.path.dirname(pyspark.__file__)
    name = f"{pyspark.__version__}-{sha256(installed.encode()).hexdigest()[:12]}"
    return Path(sys.prefix, "share", "xstreamcast", f"spark-home-{name}")


def home() -> Path | None:
    """Spark's home, there for certain; nothing where none can be made, and Spark is to find its own."""
    path = home_path()
    if not path.exists():
        with suppress(OSError):
            _make(path)
    return path if path.exists() else None


def _make(path: Path) -> None:
    """Link all together and give it its name at the end: another process may be at it too."""
    import pyspark

    installed = Path(pyspark.__file__).parent
    if not (installed / "jars").is_dir():  # this PySpark is itself part of a home
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".spark-home-", dir=path.parent) as folder:
        made = Path(folder, "home")
        for archive in (installed / "python" / "lib").glob("*.zip"):
            package = archive.stem.partition("-")[0]
            found = find_spec(package)
            if found is None or not found.submodule_search_locations:
                return
            stands_for = made / "python" / "lib" / archive.name
            stands_for.mkdir(parents=True)
            (stands_for / package).symlink_to(found.submodule_search_locations[0])
        for name in _NEEDED:
            if (installed / name).exists():
                (made / name).symlink_to(installed / name)
        made.rename(path)
