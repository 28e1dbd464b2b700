"""Paths to records: ``/osm/node|/osmChange/*/node``, and what of ``--removed`` leads to records that are gone.

A record is an element that one of the paths leads to. It stands where the first path says, whichever path led to it:
a document and those that change it may keep the same records in different elements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from xstreamcast.errors import error
from xstreamcast.lang import ast
from xstreamcast.lang.printer import to_xquery
from xstreamcast.plan.passes.shapes import boolean

_STEP: Final = re.compile(r"(?:([^\W\d][\w.-]*|\*):)?([^\W\d][\w.-]*|\*)")
_AROUND: Final = "records"
"""What an element around the records is called where no path says its name."""


@dataclass(frozen=True, slots=True)
class Step:
    """A child's name; None stands for any namespace, or any local name."""

    uri: str | None
    local: str | None

    def __str__(self) -> str:
        if self.uri is None:
            return "*" if self.local is None else f"*:{self.local}"
        local = self.local or "*"
        return f"{{{self.uri}}}{local}" if self.uri else local

    @property
    def test(self) -> str:
        """The name test of XQuery, which no default namespace changes."""
        if self.uri is None:
            return "*" if self.local is None else f"*:{self.local}"
        return f"Q{{{self.uri}}}{self.local or '*'}"

    @property
    def name(self) -> str:
        """The name of an element that stands for those that it admits, as ``{uri}local``."""
        local = self.local or _AROUND
        return f"{{{self.uri}}}{local}" if self.uri else local

    def admits(self, other: Step) -> bool:
        """Whether every element that the other names has a name of this one's."""
        return self.uri in (None, other.uri) and self.local in (None, other.local)


Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """What of an expression for removals is about records: paths that lead to them, and the condition that a record
    is one of those; and the rest of it, which gives keys."""

    paths: tuple[str, ...]
    condition: str
    keys: str


def parse_paths(text: str, namespaces: Mapping[str, str]) -> tuple[Steps, ...]:
    """``/osm/node|/osmChange/*/node`` → the steps of each path."""
    return tuple(_steps(path.strip(), namespaces) for path in text.split("|"))


def _steps(path: str, namespaces: Mapping[str, str]) -> Steps:
    made = []
    for step in path.removeprefix("/").split("/"):
        match = _STEP.fullmatch(step)
        if match is None:
            hint = "the names from the root to a record, such as /feed/entry; * is any; several paths with | between"
            raise error("XSC0120", f"{path!r} is no path to records", hint=hint)
        prefix, local = match[1] or "", None if match[2] == "*" else match[2]
        if prefix not in ("", "*") and prefix not in namespaces:
            raise error("XPST0081", f"the prefix {prefix!r} is not declared", hint=f"--namespace {prefix}=URI")
        anywhere = prefix == "*" or (not prefix and local is None)
        made.append(Step(None if anywhere else namespaces.get(prefix, ""), local))
    return tuple(made)


def around_of(path: Steps) -> tuple[str, ...]:
    """The elements around the records, from the root, as ``{uri}local``."""
    return tuple(step.name for step in path[:-1]) or (_AROUND,)


def gone_of(removed: ast.Expr, records: tuple[Steps, ...]) -> Gone:
    """``/osmChange/delete/node`` leads to records, and those are gone; ``/set/deleted/id`` gives keys."""
    operands = removed.operands if isinstance(removed, ast.Union) else (removed,)
    if isinstance(removed, ast.Sequence):
        operands = removed.items
    paths, conditions, keys = [], [], []
    for operand in operands:
        steps = _path(operand)
        if steps is None or not _leads_to_records(steps, records):
            keys.append(to_xquery(operand))
            continue
        if not all(boolean(predicate) for step in steps for predicate in step.predicates):
            hint = "say what is so of a record that is gone, not where it stands; or give the keys of what is gone"
            raise error("XSC0120", f"{to_xquery(operand)!r} chooses records by position", hint=hint)
        if not _covered(steps, records):
            paths.append(to_xquery(operand))
        conditions.append(_condition(steps))
    return Gone(tuple(paths), " or ".join(conditions), ", ".join(f"({key})" for key in keys))


@dataclass(frozen=True, slots=True)
class _PathStep:
    """A step from the root: to a child, or to any descendant, on conditions."""

    name: Step
    deep: bool
    predicates: tuple[ast.Expr, ...]


def _path(e: ast.Expr) -> tuple[_PathStep, ...] | None:
    """The steps of a path of names from the root; None if it is something else."""
    if not isinstance(e, ast.Path) or not isinstance(e.steps[0], ast.Root):
        return None
    made: list[_PathStep] = []
    deep = False
    for step in e.steps[1:]:
        match step:
            case ast.AxisStep("descendant-or-self", ast.KindTest("node"), ()):
                deep = True
            case ast.AxisStep("child" | "descendant" as axis, ast.NameTest() | ast.Wildcard() as test, predicates):
                name = test.name if isinstance(test, ast.NameTest) else test
                made.append(_PathStep(Step(name.uri, name.local), deep or axis == "descendant", predicates))
                deep = False
            case _:
                return None
    return tuple(made) if made and not deep else None


def _leads_to_records(steps: tuple[_PathStep, ...], records: tuple[Steps, ...]) -> bool:
    """Whether a path ends as one to records does, or in elements that are records for certain."""
    return any(path[-1] == steps[-1].name for path in records) or _covered(steps, records)


def _covered(steps: tuple[_PathStep, ...], records: tuple[Steps, ...]) -> bool:
    names = [step.name for step in steps]
    return not any(step.deep for step in steps) and any(
        len(path) == len(names) and all(map(Step.admits, path, names)) for path in records
    )


def _condition(steps: tuple[_PathStep, ...]) -> str:
    """That a path leads to the context element: ``/a/b[p]`` → ``exists(self::b[p][parent::a[not(parent::*)]])``."""
    above = "[not(parent::*)]"
    text = ""
    for number, step in enumerate(steps):
        axis = "self" if number == len(steps) - 1 else "ancestor" if steps[number + 1].deep else "parent"
        text = f"{axis}::{step.name.test}{'' if step.deep and not number else above}"
        text += "".join(f"[{to_xquery(predicate)}]" for predicate in step.predicates)
        above = f"[{text}]"
    return f"exists({text})"
