"""Running ``xcast`` inside the test process."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass

import pytest

from xstreamcast.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: bytes
    err: str


def xcast(*arguments: object, stdin: bytes = b"") -> Ran:
    """One run: exit code, standard output, standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
    code: object = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        patch.setenv("COLUMNS", "200")
        patch.setenv("NO_COLOR", "1")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([str(argument) for argument in arguments])
            except SystemExit as ended:
                code = ended.code
    assert isinstance(code, int | None)
    return Ran(code or 0, out.buffer.getvalue() if isinstance(out.buffer, io.BytesIO) else b"", err.getvalue())
