"""The options of commands, as their functions declare them, and reading them from the words of a command line.

A command is a function whose parameters are annotated: ``Annotated[type, Option(...)]`` or ``Annotated[type,
Argument(...)]``. Types are str, int, float, bool (a flag), Path, an enumeration, or a list of one of these.

>>> def greet(name: Annotated[str, Argument(help="Who.")], times: Annotated[int, Option(help="How often.")] = 1):
...     ...
>>> read(greet, ["World", "--times=3"])
{'name': 'World', 'times': 3, 'max_depth': 10000}
>>> read(greet, ["World", "--tims", "3"])
Traceback (most recent call last):
    ...
xstreamcast.cli.options.WrongCall: no such option: --tims; did you mean --times?
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, get_args, get_origin

from xstreamcast.dataclass import dataclass
from xstreamcast.model.depth import DEFAULT, VARIABLE

HELP: Final = ("-h", "--help")


class WrongCall(Exception):
    """A command line that the command cannot take; the message says why."""


class Done(Exception):
    """The command has done all it was asked for; ``code`` is the process's."""

    def __init__(self, code: int = 0) -> None:
        super().__init__(code)
        self.code = code


class _Declared:
    """What is said about a parameter."""

    def __init__(
        self,
        *names: str,
        help: str = "",
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        envvar: str | None = None,
        instead: Callable[[], None] | None = None,
        show_default: bool = True,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.least, self.most = min, max
        self.envvar = envvar
        self.instead = instead
        self.show_default = show_default


class Option(_Declared):
    """A parameter that is given by name: ``--name VALUE``; ``instead`` is called in the place of the command."""


class Argument(_Declared):
    """A parameter that is given by its place."""


@dataclass(slots=True)
class Parameter:
    """A parameter of a command: how it is given, and what it becomes."""

    name: str
    declared: _Declared
    type: Any
    many: bool
    required: bool
    default: Any
    names: list[str] = field(default_factory=list)
    """``--name``, ``-n``; none for an argument."""
    off: str | None = None
    """The option that sets a flag back which is set by default."""

    @property
    def flag(self) -> bool:
        return self.type is bool

    @property
    def metavar(self) -> str:
        """What stands for its value in a description."""
        if self.declared.metavar:
            return self.declared.metavar
        if isinstance(self.type, type) and issubclass(self.type, Enum):
            return "|".join(str(one.value) for one in self.type)
        return self.name.upper() if not self.names else {int: "N", float: "X", Path: "FILE"}.get(self.type, "TEXT")

    @property
    def place(self) -> str:
        """An argument in a usage line: ``[FILE]...``."""
        shown = self.metavar if self.required else f"[{self.metavar}]"
        return f"{shown}..." if self.many else shown

    def value(self, written: str) -> Any:
        """What a text on the command line stands for."""
        label = self.names[0] if self.names else self.metavar
        kind, least, most = self.type, self.declared.least, self.declared.most
        try:
            value = kind(written)
        except ValueError:
            wanted = {int: "a whole number", float: "a number"}.get(kind) or f"one of {self.metavar.replace('|', ', ')}"
            raise WrongCall(f"{label} takes {wanted}, not {written!r}") from None
        if (least is not None and value < least) or (most is not None and value > most):
            reach = f"from {least} on" if most is None else f"from {least} to {most}"
            raise WrongCall(f"{label} takes a number {reach}, not {written}")
        return value


def everywhere(
    max_depth: Annotated[
        int, Option(min=1, envvar=VARIABLE, help="How many elements may be within each other; more is XSC0007.")
    ] = DEFAULT,
) -> None:
    """What all commands take."""


DEPTH: Final = "max_depth"


def parameters(command: Callable[..., None]) -> list[Parameter]:
    """The parameters of a command, in the order of its function, and those of all commands."""
    return [*_declared(command), *_declared(everywhere)]


def _declared(command: Callable[..., None]) -> list[Parameter]:
    names = command.__code__.co_varnames[: command.__code__.co_argcount]
    defaults = command.__defaults__ or ()
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    made = []
    for name in names:
        annotation = command.__annotations__[name]
        declared: _Declared
        kind, declared = get_args(eval(annotation, command.__globals__) if isinstance(annotation, str) else annotation)
        if get_origin(kind) is UnionType:
            (kind,) = (part for part in get_args(kind) if part is not NoneType)
        many = get_origin(kind) is list
        if many:
            (kind,) = get_args(kind)
        one = Parameter(name, declared, kind, many, name not in given, given.get(name))
        if isinstance(declared, Option):
            long = f"--{name.replace('_', '-')}"
            one.names = sorted(declared.names, key=lambda name: not name.startswith("--")) or [long]
            if one.flag and one.default:
                one.off = f"--no-{one.names[0][2:]}"
        made.append(one)
    return made


def read(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of a command's function from the words after its name; None if they ask for help.

    Options may stand anywhere; ``--`` ends them.
    """
    known = parameters(command)
    options = {option: one for one in known for option in one.names}
    off = {one.off: one for one in known if one.off}
    found: dict[str, Any] = {}
    places: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            places += waiting
            break
        if not word.startswith("-") or word == "-":
            places.append(word)
            continue
        option, sign, value = word.partition("=")
        if not word.startswith("--"):
            option, sign, value = word[:2], word[2:3], word[2:]
        if option in HELP:
            return None
        one = options.get(option)
        if one is None and option in off:
            one = off[option]
            found[one.name] = False
        elif one is None:
            raise WrongCall(_unknown(option, [*options, *off, *HELP]))
        elif one.flag:
            if sign and word.startswith("--"):
                raise WrongCall(f"{option} takes no value")
            if sign:  # -ab is -a -b
                waiting.insert(0, f"-{value}")
            found[one.name] = True
        else:
            if not sign:
                if not waiting:
                    raise WrongCall(f"{option} takes a value: {option} {one.metavar}")
                value = waiting.pop(0)
            if one.many:
                found.setdefault(one.name, []).append(one.value(value))
            else:
                found[one.name] = one.value(value)
        if one.declared.instead is not None:
            one.declared.instead()
            raise Done
    _place(known, places, found)
    for one in known:
        if one.name not in found:
            written = os.environ.get(one.declared.envvar) if one.declared.envvar else None
            if written is None and one.required:
                raise WrongCall(f"missing: {' '.join([*one.names[:1], one.metavar])}")
            default = list(one.default) if isinstance(one.default, list) else one.default
            found[one.name] = default if written is None else one.value(written)
    return {one.name: found[one.name] for one in known}


def _place(known: list[Parameter], places: list[str], found: dict[str, Any]) -> None:
    """Give words to the arguments, in order."""
    for one in known:
        if one.names or not places:
            continue
        if one.many:
            found[one.name] = [one.value(word) for word in places]
            places = []
        else:
            found[one.name] = one.value(places[0])
            places = places[1:]
    if places:
        raise WrongCall(f"unexpected: {' '.join(places)}")


def _unknown(option: str, names: Sequence[str]) -> str:
    return f"no such option: {option}{near(option, names)}"


def near(word: str, names: Sequence[str]) -> str:
    """``; did you mean …?``, where some name is close to a word."""
    from difflib import get_close_matches

    found = get_close_matches(word, names, 2)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def usage(name: str, command: Callable[..., None]) -> str:
    """How a command is called, in one line."""
    return " ".join(["xcast", name, "[OPTIONS]", *(one.place for one in parameters(command) if not one.names)])
