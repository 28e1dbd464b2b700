"""``python -m bench [NAME …]``: run the benchmarks of this folder, each of which prints a table.

The XMark documents come from the folder named by ``XMARK`` (``xmark-f0.1.xml``, ``xmark-f1.xml``) if it is set, else
from our own generator.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path


def names() -> list[str]:
    """Every file of this folder that has a ``run``."""
    found = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))
    return [name for name in found if name not in ("measure", "documents")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names())}")
    wanted = parser.parse_args().names or names()
    unknown = [name for name in wanted if name not in names()]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(names())}")
    for name in wanted:
        module = import_module(f"bench.{name}")
        print(f"\n## {name}\n\n{(module.__doc__ or '').strip()}\n", flush=True)
        module.run()


if __name__ == "__main__":
    main()
