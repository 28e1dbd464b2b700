"""Object code → a call, through LLVM alone: Numba is not imported."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64
from typing import Any, Final

from llvmlite import binding as llvm

ENTRY: Final = "xstreamcast_kernel"
"""The name of a kernel's code in its object."""

_SIGNATURE: Final = CFUNCTYPE(c_int64, c_int64)  # a call lets go of the GIL
_engines: Final[list[Any]] = []
"""What has been loaded stays: code that Python may still call."""


def load(code: bytes) -> Callable[[int], int]:
    """The code of an object that :mod:`.build` made for this processor."""
    if not _engines:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return _SIGNATURE(engine.get_function_address(ENTRY))


def processor() -> str:
    """What object code depends on: the processor, its features, the version of LLVM's binding."""
    import llvmlite

    return f"{llvmlite.__version__} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
