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

    shown = typer.Option(False, "--version", help="Show the version and exit.")

    @app.callback(invoke_without_command=True)
    def xcast(version: bool = shown) -> None:
        if version:
            from xstreamcast import __version__

            print(f"xcast {__version__}")
            raise typer.Exit

    for name in COMMANDS:
        module = import_module(f"xstreamcast.cli.{name}")
        command: Callable[..., None] = getattr(module, f"{name}_command")
        app.command(name, help=_help(command))(_guarded(command))
    return app


def _help(command: Callable[..., None]) -> str:
    """What a command's text says, a line for each paragraph: they are as wide as the terminal is."""
    import re
    from inspect import cleandoc

    paragraphs = cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(re.sub(r"\n *", " ", paragraph) for paragraph in paragraphs)


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """A command that a user may interrupt, and the reader of its output leave (``| head``); with ``--max-depth``."""
    import inspect

    import typer

    from xstreamcast.model.depth import DEFAULT, VARIABLE, limit_depth

    help_text = "How many elements of a document may be within each other; more is XSC0007."
    option = typer.Option(DEFAULT, "--max-depth", min=1, envvar=VARIABLE, show_envvar=False, help=help_text)
    own = inspect.signature(command, eval_str=True)
    added = inspect.Parameter("max_depth", inspect.Parameter.KEYWORD_ONLY, default=option, annotation=int)

    @wraps(command)
    def run(*args: Any, max_depth: int, **options: Any) -> None:
        from xstreamcast.cli.interrupts import released
        from xstreamcast.cli.terminal import readers_may_leave

        before = limit_depth(max_depth)
        try:
            with released(), readers_may_leave():
                command(*args, **options)
        except KeyboardInterrupt:
            _interrupted()
        finally:
            limit_depth(before)

    changed: Any = run
    changed.__signature__ = own.replace(parameters=[*own.parameters.values(), added])
    changed.__annotations__ = {**{name: one.annotation for name, one in own.parameters.items()}, "max_depth": int}
    del changed.__wrapped__
    return run


def _interrupted() -> None:
    exec("")  # Python remembers an interrupt of code that came as text, and would end the process by the signal
    print("xcast: interrupted", file=sys.stderr)
    sys.exit(130)


def main(arguments: list[str] | None = None) -> None:
    """The entry point of ``xcast``.

    Exit codes: 0 done, 1 an error in the input, 2 a wrong call, 130 interrupted, 143 ended by kill.
    """
    from xstreamcast.cli.interrupts import held, interruptible, settle

    with interruptible(last=arguments is None):
        from xstreamcast.errors import XStreamError

        try:
            with held():
                try:
                    _app()(arguments)
                finally:
                    settle()
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
        except KeyboardInterrupt:  # where no command ran
            _interrupted()
