"""Object code → a call, without Numba: as an image, which takes nothing but memory, or through LLVM."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from ctypes import CDLL, CFUNCTYPE, addressof, c_char, c_int64, c_size_t, c_void_p, cast
from struct import pack_into, unpack_from
from typing import Any, Final

from xstreamcast.native.image import Image, unpacked

ENTRY: Final = "xstreamcast_kernel"
"""The name of a kernel's code in its object."""

PROCESSOR: Final = "/proc/cpuinfo"
"""Where Linux tells what processor this is."""

_SIGNATURE: Final = CFUNCTYPE(c_int64, c_int64)  # a call lets go of the GIL
_loaded: Final[list[Any]] = []
"""What has been loaded stays: code that Python may still call."""


def load(kept: bytes) -> Callable[[int], int]:
    """The call of a kernel that :mod:`.build` made for this processor."""
    image, code = unpacked(kept)
    try:
        address = None if image is None else _mapped(image)
    except OSError:  # memory that is written to is not to be run here
        address = None
    return _SIGNATURE(_linked(code) if address is None else address)


def _mapped(image: Image) -> int:
    """Where an image has been put: first it is written, then it can be run."""
    memory = mmap.mmap(-1, len(image.code), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    address = addressof(c_char.from_buffer(memory))
    memory[: len(image.code)] = image.code
    for place in image.own:
        pack_into("<q", memory, place, unpack_from("<q", memory, place)[0] + address)
    system = CDLL(None, use_errno=True)
    for name, places in image.outside.items():
        for place in places:
            pack_into("<q", memory, place, cast(getattr(system, name), c_void_p).value)
    protect = system.mprotect
    protect.argtypes = (c_void_p, c_size_t, c_int64)
    if protect(address, len(image.code), mmap.PROT_READ | mmap.PROT_EXEC):
        raise PermissionError
    _loaded.append(memory)
    return address + image.entry


def _linked(code: bytes) -> int:
    """Where LLVM has put an object."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _loaded.append(engine)
    return int(engine.get_function_address(ENTRY))


def processor() -> str:
    """What machine code depends on: the processor and its features."""
    try:
        with open(PROCESSOR, encoding="utf-8", errors="replace") as described:
            lines = described.read(1 << 13).split("\n\n")[0].splitlines()
    except OSError:
        lines = []
    told = [line for line in lines if line.startswith(("vendor_id", "cpu family", "model\t", "flags"))]
    if not any(line.startswith("flags") for line in told):  # another system, or another kind of processor
        from llvmlite import binding as llvm

        return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return "\n".join(told)
