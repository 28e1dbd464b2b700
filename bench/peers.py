"""The tools that are compared: each runs a case in a process of its own and tells what it cost.

A worker (``python -m bench.peers TOOL CASE WARM DOCUMENT ANSWER``) runs the query on a smaller document first, then on
the document itself, up to three times while that is quick. It writes the answer to a file and for each run on the
document a line of JSON to standard output: CPU seconds of all its threads, wall seconds, seconds to the first part of
the answer. Every run begins at the file, for that is what a query over a stored document costs. The parent takes the
best run, and samples memory until the first is over: what a second leaves behind is not the query's.

``python -m bench.peers --script TOOL CASE DOCUMENT`` is the same without a harness, as a shell script would be.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from bench import documents
from bench.cases import Case, find
from bench.measure import anonymous

OURS: Final = "xstreamcast"
TIMES: Final = 3
LIMIT: Final = 45.0
"""CPU seconds a worker may take, its first run included; three times as many of the clock."""

_QUICK: Final = 2.0
_MAPS: Final = 'declare namespace map = "http://www.w3.org/2005/xpath-functions/map";'


@dataclass(frozen=True, slots=True)
class Cost:
    """What a case cost with a tool, in seconds and bytes; or why it has no cost."""

    cpu: float = 0.0
    wall: float = 0.0
    first: float = 0.0
    peak: int = 0
    failure: str = ""


Parts = Callable[[Case, str], Iterator[str]]
"""(case, path of the document) → the answer, in parts as they become known."""


# ------------------------------------------------------------------------------------------------------- the workers


def _ours(case: Case, document: str) -> Iterator[str]:
    from xstreamcast import query

    result = query(case.query, context=Path(document))
    next(iter(result), None)
    yield ""  # the first item is known
    yield result.xml()


def _lxml(case: Case, document: str) -> Iterator[str]:
    return case.script(document)


@cache
def saxon() -> Any:
    import saxonche

    return saxonche.PySaxonProcessor(license=False)


def _saxonche(case: Case, document: str) -> Iterator[str]:
    loaded = saxon().parse_xml(xml_file_name=document)
    engine = saxon().new_xquery_processor()
    engine.set_context(xdm_item=loaded)
    text = _MAPS + case.query if "map:" in case.query else case.query
    yield engine.run_query_to_string(query_text=text, lang="3.1") or ""


WORKERS: Final[dict[str, Parts]] = {OURS: _ours, "lxml": _lxml, "saxonche": _saxonche}


def once(parts: Parts, case: Case, document: str) -> tuple[Cost, str]:
    """One run, and the answer."""
    cpu, began = time.process_time(), time.perf_counter()
    first = None
    answer = []
    for part in parts(case, document):
        if first is None:
            first = time.perf_counter() - began
        answer.append(part)
    text = "".join(answer)
    wall = time.perf_counter() - began
    return Cost(time.process_time() - cpu, wall, wall if first is None else first), text


def work(tool: str, name: str, warm: str, document: str, answer: str) -> None:
    """A worker's whole life."""
    case, parts = find(name), WORKERS[tool]
    once(parts, case, warm)
    spent = 0.0
    for number in range(TIMES):
        if number and spent > _QUICK:
            break
        cost, text = once(parts, case, document)
        Path(answer).write_text(text, encoding="utf-8")
        print(json.dumps({"cpu": cost.cpu, "wall": cost.wall, "first": cost.first}), flush=True)
        spent += cost.cpu


def script(tool: str, name: str, document: str) -> None:
    """A query from the shell: the answer goes to standard output."""
    for part in WORKERS[tool](find(name), document):
        sys.stdout.write(part)


# -------------------------------------------------------------------------------------------------------- the parent


def java(program: str = "java") -> str | None:
    """A program of the JDK that ``JAVA_HOME`` names, or of the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(program, path=str(Path(home) / "bin")) if home else shutil.which(program)


@cache
def basex() -> list[str]:
    """The command of the BaseX worker; its jar is the one ``BASEX`` names, or belongs to the ``basex`` of the path.

    Nothing if there is none, or no JDK; nor on small documents, which are done before a virtual machine is warm.
    """
    if documents.scaled() < 1:
        return []
    command = shutil.which("basex")
    beside = [Path(command).resolve().parents[1] / "BaseX.jar"] if command else []
    given = [Path(os.environ["BASEX"])] if os.environ.get("BASEX") else []
    jar = next((path for path in (*given, *beside, Path("/usr/share/java/basex.jar")) if path.is_file()), None)
    compiler, runner = java("javac"), java()
    if jar is None or compiler is None or runner is None:
        return []
    folder = Path(tempfile.gettempdir()) / "xstreamcast-bench" / "basex"
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_name("BaseX.java")
    subprocess.run([compiler, "-cp", str(jar), "-d", str(folder), str(source)], check=True)
    return [runner, f"-Dorg.basex.path={folder}", "-cp", os.pathsep.join((str(jar), str(folder))), "BaseX"]


@cache
def tools() -> dict[str, str]:
    """The tools that are installed here, with their versions; ours first."""
    found = {name: version(name) for name in (OURS, "lxml", "saxonche")}
    if basex():
        asked = [*basex()[:-1], "org.basex.BaseX", "db:system()//version/string()"]
        found["basex"] = subprocess.run(asked, capture_output=True, check=True, text=True).stdout.strip()
    return found


def run(tool: str, case: Case, warm: Path, document: Path, answer: Path, limit: float = LIMIT) -> Cost:
    """Run a case with a tool in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [str(warm), str(document), str(answer)]
        if tool == "basex":
            text = Path(folder) / "query.xq"
            text.write_text(case.query, encoding="utf-8")
            command = [*basex(), str(text), *arguments, str(TIMES)]
        else:
            command = [sys.executable, "-m", "bench.peers", tool, case.name, *arguments]
        return _sampled(command, limit)


def _sampled(command: Sequence[str], limit: float) -> Cost:
    """Wait for a worker, and sample its anonymous memory meanwhile."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as faults:
        process = subprocess.Popen(command, stdout=out, stderr=faults)
        status = Path(f"/proc/{process.pid}/status")
        peak = 0
        while process.poll() is None:
            if not os.fstat(out.fileno()).st_size:
                peak = max(peak, anonymous(status))
            if _used(process.pid) > limit or time.perf_counter() - began > 3 * limit:
                process.kill()
                process.wait()
                return Cost(failure=f"> {limit:.0f} s")
            time.sleep(0.01)
        out.seek(0)
        faults.seek(0)
        if process.returncode:
            sys.stderr.write(faults.read())
            return Cost(failure="failed")
        runs = [json.loads(line) for line in out.read().splitlines()]
        return Cost(**min(runs, key=lambda cost: float(cost["cpu"])), peak=peak)


def _used(pid: int) -> float:
    """CPU seconds of a process; 0 where the system does not show them.

    A limit set by the system itself would coarsen the clock that the worker measures with.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    if sys.argv[1] == "--script":
        script(*sys.argv[2:])
    else:
        work(*sys.argv[1:])
