"""Notebooks are kept without what running them made: outputs, numbers of runs, metadata of whoever ran them.

python tools/notebooks.py NOTEBOOK...            strips them; exit 1 if one was not stripped, as a hook of git's does
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def stripped(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook as it is kept."""
    cells = [
        {key: value for key, value in cell.items() if key in ("cell_type", "id", "source")}
        | {"metadata": {}}
        | ({"execution_count": None, "outputs": []} if cell["cell_type"] == "code" else {})
        for cell in notebook["cells"]
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def written(notebook: dict[str, Any]) -> str:
    """The text of a notebook, as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(paths: list[str]) -> int:
    found = 0
    for path in map(Path, paths):
        text = path.read_text(encoding="utf-8")
        kept = written(stripped(json.loads(text)))
        if kept != text:
            path.write_text(kept, encoding="utf-8")
            print(f"{path}: stripped")
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
