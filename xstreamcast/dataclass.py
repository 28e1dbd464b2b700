"""Dataclasses whose methods are written when they are needed.

Python's own decorator writes the text of each method and compiles it when a class is declared: half a millisecond for a
frozen class. A command declares some two hundred of them and builds a few objects of some. Here a class has its fields
at once, and stand-ins for its methods: the first objects are filled field by field, and Python's decorator writes
``__init__`` for a class that is built often, and each other method when it is first called.

    >>> @dataclass(frozen=True, slots=True)
    ... class Place:
    ...     line: int
    ...     column: int = 1
    >>> Place(3) == Place(3, 1), Place(3)
    (True, Place(line=3, column=1))
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, Final, cast

OFTEN: Final = 16
"""So many objects are filled field by field before ``__init__`` is written: by then it would have taken less time."""

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """As Python's, with the options ``frozen``, ``slots``, ``eq``, ``repr`` and ``kw_only``."""
        return _declared(cls, **options) if cls is not None else lambda cls: _declared(cls, **options)


def _declared(
    cls: type[Any],
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> type[Any]:
    own = cls.__dict__
    shown, equal = repr and "__repr__" not in own, eq and "__eq__" not in own
    # Python itself puts None for the hash of a class that says how its objects are equal.
    hashed = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    if "__init__" not in own:
        made.__init__ = _filling(made, frozen)
    if shown:
        made.__repr__ = _stand_in(made, "__repr__", repr=True)
    if equal:
        made.__eq__ = _stand_in(made, "__eq__", eq=True)
    if eq and not hashed:
        made.__hash__ = _stand_in(made, "__hash__", unsafe_hash=True) if frozen else None
    if frozen:
        _freeze(made)
        if slots:
            made.__getstate__, made.__setstate__ = _state, _set_state
    return cast(type[Any], made)


def _filling(cls: type[Any], frozen: bool) -> Any:
    """The ``__init__`` of a class of which few objects are built."""
    calls = 0

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > OFTEN or not _filled(self, cls, frozen, given, named):  # it is Python's to say what is wrong
            if cls.__dict__["__init__"] is __init__:
                _write(cls, "__init__", init=True, frozen=frozen)
            cls.__dict__["__init__"](self, *given, **named)

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _filled(made: Any, cls: type[Any], frozen: bool, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether the arguments fit the fields, which they then are."""
    put = object.__setattr__ if frozen else setattr
    place, used = 0, 0
    for part in dataclasses.fields(cls):
        if part.init and not part.kw_only and place < len(given):
            put(made, part.name, given[place])
            place += 1
        elif part.init and part.name in named:
            put(made, part.name, named[part.name])
            used += 1
        elif part.default is not MISSING:
            put(made, part.name, part.default)
        elif part.default_factory is not MISSING:
            put(made, part.name, part.default_factory())
        elif part.init:
            return False
    if place < len(given) or used < len(named):
        return False
    if hasattr(made, "__post_init__"):
        made.__post_init__()
    return True


def _stand_in(cls: type[Any], name: str, **wanted: bool) -> Any:
    def method(*given: Any) -> Any:
        if cls.__dict__[name] is method:
            _write(cls, name, **{"init": False, "repr": False, "eq": False, **wanted})
        return cls.__dict__[name](*given)

    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return method


def _write(cls: type[Any], name: str, *, repr: bool = False, eq: bool = False, **options: Any) -> None:
    """Put the method into the class that Python writes for one with the same fields."""
    names = ("default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
    declared = [
        (part.name, part.type, dataclasses.field(**{option: getattr(part, option) for option in names}))
        for part in dataclasses.fields(cls)
    ]
    after = {"__post_init__": cls.__post_init__} if hasattr(cls, "__post_init__") else {}
    namespace = {**after, "__doc__": cls.__doc__ or cls.__name__}
    made = dataclasses.make_dataclass(cls.__name__, declared, namespace=namespace, repr=repr, eq=eq, **options)
    method = getattr(made, name)
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)


def _freeze(cls: Any) -> None:
    names = frozenset(cls.__dataclass_fields__)

    def refuse(self: Any, name: str, *value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
        inherited = super(cls, self)
        inherited.__setattr__(name, *value) if value else inherited.__delattr__(name)

    cls.__setattr__ = cls.__delattr__ = refuse


def _state(self: Any) -> list[Any]:
    return [getattr(self, part.name) for part in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for part, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, part.name, value)
