"""What ``--help`` shows: of a command its text, arguments and options; of ``xcast`` its commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from inspect import cleandoc

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from xstreamcast.cli.options import HELP, Parameter, parameters, usage


def show_command(name: str, command: Callable[..., None]) -> None:
    """The help of a command."""
    console = _console()
    _head(console, usage(name, command), paragraphs(command))
    known = parameters(command)
    _panel(console, "Arguments", [(one.place, "", described(one)) for one in known if not one.names])
    options = [(option_names(one), "" if one.flag else one.metavar, described(one)) for one in known if one.names]
    _panel(console, "Options", [*options, (", ".join(reversed(HELP)), "", "Show this message and exit.")])


def show_commands(summary: str, commands: dict[str, Callable[..., None]]) -> None:
    """The help of ``xcast``."""
    console = _console()
    _head(console, "xcast [OPTIONS] COMMAND [ARGS]...", [summary])
    options = [("--version", "Show the version and exit."), (", ".join(reversed(HELP)), "Show this message and exit.")]
    _panel(console, "Options", [(option, "", text) for option, text in options])
    _panel(console, "Commands", [(name, "", paragraphs(command)[0]) for name, command in commands.items()])


def paragraphs(command: Callable[..., None]) -> list[str]:
    """What a command's text says, a line for each paragraph: they are as wide as the terminal is."""
    return [
        part if part.startswith(" ") else re.sub(r"\n *", " ", part)
        for part in re.split(r"\n\n", cleandoc(command.__doc__ or ""))
    ]


def _console() -> Console:
    return Console(highlight=False, soft_wrap=False)


def _head(console: Console, line: str, described: Iterable[str]) -> None:
    console.print()
    console.print(Padding(Text.assemble(("Usage: ", "bold yellow"), (line, "bold")), (0, 1)))
    for paragraph in described:
        console.print()
        console.print(Padding(Text(paragraph.strip()), (0, 1, 0, 3 if paragraph.startswith(" ") else 1)))
    console.print()


def _panel(console: Console, title: str, rows: list[tuple[str, str, str]]) -> None:
    if not rows:
        return
    table = Table(box=None, show_header=False, padding=(0, 1), expand=True)
    table.add_column(style="bold cyan", no_wrap=True)
    if any(kind for _, kind, _ in rows):
        table.add_column(style="bold yellow", no_wrap=True)
        for name, kind, text in rows:
            table.add_row(Text(name), Text(kind), Text(text))
    else:
        for name, _, text in rows:
            table.add_row(Text(name), Text(text))
    table.columns[-1].ratio = 1
    console.print(Panel(table, title=title, title_align="left", border_style="dim", box=box.ROUNDED))


def option_names(one: Parameter) -> str:
    """All names of an option, that which sets it back included."""
    return ", ".join([*one.names, *([one.off] if one.off else [])])


def described(one: Parameter) -> str:
    """What is said of a parameter, with its default."""
    notes = []
    if one.declared.envvar:
        notes.append(f"env: {one.declared.envvar}")
    shown = one.names and one.declared.show_default and not one.flag
    if shown and one.default not in (None, [], ""):
        notes.append(f"default: {getattr(one.default, 'value', one.default)}")
    return " ".join([one.declared.help, *([f"[{', '.join(notes)}]"] if notes else [])])
