"""How documents are shared out among tasks, and why one task has all of one: what ``explain`` says of files.

>>> import gzip, tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     made = Path(folder, "a.xml.gz")
...     _ = made.write_bytes(gzip.compress(b"<r>" + b"<v/>" * 1000 + b"</r>"))
...     print(*shares(documents(folder), 1000), sep="\\n")
documents
  a.xml.gz  1 task: it is one member of gz, which one task unpacks from its beginning
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from xstreamcast.spark.rest.at_once import are_small
from xstreamcast.spark.rest.files import Document, documents
from xstreamcast.spark.rest.indexing import Workforce, alone, planned, why_whole

__all__ = ["documents", "shares"]


def shares(found: Sequence[Document], step: int | None = None, workforce: Workforce | None = None) -> Iterator[str]:
    """A section of lines: how many tasks read each document of a query that can be spread, and why it is one."""
    workforce = workforce or alone()
    yield "documents"
    if step is None and are_small(found):
        yield "  they are small: the driver answers at once, without a job"
        return
    tasks = planned(found, step, workforce)
    for document in found:
        own = [k for k, task in enumerate(tasks) if any(part.document.path == document.path for part in task)]
        others = len({part.document.path for part in tasks[own[0]]}) - 1
        if len(own) > 1:
            said = f"{len(own)} tasks"
        else:
            said = f"1 task: {why_whole(found, document, step, workforce)}"
            said += f"; it reads {others} more" if others else ""
        yield f"  {PurePath(document.path).name}  {said}"
