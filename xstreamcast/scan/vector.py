"""What the kernel asks of the processor beyond Python: 32 bytes compared at once, 8 bytes loaded at once.

Each primitive is an LLVM intrinsic; each has a plain twin that runs when Numba does not compile
(``NUMBA_DISABLE_JIT=1``) and, where it touches memory, a checked one (``NUMBA_BOUNDSCHECK=1``). A *mask* has bit ``k``
set when byte ``i + k`` is one the caller must stop at. Everything is int64: one type, no surprises in arithmetic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]  # llvmlite has no types
from numba import config, njit, types  # type: ignore[import-untyped, unused-ignore]  # nor has numba
from numba.extending import intrinsic  # type: ignore[import-untyped, unused-ignore]  # as above

Function = TypeVar("Function", bound=Callable[..., Any])
Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
Longs = np.ndarray[tuple[int], np.dtype[np.int64]]
Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]

WIDTH: Final = 32
"""Bytes in a vector."""

if sys.byteorder != "little":  # pragma: no cover - names are compared as little-endian words
    raise ImportError("the scan kernel needs a little-endian machine")


def compiled(function: Function) -> Function:
    """Numba's compiler with our settings: no GIL, kept on disk; typed, which ``njit`` is not."""
    return cast(Function, _stamped(njit(nogil=True, cache=True)(function)))


def inlined(function: Function) -> Function:
    """As :func:`compiled`, for what the kernel does at every token: no call is left of it."""
    return cast(Function, _stamped(njit(nogil=True, cache=True, forceinline=True)(function)))


def _source_stamp() -> tuple[float, int]:
    """When the kernel was last changed, and its size, in all files that are compiled."""
    here = Path(__file__).parent
    ours = ("vector", "layout", "token", "content", "rows", "kernel", "spans", "tree", "octets")
    files = (*ours, "../functions/regex_machine")
    try:
        states = [(here / f"{name}.py").stat() for name in files]
    except OSError:  # imported from an archive, which does not change
        return 0.0, 0
    return max(state.st_mtime for state in states), sum(state.st_size for state in states)


def _stamped(function: Any) -> Any:
    # Numba keeps compiled code as long as the *one* file of the function is unchanged, but the functions of other
    # files are compiled into it: without this a change in token.py would leave the old kernel in use.
    kept = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = _STAMP
    return function


_STAMP: Final = _source_stamp()


# ------------------------------------------------------------------------------------------------- plain twins


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _plain_base(a: Any) -> Any:
    return a


def _plain_put(a: Any, i: int, value: int) -> None:
    if not 0 <= i < len(a):
        raise IndexError(i)
    a[i] = value


def _plain_copy(b: Any, i: int, c: Any, j: int) -> None:
    if not (0 <= i <= len(b) - WIDTH and 0 <= j <= len(c) - WIDTH):
        raise IndexError(i)
    c[j : j + WIDTH] = b[i : i + WIDTH]


def _plain_at(a: Any, i: int) -> int:
    if not 0 <= i < len(a):
        raise IndexError(i)
    return int(a[i])


def _plain_word(b: Any, i: int) -> int:
    if not 0 <= i <= len(b) - 8:
        raise IndexError(i)
    return int.from_bytes(bytes(b[i : i + 8]), "little", signed=True)


def _plain_mask(stops: Callable[[int, int], bool]) -> Callable[..., int]:
    def mask(b: Any, i: int, c: int = -1) -> int:
        if not 0 <= i <= len(b) - WIDTH:
            raise IndexError(i)
        return sum(1 << k for k, x in enumerate(bytes(b[i : i + WIDTH])) if stops(x, c))

    return mask


def _control(x: int) -> bool:
    """A byte that no XML text holds, one of several bytes of a character, or a carriage return."""
    return (x < 32 and x not in (9, 10)) or x >= 128


def _plain_first(m: int) -> int:
    return (m & -m).bit_length() - 1


def _plain_low(word: int, length: int) -> int:
    return _signed(word & ((1 << (8 * length)) - 1))


_MIX_A: Final = 0x9E3779B97F4A7C15
_MIX_B: Final = 0xC2B2AE3D27D4EB4F


