"""A kernel → object code, by Numba.

The functions of the package stay as they are: Numba gets copies in whose globals the functions that kernels call are
compiled ones, and those of ``native/vector.py`` are instructions of the processor. The object is one function, which
takes the address of its arguments (:class:`~xstreamcast.native.kernel.Call`) and calls nothing outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, Final

from llvmlite import ir
from numba import njit, types
from numba.core import compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np.arrayobj import make_array, populate_array

from xstreamcast.native.image import packed
from xstreamcast.native.intrinsics import checked_primitives, primitives
from xstreamcast.native.kernel import ARRAYS, INNER, Kernel
from xstreamcast.native.load import ENTRY

PROVIDED: Final = frozenset({"memcpy", "memmove", "memset", "memcmp"})
"""The functions outside that code may call: LLVM puts them in place of loops, and every process has them."""

_WORD: Final = ir.IntType(64)


def build(kernel: Kernel, checked: bool) -> bytes:
    """The machine code of a kernel, as it is kept; ``checked``: a call with an index outside gives another than 0."""
    context = cpu_target.target_context
    flags = compiler.Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.nrt = False
    flags.boundscheck = checked
    flags.error_model = "numpy"
    arguments = [_type(kind) for _, kind in kernel.parameters]
    function = _Copies(checked).copy(kernel.function)
    made = compiler.compile_extra(cpu_target.typing_context, context, function, arguments, None, flags, {})
    library = context.codegen().create_library(ENTRY)
    library.enable_object_caching()
    library.add_ir_module(_entry(context, library, kernel, made))
    library.add_linking_library(made.library)
    with global_compiler_lock:
        library.finalize()
    needed = outside(library.get_llvm_str())
    if needed:
        raise AssertionError(f"the kernel {kernel.name} calls what is not there later: {', '.join(needed)}")
    return packed(bytes(library._get_compiled_object()), ENTRY)


def outside(code: str) -> list[str]:
    """The functions that LLVM's code calls and that a process without Numba may not have.

    A loader does not tell: it would jump to nowhere. Of LLVM's own functions those of floating point become calls of a
    library of mathematics.
    """
    declared = re.findall(r'^declare [^@]*@"?([^"(]+)', code, re.MULTILINE)
    own = [name for name in declared if name.startswith("llvm.")]
    numeric = {name for name in own if re.search(r"\.f\d+$", name) and not name.startswith("llvm.fabs.")}
    return sorted(set(declared) - set(own) - PROVIDED | numeric)


def _type(kind: str) -> Any:
    if kind in ARRAYS:
        item, sizes = ARRAYS[kind]
        return types.Array(types.boolean if item == "bool" else getattr(types, item), sizes, "C")
    return types.boolean if kind == "bool" else types.int64


def _entry(context: Any, library: Any, kernel: Kernel, made: Any) -> Any:
    """The module of the function that Python calls: it takes its arguments from memory and puts its result there."""
    module = library.create_ir_module(ENTRY)
    function = ir.Function(module, ir.FunctionType(_WORD, [_WORD]), ENTRY)
    builder = ir.IRBuilder(function.append_basic_block())
    block = builder.inttoptr(function.args[0], _WORD.as_pointer())
    place = 0

    def word() -> Any:
        nonlocal place
        place += 1
        return builder.load(builder.gep(block, [ir.Constant(_WORD, place)]))

    arguments = []
    for kind in made.signature.args:
        if isinstance(kind, types.Array):
            arguments.append(_array(context, builder, kind, word(), [word() for _ in range(kind.ndim)]))
        else:
            number = word()
            arguments.append(builder.trunc(number, ir.IntType(1)) if kind == types.boolean else number)
    called = context.declare_function(module, made.fndesc)
    status, result = context.call_conv.call_function(
        builder, called, made.signature.return_type, made.signature.args, arguments
    )
    if kernel.result != "None":
        builder.store(context.cast(builder, result, made.signature.return_type, types.int64), block)
    builder.ret(builder.sext(status.code, _WORD))
    return module


def _array(context: Any, builder: Any, kind: Any, address: Any, sizes: list[Any]) -> Any:
    made = make_array(kind)(context, builder)
    item = ir.Constant(_WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides: list[Any] = []
    step = item
    for size in reversed(sizes):
        strides.insert(0, step)
        step = builder.mul(step, size)
    data = builder.inttoptr(address, made.data.type)
    populate_array(made, data=data, shape=sizes, strides=strides, itemsize=item, meminfo=None)
    return made._getvalue()


class _Copies:
    """The package's functions as Numba takes them, each once, with globals of their modules that lead to each other."""

    def __init__(self, checked: bool) -> None:
        self.compiled = partial(njit, nogil=True, _nrt=False, error_model="numpy", boundscheck=checked)
        self.known: dict[Callable[..., Any], Any] = dict(checked_primitives() if checked else primitives())
        self.names: dict[int, dict[str, Any]] = {}

    def copy(self, function: Any) -> FunctionType:
        """A function with other globals."""
        usual = function.__globals__
        if id(usual) not in self.names:
            self.names[id(usual)] = dict(usual)
        names = self.names[id(usual)]
        for name in function.__code__.co_names:
            if name in usual:
                names[name] = self._compiled(usual[name])
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__)

    def _compiled(self, value: Any) -> Any:
        if not isinstance(value, FunctionType):
            return value
        if value not in self.known:
            inline = {"forceinline": True} if INNER[value] else {}
            self.known[value] = self.compiled(**inline)(self.copy(value))
        return self.known[value]
