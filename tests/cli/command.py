"""Running ``xcast`` inside the test process."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from xstreamcast.cli import main
from xstreamcast.cli.options import DEPTH, read


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: bytes
    err: str


def called(command: Callable[..., None], *arguments: str, stdin: str | None = None) -> str:
    """What a command writes; its errors are raised, as are those of its call."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((stdin or "").encode())))
        given = read(command, arguments)
        assert given is not None
        del given[DEPTH]
        command(**given)
    assert isinstance(out.buffer, io.BytesIO)
    return out.buffer.getvalue().decode()


def xcast(*arguments: object, stdin: bytes = b"", columns: int = 200) -> Ran:
    """One run: exit code, standard output, standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
    code: object = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("NO_COLOR", "1")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([str(argument) for argument in arguments])
            except SystemExit as ended:
                code = ended.code
    assert isinstance(code, int | None)
    return Ran(code or 0, out.buffer.getvalue() if isinstance(out.buffer, io.BytesIO) else b"", err.getvalue())
