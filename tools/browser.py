"""Runs the tests of the console in a browser, where there is one or one can be installed. Standard library only.

    .venv/bin/python tools/browser.py [arguments of pytest]

Chromium and its driver are looked for, and installed by apt where that is possible (as root, on Debian and its kin).
Where there is none, nothing is run, which is said loudly and is no failure: exit code 0. Screenshots are in
build/console.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DRIVERS = ("chromedriver", "/usr/lib/chromium/chromedriver", "/usr/lib/chromium-browser/chromedriver")
PACKAGES = ("chromium", "chromium-driver")
ROOT = Path(__file__).parents[1]


def found() -> dict[str, str] | None:
    """The browser and its driver, as the tests are told; None if one of them is missing."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = next(filter(None, map(shutil.which, DRIVERS)), None)
    return None if browser is None or driver is None else {"XCAST_BROWSER": browser, "XCAST_BROWSER_DRIVER": driver}


def install() -> str:
    """Install them; why not, if that cannot be."""
    if shutil.which("apt-get") is None:
        return "there is no apt-get"
    if os.geteuid() != 0:
        return "only root may install packages: apt-get install chromium chromium-driver"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
    print("Installing Chromium and its driver: about 130 MB to load …", flush=True)
    for attempt in (command, ["apt-get", "update", "-qq"], command):
        done = subprocess.run(attempt, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if attempt is command and done.returncode == 0:
            return ""
    return (done.stderr.strip().splitlines() or ["apt-get failed"])[-1]


def main(arguments: list[str]) -> int:
    known = found()
    why = "" if known is not None else install()
    known = known or found()
    if known is None:
        line = "!" * 78
        said = f"NOT RUN: the tests of the console in a browser. There is no Chromium: {why}"
        print(line, said, line, sep="\n", flush=True)
        return 0
    shots = ROOT / "build" / "console"
    shutil.rmtree(shots, ignore_errors=True)
    environment = {**os.environ, **known, "XCAST_SCREENSHOTS": str(shots)}
    command = [sys.executable, "-m", "pytest", str(ROOT / "tests" / "console" / "browser"), *arguments]
    code = subprocess.run(command, env=environment, cwd=ROOT).returncode
    names = sorted(path.name for path in shots.glob("*.png"))
    print(f"{len(names)} screenshots in {shots.relative_to(ROOT)}: {', '.join(names)}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
