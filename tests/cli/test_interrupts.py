"""A signal at any moment: nothing is left half done, and it is neither lost nor taken for something else."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Any

import pytest

import xstreamcast.cli
from xstreamcast.cli import interrupts, main
from xstreamcast.cli.interrupts import held, interruptible, kept, released, run, settle, signals_wait
from xstreamcast.cli.terminal import output


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    """As a command finds them that nobody has started with ``nohup``."""
    usual: dict[signal.Signals, Any] = dict.fromkeys((signal.SIGTERM, signal.SIGHUP), signal.SIG_DFL)
    usual[signal.SIGINT] = signal.default_int_handler
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def wait() -> None:
    """For a signal that is sure to come."""
    assert Event().wait(300)


def interrupted(work: Callable[[], object]) -> None:
    """Some work, which must end by Ctrl-C."""
    with pytest.raises(KeyboardInterrupt), interruptible():
        work()


@pytest.mark.parametrize(
    ("number", "raised"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit), (signal.SIGHUP, SystemExit)],
)
def test_signals_raise_what_ends_a_command(number: signal.Signals, raised: type[BaseException]) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with pytest.raises(raised) as caught, interruptible():
        signal.raise_signal(number)
    assert caught.value.args == (() if number == signal.SIGINT else (128 + number,))
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_signal_waits_for_the_end_of_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slowly_imported.py").write_text("import signal; signal.raise_signal(signal.SIGINT); whole = True\n")
    monkeypatch.syspath_prepend(tmp_path)

    def work() -> None:
        import_module("slowly_imported")
        wait()

    interrupted(work)
    assert sys.modules.pop("slowly_imported").whole


def test_a_signal_waits_until_a_class_is_made() -> None:
    class Part:
        def __set_name__(self, owner: type, name: str) -> None:
            signal.raise_signal(signal.SIGINT)

    made: list[type] = []

    def work() -> None:
        made.append(type("Whole", (), {"part": Part()}))
        wait()

    interrupted(work)
    assert made


def test_a_signal_in_a_finaliser_is_not_lost() -> None:
    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def work() -> None:
        Finalised()
        wait()

    interrupted(work)


def test_a_signal_that_comes_while_another_is_put_off_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    put_off, numbers = interrupts._take_later, []

    def slowly(number: int) -> None:
        numbers.append(number)
        if len(numbers) == 1:
            signal.raise_signal(signal.SIGINT)
        put_off(number)

    monkeypatch.setattr(interrupts, "_take_later", slowly)
    test_a_signal_in_a_finaliser_is_not_lost()
    assert numbers == [signal.SIGINT] * 2


def test_a_signal_that_is_held_comes_at_the_end() -> None:
    done, told = [], []

    def work() -> None:
        with held(meanwhile=lambda: told.append(signals_wait())):
            signal.raise_signal(signal.SIGINT)
            done.append("block")
        done.append("more")

    interrupted(work)
    assert (done, told) == (["block"], [True])


def test_who_ends_already_is_not_ended_by_another_signal() -> None:
    def leave() -> None:
        signal.raise_signal(signal.SIGINT)
        sys.exit(3)

    with pytest.raises(SystemExit), interruptible(), held():
        leave()
    assert not signals_wait()


def test_a_signal_before_a_block_that_lets_it_through_is_raised_in_front_of_it() -> None:
    def work() -> None:
        with held():
            signal.raise_signal(signal.SIGINT)
            with released():
                pytest.fail("it came before")

    interrupted(work)


def test_a_block_that_ends_late_lets_no_signal_into_another() -> None:
    forgotten = kept(lambda: "made", lambda _: None)
    forgotten.__enter__()
    passed = []

    def work() -> None:
        nonlocal forgotten
        with held():
            del forgotten
            signal.raise_signal(signal.SIGINT)
            passed.append(True)

    interrupted(work)
    assert passed == [True]
    settle()


def struck_everywhere(work: Callable[[], None]) -> Iterator[bool]:
    """Ctrl-C at the first line of Python that some work runs, at the second …; whether it has ended the work."""
    for last in count():
        left = last

        def traced(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal left
            left -= event == "line"
            if left == 0 and event == "line":
                signal.raise_signal(signal.SIGINT)
            return traced

        try:
            with interruptible():
                tracing = sys.gettrace()
                sys.settrace(traced)
                try:
                    work()
                finally:
                    sys.settrace(tracing)
            ended = False
        except KeyboardInterrupt:
            ended = True
        settle()
        yield ended
        if left > 0:
            return


@pytest.mark.parametrize("name", ["out.xml", "out.xml.gz"])
def test_an_output_file_is_whole_or_not_there_wherever_its_writing_is_interrupted(tmp_path: Path, name: str) -> None:
    def write() -> None:
        with output(tmp_path / name) as file:
            file.write(b"<a>")
            file.write(b"</a>")

    write()
    whole = (tmp_path / name).read_bytes()
    ended = set()
    for ending in struck_everywhere(write):
        ended.add(ending)
        for path in tmp_path.iterdir():
            assert (path.name, path.read_bytes()) == (name, whole)
            path.unlink()
    assert ended == {True, False}


def test_what_is_kept_for_a_block_is_undone_once_wherever_that_is_interrupted() -> None:
    made: list[int] = []
    undone: list[int] = []
    bodies: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    def work() -> None:
        with kept(make, undone.append):
            bodies.append(made[-1])

    for _ in struck_everywhere(work):
        assert undone == made
    assert 0 < len(bodies) < len(made)


def test_a_command_that_is_interrupted_before_it_begins_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = xstreamcast.cli._run

    def late(words: list[str]) -> int:
        signal.raise_signal(signal.SIGINT)
        return begin(words)

    monkeypatch.setattr(xstreamcast.cli, "_run", late)
    with pytest.raises(SystemExit) as ended:
        main(["query", "1 + 1"])
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "xcast: interrupted\n")


def test_a_signal_cancels_what_runs_in_a_loop_and_comes_when_that_has_ended() -> None:
    done = []

    async def work() -> None:
        try:
            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
            await asyncio.sleep(300)
        finally:
            await asyncio.sleep(0)
            done.append("in order")

    interrupted(lambda: run(work))
    assert done == ["in order"]


def test_a_signal_before_a_loop_begins_leaves_nothing_to_be_run() -> None:
    async def work() -> None:
        pytest.fail("it came before")

    def begin() -> None:
        with held():
            signal.raise_signal(signal.SIGINT)
            run(work)

    interrupted(begin)
