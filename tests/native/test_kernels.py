"""Kernels: kept as object code, loaded without Numba, compiled once however many ask."""

from __future__ import annotations

import math
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import counted
import numpy as np
import pytest

from xstreamcast.native import load, store
from xstreamcast.native.ahead import MODULES, all_kernels
from xstreamcast.native.build import build
from xstreamcast.native.image import Image, packed, unpacked
from xstreamcast.native.kernel import F64, I64, U8, Flags, I64x2, Kernel, bound, kernel

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def start(cache: Path, *python: str, stderr: int = subprocess.PIPE, **settings: str) -> subprocess.Popen[str]:
    paths = f"{ROOT}{os.pathsep}{HERE}"
    environment = {**os.environ, "PYTHONPATH": paths, "XCAST_CACHE": str(cache), **settings}
    command = [sys.executable, *(python or [str(HERE / "counted.py")])]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True)


def said(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out.strip()


def objects(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.o"))


def test_the_first_process_compiles_and_the_others_load_without_numba(tmp_path: Path) -> None:
    assert said(start(tmp_path)) == "18 llvmlite numba"
    (kept,) = objects(tmp_path)
    before = kept.stat()
    assert said(start(tmp_path)) == "18"
    assert objects(tmp_path) == [kept]
    assert kept.stat().st_ino == before.st_ino


def test_processes_that_start_at_once_compile_once_and_all_answer(tmp_path: Path) -> None:
    running = [start(tmp_path) for _ in range(4)]
    answers = [said(process) for process in running]
    assert {answer.split()[0] for answer in answers} == {"18"}
    assert sum(answer.endswith("numba") for answer in answers) == 1
    assert len(objects(tmp_path)) == 1
    assert {file.name for file in tmp_path.iterdir()} == {"lock", objects(tmp_path)[0].name}


@pytest.mark.parametrize("damage", [b"", b"x", None], ids=["empty", "cut", "changed"])
def test_a_damaged_file_counts_as_missing(tmp_path: Path, damage: bytes | None) -> None:
    said(start(tmp_path))
    (kept,) = objects(tmp_path)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    assert said(start(tmp_path)) == "18 llvmlite numba"
    assert len(kept.read_bytes()) == len(whole)
    assert said(start(tmp_path)) == "18"


def test_without_a_folder_that_can_be_written_to_each_process_compiles(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert said(start(tmp_path / "file" / "below")) == "18 llvmlite numba"


def test_at_a_terminal_who_waits_for_the_compiler_hears_why_once(tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    script = "import numpy, counted, test_kernels as t\na = numpy.arange(4)\nprint(counted.total(a), t._taken(a, 2))"
    process = start(tmp_path, "-c", script, stderr=end)
    assert said(process) == "18 2"
    os.close(end)
    with os.fdopen(terminal, "rb", 0) as told:
        assert told.read(1000).decode() == "xcast: compiling for this machine, once …\r\n"


def test_a_file_is_named_for_all_that_its_code_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made = cast(Kernel, counted.total)
    names = {store.file_name(made, False), store.file_name(made, True)}
    monkeypatch.setattr(counted, "STEP", 4)
    names.add(store.file_name(made, False))
    monkeypatch.setattr(load, "processor", lambda: "another")
    names.add(store.file_name(made, False))
    assert len(names) == 4


def test_versions_that_were_used_long_ago_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XCAST_CACHE", str(tmp_path))
    made = cast(Kernel, counted.total)
    for version in range(9):
        old = tmp_path / f"{made.name}-{version}.o"
        old.write_bytes(b"")
        os.utime(old, (version, version))
    store.stored(made, False)
    assert [file.name.rpartition("-")[2] for file in objects(tmp_path) if file.stat().st_size == 0] == [
        f"{version}.o" for version in range(2, 9)
    ]


def test_where_memory_cannot_be_made_code_llvm_loads_the_object(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = store.stored(cast(Kernel, counted.total), False)
    image, code = unpacked(kept)
    assert image is not None
    linked: list[bytes] = []

    def linking(code: bytes) -> int:
        linked.append(code)
        return load_linked(code)

    monkeypatch.setattr(load, "_mapped", refused)
    monkeypatch.setattr(load, "_linked", linking)
    made = Kernel(cast(Kernel, counted.total).function)
    monkeypatch.setattr(store, "stored", lambda *_: kept)
    assert made(np.arange(4)) == 18
    assert linked == [code]


def refused(image: Image) -> int:
    raise PermissionError


load_linked = load._linked


def test_an_object_for_another_processor_has_no_image() -> None:
    _, code = unpacked(store.stored(cast(Kernel, counted.total), False))
    other = bytearray(code)
    other[18] = 183  # AArch64
    assert packed(bytes(other), load.ENTRY).startswith(b"null\n")
    assert unpacked(packed(bytes(other), load.ENTRY)) == (None, bytes(other))


def test_an_image_knows_the_functions_outside() -> None:
    image, _ = unpacked(store.stored(cast(Kernel, _blanked), False))
    assert image is not None
    assert set(image.outside) == {"memset"}
    values = np.arange(100)
    _blanked(values)
    assert not values.any()


# ------------------------------------------------------------------------------------------------------- the calls


@kernel
def _filled(table: I64x2, row: int, upto: F64, found: Flags, strict: bool) -> bool:
    for k in range(table.shape[1]):
        found[k] = upto[0] > table[row, k] if strict else upto[0] >= table[row, k]
    return bool(found[0])


@kernel
def _taken(values: I64, at: int) -> int:
    return int(values[at])


@kernel
def _blanked(values: I64) -> None:
    for k in range(values.shape[0]):
        values[k] = 0


@kernel
def _waved(values: F64) -> int:
    return int(math.sin(values[0]))


@kernel
def _refusing(values: I64) -> int:
    if values[0] < 0:
        raise ValueError
    return int(values[0])


def test_arrays_of_two_sizes_flags_and_doubles_come_as_they_are() -> None:
    table, found = np.arange(6).reshape(2, 3), np.zeros(3, np.bool_)
    assert _filled(table, 1, np.array([4.0]), found, True)
    assert found.tolist() == [True, False, False]
    assert _filled(table, 1, np.array([4.0]), found, False)
    assert found.tolist() == [True, True, False]


def test_a_bound_call_takes_other_arrays_when_they_come() -> None:
    take = bound(_taken)
    first, second = np.arange(3), np.arange(10, 13)
    assert [take(first, 1), take(first, 2), take(second, 2), take(first, 2)] == [1, 2, 12, 2]


@pytest.mark.parametrize(
    "wrong",
    [np.arange(4, dtype=np.int32), np.arange(8)[::2], np.arange(4).reshape(2, 2)],
    ids=["type", "steps", "sizes"],
)
def test_an_array_that_is_not_as_declared_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"values of test_kernels\._taken is I64"):
        _taken(wrong, 0)


def test_arrays_that_are_empty_or_not_to_be_written_are_taken() -> None:
    fixed = np.arange(5)
    fixed.flags.writeable = False
    assert _taken(fixed, 3) == 3
    assert counted.total(np.zeros(0, np.int64)) == 0


def test_a_kernel_that_calls_a_library_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"_waved calls what is not there later: .*sin"):
        build(cast(Kernel, _waved), False)


def test_what_a_kernel_raises_is_an_error_of_its_call() -> None:
    assert _refusing(np.array([1])) == 1
    with pytest.raises(IndexError, match="_refusing"):
        _refusing(np.array([-1]))


def test_an_index_outside_is_an_error_where_indices_are_checked(tmp_path: Path) -> None:
    script = (
        "import numpy as np, test_kernels as t\n"
        "print(t._taken(np.arange(3), 2))\n"
        "try: t._taken(np.arange(3), 3)\n"
        "except IndexError as fault: print(fault)"
    )
    process = start(tmp_path, "-c", script, NUMBA_BOUNDSCHECK="1")
    assert said(process) == "2\ntest_kernels._taken left an array"


def test_types_must_be_declared() -> None:
    def loose(values: U8, other: Any) -> int:
        return 0

    with pytest.raises(TypeError, match="other"):
        Kernel(cast(FunctionType, loose))


def test_every_kernel_of_the_package_is_known() -> None:
    declared = {
        str(file.relative_to(ROOT / "xstreamcast").with_suffix("")).replace("/", ".")
        for file in (ROOT / "xstreamcast").rglob("*.py")
        if re.search(r"^@kernel$", file.read_text(), re.MULTILINE)
    }
    assert declared == set(MODULES)
    assert {made.function.__module__.removeprefix("xstreamcast.") for made in all_kernels()} == declared
