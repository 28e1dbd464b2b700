"""The primitives of ``native/vector.py`` as LLVM has them, for what Numba compiles; and with their indices checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import extending, njit, types

from xstreamcast.native import vector
from xstreamcast.native.vector import MIX_A, MIX_B, WIDTH

Function = TypeVar("Function", bound=Callable[..., Any])


def intrinsic(function: Function) -> Function:
    """Numba's, with a type."""
    return cast(Function, extending.intrinsic(function))


def compiled(function: Function) -> Function:
    """As :mod:`.build` compiles the functions that kernels call."""
    return cast(Function, njit(nogil=True, _nrt=False)(function))


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
    @intrinsic
    def base(typing: Any, a: Any) -> Any:
        """The address of an array: passing arrays on costs two atomic additions a call, passing numbers nothing."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(array.data, _I64)

        return types.int64(a), generate

    return base


def _make_at(bits: int, signed: bool) -> Any:
    item = ir.IntType(bits)

    @intrinsic
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

    @intrinsic
    def put(typing: Any, a: Any, i: Any, value: Any) -> Any:
        """Set item ``i`` of the array at an address."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = arguments[2] if bits == 64 else builder.trunc(arguments[2], item)
            builder.store(value, _pointer(builder, arguments[0], arguments[1], item, bits // 8))
            return context.get_dummy_value()

        return types.none(types.int64, types.int64, types.int64), generate

    return put


def _make_word() -> Any:
    @intrinsic
    def word(typing: Any, b: Any, i: Any) -> Any:
        """Eight bytes from ``i`` as one number."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            loaded = builder.load(_pointer(builder, arguments[0], arguments[1], _I64, 1))
            loaded.align = 1
            return loaded

        return types.int64(types.int64, types.int64), generate

    return word


def _make_copy() -> Any:
    @intrinsic
    def copy32(typing: Any, b: Any, i: Any, c: Any, j: Any) -> Any:
        """``c[j:j+32] = b[i:i+32]``, for buffers that do not overlap."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            loaded = _vector(builder, arguments[0], arguments[1])
            builder.store(loaded, _pointer(builder, arguments[2], arguments[3], _VECTOR, 1)).align = 1
            return context.get_dummy_value()

        return types.none(types.int64, types.int64, types.int64, types.int64), generate

    return copy32


def _make_mask(lanes: Callable[[Any, Any], Any]) -> Any:
    @intrinsic
    def mask(typing: Any, b: Any, i: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x = _vector(builder, arguments[0], arguments[1])
            return _bits(builder, lanes(builder, x))

        return types.int64(types.int64, types.int64), generate

    return mask


def _make_mask_with(lanes: Callable[[Any, Any, Any], Any]) -> Any:
    @intrinsic
    def mask(typing: Any, b: Any, i: Any, c: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x = _vector(builder, arguments[0], arguments[1])
            return _bits(builder, lanes(builder, x, _spread(builder, arguments[2])))

        return types.int64(types.int64, types.int64, types.int64), generate

    return mask


def _make_first() -> Any:
    @intrinsic
    def first(typing: Any, m: Any) -> Any:
        """The lowest bit set in a mask that is not 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(_I1, 1))

        return types.int64(types.int64), generate

    return first


def _make_low() -> Any:
    @intrinsic
    def low(typing: Any, w: Any, length: Any) -> Any:
        """The first ``length`` bytes (1 to 8) of a word, the others 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            shift = builder.sub(ir.Constant(_I64, 64), builder.shl(arguments[1], ir.Constant(_I64, 3)))
            return builder.and_(arguments[0], builder.lshr(ir.Constant(_I64, -1), shift))

        return types.int64(types.int64, types.int64), generate

    return low


def _make_hashed() -> Any:
    @intrinsic
    def hashed(typing: Any, first: Any, last: Any, length: Any) -> Any:
        """As ``vector.hashed``."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            one = builder.mul(arguments[0], ir.Constant(_I64, MIX_A))
            two = builder.mul(builder.add(arguments[1], arguments[2]), ir.Constant(_I64, MIX_B))
            return builder.lshr(builder.xor(one, two), ir.Constant(_I64, 40))

        return types.int64(types.int64, types.int64, types.int64), generate

    return hashed


def _text_lanes(builder: Any, x: Any) -> Any:
    return builder.or_(_any_of(builder, x, 38, 60, 93), _controls(builder, x))


def _body_lanes(builder: Any, x: Any, c: Any) -> Any:
    return builder.or_(_any_of(builder, x, c), _controls(builder, x))


def _value_lanes(builder: Any, x: Any, c: Any) -> Any:
    return builder.or_(_any_of(builder, x, c, 38, 60), builder.icmp_signed("<", x, _splat(32)))


def _name_lanes(builder: Any, x: Any) -> Any:
    # "/" is 47; "=", ">" and "?" are 61 to 63: one comparison after a shift finds the three
    shifted = builder.sub(x, _splat(61))
    three = builder.icmp_unsigned("<=", shifted, _splat(2))
    return builder.or_(builder.or_(_any_of(builder, x, 47), three), builder.icmp_unsigned("<=", x, _splat(32)))


def _tag_lanes(builder: Any, x: Any) -> Any:
    return _any_of(builder, x, 34, 39, 62)


def _byte_lanes(builder: Any, x: Any, c: Any) -> Any:
    return _any_of(builder, x, c)


@cache
def primitives() -> dict[Callable[..., Any], Any]:
    """By function of ``native/vector.py``: what Numba puts in its place."""
    return {
        vector.base: _make_base(),
        vector.at8: _make_at(8, False),
        vector.at32: _make_at(32, True),
        vector.at64: _make_at(64, True),
        vector.put8: _make_put(8),
        vector.put32: _make_put(32),
        vector.put64: _make_put(64),
        vector.copy32: _make_copy(),
        vector.word: _make_word(),
        vector.first: _make_first(),
        vector.low: _make_low(),
        vector.hashed: _make_hashed(),
        vector.text_mask: _make_mask(_text_lanes),
        vector.name_mask: _make_mask(_name_lanes),
        vector.tag_mask: _make_mask(_tag_lanes),
        vector.body_mask: _make_mask_with(_body_lanes),
        vector.value_mask: _make_mask_with(_value_lanes),
        vector.byte_mask: _make_mask_with(_byte_lanes),
    }


@cache
def checked_primitives() -> dict[Callable[..., Any], Any]:
    """The same where an array is passed on as its address and its length, and each look at it is checked."""
    made = dict(primitives())
    address, copied = made[vector.base], made[vector.copy32]

    @compiled
    def base(a: Any) -> Any:
        return address(a), a.shape[0]

    @compiled
    def inside(a: Any, i: int, width: int) -> Any:
        if i < 0 or i + width > a[1]:
            raise IndexError
        return a[0]

    @compiled
    def copy32(b: Any, i: int, c: Any, j: int) -> None:
        copied(inside(b, i, WIDTH), i, inside(c, j, WIDTH), j)

    def looks(primitive: Any, width: int) -> Any:
        @compiled
        def look(a: Any, i: int) -> Any:
            return primitive(inside(a, i, width), i)

        return look

    def looks_for(primitive: Any, width: int) -> Any:
        @compiled
        def look(a: Any, i: int, value: int) -> Any:
            return primitive(inside(a, i, width), i, value)

        return look

    at: list[Callable[..., Any]] = [vector.at8, vector.at32, vector.at64]
    put: list[Callable[..., Any]] = [vector.put8, vector.put32, vector.put64]
    masks: list[Callable[..., Any]] = [vector.text_mask, vector.name_mask, vector.tag_mask]
    masks_for: list[Callable[..., Any]] = [vector.body_mask, vector.value_mask, vector.byte_mask]
    made[vector.word] = looks(made[vector.word], 8)
    made |= {function: looks(made[function], 1) for function in at}
    made |= {function: looks_for(made[function], 1) for function in put}
    made |= {function: looks(made[function], WIDTH) for function in masks}
    made |= {function: looks_for(made[function], WIDTH) for function in masks_for}
    made[vector.base], made[vector.copy32] = base, copy32
    return made
