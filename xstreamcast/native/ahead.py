"""All kernels of the package, and compiling them ahead of their first use."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from xstreamcast.native.kernel import CHECKED, Kernel
from xstreamcast.native.store import kept, stored

MODULES: Final = (
    "scan.token", "scan.kernel", "scan.spans", "scan.tree", "scan.octets", "cast.columns", "cast.cutting",
    "functions.regex_machine", "run.continuous.columns.taking", "run.continuous.columns.standing",
    "run.continuous.columns.ordering", "run.continuous.columns.splicing", "run.continuous.columns.letting_go",
    "run.continuous.columns.seams", "spark.rest.seams", "operators.keys",
)  # fmt: skip
"""Where the kernels are."""


def all_kernels() -> list[Kernel]:
    """The kernels of the package, as its modules have them; none if they run as Python."""
    return [
        value
        for name in MODULES
        for value in vars(import_module(f"xstreamcast.{name}")).values()
        if isinstance(value, Kernel) and value.function.__module__ == f"xstreamcast.{name}"
    ]


def compile_ahead() -> None:
    """Compile what is not compiled yet."""
    for kernel in all_kernels():
        stored(kernel, CHECKED)


def ship(folder: str) -> None:
    """Put the code of all kernels, for this processor, into a folder: a wheel takes it along."""
    import os
    import shutil

    os.makedirs(folder, exist_ok=True)
    for kernel in all_kernels():
        stored(kernel, checked=False)
        path = kept(kernel)
        if path is not None:
            shutil.copy(path, folder)