def mix(first: int, last: int, length: int) -> int:
    """The hash of a name: of its first and last eight bytes and its length. The kernel's twin is ``hashed``."""
    h = ((first * _MIX_A) ^ ((last + length) * _MIX_B)) & (2**64 - 1)
    return h >> 40


# ------------------------------------------------------------------------------------------------- intrinsics

_I1, _I8, _I64 = ir.IntType(1), ir.IntType(8), ir.IntType(64)
_VECTOR = ir.VectorType(_I8, WIDTH)


def _splat(value: int) -> Any:
    return ir.Constant(_VECTOR, [value] * WIDTH)


def _spread(builder: Any, value: Any) -> Any:
    """A byte known only at run time, in every lane."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), builder.trunc(value, _I8), ir.Constant(_I64, 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), lanes)


def _vector(builder: Any, address: Any, index: Any) -> Any:
    loaded = builder.load(_pointer(builder, address, index, _VECTOR, 1))
    loaded.align = 1
    return loaded


def _bits(builder: Any, lanes: Any) -> Any:
    return builder.zext(builder.bitcast(lanes, ir.IntType(WIDTH)), _I64)


def _any_of(builder: Any, x: Any, *values: Any) -> Any:
    found = None
    for value in values:
        lane = builder.icmp_unsigned("==", x, _splat(value) if isinstance(value, int) else value)
        found = lane if found is None else builder.or_(found, lane)
    return found


def _controls(builder: Any, x: Any) -> Any:
    # bytes from 128 are negative as signed numbers: one comparison finds them and the controls
    low = builder.icmp_signed("<", x, _splat(32))
    return builder.and_(low, builder.not_(_any_of(builder, x, 9, 10)))


def _pointer(builder: Any, address: Any, index: Any, item: Any, scale: int) -> Any:
    offset = builder.mul(index, ir.Constant(_I64, scale)) if scale > 1 else index
    return builder.inttoptr(builder.add(address, offset), item.as_pointer())


def _make_base() -> Any:
    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]  # numba has no types
    def base(typing: Any, a: Any) -> Any:
        """The address of an array: passing arrays on costs two atomic additions a call, passing numbers nothing."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(array.data, _I64)

        return types.int64(a), generate

    return base


