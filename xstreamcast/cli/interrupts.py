"""The signals that end a command at any moment: Ctrl-C, kill, a terminal that is closed.

Python raises what a signal's handler raises between any two steps of the main thread, also where nobody can do right
with it. So a signal

* in the middle of an import waits for the end of that: code in C makes other errors of it, and modules stay half there;
  so it does while a class is made, in ``__set_name__``
* in a finaliser or a callback, where Python would drop it, comes again later
* between the making of something and the ``try`` that undoes it waits as well: see :func:`kept`
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Final, NoReturn, TypeVar

T = TypeVar("T")

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a command, and may come at any time."""
_LATER: Final = 0.001
"""Seconds after which a signal that could not be taken when it came is tried again: not much can be done meanwhile."""
_IMPORTING: Final = "<frozen importlib._bootstrap>"


class _Pending:
    """The blocks that hold signals, which signals wait for that, or for later; and what is owed."""

    def __init__(self) -> None:
        self.holding: list[held] = []
        self.due: list[int] = []
        self.later: list[int] = []
        self.owed: list[Owed] = []


def _handle(number: int, frame: FrameType | None) -> None:
    if _pending.holding:
        _pending.due.append(number)
        for block in _pending.holding:
            if block.meanwhile is not None:
                block.meanwhile()
    elif _cannot_take(frame):
        _take_later(number)
    else:
        raise _raised(number)


def _raised(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def _cannot_take(frame: FrameType | None) -> bool:
    """Whether the main thread is in an import or names the parts of a class, or has just been told that Python drops a
    signal."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _IMPORTING or code.co_name == "__set_name__" or code is _drop.__code__:
            return True
        frame = frame.f_back
    return False


def _take_later(number: int) -> None:
    """By the alarm clock: a handler must not wait for anything that the main thread may have, as threads do."""
    _pending.later.append(number)
    signal.setitimer(signal.ITIMER_REAL, _LATER)


def _alarm(_: int, frame: FrameType | None) -> None:
    if _pending.later:
        number = _pending.later.pop()
        if _pending.later:
            signal.setitimer(signal.ITIMER_REAL, _LATER)
        _handle(number, frame)


def _drop(found: Any) -> bool:
    """Python drops an exception: whether it was a signal's, which is then taken later."""
    for number in ENDING:
        if found.exc_type is type(_raised(number)) and found.exc_value.args == _raised(number).args:
            _take_later(number)
            return True
    return False


@contextmanager
def interruptible(*, last: bool = False, at_start: Callable[..., NoReturn] | None = None) -> Iterator[None]:
    """Signals raise what ends a command: Ctrl-C KeyboardInterrupt, the others SystemExit; those ignored stay so.

    ``last``: nothing comes after it, and Ctrl-C comes too late. ``at_start``: what Ctrl-C did until now, while the
    modules of the command were read in.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = (signal.SIG_DFL, signal.default_int_handler, at_start)
    before = {number: handler for number in ENDING if (handler := signal.getsignal(number)) in usual}
    if not before:  # it is so already
        yield
        return
    hook, alarm = sys.unraisablehook, signal.getsignal(signal.SIGALRM)

    def unraisable(found: Any) -> None:
        if not _drop(found):
            hook(found)

    try:
        sys.unraisablehook = unraisable
        signal.signal(signal.SIGALRM, _alarm)
        for number in before:
            signal.signal(number, _handle)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _pending.later.clear()
        signal.signal(signal.SIGALRM, alarm)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if last and number == signal.SIGINT else handler)
        sys.unraisablehook = hook


class held:
    """In the block, signals wait; at its end the first of them is raised, unless something else ends the command.

    ``meanwhile`` is called when one comes. No signal is taken where Python only computes: that is what the order of
    the statements here relies on. A block that an exception has left behind may end late, in the middle of others,
    when it is collected as garbage: each stands for itself.
    """

    def __init__(self, meanwhile: Callable[[], object] | None = None) -> None:
        self.counts = threading.current_thread() is threading.main_thread()
        self.meanwhile = meanwhile

    def __enter__(self) -> None:
        if self.counts:
            _pending.holding.append(self)

    def __exit__(self, kind: type[BaseException] | None, value: object, traceback: object) -> None:
        if self.counts:
            if self in _pending.holding:
                _pending.holding.remove(self)
            if _pending.due and not _pending.holding:
                first = _pending.due[0]
                _pending.due.clear()
                if kind is None or not issubclass(kind, KeyboardInterrupt | SystemExit):
                    raise _raised(first)


class released:
    """In the block, which lies in one that holds signals, they come as they do outside."""

    def __init__(self) -> None:
        self.blocks: list[held] = []
        self.counts = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self.counts:
            self.blocks, _pending.holding = _pending.holding, []
            if _pending.due:
                _pending.holding = self.blocks
                first = _pending.due[0]
                _pending.due.clear()
                raise _raised(first)

    def __exit__(self, *_: object) -> None:
        if self.counts:
            _pending.holding = self.blocks + _pending.holding


def overdue() -> None:
    """The signals that were to be taken later are taken now: a command is at its end, and there will be no later."""
    if _pending.later:
        first = _pending.later[0]
        _pending.later.clear()
        raise _raised(first)


def signals_wait() -> bool:
    """Whether a signal has come that is held."""
    return bool(_pending.due)


class Owed:
    """Something that is to be undone, once: when it is called, or by :func:`settle`."""

    def __init__(self, undo: Callable[[], object]) -> None:
        self._undo = undo
        _pending.owed.append(self)

    def __call__(self) -> None:
        if self in _pending.owed:
            _pending.owed.remove(self)
            self._undo()


def settle() -> None:
    """Undo what is still to be undone, the last thing first.

    A block that is left, by a signal that comes just when it ends, has perhaps not been told so.
    """
    while _pending.owed:
        _pending.owed[-1]()


@contextmanager
def kept(make: Callable[[], T], undo: Callable[[T], object]) -> Iterator[T]:
    """A value made for a block; it is undone afterwards, whatever ends the block and whenever."""
    with held():
        made = make()
        undone = Owed(partial(undo, made))
        try:
            with released():
                yield made
        finally:
            undone()


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """`asyncio.run` in which nothing is raised in the middle of the loop's own work: a signal cancels what runs, and is
    raised when that has ended."""
    import asyncio

    task: asyncio.Task[None] | None = None

    def cancel() -> None:
        if task is not None:
            loop.call_soon_threadsafe(task.cancel)

    async def cancelled_when_due() -> None:
        nonlocal task
        task = asyncio.current_task()
        try:
            if not _pending.due:
                await work()
        finally:
            task = None

    handlers = {number: signal.getsignal(number) for number in ENDING}
    with held(cancel):
        try:
            with asyncio.Runner() as runner:
                loop = runner.get_loop()
                runner.run(cancelled_when_due())
        finally:
            for number, handler in handlers.items():  # the work may have had some of its own
                if signal.getsignal(number) is not handler:
                    signal.signal(number, handler)


_pending: Final = _Pending()
