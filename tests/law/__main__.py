"""The law at length: thousands of random cases, Saxon after every change.

    python tests/law                      5000 cases from seed 0, or what can be done in --minutes
    python tests/law --cases 20000 --minutes 60 --from 100000
    python tests/law --regular            streams as a bank or a shop sends them, in batches: followed in columns
    python tests/law --columns            the streams that the tests of columns draw, longer, in batches of every size
    python tests/law --seed 1234          one case again: told in full, and shrunk if it fails
    python tests/law --file FILE.json     a kept case again

What fails is shrunk and written to --keep, a folder; copied to tests/properties/regressions it becomes a test.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "properties"))
sys.path.insert(0, str(Path(__file__).parents[1] / "run"))
sys.path.insert(0, str(Path(__file__).parents[1] / "run" / "continuous"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from law_case import Case, from_json
from law_draw import draw_varied
from law_oracle import LawBroken, Told, check
from law_regular import draw_regular
from law_shrink import shrink


@dataclass
class Score:
    """What has come of the cases so far."""

    cases: int = 0
    steps: int = 0
    answers: int = 0
    errors: int = 0
    latitude: int = 0
    columns: int = 0
    failed: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    """Why cases are not followed in columns at their end."""
    begun: float = field(default_factory=time.monotonic)

    def add(self, case: Case, told: Told) -> None:
        self.steps += len(case.steps)
        self.answers += told.answers
        self.errors += told.errors
        self.latitude += told.latitude
        self.columns += not told.by_objects
        self.left[re.sub(r"\d+", "N", told.by_objects)] += 1

    def line(self) -> str:
        seconds = time.monotonic() - self.begun
        return (
            f"{self.cases} cases, {self.steps} changes, {self.answers} answers, an error after {self.errors} changes, "
            f"{self.columns} in columns to the end, {len(self.failed)} failed, {seconds:.0f} s"
        )


def main() -> int:
    options = _options()
    if options.file is not None:
        return _tell(from_json(options.file.read_text(encoding="utf-8")), options.keep, options.file.stem)
    if options.columns:
        return _columns(options)
    draw = draw_regular if options.regular else draw_varied
    if options.seed is not None:
        return _tell(draw(options.seed, options.size), options.keep, f"seed-{options.seed}")
    score = Score()
    for seed in range(options.first, options.first + options.cases):
        if time.monotonic() - score.begun > options.minutes * 60:
            print(f"time is up at seed {seed}", flush=True)
            break
        score.cases += 1
        case = draw(seed, options.size)
        try:
            score.add(case, check(case, saxon="always"))
        except Exception as fault:  # whatever it is, the other cases go on
            score.failed.append(seed)
            which = fault.which if isinstance(fault, LawBroken) else type(fault).__name__
            score.kinds[which] += 1
            print(f"seed {seed} fails: {which}", flush=True)
            if len(score.failed) <= options.shrink:
                _keep(shrink(case, tries=400), options.keep, f"seed-{seed}")
        if score.cases % 100 == 0:
            print(score.line(), flush=True)
    print(score.line())
    print("in columns, or why not:", ", ".join(f"{count} {why or 'yes'}" for why, count in score.left.most_common(12)))
    if score.failed:
        print("failed:", ", ".join(f"{count} {kind}" for kind, count in score.kinds.most_common()))
        print("again: python tests/law --seed", score.failed[0])
    return 1 if score.failed else 0


def _columns(options: argparse.Namespace) -> int:
    """What is told in columns is the answer after every batch; or of one seed, in full."""
    from columns_at_length import check as check_columns

    warnings.simplefilter("ignore")  # ids that come again with other content
    if options.seed is not None:
        print(f"holds: {check_columns(options.seed)}")
        return 0
    failed, begun, cases = list[int](), time.monotonic(), 0
    for seed in range(options.first, options.first + options.cases):
        if time.monotonic() - begun > options.minutes * 60:
            print(f"time is up at seed {seed}", flush=True)
            break
        cases += 1
        try:
            check_columns(seed)
        except Exception as fault:  # whatever it is, the other cases go on
            failed.append(seed)
            print(f"seed {seed} fails: {type(fault).__name__}: {str(fault)[:200]}", flush=True)
        if cases % 100 == 0:
            print(f"{cases} cases, {len(failed)} failed, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{cases} cases of columns, {len(failed)} failed, {time.monotonic() - begun:.0f} s")
    if failed:
        print("again: python tests/law --columns --seed", failed[0])
    return 1 if failed else 0


def _tell(case: Case, keep: Path, name: str) -> int:
    """One case, in full."""
    try:
        told = check(case, saxon="always")
    except Exception as fault:  # to be told, whatever it is
        print(f"{type(fault).__name__}: {fault}\n\nshrunk:\n")
        smaller = shrink(case)
        print(smaller)
        _keep(smaller, keep, name)
        return 1
    print(f"{case}\n\nholds: {told.answers} answers, the last: {told.last}")
    return 0


def _keep(case: Case, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(case.to_json(), encoding="utf-8")
    print(f"kept: {path}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="law", description="The law at length: random cases, Saxon after every change."
    )
    parser.add_argument("--cases", type=int, default=5000, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    parser.add_argument("--minutes", type=float, default=30, help="no longer than this")
    parser.add_argument("--size", type=int, default=16, help="about how many changes follow a document")
    parser.add_argument("--regular", action="store_true", help="cases that are followed in columns, mostly")
    parser.add_argument("--columns", action="store_true", help="streams as the tests of columns draw them")
    parser.add_argument("--seed", type=int, help="this case only, told in full")
    parser.add_argument("--file", type=Path, help="a kept case only, told in full")
    parser.add_argument("--keep", type=Path, default=Path("law-failures"), help="where shrunk failures go")
    parser.add_argument("--shrink", type=int, default=20, help="how many failures to shrink")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