def _make_at(bits: int, signed: bool) -> Any:
    item = ir.IntType(bits)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def at(typing: Any, a: Any, i: Any) -> Any:
        """Item ``i`` of the array at an address."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            loaded = builder.load(_pointer(builder, arguments[0], arguments[1], item, bits // 8))
            if bits == 64:
                return loaded
            return builder.sext(loaded, _I64) if signed else builder.zext(loaded, _I64)

        return types.int64(types.int64, types.int64), generate

    return at


def _make_put(bits: int) -> Any:
    item = ir.IntType(bits)

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def put(typing: Any, a: Any, i: Any, value: Any) -> Any:
        """Set item ``i`` of the array at an address."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = arguments[2] if bits == 64 else builder.trunc(arguments[2], item)
            builder.store(value, _pointer(builder, arguments[0], arguments[1], item, bits // 8))
            return context.get_dummy_value()

        return types.none(types.int64, types.int64, types.int64), generate

    return put


def _make_word() -> Any:
    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def word(typing: Any, b: Any, i: Any) -> Any:
        """Eight bytes from ``i`` as one number."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            loaded = builder.load(_pointer(builder, arguments[0], arguments[1], _I64, 1))
            loaded.align = 1
            return loaded

        return types.int64(types.int64, types.int64), generate

    return word


def _make_copy() -> Any:
    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def copy32(typing: Any, b: Any, i: Any, c: Any, j: Any) -> Any:
        """``c[j:j+32] = b[i:i+32]``, for buffers that do not overlap."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            loaded = _vector(builder, arguments[0], arguments[1])
            builder.store(loaded, _pointer(builder, arguments[2], arguments[3], _VECTOR, 1)).align = 1
            return context.get_dummy_value()

        return types.none(types.int64, types.int64, types.int64, types.int64), generate

    return copy32


def _make_mask(lanes: Callable[[Any, Any], Any]) -> Any:
    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def mask(typing: Any, b: Any, i: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x = _vector(builder, arguments[0], arguments[1])
            return _bits(builder, lanes(builder, x))

        return types.int64(types.int64, types.int64), generate

    return mask


def _make_mask_with(lanes: Callable[[Any, Any, Any], Any]) -> Any:
    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def mask(typing: Any, b: Any, i: Any, c: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x = _vector(builder, arguments[0], arguments[1])
            return _bits(builder, lanes(builder, x, _spread(builder, arguments[2])))

        return types.int64(types.int64, types.int64, types.int64), generate

    return mask


def _make_first() -> Any:
    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def first(typing: Any, m: Any) -> Any:
        """The lowest bit set in a mask that is not 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(_I1, 1))

        return types.int64(types.int64), generate

    return first


def _make_low() -> Any:
    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def low(typing: Any, w: Any, length: Any) -> Any:
        """The first ``length`` bytes (1 to 8) of a word, the others 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            shift = builder.sub(ir.Constant(_I64, 64), builder.shl(arguments[1], ir.Constant(_I64, 3)))
            return builder.and_(arguments[0], builder.lshr(ir.Constant(_I64, -1), shift))

        return types.int64(types.int64, types.int64), generate

    return low


def _make_hashed() -> Any:
    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def hashed(typing: Any, first: Any, last: Any, length: Any) -> Any:
        """:func:`mix`, compiled."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            one = builder.mul(arguments[0], ir.Constant(_I64, _MIX_A))
            two = builder.mul(builder.add(arguments[1], arguments[2]), ir.Constant(_I64, _MIX_B))
            return builder.lshr(builder.xor(one, two), ir.Constant(_I64, 40))

        return types.int64(types.int64, types.int64, types.int64), generate

    return hashed


# Which bytes stop a search: for text, a body (of a comment, CDATA section or PI), an attribute's value, a name.


def _text_stops(x: int, _: int) -> bool:
    return x in (38, 60, 93) or _control(x)


def _text_lanes(builder: Any, x: Any) -> Any:
    return builder.or_(_any_of(builder, x, 38, 60, 93), _controls(builder, x))


def _body_stops(x: int, c: int) -> bool:
    return x == c or _control(x)


def _body_lanes(builder: Any, x: Any, c: Any) -> Any:
    return builder.or_(_any_of(builder, x, c), _controls(builder, x))


def _value_stops(x: int, c: int) -> bool:
    return x in (c, 38, 60) or x < 32 or x >= 128


def _value_lanes(builder: Any, x: Any, c: Any) -> Any:
    return builder.or_(_any_of(builder, x, c, 38, 60), builder.icmp_signed("<", x, _splat(32)))


def _name_stops(x: int, _: int) -> bool:
    return x in (47, 61, 62, 63) or x <= 32


def _name_lanes(builder: Any, x: Any) -> Any:
    # "/" is 47; "=", ">" and "?" are 61 to 63: one comparison after a shift finds the three
    shifted = builder.sub(x, _splat(61))
    three = builder.icmp_unsigned("<=", shifted, _splat(2))
    return builder.or_(builder.or_(_any_of(builder, x, 47), three), builder.icmp_unsigned("<=", x, _splat(32)))


def _tag_stops(x: int, _: int) -> bool:
    return x in (34, 39, 62)


def _tag_lanes(builder: Any, x: Any) -> Any:
    return _any_of(builder, x, 34, 39, 62)


def _byte_stops(x: int, c: int) -> bool:
    return x == c


def _byte_lanes(builder: Any, x: Any, c: Any) -> Any:
    return _any_of(builder, x, c)


base: Any
at8: Callable[[Any, int], int]
at32: Callable[[Any, int], int]
at64: Callable[[Any, int], int]
put8: Callable[[Any, int, int], None]
put32: Callable[[Any, int, int], None]
put64: Callable[[Any, int, int], None]
copy32: Callable[[Any, int, Any, int], None]
word: Callable[[Any, int], int]
text_mask: Callable[[Any, int], int]
body_mask: Callable[[Any, int, int], int]
value_mask: Callable[[Any, int, int], int]
name_mask: Callable[[Any, int], int]
tag_mask: Callable[[Any, int], int]
byte_mask: Callable[[Any, int, int], int]
first: Callable[[int], int]
low: Callable[[int, int], int]
hashed: Callable[[int, int, int], int]

_settings: Any = config  # numba sets its attributes as it starts
if _settings.DISABLE_JIT:
    base, word, first, low, hashed = _plain_base, _plain_word, _plain_first, _plain_low, mix
    at8 = at32 = at64 = _plain_at
    put8 = put32 = put64 = _plain_put
    copy32 = _plain_copy
    text_mask, name_mask, tag_mask = _plain_mask(_text_stops), _plain_mask(_name_stops), _plain_mask(_tag_stops)
    body_mask, value_mask, byte_mask = _plain_mask(_body_stops), _plain_mask(_value_stops), _plain_mask(_byte_stops)
else:
    first, low, hashed = _make_first(), _make_low(), _make_hashed()
    base, word, copy32 = _make_base(), _make_word(), _make_copy()
    put8, put32, put64 = _make_put(8), _make_put(32), _make_put(64)
    at8, at32, at64 = _make_at(8, False), _make_at(32, True), _make_at(64, True)
    text_mask, name_mask, tag_mask = _make_mask(_text_lanes), _make_mask(_name_lanes), _make_mask(_tag_lanes)
    body_mask, value_mask = _make_mask_with(_body_lanes), _make_mask_with(_value_lanes)
    byte_mask = _make_mask_with(_byte_lanes)

    if _settings.BOUNDSCHECK:
        # An array is passed on as its address and its length, and each look at it is checked.
        _address, _word, _text, _name, _tag = base, word, text_mask, name_mask, tag_mask
        _body, _value, _byte, _copy = body_mask, value_mask, byte_mask, copy32
        _at8, _at32, _at64, _put8, _put32, _put64 = at8, at32, at64, put8, put32, put64

        @compiled
        def base(a: Any) -> Any:
            return _address(a), a.shape[0]

        @compiled
        def _inside(a: Any, i: int, width: int) -> Any:
            if i < 0 or i + width > a[1]:
                raise IndexError("the kernel looked outside an array")
            return a[0]

        @compiled
        def at8(a: Any, i: int) -> Any:
            return _at8(_inside(a, i, 1), i)

        @compiled
        def at32(a: Any, i: int) -> Any:
            return _at32(_inside(a, i, 1), i)

        @compiled
        def at64(a: Any, i: int) -> Any:
            return _at64(_inside(a, i, 1), i)

        @compiled
        def put8(a: Any, i: int, value: int) -> None:
            _put8(_inside(a, i, 1), i, value)

        @compiled
        def put32(a: Any, i: int, value: int) -> None:
            _put32(_inside(a, i, 1), i, value)

        @compiled
        def put64(a: Any, i: int, value: int) -> None:
            _put64(_inside(a, i, 1), i, value)

        @compiled
        def copy32(b: Any, i: int, c: Any, j: int) -> None:
            _copy(_inside(b, i, WIDTH), i, _inside(c, j, WIDTH), j)

        @compiled
        def word(b: Any, i: int) -> Any:
            return _word(_inside(b, i, 8), i)

        @compiled
        def text_mask(b: Any, i: int) -> Any:
            return _text(_inside(b, i, WIDTH), i)

        @compiled
        def name_mask(b: Any, i: int) -> Any:
            return _name(_inside(b, i, WIDTH), i)

        @compiled
        def tag_mask(b: Any, i: int) -> Any:
            return _tag(_inside(b, i, WIDTH), i)

        @compiled
        def body_mask(b: Any, i: int, c: int) -> Any:
            return _body(_inside(b, i, WIDTH), i, c)

        @compiled
        def value_mask(b: Any, i: int, c: int) -> Any:
            return _value(_inside(b, i, WIDTH), i, c)

        @compiled
        def byte_mask(b: Any, i: int, c: int) -> Any:
            return _byte(_inside(b, i, WIDTH), i, c)
