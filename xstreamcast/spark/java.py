"""Find a Java that Spark can run on: version 17 or newer.

Looked for in this order: ``JAVA_HOME``, the ``java`` on the ``PATH``, then the folders where Linux and macOS
distributions and the usual installers put it, newest first. The version is read from the ``release`` file that every
JDK carries; only where that is missing is ``java -version`` asked.

``python -m xstreamcast.spark.java`` prints the JAVA_HOME found, or says what to do and exits with 1.

>>> parse_version("17.0.13"), parse_version("1.8.0_412"), parse_version("25-ea")
(17, 8, 25)
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xstreamcast.errors import error

LEAST: Final = 17
"""The oldest Java that Spark 4 runs on."""

SYSTEM_FOLDERS: Final = (
    "/usr/lib/jvm/*",
    "/usr/lib64/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/home/linuxbrew/.linuxbrew/opt/openjdk*/libexec",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "~/.local/share/mise/installs/java/*",
    "~/.asdf/installs/java/*",
    "~/.jenv/versions/*",
)

_RELEASE: Final = re.compile(r'^JAVA_VERSION="?([^"\n]+)"?', re.MULTILINE)
_SPOKEN: Final = re.compile(r'version "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation: its home, its version, and how it came to be looked at."""

    home: Path
    version: int | None
    found: str

    @property
    def fits(self) -> bool:
        """Whether Spark runs on it."""
        return self.version is not None and self.version >= LEAST


def parse_version(text: str) -> int | None:
    """The feature release of a version text: ``17.0.13`` → 17, and the old style ``1.8.0_412`` → 8."""
    match = re.match(r"(?:1\.)?(\d+)", text.strip())
    return int(match[1]) if match else None


def version_of(home: Path) -> int | None:
    """The version of the Java at a home; None where there is none, or it does not run."""
    executable = home / "bin" / "java"
    if not os.access(executable, os.X_OK):
        return None
    try:
        release = _RELEASE.search((home / "release").read_text(errors="replace"))
    except OSError:
        release = None
    if release is not None:
        return parse_version(release[1])
    try:
        spoken = subprocess.run([str(executable), "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    # macOS has a /usr/bin/java that only says that there is no Java; it names no version.
    version = _SPOKEN.search(spoken.stderr + spoken.stdout)
    return parse_version(version[1]) if version else None


def candidates(environment: Mapping[str, str], folders: tuple[str, ...] = SYSTEM_FOLDERS) -> Iterator[Java]:
    """Every Java there is, in order of preference: what the user named first, then the newest."""
    seen: set[Path] = set()

    def look(home: Path, found: str) -> Java | None:
        real = home.resolve()
        if real in seen:
            return None
        seen.add(real)
        return Java(home, version_of(home), found)

    named = environment.get("JAVA_HOME")
    if named:
        # Kept even where it holds no Java: a wrong JAVA_HOME is worth a word in the message.
        java = look(Path(named), "JAVA_HOME")
        if java is not None:
            yield java
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        java = look(Path(on_path).resolve().parent.parent, "PATH")
        if java is not None:
            yield java
    elsewhere: list[Java] = []
    home_folder = environment.get("HOME", "")
    for pattern in folders:
        if pattern.startswith("~/") and not home_folder:
            continue
        place = Path(pattern.replace("~", home_folder, 1) if pattern.startswith("~/") else pattern)
        anchor = Path(place.anchor)
        for home in sorted(anchor.glob(str(place.relative_to(anchor)))):
            java = look(home, str(home.parent)) if (home / "bin" / "java").exists() else None
            if java is not None:
                elsewhere.append(java)
    yield from sorted(elsewhere, key=lambda java: java.version or 0, reverse=True)


def find_java(environment: Mapping[str, str] | None = None, folders: tuple[str, ...] = SYSTEM_FOLDERS) -> Java:
    """The Java to use; raises XSC0060 with what was found and how to install one."""
    looked: list[Java] = []
    for java in candidates(os.environ if environment is None else environment, folders):
        if java.fits:
            return java
        looked.append(java)
    raise error("XSC0060", _missing(looked), hint=_how_to_install(sys.platform))


def _missing(looked: list[Java]) -> str:
    text = f"Spark needs Java {LEAST} or newer"
    if not looked:
        return f"{text}; no Java was found (JAVA_HOME, PATH, the usual folders)"
    finds = [
        f"{java.found}: {java.home} is "
        + (f"Java {java.version}, too old" if java.version is not None else "no Java that runs")
        for java in looked
    ]
    return "; ".join([text, *finds])


def _how_to_install(platform: str) -> str:
    if platform == "darwin":
        return "brew install openjdk@17, or an installer from https://adoptium.net; then try again"
    return (
        "Debian, Ubuntu: sudo apt install openjdk-17-jre-headless; Fedora: sudo dnf install java-21-openjdk-headless; "
        "without root: https://adoptium.net and JAVA_HOME=<its folder>"
    )


def main(folders: tuple[str, ...] = SYSTEM_FOLDERS) -> int:
    """What ``python -m xstreamcast.spark.java`` does."""
    try:
        print(find_java(folders=folders).home)
    except ValueError as missing:
        print(missing, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
