"""Where the object code of kernels is kept: in a folder of the user's, one file for each kernel.

A file is named for its kernel and for a digest of everything that its code depends on: the functions and constants that
it is made of, how they are compiled, the versions of Numba and LLVM, the processor. It begins with the digest of what
follows; one that is damaged counts as missing. One process at a time compiles a kernel, and files appear whole.

``XCAST_CACHE`` names another folder. Where none can be written to, each process compiles for itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from threading import Timer
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xstreamcast.native.kernel import Kernel

_DIGEST: Final = 32
_KEPT: Final = 8
"""So many versions of a kernel's code stay: those of other versions of the package, or other Pythons."""
_SAID_AFTER: Final = 1.0
"""Seconds after which somebody who waits for the compiler hears why, unless it is at a terminal."""
_HERE: Final = os.path.dirname(__file__)
SHIPPED: Final = os.path.join(_HERE, "objects")
"""Object code that came with the package."""


def stored(kernel: Kernel, checked: bool) -> bytes:
    """The object code of a kernel, from where it is kept, or compiled and kept."""
    name = file_name(kernel, checked)
    places = folders()
    for folder in places:
        code = _read(os.path.join(folder, name))
        if code is not None:
            return code
    for folder in places:
        with suppress(OSError), _alone(folder):
            code = _read(os.path.join(folder, name))  # somebody else may have been at it
            if code is None:
                code = _compiled(kernel, checked)
                _write(folder, kernel.name, name, code)
            return code
    return _compiled(kernel, checked)


def file_name(kernel: Kernel, checked: bool) -> str:
    """What a kernel's file is called here and now."""
    from xstreamcast.native.load import processor

    digest = sha256(f"{processor()} {checked} {kernel.parameters} {kernel.result}".encode())
    for part in ("build.py", "intrinsics.py", "image.py"):
        digest.update(_source(os.path.join(_HERE, part)))
    for compiler in ("numba", "llvmlite"):
        found = find_spec(compiler)
        if found is not None and found.origin:
            digest.update(_source(os.path.join(os.path.dirname(found.origin), "_version.py")))
    for described in _parts(kernel.function, set()):
        digest.update(described.encode())
    return f"{kernel.name}-{digest.hexdigest()[:32]}.o"


def _source(path: str) -> bytes:
    loader: Any = getattr(__spec__, "loader", None)
    with suppress(OSError):  # of a package without sources
        return bytes(loader.get_data(path))
    return b""


def _parts(function: Any, seen: set[Any]) -> Iterator[str]:
    """What a function is made of, and the functions that it calls: code and constants, not lines and comments."""
    if function in seen:
        return
    seen.add(function)
    code = function.__code__
    yield f"{function.__qualname__} {code.co_code.hex()} {code.co_varnames} {code.co_names}"
    yield repr(tuple(constant for constant in code.co_consts[1:] if not hasattr(constant, "co_code")))
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            yield from _parts(value, seen)
        elif isinstance(value, ModuleType):
            yield repr([(part, getattr(value, part)) for part in code.co_names if hasattr(value, part)])
        elif value is not None:
            yield f"{name} {value!r}"


def kept(kernel: Kernel) -> str | None:
    """The file of a kernel's code, if there is one."""
    name = file_name(kernel, checked=False)
    paths = [os.path.join(folder, name) for folder in folders()]
    return next((path for path in paths if _read(path) is not None), None)


def folders() -> list[str]:
    """Where code is looked for; new code is kept in the first of them that can be written to."""
    given = os.environ.get("XCAST_CACHE")
    if given:
        return [given]
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [os.path.join(caches, "xstreamcast"), SHIPPED]


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            kept = file.read()
    except OSError:
        return None
    code = kept[_DIGEST:]
    return code if sha256(code).digest() == kept[:_DIGEST] else None


def _write(folder: str, kernel: str, name: str, code: bytes) -> None:
    """Keep code, if there is room for it."""
    path = os.path.join(folder, name)
    unfinished = f"{path}.{os.getpid()}"
    with suppress(OSError):
        try:
            with open(unfinished, "wb") as file:
                file.write(sha256(code).digest() + code)
            os.replace(unfinished, path)
        finally:
            with suppress(OSError):
                os.remove(unfinished)
        versions = [entry for entry in os.scandir(folder) if entry.name.startswith(f"{kernel}-")]
        for entry in sorted(versions, key=lambda entry: entry.stat().st_mtime_ns)[:-_KEPT]:
            os.remove(entry.path)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """In the block, no other process compiles for the same folder; OSError if nothing can be written there."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "ab") as file:
        try:
            import fcntl
        except ImportError:  # a system without it: two may compile, and both write the same
            pass
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compiled(kernel: Kernel, checked: bool) -> bytes:
    with _said():
        from xstreamcast.native.build import build

        return build(kernel, checked)


@cache
def _say() -> None:
    print("xcast: compiling for this machine, once …", file=sys.stderr, flush=True)


@contextmanager
def _said() -> Iterator[None]:
    """Who waits hears why."""
    if sys.stderr.isatty():
        _say()
        yield
        return
    timer = Timer(_SAID_AFTER, _say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
