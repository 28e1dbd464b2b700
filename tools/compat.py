"""Runs the tests of ``tests/compat`` in an environment of each Spark that is supported. Standard library only.

    python3 tools/compat.py [VERSION …] [-- arguments of pytest]

    VERSION     4.1, 4.2, 4.3; all of them if none is named

Each has an environment of its own in ``.compat``, made once: about 500 MB to load, 1.2 GB on disk. For some there are
jars of a lakehouse, from Maven Central by ``mvn``. What cannot be had is not run, which is said loudly: exit code 1 if
that is a Spark, 0 if it is a lakehouse.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".compat"
PATIENCE = 600
"""Seconds that Maven may take."""

SPARKS = ("4.1", "4.2", "4.3")
LAKES = {
    "4.1": ("iceberg", ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",)),
    "4.2": ("delta", ("io.delta:delta-spark_4.2_2.13:4.4.0", "io.delta:delta-storage:4.4.0")),
}
"""By Spark, the lakehouse that has a build for it."""


def loudly(text: str) -> None:
    line = "!" * 78
    print(line, text, line, sep="\n", flush=True)


def environment(version: str) -> Path | None:
    """The Python of an environment with a Spark; nothing where that cannot be had."""
    folder = FOLDER / version
    python = folder / "bin" / "python"
    stamp = folder / ".made"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        made = [sys.executable, "tools/environment.py", "create", str(folder)]
        what = f"Spark {version} and what its tests need: about 500 MB to load"
        filled = [str(python), "tools/environment.py", "install", "connect,serve,test", what, f"pyspark=={version}.*"]
        for command in (made, filled):
            if subprocess.run(command, cwd=ROOT).returncode:
                return None
        stamp.touch()
    return python


def lake(version: str) -> dict[str, str]:
    """The variables that name the jars of a lakehouse; none where there are none for a Spark, or cannot be had."""
    if version not in LAKES:
        print(f"Spark {version}: no lakehouse has a build for it yet", flush=True)
        return {}
    name, artifacts = LAKES[version]
    folder = FOLDER / f"{name}-{version}"
    for artifact in artifacts:
        _, file, number = artifact.split(":")
        if not (folder / f"{file}-{number}.jar").exists() and not _load(artifact, folder):
            loudly(f"NOT RUN: the tests of {name} on Spark {version}. {artifact} could not be loaded")
            return {}
    return {"XCAST_LAKE": name, "XCAST_LAKE_JARS": ",".join(map(str, sorted(folder.glob("*.jar"))))}


def _load(artifact: str, folder: Path) -> bool:
    if shutil.which("mvn") is None:
        return False
    goal = [
        "mvn",
        "--batch-mode",
        "--quiet",
        "dependency:copy",
        f"-Dartifact={artifact}",
        f"-DoutputDirectory={folder}",
    ]
    try:
        return subprocess.run(goal, timeout=PATIENCE).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main(arguments: list[str]) -> int:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    versions, more = arguments[:split] or list(SPARKS), arguments[split + 1 :]
    failed = []
    for version in versions:
        python = environment(version)
        if python is None:
            loudly(f"NOT RUN: the tests on Spark {version}. It could not be installed")
            failed.append(version)
            continue
        print(f"Spark {version}:", flush=True)
        command = [str(python), "-m", "pytest", "-n0", str(ROOT / "tests" / "compat"), *more]
        if subprocess.run(command, env={**os.environ, **lake(version)}, cwd=ROOT).returncode:
            failed.append(version)
    done = [version for version in versions if version not in failed]
    print(f"passed on Spark {', '.join(done) or '–'}; failed on {', '.join(failed) or '–'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
