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
def add_rows(typingctx, table, starts, lane, total):
    """Add to four neighbours of ``total``, from ``lane`` on, those of several rows of a table.

    ``table`` (IN) is flat, ``starts`` (IN) say where its rows begin; the rows are added in the
    given order. The sums stay in one vector register, which a loop over arrays does not give.
    """
    flat = types.Array(types.float64, 1, "C")
    if (table, starts, total) != (flat, types.Array(types.int64, 1, "C"), flat):
        return None

    def codegen(context, builder, signature, args):
        of = signature.args
        arrays = [context.make_array(of[k])(context, builder, args[k]) for k in (0, 1, 3)]
        rows, begin, sums = (array.data for array in arrays)
        n = builder.extract_value(arrays[1].shape, 0)
        four = ir.VectorType(ir.DoubleType(), 4)

        def vector_at(pointer, index):
            return builder.bitcast(builder.gep(pointer, [index]), four.as_pointer())

        place = vector_at(sums, args[2])
        kept = cgutils.alloca_once_value(builder, builder.load(place, align=8))
        with cgutils.for_range(builder, n) as loop:
            start = builder.load(builder.gep(begin, [loop.index]))
            row = builder.load(vector_at(rows, builder.add(start, args[2])), align=8)
            builder.store(builder.fadd(builder.load(kept), row), kept)
        builder.store(builder.load(kept), place, align=8)
        return context.get_dummy_value()

    return types.none(table, starts, types.int64, total), codegen


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
