"""Dataclasses whose methods are written late behave as Python's own."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from xstreamcast import dataclass as ours
from xstreamcast.dataclass import OFTEN

Decorator = Callable[..., Any]
BOTH = pytest.mark.parametrize("declare", [ours.dataclass, dataclasses.dataclass], ids=["ours", "Python's"])


@ours.dataclass(frozen=True, slots=True)
class Kept:
    """A class that pickle finds by its name."""

    name: str
    parts: list[int] = field(default_factory=list)


def declared(declare: Decorator, **options: bool) -> Any:
    @declare(**options)
    class Place:
        """A place."""

        line: int
        column: int = 1
        seen: list[int] = field(default_factory=list, compare=False)
        far: bool = field(default=False, kw_only=True, repr=False)

        def next(self) -> Any:
            return replace(self, line=self.line + 1)  # type: ignore[type-var]

    return Place


@BOTH
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("slots", [True, False])
def test_objects_are_built_shown_and_equal(declare: Decorator, frozen: bool, slots: bool) -> None:
    place = declared(declare, frozen=frozen, slots=slots)
    for line in range(2 * OFTEN):  # filled field by field, then by a method
        made = place(line, far=True)
        assert (made.line, made.column, made.seen, made.far) == (line, 1, [], True)
        assert made == place(column=1, line=line, seen=[1], far=True)
        assert made != place(line, 2, far=True)
        assert made != place(line)
        assert made != line
        assert repr(made).endswith(f"Place(line={line}, column=1, seen=[])")
        assert made.next().line == line + 1
        assert copy.copy(made) == made
    assert [part.name for part in fields(place)] == ["line", "column", "seen", "far"]
    assert place.__match_args__ == ("line", "column", "seen")
    assert place(1).seen is not place(1).seen


@BOTH
@pytest.mark.parametrize("wrong", [((), {}), ((1, 2, [], True), {}), ((1,), {"line": 1}), ((1,), {"row": 1})])
def test_arguments_that_do_not_fit_are_python_s_own_fault(declare: Decorator, wrong: tuple[Any, Any]) -> None:
    given, named = wrong
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        declared(declare, frozen=True)(*given, **named)


@BOTH
def test_the_frozen_have_a_hash_and_stay_as_they_are(declare: Decorator) -> None:
    place = declared(declare, frozen=True, slots=True)
    made = place(1)
    assert hash(made) == hash(place(1, seen=[2])) != hash(place(2))
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'line'"):
        made.line = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'line'"):
        del made.line
    assert declared(declare).__hash__ is None


@BOTH
def test_what_a_class_says_itself_stays(declare: Decorator) -> None:
    @declare(frozen=True)
    class Loose:
        name: str

        def __init__(self, name: str) -> None:
            object.__setattr__(self, "name", name.strip())

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Loose) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "loose"

    @declare(frozen=True)
    class Loosest(Loose):
        number: int = 0

    loose: Any = Loose
    loosest: Any = Loosest
    assert loose(" a") == loose("A")
    assert (hash(loose("a")), repr(loose("a"))) == (7, "loose")
    assert loosest("a") != loosest("A")
    assert repr(loosest("a", 2)).endswith("Loosest(name='a', number=2)")


@BOTH
def test_what_follows_building_is_called_once(declare: Decorator) -> None:
    called = []

    @declare
    class Heard:
        name: str

        def __post_init__(self) -> None:
            called.append(self.name)

    names = [str(number) for number in range(2 * OFTEN)]
    heard: Any = Heard
    for name in names:
        heard(name)
    assert called == names


def test_an_object_is_pickled_as_python_s_own_are() -> None:
    made = Kept("a", [1])
    assert pickle.loads(pickle.dumps(made)) == made
    kinds = {"__annotations__": {"name": "str", "parts": "list[int]"}}
    same: Any = dataclasses.dataclass(frozen=True, slots=True)(type("Kept", (), kinds))
    assert made.__getstate__() == same("a", [1]).__getstate__()
