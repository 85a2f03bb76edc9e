"""A few machine instructions that Numba has no name for."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def bit_length(typingctx, x):
    """Position of the highest set bit of an unsigned 64-bit number, counted from 1."""
    if x != types.uint64:
        return None

    def codegen(context, builder, signature, args):
        zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 64), zeros)

    return types.int64(types.uint64), codegen


@intrinsic
def bit_count(typingctx, x):
    """Number of set bits of an unsigned 64-bit number."""
    if x != types.uint64:
        return None

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def square_128(typingctx, x):
    """The whole 128-bit square of a signed 64-bit number, as (low, high) words."""
    if x != types.int64:
        return None
    pair = types.UniTuple(types.uint64, 2)

    def codegen(context, builder, signature, args):
        wide = ir.IntType(128)
        value = builder.sext(args[0], wide)
        product = builder.mul(value, value)
        low = builder.trunc(product, ir.IntType(64))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))
        return cgutils.pack_array(builder, [low, high])

    return pair(types.int64), codegen


@intrinsic
def fused_multiply_add(typingctx, a, b, c):
    """A * b + c with a single rounding, so that the error of a product is exact."""
    if not (a == b == c == types.float64):
        return None

    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@intrinsic
def float_bits(typingctx, x):
    """The bits of a float, read as a signed 64-bit number."""
    if x != types.float64:
        return None

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def bits_float(typingctx, x):
    """The float that has these bits."""
    if x != types.int64:
        return None

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen
