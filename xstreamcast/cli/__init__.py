"""``xcast``: one command per file. Commands import what they need when they run, so that starting costs little.

In come the words of a command line; :mod:`.options` reads them as the command's function declares them, and out go
answers on standard output, findings on standard error, an exit code. The commands:

* documents and streams: :mod:`.structure`, :mod:`.fragment`, :mod:`.materialise`, :mod:`.feed`, :mod:`.generate`
* queries: :mod:`.query` (with :mod:`.query_spark`, :mod:`.query_table`), :mod:`.watch` (with :mod:`.watch_spark`,
  :mod:`.watch_warnings`, :mod:`.tables`, :mod:`.lateness`), :mod:`.explain`, :mod:`.translate`, :mod:`.parse`,
  :mod:`.shell`
* servers: :mod:`.serve` and :mod:`.console` (:mod:`.serving` is what they share), :mod:`.listen`
* :mod:`.demo` (:mod:`.demo_bank`, :mod:`.demo_processes`, :mod:`.demo_show`), :mod:`.examples`, :mod:`.completion`

What they share: :mod:`.help`, :mod:`.files`, :mod:`.terminal`, :mod:`.progress`, :mod:`.interrupts`, :mod:`.own_spark`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from errno import EDQUOT, ENOSPC
from functools import partial
from importlib import import_module
from typing import Any, Final, NoReturn

COMMANDS: Final[tuple[str, ...]] = (
    "structure", "fragment", "materialise", "feed", "generate", "query", "watch", "serve", "listen", "console",
    "explain", "shell", "translate", "parse", "demo", "examples", "completion",
)  # fmt: skip
"""Each is ``NAME_command`` in the file of its name; the order is that of the help text."""


SUMMARY: Final = "Continuous, exact, temporal XQuery over XML that is huge, never ends or keeps changing."


def find_command(name: str) -> Callable[..., None]:
    """The function of a command: its file is imported."""
    command: Callable[..., None] = getattr(import_module(f"xstreamcast.cli.{name}"), f"{name}_command")
    return command


def _run(words: list[str]) -> int:
    """Do what a command line says; the code to exit with."""
    from xstreamcast.cli.options import DEPTH, HELP, Done, WrongCall, near, read, usage

    name = words[0] if words else ""
    try:
        if not words or name in HELP:
            from xstreamcast.cli.help import show_commands

            _guarded(partial(show_commands, SUMMARY, {name: find_command(name) for name in COMMANDS}))
            return 0 if words else 2
        if name not in COMMANDS:
            kind, names = ("option", ("--version", *HELP)) if name.startswith("-") else ("command", COMMANDS)
            raise WrongCall(f"no such {kind}: {name}{near(name, names)}")
        command = find_command(name)
        given = read(command, words[1:])
        if given is None:
            from xstreamcast.cli.help import show_command

            _guarded(partial(show_command, name, command))
        else:
            _limited(command, given.pop(DEPTH), given)
    except Done as done:
        return done.code
    except WrongCall as fault:
        known = name in COMMANDS
        line = usage(name, find_command(name)) if known else "xcast [OPTIONS] COMMAND [ARGS]..."
        print(f"Usage: {line}\nTry 'xcast {name + ' ' if known else ''}-h' for help.\n", file=sys.stderr)
        print(f"xcast: {fault}", file=sys.stderr)
        return 2
    return 0


def _guarded(work: Callable[[], None]) -> None:
    """Do something that a user may interrupt, and whose output a reader may leave (``| head``)."""
    from xstreamcast.cli.interrupts import overdue, released
    from xstreamcast.cli.terminal import readers_may_leave, warnings_told

    try:
        with released(), readers_may_leave(), warnings_told():
            work()
            overdue()
    except KeyboardInterrupt:
        _interrupted()


def _limited(command: Callable[..., None], max_depth: int, options: dict[str, Any]) -> None:
    """A command on documents that are so deep at most."""
    from xstreamcast.model.depth import limit_depth

    before = limit_depth(max_depth)
    try:
        _guarded(partial(command, **options))
    finally:
        limit_depth(before)


def _interrupted() -> None:
    exec("")  # Python remembers an interrupt of code that came as text, and would end the process by the signal
    print("xcast: interrupted", file=sys.stderr)
    sys.exit(130)


def main(arguments: list[str] | None = None, at_start: Callable[..., NoReturn] | None = None) -> None:
    """The entry point of ``xcast``; ``at_start``: what Ctrl-C does until a command begins.

    Exit codes: 0 done, 1 an error in the input, 2 a wrong call, 130 interrupted, 143 ended by kill.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:  # before anything that takes time is imported
        from xstreamcast import __version__

        print(f"xcast {__version__}")
        sys.exit(0)
    from xstreamcast.cli.interrupts import held, interruptible, settle

    if arguments is None:
        # By default Python looks for garbage at every 700 objects more: while modules are imported, there is none.
        gc.set_threshold(50_000, *gc.get_threshold()[1:])
    with interruptible(last=arguments is None, at_start=at_start):
        from xstreamcast.errors import XStreamError

        try:
            with held():
                try:
                    sys.exit(_run(words))
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
