"""How kernels are declared and called.

The annotations of a kernel are its types: ``int``, ``bool``, or an array by the names below. Arrays are contiguous.

>>> import numpy as np
>>> from xstreamcast.native.kernel import I64, kernel
>>> @kernel
... def total(values: I64, least: int) -> int:
...     found = 0
...     for k in range(values.shape[0]):
...         if values[k] >= least:
...             found += values[k]
...     return found
>>> total(np.arange(10), 7)
24
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from ctypes import addressof, c_char
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from types import FunctionType

Function = TypeVar("Function", bound=Callable[..., Any])

U8: TypeAlias = Any
I8: TypeAlias = Any
I32: TypeAlias = Any
I64: TypeAlias = Any
I64x2: TypeAlias = Any
F64: TypeAlias = Any
Flags: TypeAlias = Any

ARRAYS: Final = {
    "U8": ("uint8", 1), "I8": ("int8", 1), "I32": ("int32", 1), "I64": ("int64", 1), "I64x2": ("int64", 2),
    "F64": ("float64", 1), "Flags": ("bool", 1),
}  # fmt: skip
"""By annotation: the type of an array's items, and how many indices it takes."""
SCALARS: Final = ("int", "bool")
RESULTS: Final = ("int", "bool", "None")

PLAIN: Final = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Kernels run as the Python that they are written in."""
CHECKED: Final = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")
"""An index outside its array is an IndexError."""

INNER: Final[dict[Callable[..., Any], bool]] = {}
"""The functions that kernels call, and whether no call is left of them."""

_loading: Final = Lock()


def inner(function: Function) -> Function:
    """A function that kernels call."""
    INNER[function] = False
    return function


def inlined(function: Function) -> Function:
    """As :func:`inner`, for what a kernel does at every token: no call is left of it."""
    INNER[function] = True
    return function


def kernel(function: Function) -> Function:
    """A function that Python calls and that runs as machine code, without the GIL."""
    if PLAIN:
        return function
    return cast(Function, Kernel(cast("FunctionType", function)))


def bound(made: Function) -> Function:
    """A kernel for many calls with the same arrays: it keeps the last of them. Not for several threads at once."""
    return cast(Function, made.call()) if isinstance(made, Kernel) else made


class Kernel:
    """A function, its types, and its code once it has been called."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.name = f"{function.__module__.removeprefix('xstreamcast.')}.{function.__name__}"
        self.__doc__ = function.__doc__
        *self.parameters, (_, self.result) = function.__annotations__.items()
        named = {name: kind for name, kind in self.parameters if kind not in ARRAYS and kind not in SCALARS}
        if named or self.result not in RESULTS or len(self.parameters) != function.__code__.co_argcount:
            raise TypeError(f"the kernel {self.name} is not fully annotated: {named}")
        self._code: Callable[[int], int] | None = None
        self.items: list[Any] = []
        self.places: list[int] = []
        self.words = 1
        for _, kind in self.parameters:
            self.places.append(self.words)
            self.words += 1 + ARRAYS.get(kind, ("", 0))[1]

    def code(self) -> Callable[[int], int]:
        """The machine code: it takes the address of its arguments, and gives 0 if all went well."""
        if self._code is None:
            with _loading:
                if self._code is None:
                    from xstreamcast.native.load import load
                    from xstreamcast.native.store import stored

                    self.items = [kind in ARRAYS and _item(kind) for _, kind in self.parameters]
                    self._code = load(stored(self, CHECKED))
        return self._code

    def call(self) -> Call:
        return Call(self)

    def __call__(self, *arguments: Any) -> Any:
        return Call(self)(*arguments)


def _item(kind: str) -> tuple[Any, int]:
    """The type of an array's items as NumPy has it, and how many indices it takes."""
    import numpy as np

    item, sizes = ARRAYS[kind]
    return np.dtype(item), sizes


class Call:
    """The arguments of a kernel as it takes them: one word for the result, for a number, for an array's address and
    for each of its sizes."""

    def __init__(self, made: Kernel) -> None:
        self.kernel = made
        self.code = made.code()
        self.block = array("q", bytes(8 * made.words))
        self.address = self.block.buffer_info()[0]
        self.last: list[Any] = [None] * len(made.items)

    def __call__(self, *arguments: Any) -> Any:
        block, last, places, items = self.block, self.last, self.kernel.places, self.kernel.items
        if len(arguments) != len(last):
            raise TypeError(f"{self.kernel.name} takes {len(last)} arguments, not {len(arguments)}")
        for k, given in enumerate(arguments):
            if given is not last[k]:
                place = places[k]
                if not items[k]:
                    block[place] = given
                else:
                    block[place] = self._address(k, given)
                    block[place + 1] = given.shape[0]
                    if given.ndim == 2:
                        block[place + 2] = given.shape[1]
                last[k] = given
        if self.code(self.address):
            raise IndexError(f"{self.kernel.name} left an array")
        result = self.kernel.result
        return None if result == "None" else bool(block[0]) if result == "bool" else block[0]

    def _address(self, k: int, given: Any) -> int:
        item, sizes = self.kernel.items[k]
        if given.dtype != item or given.ndim != sizes or not given.flags.c_contiguous:
            name, kind = self.kernel.parameters[k]
            raise TypeError(f"{name} of {self.kernel.name} is {kind}, and contiguous")
        try:
            return addressof(c_char.from_buffer(given))
        except (TypeError, ValueError):  # not to be written to, or without items
            return int(given.ctypes.data)
