"""``xcast``: one command per file. Commands import what they need when they run, so that starting costs little."""

from __future__ import annotations

import sys
from collections.abc import Callable
from errno import EDQUOT, ENOSPC
from functools import wraps
from importlib import import_module
from typing import Any, Final

COMMANDS: Final[tuple[str, ...]] = (
    "structure", "fragment", "materialise", "feed", "generate", "query", "watch", "serve", "listen", "explain",
    "translate", "parse", "demo",
)  # fmt: skip
"""Each is ``NAME_command`` in the file of its name; the order is that of the help text."""


def _app() -> Any:
    import typer

    app = typer.Typer(
        name="xcast",
        help="Continuous, exact, temporal XQuery over XML that is huge, never ends or keeps changing.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in COMMANDS:
        module = import_module(f"xstreamcast.cli.{name}")
        command: Callable[..., None] = getattr(module, f"{name}_command")
        app.command(name, help=getattr(module, "HELP", None))(_guarded(command))
    return app


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """A command that a user may interrupt, and the reader of its output leave (``| head``)."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        from xstreamcast.cli.terminal import readers_may_leave

        try:
            with readers_may_leave():
                command(*args, **options)
        except KeyboardInterrupt:
            print("xcast: interrupted", file=sys.stderr)
            sys.exit(130)

    return run


def main(arguments: list[str] | None = None) -> None:
    """The entry point of ``xcast``. Exit codes: 0 done, 1 an error in the input, 2 a wrong call, 130 interrupted."""
    from xstreamcast.errors import XStreamError

    try:
        _app()(arguments)
    except XStreamError as fault:
        print(f"xcast: {fault}", file=sys.stderr)
        sys.exit(1)
    except OSError as fault:  # of a file that was open, or of standard output: a full disk, a device that is gone
        from xstreamcast.cli.terminal import abandon_stdout
        from xstreamcast.errors import Place, error

        hint = "is there room where the output goes?" if fault.errno in (ENOSPC, EDQUOT) else ""
        place = Place(str(fault.filename)) if fault.filename else None
        print(f"xcast: {error('XSC0006', fault.strerror or str(fault), place, hint)}", file=sys.stderr)
        abandon_stdout()
        sys.exit(1)
    except KeyboardInterrupt:  # before a command began
        print("xcast: interrupted", file=sys.stderr)
        sys.exit(130)
