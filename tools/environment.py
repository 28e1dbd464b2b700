"""Sets up the environment for the Makefile: a clear word for each thing that can be missing. Standard library only.

python3 tools/environment.py create .venv
.venv/bin/python tools/environment.py install spark "what it is and how large" [REQUIREMENT …]
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

LEAST = (3, 11)


def fail(*lines: str) -> NoReturn:
    for line in lines:
        print(line, file=sys.stderr)
    sys.exit(1)


def create(folder: str) -> None:
    if sys.version_info < LEAST:
        have = ".".join(map(str, sys.version_info[:3]))
        fail(
            f"XStreamCast needs Python {LEAST[0]}.{LEAST[1]} or newer; {sys.executable} is {have}.",
            "Install a newer one, or name it: make PYTHON=python3.12 …",
        )
    try:
        import ensurepip  # noqa: F401 - only whether it is there
        import venv
    except ImportError as missing:
        fail(
            f"This Python ({sys.executable}) has no {missing.name}.",
            "On Debian and Ubuntu: apt install python3-venv. Elsewhere: install a full Python.",
        )
    print(f"Making {folder} with Python {sys.version.split()[0]}", flush=True)
    venv.EnvBuilder(with_pip=True).create(folder)  # what is installed there already stays


def install(extra: str, what: str, *pinned: str) -> None:
    print(f"Installing {what} …", flush=True)
    began = time.time()
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "-e", f".[{extra}]"]
    command += pinned
    done = subprocess.run(command)
    if done.returncode:
        fail(f"pip failed (exit code {done.returncode}).", "Its message is above; is a package index within reach?")
    print(f"… done in {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    commands: dict[str, Callable[..., Any]] = {"create": create, "install": install}
    commands[sys.argv[1]](*sys.argv[2:])
